//! The user's own actions on the board: commands, confirmations and error messages.

use pretty_assertions::assert_eq;

use crate::domain::graph::Claimer;
use crate::domain::ids::{Name, TaskId};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Losses;
use crate::protocol::event::UserAction;
use crate::protocol::{BoardEvent, Command, EventKind, TaskCommand};
use crate::ui::fixture::{
    NOON, apply_events, board_event, name, picture, press, top_popup, user_actions_board,
};
use crate::ui::panes::board::tests::merging::on as merging_on;
use crate::ui::{Effect, UiState};

/// Returns a screen with task `id` selected on the board. The user has claimed task `own`, if any.
pub fn at(width: u16, height: u16, own: Option<u64>, id: u64) -> UiState {
    let mut state = user_actions_board(width, height, own);
    press(&mut state, "esc 3");
    state.panes.board.selected = Some(TaskId(id));
    state
}

pub fn task_effect(command: TaskCommand) -> Effect {
    Effect::Command(Command::Task(Box::new(command)))
}

fn claim(id: u64) -> Effect {
    task_effect(TaskCommand::Claim { task: TaskId(id) })
}

fn complete(id: u64) -> Effect {
    task_effect(TaskCommand::Complete { task: TaskId(id) })
}

fn release(id: u64, from: &str) -> Effect {
    let (task, from) = (TaskId(id), Name::party(from).unwrap());
    task_effect(TaskCommand::Release { task, from })
}

#[test]
fn own_tasks_need_no_confirmation_others_do() {
    let none = || vec![];
    for (own, id, keys, expected) in [
        (None, 6, "C", vec![claim(6)]),
        (None, 5, "C", vec![claim(5)]),
        (Some(6), 6, "u", vec![release(6, "user")]),
        (Some(6), 6, "d", vec![complete(6)]),
        // Releasing the task of an owner that has shut down needs no confirmation.
        (None, 3, "u", vec![release(3, "carol")]),
        (None, 2, "u", none()),
        (None, 2, "u y", vec![release(2, "alice")]),
        (None, 2, "u u", none()),
        (None, 2, "u enter", none()),
        (None, 2, "u n", none()),
        (None, 2, "u esc", none()),
        (None, 6, "d", none()),
        (None, 6, "d y", vec![complete(6)]),
        (None, 6, "d d", none()),
    ] {
        let mut state = at(160, 45, own, id);
        assert_eq!(press(&mut state, keys), expected, "{id} {keys}");
        let asks = ["ReleaseTask", "CompleteTask"].contains(&top_popup(&state).as_str());
        let still = ["u u", "u enter", "d d"].contains(&keys);
        let is_first = expected.is_empty() && keys.len() == 1;
        assert_eq!(asks, still || is_first, "{id} {keys}");
    }
}

#[test]
fn impossible_action_is_explained_and_not_offered() {
    for (own, id, key, offers, words) in [
        (None, 1, "C", None, Some("#1 is already completed.")),
        (None, 1, "u", None, Some("#1 is already completed.")),
        (None, 1, "d", None, Some("#1 is already completed.")),
        (
            None,
            2,
            "C",
            None,
            Some("#2 is owned by alice: u releases it."),
        ),
        (None, 2, "u", Some("release"), None),
        (
            None,
            2,
            "d",
            None,
            Some("#2 is owned by alice: u releases it."),
        ),
        (None, 4, "C", None, Some("#4 waits for #2.")),
        (None, 4, "u", None, Some("#4 has no owner")),
        (None, 6, "C", Some("claim"), None),
        // Completing a task without an owner needs confirmation, so the hints do not offer it.
        (None, 6, "d", None, None),
        (
            Some(6),
            5,
            "C",
            None,
            Some("You already own #6. Select it: d completes it, u releases it."),
        ),
        (Some(6), 6, "C", None, Some("#6 is already yours.")),
        (Some(6), 6, "d", Some("complete"), None),
        (Some(6), 6, "u", Some("release"), None),
    ] {
        let mut state = at(160, 45, own, id);
        let hints = crate::ui::shell::hints::hints(&state);
        let offered = hints.iter().find(|h| h.key == key);
        assert_eq!(offered.map(|h| h.words.as_str()), offers, "{id} {key}");
        let done = press(&mut state, key);
        if let Some(words) = words {
            assert_eq!((done, state.popups.len()), (vec![], 0), "{id} {key}");
            let said = state.app.status.map(|f| f.text).unwrap_or_default();
            assert!(said.contains(words), "{id} {key}: {said}");
        }
    }
    let mut empty = crate::ui::fixture::started_screen(100, 30);
    for key in ["C", "u", "d"] {
        assert_eq!(press(&mut empty, &format!("esc 3 {key}")), []);
        assert!(picture(&empty).contains("No tasks yet."));
    }
}

#[test]
fn dialog_closes_when_task_owner_changes() {
    let mut state = at(160, 45, None, 2);
    press(&mut state, "u");
    assert!(picture(&state).contains("Release alice's task #2 (Write the parser)?"));
    let mut board = (*state.model.board).clone();
    board
        .take_from_owner(TaskId(2), &name("alice"), Timestamp(NOON))
        .unwrap();
    let bob = Claimer {
        name: name("bob"),
        tags: vec![],
    };
    board.claim(TaskId(2), &bob, Timestamp(NOON)).unwrap();
    apply_events(&mut state, vec![board_event(&board)]);
    assert!(state.popups.is_empty());
    assert!(picture(&state).contains("#2 now has another owner."));
    // A task that an agent has claimed while the confirmation was open is not completed.
    let mut state = at(160, 45, None, 6);
    press(&mut state, "d");
    board
        .claim(
            TaskId(6),
            &Claimer {
                name: name("dora"),
                tags: vec![],
            },
            Timestamp(NOON),
        )
        .unwrap();
    apply_events(&mut state, vec![board_event(&board)]);
    assert!(state.popups.is_empty());
}

