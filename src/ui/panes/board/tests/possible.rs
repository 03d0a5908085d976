//! The hints for the selected task name a key if, and only if, the key is allowed for the task.

use pretty_assertions::assert_eq;

use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::TaskStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::BranchState;
use crate::ui::UiState;
use crate::ui::fixture::{
    NOON, apply_branches, apply_events, board_event, merging_screen, name, press, top_popup,
    user_actions_board,
};
use crate::ui::keymap::Action;
use crate::ui::shell::hints::hints;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyOutcome {
    /// The key sends a command.
    Done,
    /// The key opens a confirmation.
    Asks,
    /// The key only shows a status message.
    Refused,
}

const KEYS: [(&str, Action); 6] = [
    ("m", Action::Merge),
    ("D", Action::Diff),
    ("W", Action::RemoveWorktree),
    ("C", Action::Claim),
    ("u", Action::Release),
    ("d", Action::CompleteTask),
];

fn on(make: &dyn Fn() -> UiState, id: TaskId) -> UiState {
    let mut state = make();
    press(&mut state, "esc 3");
    state.panes.board.selected = Some(id);
    state
}

fn offers(state: &UiState, action: Action) -> bool {
    hints(state).iter().any(|hint| hint.action == action)
}

fn key_outcome(mut state: UiState, key: &str) -> KeyOutcome {
    let done = press(&mut state, key);
    if !done.is_empty() {
        return KeyOutcome::Done;
    }
    let asks = ["CompleteTask", "EndByForce", "MergeTask", "ReleaseTask"];
    if asks.contains(&top_popup(&state).as_str()) {
        return KeyOutcome::Asks;
    }
    assert!(state.status.is_some(), "{key} is not silent");
    KeyOutcome::Refused
}

/// Returns whether the board accepts `action` for task `id`; `None` if the board does not decide about this action.
fn board_does(board: &TaskGraph, id: TaskId, action: Action) -> Option<bool> {
    let (mut board, now) = (board.clone(), Timestamp(NOON));
    if action == Action::Claim {
        Some(board.claim(id, &Claimer::user(), now).is_ok())
    } else if action == Action::CompleteTask {
        Some(board.complete(id, &Name::user(), now).is_ok())
    } else if action == Action::Release {
        let owner = board.get(id).and_then(|t| Name::party(&t.owner).ok());
        Some(owner.is_some_and(|owner| board.take_from_owner(id, &owner, now).is_ok()))
    } else {
        None
    }
}

/// Returns a screen with tasks whose worktrees were removed, are in use again, or were never reported.
fn removed_worktrees_screen() -> UiState {
    let mut state = merging_screen(160, 45);
    let gone = ["task-1", "task-3", "task-4", "task-9"].map(|tree| (tree, BranchState::Gone));
    apply_branches(&mut state, &gone);
    state
}

/// Returns a screen with tasks of unknown owners and tasks that the user has claimed.
fn strange() -> UiState {
    let state = user_actions_board(160, 45, Some(6));
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
    let mut state = user_actions_board(160, 45, Some(6));
    apply_events(&mut state, vec![board_event(&board)]);
    state
}

/// Returns a screen before the crew has reported the branches.
fn unreported_jobs() -> UiState {
    let mut board = (*merging_screen(160, 45).board).clone();
    board
        .take_from_owner(TaskId(4), &name("alice"), Timestamp(NOON))
        .unwrap();
    crate::ui::fixture::after_events(
        160,
        45,
        vec![crate::ui::fixture::ready(), board_event(&board)],
    )
}

#[test]
fn hints_offer_exactly_allowed_actions() {
    let scenes: [(&str, &dyn Fn() -> UiState); 6] = [
        ("merging", &|| merging_screen(160, 45)),
        ("removed", &removed_worktrees_screen),
        ("without owner", &|| user_actions_board(160, 45, None)),
        ("own", &|| user_actions_board(160, 45, Some(6))),
        ("strange", &strange),
        ("untold", &unreported_jobs),
    ];
    for (scene, make) in scenes {
        let ids: Vec<TaskId> = make().board.tasks().map(|t| t.id).collect();
        for id in ids {
            for (key, action) in KEYS {
                let state = on(make, id);
                let task = state.model.board.get(id).unwrap().clone();
                let what = format!("{scene} {id} {key}");
                if let Some(does) = board_does(&state.model.board, id, action) {
                    let refused = key_outcome(on(make, id), key) == KeyOutcome::Refused;
                    assert_eq!(does, !refused, "{what}: the board");
                }
                // Some keys are allowed but have no hint: those for a worktree that the crew has not reported, and the
                // one for completing a task without an owner.
                let is_tree =
                    [Action::Merge, Action::Diff, Action::RemoveWorktree].contains(&action);
                let is_untold = is_tree
                    && !task.worktree.is_empty()
                    && crate::ui::model::board::branches::branch(&state, &task).is_none();
                let is_nobodys = action == Action::CompleteTask && task.owner.is_empty();
                if is_untold || is_nobodys {
                    assert!(!offers(&state, action), "{what}");
                    continue;
                }
                let offered = offers(&state, action);
                let outcome = key_outcome(state, key);
                assert_eq!(
                    offered,
                    outcome != KeyOutcome::Refused,
                    "{what}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn removed_worktree_offers_no_actions() {
    for key in ["m", "D", "W", "Y"] {
        let mut state = on(&removed_worktrees_screen, TaskId(1));
        assert_eq!(press(&mut state, key), [], "{key}");
        assert!(state.popups.is_empty(), "{key}");
        let said = state.app.status.map(|f| f.text).unwrap_or_default();
        assert_eq!(said, "The worktree of #1 was removed.", "{key}");
    }
    // A worktree that was created again under the same name exists again.
    let mut state = on(&removed_worktrees_screen, TaskId(9));
    assert!(!offers(&state, Action::RemoveWorktree));
    apply_branches(&mut state, &[("task-9", BranchState::Empty)]);
    assert!(offers(&state, Action::RemoveWorktree));
}
