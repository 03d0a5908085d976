//! The merge status of task branches, as reported by the crew. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::domain::worktree;
use crate::domain::worktree::{Branch, BranchState};
use crate::ui::model::board::checks;
use crate::ui::model::board::index::{BoardStatus, board_status};
use crate::ui::model::style::StatusDisplay;
use crate::ui::model::{CrewModel, style};
use crate::ui::theme::Theme;

/// Maximum number of branches in memory. If it is reached, the branches of removed worktrees are dropped. If that does
/// not free room, new branches are ignored.
const BRANCHES_MAX: usize = 20_000;

/// The symbol of a completed task whose branch is not merged.
pub const UNMERGED: &str = "⇡";

/// The state of the branch of each worktree, by worktree name.
#[derive(Debug, Default)]
pub struct Branches {
    /// Incremented with each change. The keys of cached values contain it, so that outdated values are not used.
    version: u64,
    of: HashMap<String, BranchState>,
}

impl Branches {
    /// Records the branch states that an event reports.
    pub fn record_states(&mut self, branches: &[Branch]) {
        self.version += 1;
        for branch in branches {
            let name = branch.worktree.as_str();
            if self.of.len() >= BRANCHES_MAX {
                self.of.retain(|_, state| *state != BranchState::Gone);
            }
            if self.of.len() < BRANCHES_MAX || self.of.contains_key(name) {
                self.of.insert(name.into(), branch.state.clone());
            }
        }
    }

    pub fn version(&self) -> u64 {
        self.version
    }
}

/// Returns the state of a task's branch; `None` if the task has no branch or no event has reported the state.
pub fn branch<'a>(model: &'a CrewModel, task: &Task) -> Option<&'a BranchState> {
    model.branches.of.get(&task.worktree)
}

/// Returns whether the worktree of `task` exists, according to the events so far. Returns `false` if no event has
/// reported the state of its branch.
pub fn has_worktree(model: &CrewModel, task: &Task) -> bool {
    branch(model, task).is_some_and(|branch| *branch != BranchState::Gone)
}

/// Returns why the worktree of `task` cannot be opened: the task has none, or an event has reported that it was
/// removed. `None` in all other cases, even if no event has reported on the worktree, because the crew checks again.
pub fn why_no_worktree(model: &CrewModel, task: &Task) -> Option<String> {
    let id = task.id;
    if task.worktree.is_empty() {
        return Some(format!("{id} has no worktree."));
    }
    let is_gone = branch(model, task) == Some(&BranchState::Gone);
    is_gone.then(|| format!("The worktree of {id} was removed."))
}

/// Returns whether `task` is completed and its branch is not merged. If several tasks share a worktree, this is true
/// for only one of them, as in [`unmerged_tasks`]. The number of symbols on the screen therefore equals the number of
/// unmerged branches.
pub fn is_unmerged(model: &CrewModel, task: &Task) -> bool {
    unmerged_tasks(model).contains_key(&task.id)
}

/// Returns whether the branch of `task` can be merged now, according to the events so far.
pub fn is_mergeable(model: &CrewModel, task: &Task) -> bool {
    let is_unmerged = matches!(branch(model, task), Some(BranchState::Unmerged { .. }));
    is_unmerged && refusal(model, task).is_none()
}

/// Returns the symbol, label and style of a task's status. A completed task whose branch is not merged has the symbol
/// [`UNMERGED`]. The label also says which checks are not green.
pub fn look(model: &CrewModel, task: &Task, theme: &Theme) -> StatusDisplay {
    let (mut shape, mut words, mut style) = style::task(&model.board, task, theme);
    if is_unmerged(model, task) {
        (shape, words, style) = (UNMERGED, "done, unmerged".into(), theme.accent);
    } else if let Some(symbol) = checks::symbol(task, theme) {
        (shape, style) = symbol;
    }
    if let Some(checks) = checks::words(task) {
        words = format!("{words}, {checks}");
    }
    (shape, words, style)
}

/// Returns a description of the task's branch for the page of the task; empty if the branch was removed or nothing is
/// known about it.
pub fn words(model: &CrewModel, task: &Task) -> String {
    match branch(model, task) {
        Some(BranchState::Unmerged { into, size }) => {
            let size = size.map_or_else(String::new, |size| format!(": {size}"));
            let first = match unmerged_tasks(model).get(&task.id) {
                Some(Some(open)) => format!("; complete {open} first"),
                Some(None) | None => String::new(),
            };
            format!("not merged into {into} yet{size}{first}")
        }
        Some(BranchState::Merged { into, commit }) if commit.is_empty() => {
            format!("merged into {into}")
        }
        Some(BranchState::Merged { into, commit }) => {
            format!("merged into {into}: commit {commit}")
        }
        Some(BranchState::Empty) => "no changes".into(),
        Some(BranchState::Gone) | None => String::new(),
    }
}

