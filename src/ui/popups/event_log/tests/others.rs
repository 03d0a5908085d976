//! Tests of the log lines about messages, requests, models, jobs and notices.

use pretty_assertions::assert_eq;

use crate::domain::ids::{CallId, JobId, Name, TaskId};
use crate::domain::job::{Job, JobEnd};
use crate::domain::mail::MailKind;
use crate::domain::permission::{PermissionScope, SessionPermission};
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::subagent::SubagentKind;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::{Compaction, CompactionMethod, DeliveryState, NoticeLevel, TurnEnd};
use crate::protocol::{AgentEvent, CommandId, CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{NOON, mail_message, name, plan, ready};
use crate::ui::model::event_log::About;
use crate::ui::popups::event_log::tests::story::{Story, new};

#[test]
fn each_message_step_is_logged_once() {
    let mut story = Story::new();
    let mut hears = |id: &str, step| {
        let mut message = mail_message(id, MailKind::Message, "user", "alice", "Use u64\nplease");
        message.from = "user".into();
        story.hears(EventKind::Team(TeamEvent::MessageMoved { message, step }))
    };
    let sent = "message you → alice: Use u64⏎please";
    let (given, acted) = (
        "message alice received your message",
        "message alice acted on your message",
    );
    assert_eq!(hears("m1", DeliveryState::Sent), [sent]);
    assert_eq!(hears("m1", DeliveryState::Sent), Vec::<String>::new());
    assert_eq!(hears("m1", DeliveryState::Delivered), [given]);
    assert_eq!(hears("m1", DeliveryState::ActedOn), [acted]);
    assert_eq!(hears("m1", DeliveryState::Delivered), Vec::<String>::new());
    assert_eq!(hears("m2", DeliveryState::ActedOn), [sent, acted]);
    let prompted = AgentEvent::prompt("Write a parser").of(Name::lead());
    assert_eq!(
        story.hears(prompted),
        ["message you → lead: Write a parser"]
    );
}

#[test]
fn requests_and_permissions_name_who_decided_and_why() {
    let mut story = Story::new();
    let with = |status, by: &str, comment: &str| Request {
        status,
        decided_by: by.into(),
        comment: comment.into(),
        decided_at: Timestamp(NOON + 50.0),
        ..plan("r1", "1. Read the header")
    };
    let mut hears = |request| story.hears(EventKind::Team(TeamEvent::RequestChanged { request }));
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
        ["✓request you approved bob's plan for #2: two bytes"]
    );
    let other = |status, by: &str, comment: &str| {
        let mut request = with(status, by, comment);
        request.id.0 = format!("{status}");
        request
    };
    assert_eq!(
        hears(other(RequestStatus::Rejected, "lead", "")),
        ["request lead rejected bob's plan for #2"]
    );
    assert_eq!(
        hears(other(RequestStatus::Withdrawn, "bob", "it has left")),
        ["▲request withdrawn: bob's plan for #2: it has left"]
    );
    let shutdown_request = |status| {
        let mut request = other(status, "user", "");
        (request.kind, request.from) = (RequestKind::Shutdown, Name::user());
        request
    };
    let mut hears = |request| story.hears(EventKind::Team(TeamEvent::RequestChanged { request }));
    let mut asked = shutdown_request(RequestStatus::Pending);
    asked.id.0 = "w".into();
    assert_eq!(hears(asked.clone()), ["request you asked bob to shut down"]);
    asked.status = RequestStatus::Approved;
    assert_eq!(hears(asked), Vec::<String>::new());
    let mut ruled = other(RequestStatus::Approved, "policy", "");
    ruled.id.0 = "p".into();
    assert_eq!(
        hears(ruled),
        ["✓request a standing rule approved bob's plan for #2"]
    );
    let rule = SessionPermission {
        number: 1,
        scope: PermissionScope::Begins {
            words: "cargo test".into(),
        },
        by: Name::user(),
        asked_by: name("alice"),
        since: Timestamp(NOON),
    };
    let rules = vec![rule];
    assert_eq!(
        story.hears(EventKind::Team(TeamEvent::PermissionsChanged { rules })),
        ["request you allowed for the whole team: every command that begins with `cargo test`"]
    );
    assert_eq!(
        story.hears(EventKind::Team(TeamEvent::PermissionsChanged {
            rules: vec![]
        })),
        [
            "request no longer allowed for the whole team: every command that begins with `cargo test`"
        ]
    );
}

