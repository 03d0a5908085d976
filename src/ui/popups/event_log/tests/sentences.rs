//! Tests of the log lines about tasks and the team.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::domain::graph::TaskEdit;
use crate::domain::ids::TaskId;
use crate::domain::mail::MailKind;
use crate::domain::request::RequestStatus;
use crate::domain::team::{Activity, MemberStatus};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::{DeliveryState, NoticeLevel};
use crate::protocol::{CrewEvent, EventKind, TeamEvent};
use crate::ui::fixture::{NOON, mail_message, name, plan};
use crate::ui::model::event_log::LogLine;
use crate::ui::popups::event_log::tests::story::{Story, claimer, new};

#[test]
fn task_changes_name_the_actor_and_the_unblocked_tasks() {
    use MemberStatus::Working;
    let mut story = Story::new();
    story.team(&[("alice", Working), ("bob", Working)]);
    story.calls("lead", "task_create", json!({"subject": "Parse"}));
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(1), new("Parse", &[]), at))),
        ["task lead created #1 Parse"]
    );
    story.calls(
        "lead",
        "task_create",
        json!({"title": "Join", "blockedBy": [1]}),
    );
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(2), new("Join", &[1]), at))),
        ["task lead created #2 Join, blocked by #1"]
    );
    assert_eq!(
        story.board(|b, at| drop(b.claim(TaskId(1), &claimer("alice"), at))),
        ["task alice claimed #1 Parse"]
    );
    let tree = WorktreeName::new("task-1").unwrap();
    assert_eq!(
        story.board(|b, at| drop(b.bind(TaskId(1), &tree, at))),
        ["worktree wt/task-1 was created for #1 Parse"]
    );
    // No agent has made a tool call that explains this change of the board.
    assert_eq!(
        story.board(|b, at| drop(b.create(TaskId(3), new("Odd", &[]), at))),
        ["task #3 Odd was created externally"]
    );
    let edit = |subject: Option<&str>, block_on: &[u64]| TaskEdit {
        subject: subject.map(Into::into),
        block_on: block_on.iter().copied().map(TaskId).collect(),
        ..TaskEdit::default()
    };
    assert_eq!(
        story.board(|b, at| drop(b.edit(TaskId(3), &edit(Some("Even"), &[1]), at))),
        [
            "task #3 Even: new subject (external change)",
            "task #3 Even is now blocked by #1 (external change)",
        ]
    );
    story.calls(
        "alice",
        "task_update",
        json!({"task_id": "#1", "status": "completed"}),
    );
    assert_eq!(
        story.board(|b, at| drop(b.complete(TaskId(1), &name("alice"), at))),
        ["✓task alice completed #1 Parse → unblocks #2 #3"]
    );
    story.board(|b, at| drop(b.claim(TaskId(2), &claimer("bob"), at)));
    assert_eq!(
        story.board(|b, at| drop(b.release(TaskId(2), &name("bob"), at))),
        ["▲task #2 Join is back on the board: bob stopped working on it"]
    );
    story.calls("bob", "claim_task", json!({}));
    assert_eq!(
        story.board(|b, at| drop(b.claim(TaskId(2), &claimer("bob"), at))),
        ["task bob claimed #2 Join, attempt 2"]
    );
    story.hears(EventKind::Crew(CrewEvent::AllIdle));
    for _ in 0..10 {
        story.hears(EventKind::Crew(CrewEvent::AllIdle));
    }
    // The tool call was too long ago to explain this change of the board.
    assert_eq!(
        story.board(|b, at| drop(b.complete(TaskId(2), &name("bob"), at))),
        ["✓task bob completed #2 Join (external change)"]
    );
    assert_eq!(
        story.board(|b, _| b.forget(TaskId(2))),
        ["▲task #2 Join was removed from the board (external change)"]
    );
}

#[test]
fn events_before_the_crew_are_not_logged() {
    let mut story = Story::new();
    let before = Timestamp(NOON - 100.0);
    assert_eq!(
        story.board(|b, _| drop(b.create(TaskId(1), new("Old", &[]), before))),
        Vec::<String>::new()
    );
    let mut old = mail_message("m1", MailKind::Message, "lead", "alice", "hello");
    old.timestamp = before;
    let moved = |step| {
        EventKind::Team(TeamEvent::MessageMoved {
            message: old.clone(),
            step,
        })
    };
    assert_eq!(
        story.hears(moved(DeliveryState::Sent)),
        Vec::<String>::new()
    );
    // A later step in the delivery of the same message is logged.
    assert_eq!(
        story.hears(moved(DeliveryState::Delivered)),
        ["message alice received lead's message"]
    );
    let mut request = plan("r1", "1. Read");
    (request.created_at, request.decided_at) = (before, before);
    request.status = RequestStatus::Approved;
    let lines = story.hears(EventKind::Team(TeamEvent::RequestChanged { request }));
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn joining_idling_and_leaving_have_a_reason() {
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
        ["team bob joined the team as parser"]
    );
    story.does("bob", Activity::Thinking);
    assert_eq!(
        story.does("bob", Activity::Idle),
        ["team bob is idle: no open tasks"]
    );
    story.board(|b, at| drop(b.create(TaskId(1), new("Parse", &[]), at)));
    story.does("bob", Activity::Thinking);
    // The idle agent is not logged, because the ready task is assigned to it at once.
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
        ["team alice is idle: its turn ended with #1 still open"]
    );
    // The team file does not say why the agent left. A notice with the reason replaces the line.
    let left = story.team(&[("alice", Working), ("dave", Shutdown), ("bob", Shutdown)]);
    assert_eq!(left, ["team bob left the team"]);
    let notice = EventKind::Crew(CrewEvent::Notice {
        level: NoticeLevel::Info,
        agent: Some(name("bob")),
        text: "bob has shut down: idle for too long.".into(),
    });
    let lines = story.hears(notice);
    assert_eq!(lines, ["team bob has shut down: idle for too long."]);
    let has_left = |l: &LogLine| l.words.contains("bob left");
    assert!(!story.state.event_log.lines().any(has_left));
    assert_eq!(
        story.team(&[("dave", Shutdown), ("bob", Shutdown)]),
        ["team alice left the team"]
    );
    story.board(|b, at| drop(b.create(TaskId(2), new("Next", &[]), at)));
    let rests = story.hears(EventKind::Crew(CrewEvent::AllIdle));
    assert_eq!(rests, ["team all idle, 0/2 done"]);
}
