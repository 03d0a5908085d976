//! Tests of which problems are listed and when they are no longer listed.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{RequestId, TaskId};
use crate::domain::mail::MailKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::task::TaskStatus;
use crate::domain::team::{Activity, Member, MemberStatus, Team};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::{DeliveryState, NoticeLevel};
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, EventKind, TeamEvent};
use crate::ui::app::onboarding;
use crate::ui::fixture::{
    NOON, apply_events, board_event, busy, mail_message, name, onboarding_page, picture, press,
    started_screen,
};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::team::TeamItem;
use crate::ui::popups::problems::*;
use crate::ui::{Msg, UiState, update};

fn listed_problems(state: &UiState) -> Vec<(ProblemSeverity, String)> {
    let all = problems(state).into_iter();
    all.map(|p| (p.severity, p.cause)).collect()
}

#[test]
fn problems_are_listed_with_their_causes() {
    let mut state = busy(100, 30);
    let does = |agent: &str, activity| AgentEvent::ActivityChanged { activity }.of(name(agent));
    let why = || "the server said no".to_string();
    apply_events(
        &mut state,
        vec![
            does("carol", Activity::Failed { why: why() }),
            does("alice", Activity::Thinking),
        ],
    );
    let now = state.now.after(std::time::Duration::from_secs(400));
    update(&mut state, Msg::Tick { now });
    assert_eq!(
        listed_problems(&state),
        [
            (
                ProblemSeverity::NeedsUser,
                "bob asks you to approve its plan".into()
            ),
            (
                ProblemSeverity::Failed,
                "carol failed: the server said no".into()
            ),
            (
                ProblemSeverity::Stuck,
                "alice is stalled: thinking for 6m".into()
            ),
            (
                ProblemSeverity::Stuck,
                "carol has not read 1 message; the oldest has waited 6m".into()
            ),
        ]
    );
}

#[test]
fn tasks_with_absent_owners_are_problems() {
    let mut state = started_screen(70, 20);
    let board = crate::ui::fixture::board_event(&crate::ui::fixture::board());
    apply_events(&mut state, vec![board]);
    let causes: Vec<String> = listed_problems(&state)
        .into_iter()
        .map(|(_, cause)| cause)
        .collect();
    assert_eq!(
        causes,
        [
            "#2 is owned by bob, who is not on the team; it blocks #4",
            "#3 is owned by alice, who is not on the team; it blocks #4",
            "1 task is ready and there are no teammates",
        ]
    );
}

#[test]
fn idle_crew_has_no_problems() {
    let mut state = started_screen(70, 20);
    assert_eq!(listed_problems(&state), []);
    press(&mut state, "esc p");
    assert!(picture(&state).contains("No problems"));
}

#[test]
fn onboarding_causes_are_problems_but_advice_is_not() {
    for (weight, expected) in [
        (onboarding::PageSeverity::Missing, 1),
        (onboarding::PageSeverity::Trouble, 1),
        (onboarding::PageSeverity::Advice, 0),
    ] {
        let mut state = started_screen(100, 30);
        state.show_onboarding(onboarding_page(weight));
        let cause = (
            ProblemSeverity::NeedsUser,
            "The server is not ready.".to_string(),
        );
        assert_eq!(listed_problems(&state), vec![cause; expected], "{weight:?}");
    }
    let mut state = started_screen(100, 30);
    state.show_onboarding(onboarding_page(onboarding::PageSeverity::Missing));
    press(&mut state, "p");
    assert!(
        picture(&state).contains("1 shows what to do"),
        "{}",
        picture(&state)
    );
}

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
    EventKind::Team(TeamEvent::RosterChanged { team })
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
    board.create(TaskId(id), new, Timestamp(NOON)).unwrap();
}

fn board_change_event(from: &TaskGraph, to: &TaskGraph) -> EventKind {
    let delta = from.delta(to);
    EventKind::Board(BoardEvent::BoardChanged {
        changed: delta.changed,
        removed: delta.removed,
    })
}

