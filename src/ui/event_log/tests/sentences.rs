//! What is told of each event, step by step.

use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::domain::chat::Outcome;
use crate::domain::graph::{Claimer, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{CallId, JobId, Name, TaskId};
use crate::domain::job::{Job, JobEnd};
use crate::domain::mail::LetterKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::rule::{Scope, SessionRule};
use crate::domain::stamp::Stamp;
use crate::domain::subagent::SubagentKind;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::worktree::WorktreeName;
use crate::protocol::EventKind;
use crate::protocol::event::{Compaction, LetterStep, Level, Shortened, TurnEnd};
use crate::ui::event_log::{About, LogLine, Tone};
use crate::ui::fixture::{NOON, blank, letter, name, plan, ready, tell};
use crate::ui::state::UiState;

/// A crew whose events are told one after the other; what each adds to the log comes back.
struct Story {
    state: UiState,
    board: TaskGraph,
    calls: u64,
}

impl Story {
    fn new() -> Story {
        let mut story = Story {
            state: blank(100, 30),
            board: TaskGraph::default(),
            calls: 0,
        };
        story.hears(ready());
        story
    }

    fn hears(&mut self, kind: EventKind) -> Vec<String> {
        let before: Vec<u64> = self.state.event_log.lines().map(|l| l.number).collect();
        tell(&mut self.state, vec![kind]);
        let lines = self.state.event_log.lines();
        let new = lines.filter(|l| !before.contains(&l.number));
        new.map(shown).collect()
    }

    /// An agent calls a tool.
    fn calls(&mut self, agent: &str, tool: &str, input: serde_json::Value) {
        self.calls += 1;
        let call = CallId(format!("c{}", self.calls));
        let (agent, tool) = (name(agent), tool.to_string());
        self.hears(EventKind::ToolStarted {
            agent: agent.clone(),
            call: call.clone(),
            tool: tool.clone(),
            on: String::new(),
            input,
        });
        self.hears(EventKind::ToolFinished {
            agent,
            call,
            tool,
            outcome: Outcome::Ok,
            output: String::new(),
            diff: String::new(),
            took_ms: 1,
        });
    }

    /// The board on disk is another now.
    fn board(&mut self, change: impl FnOnce(&mut TaskGraph, Stamp)) -> Vec<String> {
        let mut next = self.board.clone();
        change(&mut next, self.state.now);
        let delta = self.board.delta(&next);
        self.board = next;
        self.hears(EventKind::BoardChanged {
            changed: delta.changed,
            removed: delta.removed,
        })
    }

    fn does(&mut self, agent: &str, activity: Activity) -> Vec<String> {
        let agent = name(agent);
        self.hears(EventKind::ActivityChanged { agent, activity })
    }

    fn team(&mut self, members: &[(&str, MemberStatus)]) -> Vec<String> {
        let mut team = Team::default();
        for (who, status) in members {
            let mut member = Member::new(name(who), "parser");
            member.status = *status;
            team.members.push(member);
        }
        let team = Arc::new(team);
        self.hears(EventKind::TeamChanged { team })
    }
}

/// A line as the tests read it: tone, kind, words.
fn shown(line: &LogLine) -> String {
    let tone = match line.tone {
        Tone::Plain => "",
        Tone::Good => "✓",
        Tone::Warn => "▲",
        Tone::Error => "✗",
    };
    format!("{tone}{} {}", line.topic.word(), line.words)
}

fn new(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        description: String::new(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        tags: vec![],
        worktree: String::new(),
    }
}

fn claimer(who: &str) -> Claimer {
    let (name, tags) = (name(who), vec![]);
    Claimer { name, tags }
}

#[test]
fn what_becomes_of_tasks_is_told_with_who_did_it_and_what_it_frees() {
    use MemberStatus::Working;
    let mut story = Story::new();
    story.team(&[("alice", Working), ("bob", Working)]);
    story.calls("lead", "task_create", json!({"subject": "Parse"}));
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(1), new("Parse", &[]), at))),
        ["task lead wrote #1 Parse"]
    );
    story.calls(
        "lead",
        "task_create",
        json!({"title": "Join", "blockedBy": [1]}),
    );
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(2), new("Join", &[1]), at))),
        ["task lead wrote #2 Join; it waits for #1"]
    );
    assert_eq!(
        story.board(|b, at| drop(b.claim(TaskId(1), &claimer("alice"), at))),
        ["task alice claimed #1 Parse"]
    );
    let tree = WorktreeName::new("task-1").unwrap();
    assert_eq!(
        story.board(|b, at| drop(b.bind(TaskId(1), &tree, at))),
        ["worktree wt/task-1 was made: #1 Parse is worked on there"]
    );
    // Nobody of the crew called for it.
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(3), new("Odd", &[]), at))),
        ["task #3 Odd was written from outside"]
    );
    let edit = |subject: Option<&str>, block_on: &[u64]| TaskEdit {
        subject: subject.map(Into::into),
        block_on: block_on.iter().copied().map(TaskId).collect(),
        ..TaskEdit::default()
    };
    assert_eq!(
        story.board(|b, at| drop(b.edit(TaskId(3), &edit(Some("Even"), &[1]), at))),
        [
            "task #3 Even has another subject (changed from outside)",
            "task #3 Even waits for #1 now (changed from outside)",
        ]
    );
    story.calls(
        "alice",
        "task_update",
        json!({"task_id": "#1", "status": "completed"}),
    );
    assert_eq!(
        story.board(|b, at| drop(b.complete(TaskId(1), &name("alice"), at))),
        ["✓task alice completed #1 Parse → frees #2 #3"]
    );
    story.board(|b, at| drop(b.claim(TaskId(2), &claimer("bob"), at)));
    assert_eq!(
        story.board(|b, at| drop(b.release(TaskId(2), &name("bob"), at))),
        ["▲task #2 Join is back on the board: bob does not go on with it"]
    );
    story.calls("bob", "claim_task", json!({}));
    assert_eq!(
        story.board(|b, at| drop(b.claim(TaskId(2), &claimer("bob"), at))),
        ["task bob claimed #2 Join, attempt 2"]
    );
    story.hears(EventKind::CrewAtRest);
    for _ in 0..10 {
        story.hears(EventKind::CrewAtRest);
    }
    // The call is too long ago to explain it.
    assert_eq!(
        story.board(|b, at| drop(b.complete(TaskId(2), &name("bob"), at))),
        ["✓task bob completed #2 Join (changed from outside)"]
    );
    assert_eq!(
        story.board(|b, _| b.forget(TaskId(2))),
        ["▲task #2 Join was taken off the board from outside"]
    );
}

