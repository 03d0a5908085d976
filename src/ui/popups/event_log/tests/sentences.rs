//! What is told of the tasks and the team, step by step.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::domain::graph::TaskEdit;
use crate::domain::ids::TaskId;
use crate::domain::mail::LetterKind;
use crate::domain::request::RequestStatus;
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, MemberStatus};
use crate::domain::worktree::WorktreeName;
use crate::protocol::EventKind;
use crate::protocol::event::{LetterStep, Level};
use crate::ui::fixture::{NOON, letter, name, plan};
use crate::ui::model::event_log::LogLine;
use crate::ui::popups::event_log::tests::story::{Story, claimer, new};

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
        ["mail alice received lead's message"]
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