#[test]
fn unclaimable_and_released_tasks_are_problems() {
    let mut state = started_screen(100, 30);
    let mut board = TaskGraph::default();
    task(&mut board, 1, &["rust"], "");
    task(&mut board, 2, &["rust", "sql"], "");
    task(&mut board, 3, &[], "");
    board
        .claim(TaskId(3), &claimer("bob"), Timestamp(NOON))
        .unwrap();
    let here = |bob| team(&[("alice", MemberStatus::Idle, &["Rust"]), ("bob", bob, &[])]);
    apply_events(
        &mut state,
        vec![here(MemberStatus::Working), board_event(&board)],
    );
    let tags = "#2 requires the tags rust and sql, which no teammate has";
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, tags.into())]
    );
    // bob leaves the team, and its task is released.
    let mut next = board.clone();
    next.release(TaskId(3), &name("bob"), Timestamp(NOON))
        .unwrap();
    apply_events(
        &mut state,
        vec![
            board_change_event(&board, &next),
            here(MemberStatus::Shutdown),
        ],
    );
    let gone = "#3 is back on the board: its owner bob left";
    let expected = [
        (ProblemSeverity::Stuck, tags.into()),
        (ProblemSeverity::Waits, gone.into()),
    ];
    assert_eq!(listed_problems(&state), expected);
    // When the task is claimed again, the problem is gone. The fifth claim of the task is a problem again.
    let mut last = next.clone();
    for attempt in 0..4 {
        last.claim(TaskId(3), &claimer("alice"), Timestamp(NOON))
            .unwrap();
        if attempt < 3 {
            last.release(TaskId(3), &name("alice"), Timestamp(NOON))
                .unwrap();
        }
    }
    apply_events(&mut state, vec![board_change_event(&next, &last)]);
    let many = "#3 was claimed 5 times, now by alice";
    let expected = [
        (ProblemSeverity::Stuck, tags.into()),
        (ProblemSeverity::Waits, many.into()),
    ];
    assert_eq!(listed_problems(&state), expected);
}

#[test]
fn task_in_progress_without_owner_is_a_problem() {
    let mut state = started_screen(100, 30);
    let mut board = TaskGraph::default();
    task(&mut board, 1, &[], "");
    let mut other = board.get(TaskId(1)).unwrap().clone();
    other.status = TaskStatus::InProgress;
    board.put(std::sync::Arc::new(other));
    let alice = team(&[("alice", MemberStatus::Idle, &[])]);
    apply_events(&mut state, vec![alice, board_event(&board)]);
    let cause = "#1 is in progress and has no owner, so it cannot be claimed";
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, cause.into())]
    );
    // The board's keys name the way out.
    press(&mut state, "esc 3");
    for key in ["C", "u"] {
        assert_eq!(press(&mut state, key), []);
        let shown = picture(&state);
        assert!(shown.contains("crewdeck task release 1"), "{key}\n{shown}");
    }
}

#[test]
fn unread_messages_are_problems() {
    let mut state = started_screen(100, 30);
    let here = team(&[("alice", MemberStatus::Idle, &[])]);
    let sent = |id: &str, to: &str, step| {
        EventKind::Team(TeamEvent::MessageMoved {
            message: mail_message(id, MailKind::Message, "lead", to, "hello"),
            step,
        })
    };
    apply_events(
        &mut state,
        vec![
            here,
            sent("1", "alice", DeliveryState::Sent),
            sent("2", "alice", DeliveryState::Sent),
            sent("3", "dave", DeliveryState::Sent),
            sent("4", "user", DeliveryState::Sent),
        ],
    );
    let dave = "1 message for dave, who is not on the team";
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, dave.into())]
    );
    wait(&mut state, 400);
    let alice = "alice has not read 2 messages; the oldest has waited 6m";
    let expected = [
        (ProblemSeverity::Stuck, alice.into()),
        (ProblemSeverity::Stuck, dave.into()),
    ];
    assert_eq!(listed_problems(&state), expected);
    let read = ["1", "2"].map(|id| sent(id, "alice", DeliveryState::Delivered));
    apply_events(&mut state, read.into());
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, dave.into())]
    );
}

#[test]
fn overdue_shutdown_is_a_problem_until_done_or_declined() {
    let asked = |id: &str| {
        let (id, kind) = (RequestId(id.into()), RequestKind::Shutdown);
        let (by, bob) = (name("user"), name("bob"));
        let mut request = Request::new(id, kind, by, bob, String::new(), Timestamp(NOON));
        request.status = RequestStatus::Approved;
        EventKind::Team(TeamEvent::RequestChanged { request })
    };
    let here = |status| team(&[("bob", status, &[])]);
    let mut state = started_screen(100, 30);
    apply_events(&mut state, vec![here(MemberStatus::Idle), asked("a")]);
    assert_eq!(listed_problems(&state), []);
    wait(&mut state, 130);
    let overdue = "bob still runs; its shutdown was approved 2m ago";
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, overdue.into())]
    );
    let refused = EventKind::Crew(CrewEvent::Notice {
        level: NoticeLevel::Warn,
        agent: Some(name("bob")),
        text:
            "bob does not shut down: a test runs. To kill bob, use the Team pane of the dashboard."
                .into(),
    });
    apply_events(&mut state, vec![refused]);
    assert_eq!(listed_problems(&state), []);
    apply_events(&mut state, vec![asked("b")]);
    wait(&mut state, 130);
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, overdue.into())]
    );
    apply_events(&mut state, vec![here(MemberStatus::Shutdown)]);
    assert_eq!(listed_problems(&state), []);
}

