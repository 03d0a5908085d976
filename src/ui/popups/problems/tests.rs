//! What is told as a problem, and when it is one no more.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{RequestId, TaskId};
use crate::domain::mail::LetterKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::stamp::Stamp;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::worktree::WorktreeName;
use crate::protocol::EventKind;
use crate::protocol::event::{LetterStep, Level};
use crate::ui::app::onboarding;
use crate::ui::fixture::{
    NOON, board_told, busy, first_page, letter, name, picture, press, started, tell,
};
use crate::ui::popups::problems::*;
use crate::ui::{Msg, UiState, update};

fn told(state: &UiState) -> Vec<(Weight, String)> {
    let all = problems(state).into_iter();
    all.map(|p| (p.weight, p.cause)).collect()
}

#[test]
fn whatever_is_in_the_way_is_told_with_its_cause() {
    let mut state = busy(100, 30);
    let does = |agent: &str, activity| EventKind::ActivityChanged {
        agent: name(agent),
        activity,
    };
    let why = || "the server said no".to_string();
    tell(
        &mut state,
        vec![
            does("carol", Activity::Failed { why: why() }),
            does("alice", Activity::Thinking),
        ],
    );
    let now = state.now.after(std::time::Duration::from_secs(400));
    update(&mut state, Msg::Tick { now });
    assert_eq!(
        told(&state),
        [
            (Weight::Person, "bob asks you to approve its plan".into()),
            (Weight::Failed, "carol failed: the server said no".into()),
            (Weight::Stuck, "alice is stalled: thinking for 6m".into()),
            (
                Weight::Stuck,
                "carol has not read 1 message, the first one for 6m".into()
            ),
        ]
    );
}

#[test]
fn a_task_without_anybody_is_in_the_way() {
    let mut state = started(70, 20);
    let board = crate::ui::fixture::board_told(&crate::ui::fixture::board());
    tell(&mut state, vec![board]);
    let causes: Vec<String> = told(&state).into_iter().map(|(_, cause)| cause).collect();
    assert_eq!(
        causes,
        [
            "#2 belongs to bob, who is not here; #4 waits for it",
            "#3 belongs to alice, who is not here; #4 waits for it",
            "1 task is ready and no teammate is there to take what is ready",
        ]
    );
}

#[test]
fn a_calm_crew_has_none() {
    let mut state = started(70, 20);
    assert_eq!(told(&state), []);
    press(&mut state, "esc p");
    assert!(picture(&state).contains("Nothing is in the way"));
}

#[test]
fn what_the_first_page_tells_is_in_the_way_and_advice_is_not() {
    for (weight, expected) in [
        (onboarding::Weight::Missing, 1),
        (onboarding::Weight::Trouble, 1),
        (onboarding::Weight::Advice, 0),
    ] {
        let mut state = started(100, 30);
        state.show_first(first_page(weight));
        let cause = (Weight::Person, "Something is in the way.".to_string());
        assert_eq!(told(&state), vec![cause; expected], "{weight:?}");
    }
    let mut state = started(100, 30);
    state.show_first(first_page(onboarding::Weight::Missing));
    press(&mut state, "p");
    assert!(
        picture(&state).contains("1 shows what to do"),
        "{}",
        picture(&state)
    );
}

/// Some time later.
fn wait(state: &mut UiState, seconds: u64) {
    let now = state.now.after(std::time::Duration::from_secs(seconds));
    update(state, Msg::Tick { now });
}

fn team(members: &[(&str, MemberStatus, &[&str])]) -> EventKind {
    let mut team = Team::default();
    for (who, status, tags) in members {
        let mut member = Member::new(name(who), "parser");
        member.status = *status;
        member.tags = tags.iter().map(ToString::to_string).collect();
        team.members.push(member);
    }
    let team = std::sync::Arc::new(team);
    EventKind::TeamChanged { team }
}

