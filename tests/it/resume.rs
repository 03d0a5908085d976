//! `--resume` after a crew was killed at a critical moment.

mod files;
mod limits;
mod worktrees;

use std::process::Stdio;
use std::time::Duration;

use crate::common::project::{Project, RunResult};
use crate::common::repository::git;
use crewdeck::domain::chat::{Block, Message, validate};
use crewdeck::domain::conversation::{Conversation, LogRecord, PlanState, TurnState};
use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{MessageId, Name, RequestId, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Approver, Decision, Request, RequestKind, RequestStatus, Verdict};
use crewdeck::domain::task::{Task, TaskStatus};
use crewdeck::domain::team::Member;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Board, Mailbox, Requests, Roster, TranscriptFile, prepare};
use pretty_assertions::assert_eq;

const SESSION: &str = "0190aaaabbbbcccc";
const NOW: Timestamp = Timestamp(1_000_000.0);

/// A project with the state files that a killed crew leaves behind.
struct KilledCrew {
    project: Project,
}

impl KilledCrew {
    /// Creates the state folders, and the log of a lead that has ended its turn.
    fn new(project: Project) -> KilledCrew {
        prepare(project.path()).unwrap();
        let crew = KilledCrew { project };
        crew.append_log(
            "lead",
            &[user_record("go"), assistant_record("I wait."), TURN_ENDED],
        );
        crew
    }

    /// Like [`KilledCrew::new`], but in a git repository with one commit.
    fn in_repository() -> KilledCrew {
        let project = Project::git();
        project.write("shared.txt", "word: none\n");
        let crew = KilledCrew { project };
        crew.git(&["config", "user.name", "Ada"]);
        crew.git(&["config", "user.email", "ada@example.org"]);
        crew.git(&["config", "commit.gpgsign", "false"]);
        crew.git(&["checkout", "--quiet", "-B", "main"]);
        crew.git(&["add", "--all"]);
        crew.git(&["commit", "--quiet", "-m", "Begin"]);
        KilledCrew::new(crew.project)
    }

    fn git(&self, args: &[&str]) -> String {
        git(self.project.path(), args)
    }

    fn transcript(&self, agent: &str) -> TranscriptFile {
        let name = Name::party(agent).unwrap();
        TranscriptFile::open(self.project.path(), SESSION, &name)
    }

    fn append_log(&self, agent: &str, records: &[LogRecord]) {
        let transcript = self.transcript(agent);
        for record in records {
            transcript.append(record).unwrap();
        }
    }

    fn enter(&self, member: Member) {
        Roster::open(self.project.path())
            .add_member(member, 16)
            .unwrap();
    }

    fn board(&self) -> Board {
        Board::open(self.project.path())
    }

    fn create(&self, subject: &str) -> TaskId {
        let new = NewTask {
            subject: subject.into(),
            ..NewTask::default()
        };
        self.board().create(new, NOW).unwrap().id
    }

    fn claim(&self, id: TaskId, name: &str) {
        let claimer = Claimer {
            name: Name::member(name).unwrap(),
            tags: Vec::new(),
        };
        self.board()
            .claim(Some(id), &claimer, NOW)
            .unwrap()
            .unwrap();
    }

    fn complete(&self, id: TaskId, name: &str) {
        let name = Name::member(name).unwrap();
        self.board().complete(id, &name, NOW).unwrap();
    }

    fn task(&self, id: TaskId) -> Task {
        (*self.board().get(id).unwrap()).clone()
    }

    /// Runs `crewdeck run --resume` without a prompt. Panics unless it succeeds or leaves open tasks (exit code 4).
    fn resume(&self, rules: &str, args: &[&str]) -> RunResult {
        let script = self.project.write("rules.yaml", rules);
        let exclude = self.project.file(".git/info/exclude");
        if exclude.exists() {
            let text = std::fs::read_to_string(&exclude).unwrap();
            std::fs::write(exclude, format!("{text}\nrules.yaml\n")).unwrap();
        }
        let mut command = self.project.command(&["run", "--resume"]);
        command.args(args).arg("--provider");
        command.arg(format!("script:{}", script.display()));
        let ran = RunResult(command.stdin(Stdio::null()).output().unwrap());
        // Exit code 4: the run succeeded and a task is open.
        assert!([0, 4].contains(&ran.code()), "{}", ran.err());
        ran
    }