#[test]
fn worktree_path_is_copied() {
    let mut state = at(160, 45, Some(6), 6);
    let path = Effect::Copy("~/src/parser/.worktrees/task-6".into());
    assert_eq!(press(&mut state, "Y"), [path]);
    state.panes.board.selected = Some(TaskId(4));
    assert_eq!(press(&mut state, "Y"), []);
    assert!(picture(&state).contains("#4 has no worktree"));
}

#[test]
fn event_log_names_user() {
    let mut state = at(160, 45, None, 2);
    let mut board = (*state.model.board).clone();
    let now = Timestamp(NOON + 1.0);
    let act = |state: &mut UiState,
               task: u64,
               act: UserAction,
               board: &crate::domain::graph::TaskGraph| {
        let task = TaskId(task);
        apply_events(
            state,
            vec![
                EventKind::Board(BoardEvent::UserActed { task, act }),
                board_event(board),
            ],
        );
    };
    board.claim(TaskId(6), &Claimer::user(), now).unwrap();
    act(&mut state, 6, UserAction::Claimed, &board);
    board.complete(TaskId(6), &Name::user(), now).unwrap();
    act(&mut state, 6, UserAction::Completed, &board);
    let from = name("alice");
    board.take_from_owner(TaskId(2), &from, now).unwrap();
    act(&mut state, 2, UserAction::Released { from }, &board);
    press(&mut state, "@");
    let log = picture(&state);
    for line in [
        "you claimed #6 Look at the licence",
        "you completed #6 Look at the licence",
        "#2 Write the parser is back on the board: you took it from alice",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(!log.contains("outside"), "{log}");
}

pub fn losses() -> Losses {
    Losses {
        files: 2,
        named: vec!["notes.txt".into(), "src/words.rs".into()],
        commits: 1,
        subjects: vec!["1a2b3c4 Count the words".into()],
        ..Losses::default()
    }
}

/// Returns the event with the result of checking the worktree of task `id`.
pub fn inspection_event(id: u64, losses: Losses) -> EventKind {
    EventKind::Board(BoardEvent::WorktreeInspected {
        task: TaskId(id),
        losses,
        is_kept: false,
        size: "1.2 MiB".into(),
    })
}

#[test]
fn removing_worktree_with_work_asks_twice() {
    let remove = |confirmed: Losses| {
        let task = TaskId(2);
        Effect::Command(Command::RemoveWorktree { task, confirmed })
    };
    let none = Losses::default;
    for (would_go, keys, expected, asks) in [
        (none(), "", vec![], true),
        (none(), "y", vec![remove(none())], false),
        (none(), "X", vec![], true),
        (none(), "n", vec![], false),
        (losses(), "y", vec![], true),
        (losses(), "y y", vec![], true),
        (losses(), "y enter", vec![], true),
        (losses(), "y n", vec![], false),
        (losses(), "y X", vec![remove(losses())], false),
    ] {
        let mut state = merging_on(160, 45, 2);
        let judge = Effect::Command(Command::InspectWorktree { task: TaskId(2) });
        assert_eq!(press(&mut state, "W"), [judge]);
        apply_events(&mut state, vec![inspection_event(2, would_go)]);
        assert_eq!(press(&mut state, keys), expected, "{keys}");
        assert_eq!(!state.popups.is_empty(), asks, "{keys}");
    }
    // The dialog lists what is lost for good separately from what stays on the branch.
    let mut state = merging_on(160, 45, 2);
    apply_events(&mut state, vec![inspection_event(2, losses())]);
    press(&mut state, "y");
    let shown = picture(&state);
    for words in [
        "Lost for good: 2 uncommitted files",
        "Kept on the branch wt/task-2",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    // A worktree that is marked to be kept can be removed too, and the dialog names the mark.
    let mut state = merging_on(160, 45, 2);
    let mut inspected = inspection_event(2, Losses::default());
    if let EventKind::Board(BoardEvent::WorktreeInspected { is_kept, .. }) = &mut inspected {
        *is_kept = true;
    }
    apply_events(&mut state, vec![inspected]);
    let shown = picture(&state);
    assert!(shown.contains("marked to be kept"), "{shown}");
    assert_eq!(press(&mut state, "y"), [remove(none())]);
    for (id, words) in [
        (4, "Worktree not removed: alice has #4 in progress there."),
        (5, "#5 has no worktree"),
    ] {
        let mut state = merging_on(160, 45, id);
        let hints = crate::ui::shell::hints::hints(&state);
        assert!(!hints.iter().any(|h| h.key == "W"), "{id}");
        assert_eq!(press(&mut state, "W"), [], "{id}");
        assert!(picture(&state).contains(words), "{id}");
    }
    // A result that arrives while another popup is open opens no dialog.
    let mut state = merging_on(160, 45, 2);
    press(&mut state, "W t");
    apply_events(&mut state, vec![inspection_event(2, losses())]);
    assert!(picture(&state).contains("New task"));
}