fn claimer(who: &str) -> Claimer {
    let (name, tags) = (name(who), vec![]);
    Claimer { name, tags }
}

fn task(board: &mut TaskGraph, id: u64, tags: &[&str], worktree: &str) {
    let new = NewTask {
        subject: format!("Task {id}"),
        description: String::new(),
        blocked_by: vec![],
        tags: tags.iter().map(ToString::to_string).collect(),
        worktree: worktree.into(),
    };
    board.create(TaskId(id), new, Stamp(NOON)).unwrap();
}

fn changed(from: &TaskGraph, to: &TaskGraph) -> EventKind {
    let delta = from.delta(to);
    EventKind::BoardChanged {
        changed: delta.changed,
        removed: delta.removed,
    }
}

#[test]
fn tasks_that_nobody_can_take_or_that_were_given_back_are_told() {
    let mut state = started(100, 30);
    let mut board = TaskGraph::default();
    task(&mut board, 1, &["rust"], "");
    task(&mut board, 2, &["rust", "sql"], "");
    task(&mut board, 3, &[], "");
    board
        .claim(TaskId(3), &claimer("bob"), Stamp(NOON))
        .unwrap();
    let here = |bob| team(&[("alice", MemberStatus::Idle, &["Rust"]), ("bob", bob, &[])]);
    tell(
        &mut state,
        vec![here(MemberStatus::Working), board_told(&board)],
    );
    let tags = "#2 asks for rust and sql, and nobody on the team has that";
    assert_eq!(told(&state), [(Weight::Stuck, tags.into())]);
    // Bob goes, and its task goes back.
    let mut next = board.clone();
    next.release(TaskId(3), &name("bob"), Stamp(NOON)).unwrap();
    tell(
        &mut state,
        vec![changed(&board, &next), here(MemberStatus::Shutdown)],
    );
    let gone = "#3 went back to the board: bob, who had it, is gone";
    let expected = [(Weight::Stuck, tags.into()), (Weight::Waits, gone.into())];
    assert_eq!(told(&state), expected);
    // Whoever takes it has it: at the fifth time that is told, too.
    let mut last = next.clone();
    for attempt in 0..4 {
        last.claim(TaskId(3), &claimer("alice"), Stamp(NOON))
            .unwrap();
        if attempt < 3 {
            last.release(TaskId(3), &name("alice"), Stamp(NOON))
                .unwrap();
        }
    }
    tell(&mut state, vec![changed(&next, &last)]);
    let many = "#3 is at its attempt number 5, now by alice";
    let expected = [(Weight::Stuck, tags.into()), (Weight::Waits, many.into())];
    assert_eq!(told(&state), expected);
}

#[test]
fn letters_that_nobody_reads_are_told() {
    let mut state = started(100, 30);
    let here = team(&[("alice", MemberStatus::Idle, &[])]);
    let sent = |id: &str, to: &str, step| EventKind::LetterMoved {
        letter: letter(id, LetterKind::Message, "lead", to, "hello"),
        step,
    };
    tell(
        &mut state,
        vec![
            here,
            sent("1", "alice", LetterStep::Sent),
            sent("2", "alice", LetterStep::Sent),
            sent("3", "dave", LetterStep::Sent),
            sent("4", "user", LetterStep::Sent),
        ],
    );
    let dave = "1 message for dave: nobody reads what is sent to dave, who is not here";
    assert_eq!(told(&state), [(Weight::Stuck, dave.into())]);
    wait(&mut state, 400);
    let alice = "alice has not read 2 messages, the first one for 6m";
    let expected = [(Weight::Stuck, alice.into()), (Weight::Stuck, dave.into())];
    assert_eq!(told(&state), expected);
    let read = ["1", "2"].map(|id| sent(id, "alice", LetterStep::Delivered));
    tell(&mut state, read.into());
    assert_eq!(told(&state), [(Weight::Stuck, dave.into())]);
}