#[test]
fn what_was_there_before_the_crew_is_no_news() {
    let mut story = Story::new();
    let before = Stamp(NOON - 100.0);
    assert_eq!(
        story.board(|b, _| drop(b.create(TaskId(1), new("Old", &[]), before))),
        Vec::<String>::new()
    );
    let mut old = letter("m1", LetterKind::Message, "lead", "alice", "hello");
    old.timestamp = before;
    let moved = |step| EventKind::LetterMoved {
        letter: old.clone(),
        step,
    };
    assert_eq!(story.hears(moved(LetterStep::Sent)), Vec::<String>::new());
    // What becomes of it now is news.
    assert_eq!(
        story.hears(moved(LetterStep::Delivered)),
        ["mail alice was given the letter of lead"]
    );
    let mut request = plan("r1", "1. Read");
    (request.created_at, request.decided_at) = (before, before);
    request.status = RequestStatus::Approved;
    let told = story.hears(EventKind::RequestChanged { request });
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn teammates_come_rest_and_go_with_a_cause() {
    use MemberStatus::{Shutdown, Working};
    let mut story = Story::new();
    story.calls(
        "lead",
        "spawn_teammate",
        json!({"name": "alice", "role": "parser"}),
    );
    assert_eq!(
        story.team(&[("alice", Working), ("dave", Shutdown)]),
        ["team lead spawned alice as parser"]
    );
    assert_eq!(
        story.team(&[("alice", Working), ("dave", Shutdown), ("bob", Working)]),
        ["team bob is on the team as parser"]
    );
    story.does("bob", Activity::Thinking);
    assert_eq!(
        story.does("bob", Activity::Idle),
        ["team bob is idle: nothing is left to do on the board"]
    );
    story.board(|b, at| drop(b.create(TaskId(1), new("Parse", &[]), at)));
    story.does("bob", Activity::Thinking);
    // It takes what is ready at once.
    assert_eq!(story.does("bob", Activity::Idle), Vec::<String>::new());
    story.board(|b, at| drop(b.claim(TaskId(1), &claimer("alice"), at)));
    story.does("bob", Activity::Thinking);
    assert_eq!(
        story.does("bob", Activity::Idle),
        ["team bob is idle: no task is ready for it"]
    );
    story.does("alice", Activity::Thinking);
    assert_eq!(
        story.does("alice", Activity::Idle),
        ["team alice is idle: its turn is over and #1 is still open"]
    );
    // The roster alone does not say why; where somebody does, that is what stays.
    let left = story.team(&[("alice", Working), ("dave", Shutdown), ("bob", Shutdown)]);
    assert_eq!(left, ["team bob has left the team"]);
    let notice = EventKind::Notice {
        level: Level::Info,
        agent: Some(name("bob")),
        text: "bob has shut down: it had nothing to do.".into(),
    };
    let told = story.hears(notice);
    assert_eq!(told, ["team bob has shut down: it had nothing to do."]);
    let has_left = |l: &LogLine| l.words.contains("has left");
    assert!(!story.state.event_log.lines().any(has_left));
    assert_eq!(
        story.team(&[("dave", Shutdown), ("bob", Shutdown)]),
        ["team alice has left the team"]
    );
    story.board(|b, at| drop(b.create(TaskId(2), new("Next", &[]), at)));
    let rests = story.hears(EventKind::CrewAtRest);
    assert_eq!(rests, ["team everybody rests, 0 of 2 tasks are done"]);
}

#[test]
fn a_letter_is_told_at_each_of_its_steps_once() {
    let mut story = Story::new();
    let mut hears = |id: &str, step| {
        let mut letter = letter(id, LetterKind::Message, "user", "alice", "Use u64\nplease");
        letter.from = "user".into();
        story.hears(EventKind::LetterMoved { letter, step })
    };
    let sent = "mail you → alice: Use u64⏎please";
    let (given, acted) = (
        "mail alice was given the letter of you",
        "mail alice acted on the letter of you",
    );
    assert_eq!(hears("m1", LetterStep::Sent), [sent]);
    assert_eq!(hears("m1", LetterStep::Sent), Vec::<String>::new());
    assert_eq!(hears("m1", LetterStep::Delivered), [given]);
    assert_eq!(hears("m1", LetterStep::ActedOn), [acted]);
    assert_eq!(hears("m1", LetterStep::Delivered), Vec::<String>::new());
    assert_eq!(hears("m2", LetterStep::ActedOn), [sent, acted]);
    let prompted = EventKind::Prompted {
        agent: Name::lead(),
        text: "Write a parser".into(),
    };
    assert_eq!(story.hears(prompted), ["mail you → lead: Write a parser"]);
}

#[test]
fn requests_and_rules_are_told_with_who_decided_and_why() {
    let mut story = Story::new();
    let with = |status, by: &str, comment: &str| Request {
        status,
        decided_by: by.into(),
        comment: comment.into(),
        decided_at: Stamp(NOON + 50.0),
        ..plan("r1", "1. Read the header")
    };
    let mut hears = |request| story.hears(EventKind::RequestChanged { request });
    assert_eq!(
        hears(with(RequestStatus::Pending, "", "")),
        ["request bob asks you to approve its plan for #2: 1. Read the header"]
    );
    assert_eq!(
        hears(with(RequestStatus::Pending, "", "")),
        Vec::<String>::new()
    );
    assert_eq!(
        hears(with(RequestStatus::Approved, "user", "two bytes")),
        ["✓request you approved the plan of bob for #2: two bytes"]
    );
    let other = |status, by: &str, comment: &str| {
        let mut request = with(status, by, comment);
        request.id.0 = format!("{status}");
        request
    };
    assert_eq!(
        hears(other(RequestStatus::Rejected, "lead", "")),
        ["request lead rejected the plan of bob for #2"]
    );
    assert_eq!(
        hears(other(RequestStatus::Withdrawn, "bob", "it has left")),
        ["▲request withdrawn, nobody decides it any more: the plan of bob for #2: it has left"]
    );
    let wish = |status| {
        let mut request = other(status, "user", "");
        (request.kind, request.from) = (RequestKind::Shutdown, Name::user());
        request
    };
    let mut hears = |request| story.hears(EventKind::RequestChanged { request });
    let mut asked = wish(RequestStatus::Pending);
    asked.id.0 = "w".into();
    assert_eq!(hears(asked.clone()), ["request you asked bob to shut down"]);
    asked.status = RequestStatus::Approved;
    assert_eq!(hears(asked), Vec::<String>::new());
    let mut ruled = other(RequestStatus::Approved, "policy", "");
    ruled.id.0 = "p".into();
    assert_eq!(
        hears(ruled),
        ["✓request a standing rule approved the plan of bob for #2"]
    );
    let rule = SessionRule {
        number: 1,
        scope: Scope::Begins {
            words: "cargo test".into(),
        },
        by: Name::user(),
        asked_by: name("alice"),
        since: Stamp(NOON),
    };
    let rules = vec![rule];
    assert_eq!(
        story.hears(EventKind::RulesChanged { rules }),
        ["request you allowed the whole team every command that begins with `cargo test`"]
    );
    assert_eq!(
        story.hears(EventKind::RulesChanged { rules: vec![] }),
        ["request no longer allowed unasked: every command that begins with `cargo test`"]
    );
}

#[test]
fn calls_of_the_model_are_told_when_they_fail_wait_or_shorten() {
    let mut story = Story::new();
    let backoff = |story: &Story, attempt| Activity::Backoff {
        cause: "rate limited".into(),
        until: Stamp(story.state.now.0 + 13.0),
        attempt,
    };
    let first = backoff(&story, 1);
    assert_eq!(
        story.does("alice", first),
        ["▲model alice's call failed: rate limited; attempt 2 in 12 s"]
    );
    assert_eq!(
        story.does("alice", Activity::Queued { place: 3 }),
        ["model alice waits for a free call, place 3: no more may run at once"]
    );
    // Its place in the line is in the team's pane.
    let moved_up = story.does("alice", Activity::Queued { place: 2 });
    assert_eq!(moved_up, Vec::<String>::new());
    let agent = || name("alice");
    let ended = |end| EventKind::TurnEnded {
        agent: agent(),
        end,
    };
    let (error, hint) = ("no such model".to_string(), "choose another".to_string());
    let cases = [
        (
            EventKind::StreamReset { agent: agent() },
            vec!["▲model the answer to alice broke off: it is asked for again"],
        ),
        (
            ended(TurnEnd::Failed { error, hint }),
            vec!["✗model alice's call failed: no such model. choose another"],
        ),
        (
            ended(TurnEnd::Stopped {
                why: "100 rounds".into(),
            }),
            vec!["▲model alice's turn was ended: 100 rounds"],
        ),
        (ended(TurnEnd::Interrupted), vec!["team alice was stopped"]),
        (ended(TurnEnd::Done), vec![]),
        (
            EventKind::Compacted {
                agent: agent(),
                compaction: Compaction {
                    how: Shortened::Results { count: 3 },
                    before: 90_000,
                    after: 30_000,
                },
            },
            vec!["model alice: 3 old tool results set aside: 90.0k → 30.0k tokens"],
        ),
        (
            EventKind::SubagentStarted {
                agent: Name::subagent(&agent(), 1),
                parent: agent(),
                call: CallId("c".into()),
                kind: SubagentKind::Explore,
                prompt: "Where is the header read?".into(),
            },
            vec!["team alice sent alice.1 out to explore: Where is the header read?"],
        ),
        (
            EventKind::TurnEnded {
                agent: Name::subagent(&agent(), 1),
                end: TurnEnd::Done,
            },
            vec!["✓team alice.1 has brought its answer back"],
        ),
        (
            ready(),
            vec!["team crewdeck was started again and goes on with session s1"],
        ),
    ];
    for (event, expected) in cases {
        let what = format!("{event:?}");
        assert_eq!(story.hears(event), expected, "{what}");
    }
}

#[test]
fn jobs_notices_and_branches_are_told_and_lead_to_what_they_are_about() {
    let mut story = Story::new();
    story.board(|b, at| drop(b.create(TaskId(7), new("Parse", &[]), at)));
    let tree = WorktreeName::new("task-7").unwrap();
    story.board(|b, at| drop(b.bind(TaskId(7), &tree, at)));
    let job = |ended| EventKind::JobChanged {
        job: Job {
            id: JobId("j1".into()),
            agent: name("alice"),
            command: "cargo test".into(),
            began: Stamp(NOON),
            ended,
            tail: String::new(),
        },
    };
    let notice = |level, text: &str| EventKind::notice(level, text);
    let end = JobEnd::Exited { code: 101 };
    let (task, job_id) = (About::Task(TaskId(7)), About::Job(JobId("j1".into())));
    let cases = [
        (
            job(None),
            "job alice started a background job: cargo test",
            job_id.clone(),
        ),
        (
            job(Some((Stamp(NOON + 9.0), end))),
            "✗job alice's background job is over: failed (exit code 101): cargo test",
            job_id,
        ),
        (
            notice(Level::Info, "wt/task-7 is merged into main."),
            "worktree wt/task-7 is merged into main.",
            task.clone(),
        ),
        (
            notice(
                Level::Warn,
                "Task #7 (Parse) of alice is offered again: alice left it open.",
            ),
            "▲notice Task #7 (Parse) of alice is offered again: alice left it open.",
            task,
        ),
        (
            notice(Level::Error, "task_3.json was damaged: set aside"),
            "✗notice task_3.json was damaged: set aside",
            About::Nothing,
        ),
        (
            EventKind::Refused {
                why: "bob has shut down".into(),
            },
            "▲notice refused: bob has shut down",
            About::Nothing,
        ),
    ];
    for (event, words, about) in cases {
        assert_eq!(story.hears(event), [words]);
        assert_eq!(story.state.event_log.lines().last().unwrap().about, about);
    }
}