#[test]
fn model_call_failures_queueing_and_compaction_are_logged() {
    let mut story = Story::new();
    let backoff = |story: &Story, attempt| Activity::Backoff {
        cause: "rate limited".into(),
        until: Timestamp(story.state.now.0 + 13.0),
        attempt,
        attempts_max: 8,
    };
    let first = backoff(&story, 1);
    assert_eq!(
        story.does("alice", first),
        ["▲model alice's model call failed: rate limited; attempt 2 of 8 in 12 s"]
    );
    assert_eq!(
        story.does("alice", Activity::Queued { place: 3 }),
        ["model alice's model call is queued at position 3"]
    );
    // A change of the position in the call queue is not logged; only the team pane shows it.
    let moved_up = story.does("alice", Activity::Queued { place: 2 });
    assert_eq!(moved_up, Vec::<String>::new());
    let agent = || name("alice");
    let ended = |end| AgentEvent::TurnEnded { end }.of(agent());
    let (error, hint) = ("no such model".to_string(), "choose another".to_string());
    let cases = [
        (
            AgentEvent::StreamReset.of(agent()),
            vec!["▲model alice's response was cut off, retrying"],
        ),
        (
            ended(TurnEnd::Failed { error, hint }),
            vec!["✗model alice's turn failed: no such model. choose another"],
        ),
        (
            ended(TurnEnd::Stopped {
                why: "100 rounds".into(),
            }),
            vec!["▲model alice's turn was stopped: 100 rounds"],
        ),
        (
            ended(TurnEnd::Interrupted),
            vec!["team alice was interrupted"],
        ),
        (ended(TurnEnd::Done), vec![]),
        (
            AgentEvent::Compacted {
                compaction: Compaction {
                    how: CompactionMethod::Results { count: 3 },
                    before: 90_000,
                    after: 30_000,
                },
            }
            .of(agent()),
            vec!["model alice: 3 old tool results pruned: 90.0k → 30.0k tokens"],
        ),
        (
            AgentEvent::SubagentStarted {
                parent: agent(),
                call: CallId("c".into()),
                kind: SubagentKind::Explore,
                prompt: "Where is the header read?".into(),
                color: None,
            }
            .of(Name::subagent(&agent(), 1)),
            vec!["team alice started alice.1 to explore: Where is the header read?"],
        ),
        (
            AgentEvent::TurnEnded { end: TurnEnd::Done }.of(Name::subagent(&agent(), 1)),
            vec!["✓team alice.1 returned its answer"],
        ),
        (ready(), vec!["team session s1 resumed"]),
    ];
    for (event, expected) in cases {
        let what = format!("{event:?}");
        assert_eq!(story.hears(event), expected, "{what}");
    }
}

#[test]
fn jobs_notices_and_branches_have_targets() {
    let mut story = Story::new();
    story.board(|b, at| drop(b.create(TaskId(7), new("Parse", &[]), at)));
    let tree = WorktreeName::new("task-7").unwrap();
    story.board(|b, at| drop(b.bind(TaskId(7), &tree, at)));
    let job = |ended| {
        EventKind::Crew(CrewEvent::JobChanged {
            job: Job {
                id: JobId("j1".into()),
                agent: name("alice"),
                command: "cargo test".into(),
                began: Timestamp(NOON),
                ended,
                tail: String::new(),
            },
        })
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
            job(Some((Timestamp(NOON + 9.0), end))),
            "✗job alice's background job ended: failed (exit code 101): cargo test",
            job_id,
        ),
        (
            notice(NoticeLevel::Info, "wt/task-7 is merged into main."),
            "worktree wt/task-7 is merged into main.",
            task.clone(),
        ),
        (
            notice(
                NoticeLevel::Warn,
                "Task #7 (Parse) is back on the board: alice stopped without completing it.",
            ),
            "▲notice Task #7 (Parse) is back on the board: alice stopped without completing it.",
            task,
        ),
        (
            notice(NoticeLevel::Error, "task_3.json was damaged: set aside"),
            "✗notice task_3.json was damaged: set aside",
            About::Nothing,
        ),
        (
            EventKind::rejection(CommandId(1), "bob has shut down"),
            "▲notice refused: bob has shut down",
            About::Nothing,
        ),
    ];
    for (event, words, about) in cases {
        assert_eq!(story.hears(event), [words]);
        assert_eq!(story.state.event_log.lines().last().unwrap().about, about);
    }
}
