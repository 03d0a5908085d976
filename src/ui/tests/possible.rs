//! The hints of a task are what can be done with it: each key is offered just where pressing it would not be refused.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::TaskStatus;
use crate::domain::worktree::BranchState;
use crate::ui::UiState;
use crate::ui::app::popup::Popup;
use crate::ui::fixture::{NOON, board_told, branches_told, hands, merging, name, press, tell};
use crate::ui::keymap::Action;
use crate::ui::shell::hints::hints;

/// What a press comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The crew is told.
    Done,
    /// The person is asked first.
    Asks,
    /// Nothing happens but words.
    Refused,
}

const KEYS: [(&str, Action); 6] = [
    ("m", Action::Merge),
    ("D", Action::Diff),
    ("W", Action::RemoveTree),
    ("c", Action::Claim),
    ("u", Action::Release),
    ("d", Action::CompleteTask),
];

fn on(make: &dyn Fn() -> UiState, id: TaskId) -> UiState {
    let mut state = make();
    press(&mut state, "esc 3");
    state.selected.task = Some(id);
    state
}

fn offers(state: &UiState, action: Action) -> bool {
    hints(state).iter().any(|hint| hint.action == action)
}

fn pressed(mut state: UiState, key: &str) -> Outcome {
    let done = press(&mut state, key);
    if !done.is_empty() {
        return Outcome::Done;
    }
    if matches!(state.popups.last(), Some(Popup::Confirm(_))) {
        return Outcome::Asks;
    }
    assert!(state.flash.is_some(), "{key} is not silent");
    Outcome::Refused
}

/// Whether the board itself would do it.
fn board_does(board: &TaskGraph, id: TaskId, action: Action) -> Option<bool> {
    let (mut board, now) = (board.clone(), Stamp(NOON));
    if action == Action::Claim {
        Some(board.claim(id, &Claimer::person(), now).is_ok())
    } else if action == Action::CompleteTask {
        Some(board.complete(id, &Name::user(), now).is_ok())
    } else if action == Action::Release {
        let owner = board.get(id).and_then(|t| Name::party(&t.owner).ok());
        Some(owner.is_some_and(|owner| board.take(id, &owner, now).is_ok()))
    } else {
        None
    }
}

/// Tasks with worktrees of which one is removed, one is worked in again, and one was never told of.
fn removed() -> UiState {
    let mut state = merging(160, 45);
    let gone = ["task-1", "task-3", "task-4", "task-9"].map(|tree| (tree, BranchState::Gone));
    branches_told(&mut state, &gone);
    state
}

/// Owners that no crew knows, and tasks that others of the person's keep.
fn strange() -> UiState {
    let state = hands(160, 45, Some(6));
    let mut board = TaskGraph::default();
    for task in state.model.board.tasks() {
        let mut task = task.clone();
        match task.id.0 {
            2 => task.owner = "no name at all".into(),
            3 => task.owner = "user".into(),
            4 => task.owner = "alice".into(),
            5 => {
                task.owner.clear();
                task.status = TaskStatus::InProgress;
            }
            _ => {}
        }
        board.put(std::sync::Arc::new(task));
    }
    let mut state = hands(160, 45, Some(6));
    tell(&mut state, vec![board_told(&board)]);
    state
}

/// As before a crew has told where the branches stand.
fn untold() -> UiState {
    let mut board = (*merging(160, 45).board).clone();
    board.take(TaskId(4), &name("alice"), Stamp(NOON)).unwrap();
    crate::ui::fixture::told(
        160,
        45,
        vec![crate::ui::fixture::ready(), board_told(&board)],
    )
}

#[test]
fn a_key_is_offered_just_where_it_is_not_refused() {
    let scenes: [(&str, &dyn Fn() -> UiState); 6] = [
        ("merging", &|| merging(160, 45)),
        ("removed", &removed),
        ("nobody's", &|| hands(160, 45, None)),
        ("own", &|| hands(160, 45, Some(6))),
        ("strange", &strange),
        ("untold", &untold),
    ];
    for (scene, make) in scenes {
        let ids: Vec<TaskId> = make().board.tasks().map(|t| t.id).collect();
        for id in ids {
            for (key, action) in KEYS {
                let state = on(make, id);
                let task = state.model.board.get(id).unwrap().clone();
                let what = format!("{scene} {id} {key}");
                if let Some(does) = board_does(&state.model.board, id, action) {
                    let refused = pressed(on(make, id), key) == Outcome::Refused;
                    assert_eq!(does, !refused, "{what}: the board");
                }
                // What nobody has told of the crew may know: that is no usual step. Nor is to complete what is nobody's.
                let is_tree = [Action::Merge, Action::Diff, Action::RemoveTree].contains(&action);
                let is_untold = is_tree
                    && !task.worktree.is_empty()
                    && crate::ui::model::board::branches::branch(&state, &task).is_none();
                let is_nobodys = action == Action::CompleteTask && task.owner.is_empty();
                if is_untold || is_nobodys {
                    assert!(!offers(&state, action), "{what}");
                    continue;
                }
                let offered = offers(&state, action);
                let outcome = pressed(state, key);
                assert_eq!(offered, outcome != Outcome::Refused, "{what}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_removed_worktree_is_neither_offered_nor_asked_about() {
    for key in ["m", "D", "W", "Y"] {
        let mut state = on(&removed, TaskId(1));
        assert_eq!(press(&mut state, key), [], "{key}");
        assert!(state.popups.is_empty(), "{key}");
        let said = state.app.flash.map(|f| f.text).unwrap_or_default();
        assert_eq!(said, "The worktree of #1 is removed.", "{key}");
    }
    // One of the same name that was made anew is there again.
    let mut state = on(&removed, TaskId(9));
    assert!(!offers(&state, Action::RemoveTree));
    branches_told(&mut state, &[("task-9", BranchState::Empty)]);
    assert!(offers(&state, Action::RemoveTree));
}