    fn conversation(&self, agent: &str) -> Conversation {
        let conversation = self.transcript(agent).load().unwrap().conversation;
        assert_eq!(validate(&conversation.messages), Ok(()));
        conversation
    }

    /// Returns the texts of all messages in an agent's conversation, one per line.
    fn conversation_text(&self, agent: &str) -> String {
        let conversation = self.conversation(agent);
        let words: Vec<String> = conversation.messages.iter().map(Message::text).collect();
        words.join("\n")
    }
}

/// Returns a roster entry for a teammate of the session.
fn member(name: &str) -> Member {
    let mut member = Member::new(Name::member(name).unwrap(), "tester");
    member.session = SESSION.into();
    member
}

fn user_record(text: &str) -> LogRecord {
    LogRecord::Message(Message::user(vec![Block::text(text)]))
}

fn assistant_record(text: &str) -> LogRecord {
    LogRecord::Message(Message::assistant(vec![Block::text(text)]))
}

const TURN_ENDED: LogRecord = LogRecord::Turn {
    turn: TurnState::Ended,
};

/// In this script, bob completes any task, and the lead answers when all tasks are completed.
const WORK_RULES: &str = r#"
rules:
  - agent: lead
    when: All ([0-9]+) tasks on the board are completed
    say: All {{1}} are done.
  - agent: bob
    when: "Task #([0-9]+)"
    times: 0
    calls: [{ tool: task_update, input: { task_id: "{{1}}", status: completed } }]
  - times: 0
    say: Noted.
"#;

#[test]
fn working_team_resumes_although_the_lead_was_idle() {
    let crew = KilledCrew::new(Project::new());
    crew.enter(member("bob"));
    let (ready, begun) = (crew.create("Ready"), crew.create("Begun"));
    crew.claim(begun, "bob");
    let ran = crew.resume(WORK_RULES, &[]);
    assert!(ran.out().contains("All 2 are done."), "{}", ran.out());
    for id in [ready, begun] {
        assert_eq!(crew.task(id).status, TaskStatus::Completed);
    }
}

#[test]
fn resume_wakes_the_lead_for_completion_it_missed() {
    let crew = KilledCrew::new(Project::new());
    crew.enter(member("bob"));
    let id = crew.create("Done");
    crew.claim(id, "bob");
    crew.complete(id, "bob");
    let ran = crew.resume(WORK_RULES, &[]);
    assert!(ran.out().contains("All 1 are done."), "{}", ran.out());
    // The lead knows now, so that nothing is left to resume.
    let ran = crew
        .project
        .run(&["run", "--resume", "--provider", "script:rules.yaml"]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.err().contains("has no unfinished turn"),
        "{}",
        ran.err()
    );
}

#[test]
fn message_already_in_the_conversation_is_not_redelivered() {
    let crew = KilledCrew::new(Project::new());
    let (lead, bob) = (Name::lead(), Name::member("bob").unwrap());
    let mailbox = Mailbox::open(crew.project.path());
    for (id, text) in [("l1", "the first"), ("l2", "the second")] {
        let id = MessageId(id.into());
        let message = MailMessage::new(id, MailKind::Message, &bob, &lead, text, NOW);
        mailbox.send(&message).unwrap();
        if text == "the first" {
            let upto = mailbox.peek(&lead).unwrap().upto;
            // Killed before the message was acknowledged.
            crew.append_log(
                "lead",
                &[LogRecord::Delivery {
                    message: Message::user(vec![Block::text("<inbox>the first</inbox>")]),
                    inbox: Some(upto.offset),
                    ended: Vec::new(),
                    prompts: Vec::new(),
                }],
            );
        }
    }
    crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
    let conversation_text = crew.conversation_text("lead");
    for text in ["the first", "the second"] {
        assert_eq!(
            conversation_text.matches(text).count(),
            1,
            "{conversation_text}"
        );
    }
    assert_eq!(mailbox.peek(&lead).unwrap().messages, vec![]);
}

#[test]
fn first_prompt_is_delivered_once_after_a_kill() {
    let crew = KilledCrew::new(Project::new());
    for (name, log) in [
        ("bob", vec![]),
        ("alice", vec![user_record("Begin with this.")]),
    ] {
        let mut member = member(name);
        member.first = "Begin with this.".into();
        crew.enter(member);
        crew.append_log(name, &log);
    }
    crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
    for name in ["bob", "alice"] {
        let conversation_text = crew.conversation_text(name);
        assert_eq!(
            conversation_text.matches("Begin with this.").count(),
            1,
            "{conversation_text}"
        );
    }
    let team = Roster::open(crew.project.path()).read().unwrap();
    assert!(team.members.iter().all(|m| m.first.is_empty()), "{team:?}");
}

