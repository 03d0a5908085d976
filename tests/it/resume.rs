//! What a crew that was ended at a bad moment has left behind, and how it goes on from there.

mod worktrees;

use std::process::Stdio;
use std::time::Duration;

use crate::common::project::{Project, Ran};
use crewdeck::domain::chat::{Block, Message, check};
use crewdeck::domain::conversation::{Conversation, PlanState, Record, TurnState};
use crewdeck::domain::graph::{Claimer, NewTask};
use crewdeck::domain::ids::{LetterId, Name, RequestId, TaskId};
use crewdeck::domain::mail::{Letter, LetterKind};
use crewdeck::domain::request::{Decider, Decision, Request, RequestKind, RequestStatus, Verdict};
use crewdeck::domain::stamp::Stamp;
use crewdeck::domain::task::{Task, TaskStatus};
use crewdeck::domain::team::Member;
use crewdeck::store::{Board, Post, Requests, Roster, Transcript, prepare};
use pretty_assertions::assert_eq;

const SESSION: &str = "0190aaaabbbbcccc";
const NOW: Stamp = Stamp(1_000_000.0);

/// What a killed crew has left.
struct Left {
    project: Project,
}

impl Left {
    /// The state folders, and a lead that has said something and waits.
    fn new(project: Project) -> Left {
        prepare(project.path()).unwrap();
        let left = Left { project };
        left.log("lead", &[said("go"), answered("I wait."), ENDED]);
        left
    }

    /// The same in a git repository with one commit.
    fn in_git() -> Left {
        let project = Project::git();
        project.write("shared.txt", "word: none\n");
        let left = Left { project };
        left.git(&["config", "user.name", "Ada"]);
        left.git(&["config", "user.email", "ada@example.org"]);
        left.git(&["config", "commit.gpgsign", "false"]);
        left.git(&["checkout", "--quiet", "-B", "main"]);
        left.git(&["add", "--all"]);
        left.git(&["commit", "--quiet", "-m", "Begin"]);
        Left::new(left.project)
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = std::process::Command::new("git");
        command.args(args).current_dir(self.project.path());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let out = command.output().unwrap();
        assert!(out.status.success(), "git {args:?}: {out:?}");
        String::from_utf8_lossy(&out.stdout).trim_end().to_string()
    }

    fn transcript(&self, agent: &str) -> Transcript {
        let name = Name::party(agent).unwrap();
        Transcript::open(self.project.path(), SESSION, &name)
    }

    fn log(&self, agent: &str, records: &[Record]) {
        let transcript = self.transcript(agent);
        for record in records {
            transcript.append(record).unwrap();
        }
    }

