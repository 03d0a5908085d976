//! The sessions of an external agent as the model of a teammate: what its prompts contain, and what happens when the agent
//! hangs, crashes or refuses. The agent is `acp/agent.py`, so each prompt is a script.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crewdeck::acp::AcpAgent;
use crewdeck::agent::external::{ExternalModel, ExternalPermissions, OwnTools, SessionMemory};
use crewdeck::agent::mailbox::AgentMailbox;
use crewdeck::agent::tool_runner::ToolRunner;
use crewdeck::domain::agent_update::AgentUpdate;
use crewdeck::domain::chat::{Block, Message};
use crewdeck::domain::ids::Name;
use crewdeck::domain::team::ExternalSession;
use crewdeck::model::{Delta, ImageInput, Model, ModelError, ModelRequest, Reply};
use crewdeck::tools::policy::PlanGate;
use futures::StreamExt;
use futures::future::BoxFuture;

use crate::acp::{TestAgent, test_config, wait_until};
use crate::mcp_serve::tool_runner;

/// Remembers the last session.
#[derive(Default)]
struct Memory(Mutex<Option<ExternalSession>>);

impl SessionMemory for Memory {
    fn last(&self) -> Option<ExternalSession> {
        self.0.lock().unwrap().clone()
    }

    fn remember<'a>(&'a self, id: &'a str, dir: &'a Path) -> BoxFuture<'a, ()> {
        *self.0.lock().unwrap() = Some(ExternalSession {
            id: id.to_string(),
            dir: dir.to_string_lossy().into_owned(),
        });
        Box::pin(async {})
    }
}

/// A teammate that is the scripted agent.
struct Teammate {
    model: ExternalModel,
    agent: Arc<AcpAgent>,
    memory: Arc<Memory>,
    permissions: ExternalPermissions,
    messages: Vec<Message>,
    clearings: u64,
    dir: tempfile::TempDir,
    record: Arc<tempfile::TempDir>,
}

/// What came back from one prompt.
struct Answer {
    reply: Result<Reply, ModelError>,
    notices: String,
}

/// The time after which an agent counts as hung in tests that wait for it.
const SHORT: Duration = Duration::from_secs(2);
/// A limit that no test reaches.
const LONG: Duration = Duration::from_secs(300);

impl Teammate {
    fn new(options: &[&str], idle_limit: Duration) -> Teammate {
        let record = tempfile::tempdir().unwrap();
        let file = format!("--record={}", record.path().join("record").display());
        let mut options = options.to_vec();
        options.push(&file);
        let mut config = test_config(&options);
        config.ask_mode = Some("default".into());
        let TestAgent { agent, .. } = TestAgent::with(config, |options| {
            options.project = record.path().into();
            options.request_timeout = Duration::from_secs(5);
        });
        Teammate::of(
            Arc::new(agent),
            Arc::new(record),
            PlanGate::Open,
            idle_limit,
        )
    }

    fn of(
        agent: Arc<AcpAgent>,
        record: Arc<tempfile::TempDir>,
        gate: PlanGate,
        idle_limit: Duration,
    ) -> Teammate {
        let dir = tempfile::tempdir().unwrap();
        let runner = ToolRunner {
            mailbox: Arc::new(AgentMailbox::new(gate, None)),
            ..tool_runner(dir.path())
        };
        let permissions = ExternalPermissions {
            agent: Name::member("bob").unwrap(),
            runner,
            servers: None,
            own_tools: OwnTools {
                can_write: true,
                can_run: true,
            },
        };
        let memory = Arc::new(Memory::default());
        let model = ExternalModel::new(
            Arc::clone(&agent),
            permissions.clone(),
            Arc::clone(&memory) as _,
            String::new(),
            idle_limit,
        );
        Teammate {
            model,
            agent,
            memory,
            permissions,
            messages: Vec::new(),
            clearings: 0,
            dir,
            record,
        }
    }

    /// Adds a message of the user, which is a script for the agent.
    fn say(&mut self, script: &str) {
        self.messages.push(Message::user(vec![Block::text(script)]));
    }