/// Returns a request by bob for the approval of a plan.
fn plan(approver: Approver) -> Request {
    let (bob, body) = (Name::member("bob").unwrap(), "I do it.".to_string());
    let id = RequestId("r1".into());
    Request {
        approver,
        ..Request::new(id, RequestKind::Plan, bob.clone(), bob, body, NOW)
    }
}

#[test]
fn undelivered_request_reaches_its_approver_on_resume() {
    let script = r#"
rules:
  - agent: lead
    when: '"request_id": "(\w+)"'
    calls: [{ tool: decide_request, input: { request_id: "{{1}}", approve: true } }]
  - times: 0
    say: Noted.
"#;
    for approver in [Approver::Auto, Approver::Lead] {
        let crew = KilledCrew::new(Project::new());
        crew.enter(member("bob"));
        let requests = Requests::open(crew.project.path());
        requests.create(&plan(approver)).unwrap();
        crew.resume(script, &["--plan", "lead"]);
        let request = requests.get(&plan(approver).id).unwrap().unwrap();
        assert_eq!(request.status, RequestStatus::Approved, "{approver:?}");
        let conversation_text = crew.conversation_text("bob");
        assert_eq!(
            conversation_text.matches("Approved").count(),
            1,
            "{conversation_text}"
        );
    }
}

#[test]
fn unreported_decision_is_reported_once_on_resume() {
    let crew = KilledCrew::new(Project::new());
    crew.enter(member("bob"));
    let requests = Requests::open(crew.project.path());
    requests.create(&plan(Approver::Ask)).unwrap();
    let decision = Decision {
        id: RequestId("r1".into()),
        kind: RequestKind::Plan,
        target: Name::member("bob").unwrap(),
        verdict: Verdict::Approve,
        by: Name::user(),
        comment: String::new(),
    };
    requests.decide(&decision, NOW).unwrap();
    crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
    let conversation_text = crew.conversation_text("bob");
    assert_eq!(
        conversation_text.matches("Approved").count(),
        1,
        "{conversation_text}"
    );
    assert_eq!(crew.conversation("bob").plan, PlanState::Approved);
    let ran = crew
        .project
        .run(&["run", "--resume", "--provider", "script:rules.yaml"]);
    assert!(
        ran.err().contains("has no unfinished turn"),
        "{}",
        ran.err()
    );
}

#[test]
fn approved_shutdown_completes_with_one_response() {
    // The request message was delivered or not yet written; the response may already have been sent.
    for (delivered, answered_before) in [(true, false), (false, false), (true, true)] {
        let crew = KilledCrew::new(Project::new());
        crew.enter(member("bob"));
        let (lead, bob) = (Name::lead(), Name::member("bob").unwrap());
        let (requests, mailbox) = (
            Requests::open(crew.project.path()),
            Mailbox::open(crew.project.path()),
        );
        let mut request = plan(Approver::Auto);
        request.kind = RequestKind::Shutdown;
        request.from = lead.clone();
        request.status = RequestStatus::Approved;
        request.decided_by = "policy".into();
        requests.create(&request).unwrap();
        let send = |kind, from: &Name, to: &Name| {
            let id = MessageId(format!("message to {to}"));
            let mut message = MailMessage::new(id, kind, from, to, "I go.", NOW);
            message.extra.insert("request_id".into(), "r1".into());
            message.extra.insert("approve".into(), true.into());
            mailbox.send(&message).unwrap();
        };
        if delivered {
            send(MailKind::ShutdownRequest, &lead, &bob);
            let upto = mailbox.peek(&bob).unwrap().upto;
            let reader = mailbox.reader(&bob, Duration::ZERO).unwrap();
            reader.acknowledge(&upto).unwrap();
        }
        if answered_before {
            send(MailKind::ShutdownResponse, &bob, &lead);
        }
        crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
        let team = Roster::open(crew.project.path()).read().unwrap();
        assert_eq!(team.present().count(), 0, "{team:?}");
        let conversation_text = crew.conversation_text("lead");
        assert_eq!(
            conversation_text.matches("shutdown_response").count(),
            1,
            "{conversation_text}"
        );
    }
}