#[test]
fn unreadable_files_and_conflicts_are_problems_until_solved() {
    let mut state = started_screen(100, 30);
    let notice = |text: &str| EventKind::notice(NoticeLevel::Warn, text);
    let unreadable = "The roster cannot be read: config.json: permission denied";
    apply_events(&mut state, vec![notice(unreadable)]);
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Failed, unreadable.into())]
    );
    apply_events(&mut state, vec![notice("The roster can be read again.")]);
    assert_eq!(listed_problems(&state), []);
    let damaged = ".team/requests/r1.json was damaged (no end) and set aside";
    apply_events(&mut state, vec![notice(damaged), notice(damaged)]);
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Failed, damaged.into())]
    );
    // First the merge conflict, then the task that resolves it, then the merge.
    let mut state = started_screen(100, 30);
    let mut board = TaskGraph::default();
    task(&mut board, 1, &[], "");
    let tree = WorktreeName::new("task-1").unwrap();
    board.bind(TaskId(1), &tree, Timestamp(NOON)).unwrap();
    board
        .complete(TaskId(1), &name("alice"), Timestamp(NOON))
        .unwrap();
    let here = team(&[("alice", MemberStatus::Working, &[])]);
    let conflict =
        "wt/task-1 does not merge into main: conflict in a.rs. Task #2 was added to resolve it.";
    apply_events(
        &mut state,
        vec![here, board_event(&board), notice(conflict)],
    );
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Stuck, conflict.into())]
    );
    let mut next = board.clone();
    task(&mut next, 2, &[], "task-1");
    apply_events(&mut state, vec![board_change_event(&board, &next)]);
    assert_eq!(
        listed_problems(&state),
        [(ProblemSeverity::Waits, conflict.into())]
    );
    apply_events(&mut state, vec![notice("wt/task-1 is merged into main.")]);
    assert_eq!(listed_problems(&state), []);
}

#[test]
fn enter_does_what_the_selected_problem_says() {
    let mut state = busy(100, 30);
    let does = |agent: &str, activity| AgentEvent::ActivityChanged { activity }.of(name(agent));
    let why = "the server said no".to_string();
    apply_events(&mut state, vec![does("carol", Activity::Failed { why })]);
    let hint = |state: &UiState| {
        let text = picture(state);
        let last = text.lines().last().unwrap_or_default();
        last.trim_start().to_string()
    };
    press(&mut state, "esc 3 p");
    assert!(picture(&state).contains("bob asks you to approve its plan"));
    assert!(
        hint(&state).contains("Enter show the request"),
        "{}",
        hint(&state)
    );
    press(&mut state, "j");
    assert!(
        hint(&state).contains("Enter go to the agent"),
        "{}",
        hint(&state)
    );
    press(&mut state, "enter");
    assert_eq!(state.popups.len(), 0);
    assert_eq!(state.focus, Focus::Pane(Pane::Team));
    assert_eq!(
        state.panes.team.selected,
        Some(TeamItem::Agent(name("carol")))
    );
    press(&mut state, "p k enter");
    assert_eq!(state.focus, Focus::Pane(Pane::Needs));
    // Another problem before the selected one does not change the selection.
    let mut state = started_screen(100, 30);
    let why = "the server said no".to_string();
    apply_events(&mut state, vec![does("carol", Activity::Failed { why })]);
    let here = team(&[("carol", MemberStatus::Working, &[])]);
    apply_events(&mut state, vec![here]);
    press(&mut state, "esc p");
    let request = crate::ui::fixture::plan("r1", "1. go");
    apply_events(
        &mut state,
        vec![crate::ui::fixture::request_event(&request)],
    );
    press(&mut state, "enter");
    assert_eq!(state.focus, Focus::Pane(Pane::Team));
}

#[test]
fn worst_problems_are_kept_at_the_limit() {
    let mut state = started_screen(100, 30);
    let mut board = TaskGraph::default();
    for id in 1..=120 {
        task(&mut board, id, &["rust"], "");
    }
    let why = "no such model".to_string();
    let failed = Activity::Failed { why };
    let agent = name("lead");
    apply_events(
        &mut state,
        vec![
            board_event(&board),
            AgentEvent::ActivityChanged { activity: failed }.of(agent),
        ],
    );
    let all = problems(&state);
    assert_eq!(all[0].severity, ProblemSeverity::Failed);
    assert_eq!(all.len(), PROBLEMS_MAX + 22);
    let drawn = lines(&state.app, 80, &Theme::default());
    assert_eq!(
        drawn.last().unwrap().line.to_string(),
        "  Not listed: 22 more problems."
    );
}
