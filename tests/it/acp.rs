//! External agents: sessions with real processes that speak the Agent Client Protocol.

mod failures;
mod limits;
mod permissions;
mod processes;
mod third_party;
mod turns;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crewdeck::acp::{
    AcpAgent, AcpError, AcpOptions, AcpSession, AskedPermission, PermissionAnswer, PromptEnd,
    PromptPart, SessionHandler, SessionSpec,
};
use crewdeck::domain::agent_update::{AgentToolCall, AgentUpdate};
use crewdeck::domain::external_agent::ExternalAgent;
use crewdeck::domain::redact::Redactor;
use futures::future::BoxFuture;
use tempfile::TempDir;

use crate::common::supervised::program;

/// An agent that usually runs `acp/agent.py`, in a directory of its own.
pub struct TestAgent {
    pub agent: AcpAgent,
    pub dir: TempDir,
}

/// Records what an agent does, and answers its permission requests.
#[derive(Default)]
pub struct Recorder {
    pub updates: Mutex<Vec<AgentUpdate>>,
    pub asked: Mutex<Vec<AskedPermission>>,
    /// The answer to permission requests; `None`: they are never answered.
    pub answer: Mutex<Option<PermissionAnswer>>,
}

impl SessionHandler for Recorder {
    fn update(&self, update: AgentUpdate) {
        self.updates.lock().unwrap().push(update);
    }

    fn ask(&self, request: AskedPermission) -> BoxFuture<'static, PermissionAnswer> {
        self.asked.lock().unwrap().push(request);
        match *self.answer.lock().unwrap() {
            Some(answer) => Box::pin(async move { answer }),
            None => Box::pin(std::future::pending()),
        }
    }
}

impl Recorder {
    pub fn answering(answer: PermissionAnswer) -> Arc<Recorder> {
        let recorder = Recorder::default();
        *recorder.answer.lock().unwrap() = Some(answer);
        Arc::new(recorder)
    }

    /// Returns the whole text of the agent.
    pub fn text(&self) -> String {
        let updates = self.updates.lock().unwrap();
        let texts = updates.iter().filter_map(|update| match update {
            AgentUpdate::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the last state of the tool call with this id.
    pub fn call(&self, id: &str) -> AgentToolCall {
        let updates = self.updates.lock().unwrap();
        let mut calls = updates.iter().rev().filter_map(|update| match update {
            AgentUpdate::ToolCall(call) if call.id == id => Some(call.clone()),
            _ => None,
        });
        calls.next().unwrap()
    }
}

/// Returns an agent that runs `acp/agent.py` with these options, and whose sessions share a process.
pub fn test_config(options: &[&str]) -> ExternalAgent {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acp/agent.py");
    let mut argv = vec!["python3".to_string(), script.to_str().unwrap().to_string()];
    argv.extend(options.iter().map(ToString::to_string));
    ExternalAgent {
        name: "test".into(),
        preset: crewdeck::domain::external_agent::AgentPreset::find("claude"),
        argv,
        env: BTreeMap::new(),
        ask_mode: None,
        plan_mode: Some("plan".into()),
    }
}

impl TestAgent {
    pub fn new(options: &[&str]) -> TestAgent {
        TestAgent::with(test_config(options), |_| {})
    }

    /// Creates an agent that restarts after 1 ms. `change` can change its options.
    pub fn with(config: ExternalAgent, change: impl FnOnce(&mut AcpOptions)) -> TestAgent {
        let dir = tempfile::tempdir().unwrap();
        let redactor = Redactor::new([("MY_KEY".to_string(), "hunter2-hunter2".to_string())]);
        let mut options = AcpOptions::new(dir.path().into(), Some(program()), redactor);
        options.restart_delay = Duration::from_millis(1);
        change(&mut options);
        TestAgent {
            agent: AcpAgent::new(config, options),
            dir,
        }
    }

    pub fn spec(&self) -> SessionSpec {
        SessionSpec {
            cwd: self.dir.path().into(),
            ..SessionSpec::default()
        }
    }

    pub async fn try_open(&self, recorder: &Arc<Recorder>) -> Result<AcpSession, AcpError> {
        let handler = Arc::clone(recorder) as Arc<dyn SessionHandler>;
        self.agent.open(&self.spec(), handler).await
    }

    pub async fn open(&self, recorder: &Arc<Recorder>) -> AcpSession {
        self.try_open(recorder).await.unwrap()
    }

    /// Opens a session, runs `script` in it, and returns how the turn ended and what the agent did.
    pub async fn run(&self, script: &str) -> (Result<PromptEnd, AcpError>, Arc<Recorder>) {
        let recorder = Recorder::answering(PermissionAnswer::AllowOnce);
        let session = self.open(&recorder).await;
        let end = prompt(&session, script).await;
        (end, recorder)
    }
}

pub async fn prompt(session: &AcpSession, script: &str) -> Result<PromptEnd, AcpError> {
    session.prompt(&[PromptPart::Text(script.into())]).await
}

/// Waits until `is_true` returns true.
pub async fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(std::time::Instant::now() < until, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