    fn enter(&self, member: Member) {
        Roster::open(self.project.path()).enter(member, 16).unwrap();
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

    /// Goes on, without a word to say; it must come to its end.
    fn go_on(&self, rules: &str, args: &[&str]) -> Ran {
        let script = self.project.write("rules.yaml", rules);
        let exclude = self.project.file(".git/info/exclude");
        if exclude.exists() {
            let text = std::fs::read_to_string(&exclude).unwrap();
            std::fs::write(exclude, format!("{text}\nrules.yaml\n")).unwrap();
        }
        let mut command = self.project.command(&["run", "--resume"]);
        command.args(args).arg("--provider");
        command.arg(format!("script:{}", script.display()));
        let ran = Ran(command.stdin(Stdio::null()).output().unwrap());
        // 4: it ended well, and a task is open.
        assert!([0, 4].contains(&ran.code()), "{}", ran.err());
        ran
    }

    fn conversation(&self, agent: &str) -> Conversation {
        let conversation = self.transcript(agent).recall().unwrap().conversation;
        assert_eq!(check(&conversation.messages), Ok(()));
        conversation
    }

    /// All texts of the user's side.
    fn heard(&self, agent: &str) -> String {
        let conversation = self.conversation(agent);
        let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
        words.join("\n")
    }
}

/// A member of the session, as it stands in the roster.
fn member(name: &str) -> Member {
    let mut member = Member::new(Name::member(name).unwrap(), "tester");
    member.session = SESSION.into();
    member
}

fn said(text: &str) -> Record {
    Record::Message(Message::user(vec![Block::text(text)]))
}

fn answered(text: &str) -> Record {
    Record::Message(Message::assistant(vec![Block::text(text)]))
}

const ENDED: Record = Record::Turn {
    turn: TurnState::Ended,
};

/// Bob does any task; the lead hears of the end.
const WORK: &str = r#"
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
fn a_team_at_work_is_gone_on_with_although_the_lead_only_waited() {
    let left = Left::new(Project::new());
    left.enter(member("bob"));
    let (ready, begun) = (left.create("Ready"), left.create("Begun"));
    left.claim(begun, "bob");
    let ran = left.go_on(WORK, &[]);
    assert!(ran.out().contains("All 2 are done."), "{}", ran.out());
    for id in [ready, begun] {
        assert_eq!(left.task(id).status, TaskStatus::Completed);
    }
}

#[test]
fn a_lead_that_was_not_woken_for_the_end_of_all_work_is_woken_then() {
    let left = Left::new(Project::new());
    left.enter(member("bob"));
    let id = left.create("Done");
    left.claim(id, "bob");
    left.complete(id, "bob");
    let ran = left.go_on(WORK, &[]);
    assert!(ran.out().contains("All 1 are done."), "{}", ran.out());
    // It has heard it now: there is nothing to go on with.
    let ran = left
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
fn a_letter_that_stands_in_the_conversation_does_not_come_again() {
    let left = Left::new(Project::new());
    let (lead, bob) = (Name::lead(), Name::member("bob").unwrap());
    let post = Post::open(left.project.path());
    for (id, text) in [("l1", "the first"), ("l2", "the second")] {
        let id = LetterId(id.into());
        let letter = Letter::new(id, LetterKind::Message, &bob, &lead, text, NOW);
        post.send(&letter).unwrap();
        if text == "the first" {
            let upto = post.look(&lead).unwrap().upto;
            // Killed before the letter was acknowledged.
            left.log(
                "lead",
                &[Record::Told {
                    message: Message::user(vec![Block::text("<inbox>the first</inbox>")]),
                    inbox: Some(upto.offset),
                    ended: Vec::new(),
                    prompts: Vec::new(),
                }],
            );
        }
    }
    left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
    let heard = left.heard("lead");
    for text in ["the first", "the second"] {
        assert_eq!(heard.matches(text).count(), 1, "{heard}");
    }
    assert_eq!(post.look(&lead).unwrap().letters, vec![]);
}

#[test]
fn a_member_that_had_not_heard_its_first_words_hears_them_once() {
    let left = Left::new(Project::new());
    for (name, log) in [("bob", vec![]), ("alice", vec![said("Begin with this.")])] {
        let mut member = member(name);
        member.first = "Begin with this.".into();
        left.enter(member);
        left.log(name, &log);
    }
    left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
    for name in ["bob", "alice"] {
        let heard = left.heard(name);
        assert_eq!(heard.matches("Begin with this.").count(), 1, "{heard}");
    }
    let team = Roster::open(left.project.path()).read().unwrap();
    assert!(team.members.iter().all(|m| m.first.is_empty()), "{team:?}");
}

/// A request of bob's for the approval of its plan.
fn plan(decider: Decider) -> Request {
    let (bob, body) = (Name::member("bob").unwrap(), "I do it.".to_string());
    let id = RequestId("r1".into());
    Request {
        decider,
        ..Request::new(id, RequestKind::Plan, bob.clone(), bob, body, NOW)
    }
}

#[test]
fn a_request_that_had_not_reached_its_decider_reaches_it() {
    let script = r#"
rules:
  - agent: lead
    when: '"request_id": "(\w+)"'
    calls: [{ tool: decide_request, input: { request_id: "{{1}}", approve: true } }]
  - times: 0
    say: Noted.
"#;
    for decider in [Decider::Auto, Decider::Lead] {
        let left = Left::new(Project::new());
        left.enter(member("bob"));
        let requests = Requests::open(left.project.path());
        requests.file(&plan(decider)).unwrap();
        left.go_on(script, &["--plan", "lead"]);
        let request = requests.get(&plan(decider).id).unwrap().unwrap();
        assert_eq!(request.status, RequestStatus::Approved, "{decider:?}");
        let heard = left.heard("bob");
        assert_eq!(heard.matches("Approved").count(), 1, "{heard}");
    }
}

#[test]
fn a_decision_that_was_not_told_is_told_once() {
    let left = Left::new(Project::new());
    left.enter(member("bob"));
    let requests = Requests::open(left.project.path());
    requests.file(&plan(Decider::Ask)).unwrap();
    let decision = Decision {
        id: RequestId("r1".into()),
        kind: RequestKind::Plan,
        target: Name::member("bob").unwrap(),
        verdict: Verdict::Approve,
        by: Name::user(),
        comment: String::new(),
    };
    requests.decide(&decision, NOW).unwrap();
    left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
    let heard = left.heard("bob");
    assert_eq!(heard.matches("Approved").count(), 1, "{heard}");
    assert_eq!(left.conversation("bob").plan, PlanState::Approved);
    let ran = left
        .project
        .run(&["run", "--resume", "--provider", "script:rules.yaml"]);
    assert!(
        ran.err().contains("has no unfinished turn"),
        "{}",
        ran.err()
    );
}

#[test]
fn a_member_that_was_asked_to_go_goes_and_answers_once() {
    // The letter had been read, or not even been written; the answer may have been on its way.
    for (told, answered_before) in [(true, false), (false, false), (true, true)] {
        let left = Left::new(Project::new());
        left.enter(member("bob"));
        let (lead, bob) = (Name::lead(), Name::member("bob").unwrap());
        let (requests, post) = (
            Requests::open(left.project.path()),
            Post::open(left.project.path()),
        );
        let mut request = plan(Decider::Auto);
        request.kind = RequestKind::Shutdown;
        request.from = lead.clone();
        request.status = RequestStatus::Approved;
        request.decided_by = "policy".into();
        requests.file(&request).unwrap();
        let letter = |kind, from: &Name, to: &Name| {
            let id = LetterId(format!("letter to {to}"));
            let mut letter = Letter::new(id, kind, from, to, "I go.", NOW);
            letter.extra.insert("request_id".into(), "r1".into());
            letter.extra.insert("approve".into(), true.into());
            post.send(&letter).unwrap();
        };
        if told {
            letter(LetterKind::ShutdownRequest, &lead, &bob);
            let upto = post.look(&bob).unwrap().upto;
            let reader = post.reader(&bob, Duration::ZERO).unwrap();
            reader.acknowledge(&upto).unwrap();
        }
        if answered_before {
            letter(LetterKind::ShutdownResponse, &bob, &lead);
        }
        left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
        let team = Roster::open(left.project.path()).read().unwrap();
        assert_eq!(team.present().count(), 0, "{team:?}");
        let heard = left.heard("lead");
        assert_eq!(heard.matches("shutdown_response").count(), 1, "{heard}");
    }
}