    fn request(&self) -> ModelRequest {
        ModelRequest {
            agent: self.permissions.agent.clone(),
            model: String::new(),
            system: "think system".into(),
            messages: Arc::new(self.messages.clone()),
            tools: Arc::default(),
            max_tokens: 1,
            images: ImageInput::Sent,
            effort: None,
            thinking_budget: None,
            workdir: self.dir.path().into(),
            clearings: self.clearings,
        }
    }

    /// Sends what is new in the conversation. A complete answer is added to the conversation.
    async fn prompt(&mut self) -> Answer {
        let mut stream = self.model.call(self.request());
        let mut notices = String::new();
        let reply = loop {
            match stream.next().await.unwrap() {
                Ok(Delta::External(AgentUpdate::Notice(text))) => notices.push_str(&text),
                Ok(Delta::Done(reply)) => break Ok(reply),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        if let Ok(reply) = &reply
            && !reply.blocks.is_empty()
        {
            self.messages.push(Message::assistant(reply.blocks.clone()));
        }
        Answer { reply, notices }
    }

    /// Returns what the agent has received: sessions and prompts, one a line.
    fn record(&self) -> String {
        std::fs::read_to_string(self.record.path().join("record")).unwrap_or_default()
    }

    fn count(&self, line: &str) -> usize {
        let record = self.record();
        record.lines().filter(|l| l.starts_with(line)).count()
    }

    fn last_prompt(&self) -> String {
        let record = self.record();
        let mut prompts = record.lines().rev();
        let last = prompts.find_map(|line| line.strip_prefix("prompt "));
        last.unwrap_or_default().to_string()
    }

    /// Interrupts a prompt once the agent has begun to work on it.
    async fn prompt_and_interrupt(&mut self) {
        let before = self.count("prompt");
        let mut stream = self.model.call(self.request());
        let begun = async {
            while self.count("prompt") == before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            () = begun => {}
            () = async { while stream.next().await.is_some() {} } => panic!("the prompt has ended"),
        }
    }
}

#[tokio::test]
async fn message_after_a_cleared_conversation_begins_a_new_session() {
    let mut bob = Teammate::new(&[], LONG);
    bob.say("say one");
    bob.prompt().await.reply.unwrap();
    bob.messages.clear();
    bob.clearings += 1;
    bob.say("say two");
    bob.prompt().await.reply.unwrap();
    assert_eq!(bob.count("session/new"), 2, "{}", bob.record());
    assert_eq!(bob.last_prompt(), "think system | say two");
}

#[tokio::test]
async fn prompt_that_was_interrupted_before_it_was_sent_is_sent_with_the_next() {
    let mut bob = Teammate::new(&[], LONG);
    let may_end = bob.dir.path().join("may-end");
    bob.say(&format!("slow-cancel {}", may_end.display()));
    bob.prompt_and_interrupt().await;
    // The agent has not ended the first turn, so this prompt waits, and is interrupted too.
    bob.say("say two");
    let mut stream = bob.model.call(bob.request());
    let ends = async {
        // What the agent has reported in the first turn still arrives.
        while let Some(Ok(delta)) = stream.next().await {
            assert!(!matches!(delta, Delta::Done(_)));
        }
    };
    let waited = tokio::time::timeout(Duration::from_millis(200), ends).await;
    assert!(waited.is_err());
    drop(stream);
    std::fs::write(&may_end, "").unwrap();
    bob.say("say three");
    bob.prompt().await.reply.unwrap();
    assert_eq!(bob.last_prompt(), "say two | say three");
}

#[tokio::test]
async fn refused_prompt_is_repeated_only_if_the_agent_had_not_begun() {
    let mut bob = Teammate::new(&[], LONG);
    bob.say("fail now");
    // The system prompt of the first prompt makes the agent think, so it has begun.
    assert!(bob.prompt().await.reply.is_err());
    bob.say("fail again");
    assert!(bob.prompt().await.reply.is_err());
    assert_eq!(bob.last_prompt(), "fail again");
    bob.say("say three");
    assert!(bob.prompt().await.reply.is_err());
    assert_eq!(bob.last_prompt(), "fail again | say three");
}

#[tokio::test]
async fn session_whose_loading_crashes_or_hangs_is_replaced_once_and_for_all() {
    for option in ["--exit=session/load", "--hang=session/load"] {
        let mut bob = Teammate::new(&[option], LONG);
        bob.say("say one");
        bob.messages
            .push(Message::assistant(vec![Block::text("one")]));
        let lost = bob.dir.path().to_path_buf();
        bob.memory.remember("lost-session", &lost).await;
        bob.say("say two");
        let answer = bob.prompt().await;
        answer.reply.as_ref().unwrap();
        assert!(
            answer.notices.contains("begins a new one"),
            "{}",
            answer.notices
        );
        assert_eq!(bob.count("session/load"), 1, "{option}");
        assert!(bob.last_prompt().contains("say two"), "{option}");
    }
}

#[tokio::test]
async fn hung_agent_is_ended_before_its_failure_is_reported() {
    let mut bob = Teammate::new(&[], SHORT);
    bob.say("stuck");
    let error = bob.prompt().await.reply.unwrap_err();
    assert!(error.to_string().contains("has done nothing"), "{error}");
    let record = bob.record();
    let started = record.lines().find_map(|line| line.strip_prefix("start "));
    let process = format!("/proc/{}", started.unwrap());
    assert!(!Path::new(&process).exists());
    // The next prompt loads the session in a new program.
    let one = Message::assistant(vec![Block::text("one")]);
    bob.messages.push(one);
    bob.say("say two");
    bob.prompt().await.reply.unwrap();
    assert_eq!(bob.count("session/load"), 1, "{}", bob.record());
}

#[tokio::test]
async fn hung_session_is_not_loaded_while_another_turn_runs_in_its_program() {
    let mut bob = Teammate::new(&[], SHORT);
    let (agent, record) = (Arc::clone(&bob.agent), Arc::clone(&bob.record));
    let mut ann = Teammate::of(agent, record, PlanGate::Open, LONG);
    ann.say("wait");
    let turn = ann.model.call(ann.request());
    wait_until("the other turn begins", || ann.count("prompt") == 1).await;
    bob.say("stuck");
    bob.prompt().await.reply.unwrap_err();
    bob.messages
        .push(Message::assistant(vec![Block::text("one")]));
    bob.say("say two");
    bob.prompt().await.reply.unwrap();
    assert_eq!(bob.count("session/load"), 0, "{}", bob.record());
    assert_eq!(
        bob.count("start"),
        2,
        "the hung program gets no new session"
    );
    drop(turn);
}

#[tokio::test]
async fn open_tool_call_extends_the_time_of_silence_and_is_reported() {
    let mut bob = Teammate::new(&[], SHORT / 2);
    bob.say("call c1 make test\nstuck");
    let answer = bob.prompt().await;
    let error = answer.reply.unwrap_err();
    assert!(
        error.to_string().contains("while a tool call runs"),
        "{error}"
    );
    let notices = answer.notices;
    assert!(notices.contains("bob has reported nothing"), "{notices}");
}

#[tokio::test]
async fn agent_that_changes_no_mode_while_it_works_can_end_its_turn() {
    let planner = Teammate::new(&[], LONG);
    let (agent, record) = (Arc::clone(&planner.agent), Arc::clone(&planner.record));
    let mut bob = Teammate::of(agent, record, PlanGate::Closed, LONG);
    let approved = bob.dir.path().join("approved");
    bob.say(&format!(
        "deaf\ncall c1 plan\nawait {}\nsay done",
        approved.display()
    ));
    let mut stream = bob.model.call(bob.request());
    let started = std::time::Instant::now();
    while let Some(delta) = stream.next().await {
        if matches!(delta.unwrap(), Delta::External(AgentUpdate::ToolCall(_))) {
            bob.permissions.runner.mailbox.open_gate();
            std::fs::write(&approved, "").unwrap();
        }
    }
    // The request for the mode is not answered for 5 s.
    assert!(started.elapsed() < Duration::from_secs(5));
}