#[test]
fn an_overdue_shutdown_is_told_until_it_leaves_or_says_no() {
    let asked = |id: &str| {
        let (id, kind) = (RequestId(id.into()), RequestKind::Shutdown);
        let (by, bob) = (name("user"), name("bob"));
        let mut request = Request::new(id, kind, by, bob, String::new(), Stamp(NOON));
        request.status = RequestStatus::Approved;
        EventKind::RequestChanged { request }
    };
    let here = |status| team(&[("bob", status, &[])]);
    let mut state = started(100, 30);
    tell(&mut state, vec![here(MemberStatus::Idle), asked("a")]);
    assert_eq!(told(&state), []);
    wait(&mut state, 130);
    let overdue = "bob was to shut down and is still there after 2m";
    assert_eq!(told(&state), [(Weight::Stuck, overdue.into())]);
    let refused = EventKind::Notice {
        level: Level::Warn,
        agent: Some(name("bob")),
        text: "bob does not shut down: a test runs. X ends it by force.".into(),
    };
    tell(&mut state, vec![refused]);
    assert_eq!(told(&state), []);
    tell(&mut state, vec![asked("b")]);
    wait(&mut state, 130);
    assert_eq!(told(&state), [(Weight::Stuck, overdue.into())]);
    tell(&mut state, vec![here(MemberStatus::Shutdown)]);
    assert_eq!(told(&state), []);
}

#[test]
fn what_can_not_be_read_or_merged_is_told_until_it_can() {
    let mut state = started(100, 30);
    let notice = |text: &str| EventKind::notice(Level::Warn, text);
    let unreadable = "The roster can not be read: config.json: permission denied";
    tell(&mut state, vec![notice(unreadable)]);
    assert_eq!(told(&state), [(Weight::Failed, unreadable.into())]);
    tell(&mut state, vec![notice("The roster can be read again.")]);
    assert_eq!(told(&state), []);
    let damaged = ".team/requests/r1.json was damaged (no end) and set aside";
    tell(&mut state, vec![notice(damaged), notice(damaged)]);
    assert_eq!(told(&state), [(Weight::Failed, damaged.into())]);
    // A branch that does not merge, its task, and how it ends.
    let mut state = started(100, 30);
    let mut board = TaskGraph::default();
    task(&mut board, 1, &[], "");
    let tree = WorktreeName::new("task-1").unwrap();
    board.bind(TaskId(1), &tree, Stamp(NOON)).unwrap();
    board
        .complete(TaskId(1), &name("alice"), Stamp(NOON))
        .unwrap();
    let here = team(&[("alice", MemberStatus::Working, &[])]);
    let conflict = "wt/task-1 does not merge into main: conflict in a.rs. Task #2 is on the board to solve it.";
    tell(&mut state, vec![here, board_told(&board), notice(conflict)]);
    assert_eq!(told(&state), [(Weight::Stuck, conflict.into())]);
    let mut next = board.clone();
    task(&mut next, 2, &[], "task-1");
    tell(&mut state, vec![changed(&board, &next)]);
    assert_eq!(told(&state), [(Weight::Waits, conflict.into())]);
    tell(&mut state, vec![notice("wt/task-1 is merged into main.")]);
    assert_eq!(told(&state), []);
}

#[test]
fn the_worst_are_listed_where_there_are_too_many() {
    let mut state = started(100, 30);
    let mut board = TaskGraph::default();
    for id in 1..=120 {
        task(&mut board, id, &["rust"], "");
    }
    let why = "no such model".to_string();
    let failed = Activity::Failed { why };
    let agent = name("lead");
    tell(
        &mut state,
        vec![
            board_told(&board),
            EventKind::ActivityChanged {
                agent,
                activity: failed,
            },
        ],
    );
    let all = problems(&state);
    assert_eq!((all.len(), all[0].weight), (PROBLEMS_MAX, Weight::Failed));
}