/// Returns why the branch of a task cannot be merged now, according to the events so far; `None` if it can be merged or
/// no event has reported its state.
pub fn refusal(model: &CrewModel, task: &Task) -> Option<String> {
    let id = task.id;
    if let Some(why) = why_no_worktree(model, task) {
        return Some(why);
    }
    match board_status(&model.board, task) {
        BoardStatus::Done => {}
        BoardStatus::InProgress => {
            return Some(format!("Not merged: {id} is still in progress."));
        }
        BoardStatus::Ready | BoardStatus::Assigned | BoardStatus::Blocked => {
            return Some(format!("Not merged: {id} is not completed yet."));
        }
    }
    let mut tasks = model.board.tasks();
    if let Some(other) =
        tasks.find(|t| t.worktree == task.worktree && t.status != TaskStatus::Completed)
    {
        let other = other.id;
        return Some(format!(
            "Not merged: complete {other} first; it shares the worktree."
        ));
    }
    match branch(model, task) {
        Some(BranchState::Merged { commit, .. }) if !commit.is_empty() => {
            let commit = one_line(commit);
            Some(format!("{id} is already merged (commit {commit})."))
        }
        Some(BranchState::Merged { into, .. }) => {
            let into = one_line(into);
            Some(format!("{id} is already merged into {into}."))
        }
        Some(BranchState::Empty) => {
            Some(format!("{id} has nothing to merge: its branch is empty."))
        }
        Some(BranchState::Unmerged { .. } | BranchState::Gone) | None => None,
    }
}

/// Returns the completed tasks with unmerged branches, one task for each branch. The value of a task is the first open
/// task in the same worktree, which must be completed before the merge; `None` if there is no such task.
pub fn unmerged_tasks(model: &CrewModel) -> Arc<BTreeMap<TaskId, Option<TaskId>>> {
    let kept = &model.memo;
    let key = (kept.version, model.branches.version());
    kept.unmerged.get(key, || {
        let of = &model.branches.of;
        let is_unmerged = |tree: &str| matches!(of.get(tree), Some(BranchState::Unmerged { .. }));
        let all = worktree::unmerged_branches(&model.board, is_unmerged).into_iter();
        Arc::new(all.map(|found| (found.task.id, found.open)).collect())
    })
}

/// Returns the tasks whose branches can be merged now. Each task comes after the tasks that block it; otherwise the
/// order is by number.
pub fn to_merge(model: &CrewModel) -> Arc<Vec<TaskId>> {
    let kept = &model.memo;
    let key = (kept.version, model.branches.version());
    kept.to_merge
        .get(key, || Arc::new(find_mergeable_tasks(model)))
}

fn find_mergeable_tasks(model: &CrewModel) -> Vec<TaskId> {
    let all = unmerged_tasks(model);
    let free = all.iter().filter(|(_, open)| open.is_none());
    let mut ids: Vec<TaskId> = free.map(|(id, _)| *id).collect();
    let index = crate::ui::model::board::index(model);
    let steps = |id| index.place(id).map_or(0, |at| index.layer(at));
    ids.sort_by_key(|id| (steps(*id), *id));
    ids
}

#[cfg(test)]
mod tests {
    use crate::ui::UiState;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::{apply_branches, merging_screen};

    #[test]
    fn mergeable_tasks_are_in_dependency_order() {
        let mut state = merging_screen(160, 45);
        let ids = |state: &UiState| to_merge(state).iter().map(|id| id.0).collect::<Vec<_>>();
        assert_eq!(ids(&state), [2, 6, 1]);
        apply_branches(&mut state, &[("task-6", BranchState::Gone)]);
        assert_eq!(ids(&state), [2, 1]);
    }

    #[test]
    fn removed_worktrees_are_dropped_first_at_the_limit() {
        let branch = |name: &str, state| Branch {
            worktree: worktree::WorktreeName::new(name).unwrap(),
            state,
        };
        let mut branches = Branches::default();
        let gone = (0..BRANCHES_MAX).map(|n| branch(&format!("task-{n}"), BranchState::Gone));
        branches.record_states(&gone.collect::<Vec<_>>());
        branches.record_states(&[branch("new", BranchState::Empty)]);
        assert_eq!(branches.of.get("new"), Some(&BranchState::Empty));
        assert!(branches.of.len() <= BRANCHES_MAX);
    }

    #[test]
    fn merge_refusal_names_the_reason() {
        let state = merging_screen(160, 45);
        let refusals: Vec<_> = state
            .model
            .board
            .tasks()
            .map(|t| refusal(&state, t))
            .collect();
        let no = |text: &str| Some(text.to_string());
        assert_eq!(
            refusals,
            [
                None,
                None,
                no("#3 is already merged (commit 0123456789)."),
                no("Not merged: #4 is still in progress."),
                no("#5 has no worktree."),
                None,
                no("Not merged: complete #8 first; it shares the worktree."),
                no("Not merged: #8 is not completed yet."),
                no("#9 has nothing to merge: its branch is empty."),
            ]
        );
    }
}
