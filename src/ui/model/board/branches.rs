//! Pure: which completed tasks are merged and which are not, as the crew tells of their branches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::domain::worktree;
use crate::domain::worktree::{Branch, BranchState};
use crate::ui::model::board::index::{Standing, standing};
use crate::ui::model::style::Look;
use crate::ui::model::{Model, style};
use crate::ui::theme::Theme;

/// Most branches that are kept, those whose worktrees are gone as long as there is room; those beyond have no mark.
const BRANCHES_MAX: usize = 20_000;

/// The shape of a completed task whose branch is to be merged.
pub const UNMERGED: &str = "⇡";

/// Where the branches of the worktrees stand.
#[derive(Debug, Default)]
pub struct Branches {
    /// Counts the changes.
    version: u64,
    of: HashMap<String, BranchState>,
}

impl Branches {
    /// Takes in what the crew tells.
    pub fn changed(&mut self, branches: &[Branch]) {
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

    /// How often it has changed.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// Where the branch of a task stands; `None`: it has none, or nobody has told of it.
pub fn branch<'a>(model: &'a Model, task: &Task) -> Option<&'a BranchState> {
    model.branches.of.get(&task.worktree)
}

/// Whether the worktree of `task` stands, as somebody has told.
pub fn has_tree(model: &Model, task: &Task) -> bool {
    branch(model, task).is_some_and(|branch| *branch != BranchState::Gone)
}

/// Why there is no worktree of `task` to look at; `None`: there is one, as far as is known. Of one that nobody has told of
/// the crew knows.
pub fn why_no_tree(model: &Model, task: &Task) -> Option<String> {
    let id = task.id;
    if task.worktree.is_empty() {
        return Some(format!("{id} has no worktree: nothing was changed apart."));
    }
    let is_gone = branch(model, task) == Some(&BranchState::Gone);
    is_gone.then(|| format!("The worktree of {id} is removed."))
}

/// Whether `task` has the mark of those that are done and not merged: as many tasks have it as are counted beside the
/// board.
pub fn is_unmerged(model: &Model, task: &Task) -> bool {
    unmerged(model).contains_key(&task.id)
}

/// Whether the branch of `task` can be merged now, as far as is known.
pub fn is_mergeable(model: &Model, task: &Task) -> bool {
    let is_unmerged = matches!(branch(model, task), Some(BranchState::Unmerged { .. }));
    is_unmerged && refusal(model, task).is_none()
}

/// How a task looks: as everywhere, and with a mark of its own while its branch is to be merged.
pub fn look(model: &Model, task: &Task, theme: &Theme) -> Look {
    if is_unmerged(model, task) {
        return (UNMERGED, "done, not merged".into(), theme.accent);
    }
    style::task(&model.board, task, theme)
}

/// The words of a task's page about its branch; empty where there is nothing to say.
pub fn words(model: &Model, task: &Task) -> String {
    match branch(model, task) {
        Some(BranchState::Unmerged { into, size }) => {
            let size = size.map_or_else(String::new, |size| format!(": {size}"));
            let first = match unmerged(model).get(&task.id) {
                Some(Some(open)) => format!("; {open} has to be completed first"),
                Some(None) | None => String::new(),
            };
            format!("not in {into} yet{size}{first}")
        }
        Some(BranchState::Merged { into, commit }) if commit.is_empty() => {
            format!("merged into {into}")
        }
        Some(BranchState::Merged { into, commit }) => {
            format!("merged into {into}: commit {commit}")
        }
        Some(BranchState::Empty) => "holds nothing of its own".into(),
        Some(BranchState::Gone) | None => String::new(),
    }
}

/// Why the branch of a task can not be merged now; `None`: it can, as far as is known.
pub fn refusal(model: &Model, task: &Task) -> Option<String> {
    let id = task.id;
    if let Some(why) = why_no_tree(model, task) {
        return Some(why);
    }
    match standing(&model.board, task) {
        Standing::Done => {}
        Standing::InProgress => return Some(format!("Not merged: {id} is still in progress.")),
        Standing::Ready | Standing::Assigned | Standing::Blocked => {
            return Some(format!("Not merged: {id} is not completed yet."));
        }
    }
    let mut tasks = model.board.tasks();
    if let Some(other) =
        tasks.find(|t| t.worktree == task.worktree && t.status != TaskStatus::Completed)
    {
        let other = other.id;
        return Some(format!(
            "Not merged: {other} has to be completed first, in its worktree."
        ));
    }
    match branch(model, task) {
        Some(BranchState::Merged { commit, .. }) if !commit.is_empty() => {
            let commit = one_line(commit);
            Some(format!("{id} is merged already (commit {commit})."))
        }
        Some(BranchState::Merged { into, .. }) => {
            let into = one_line(into);
            Some(format!("{id} is merged already: {into} has all of it."))
        }
        Some(BranchState::Empty) => {
            Some(format!("{id} has nothing to merge: its branch is empty."))
        }
        Some(BranchState::Unmerged { .. } | BranchState::Gone) | None => None,
    }
}

/// The completed tasks whose branches are not merged, one for each branch, and for each the open task in its worktree
/// that has to be completed first.
pub fn unmerged(model: &Model) -> Arc<BTreeMap<TaskId, Option<TaskId>>> {
    let kept = &model.memo;
    let key = (kept.version, model.branches.version());
    kept.unmerged.get(key, || {
        let of = &model.branches.of;
        let is_unmerged = |tree: &str| matches!(of.get(tree), Some(BranchState::Unmerged { .. }));
        let all = worktree::unmerged(&model.board, is_unmerged).into_iter();
        Arc::new(all.map(|found| (found.task.id, found.open)).collect())
    })
}

/// Those of them that can be merged now, what others build on first.
pub fn to_merge(model: &Model) -> Arc<Vec<TaskId>> {
    let kept = &model.memo;
    let key = (kept.version, model.branches.version());
    kept.to_merge.get(key, || Arc::new(found(model)))
}

fn found(model: &Model) -> Vec<TaskId> {
    let all = unmerged(model);
    let free = all.iter().filter(|(_, open)| open.is_none());
    let mut ids: Vec<TaskId> = free.map(|(id, _)| *id).collect();
    let index = crate::ui::model::board::index(model);
    let steps = |id| index.place(id).map_or(0, |at| index.steps(at));
    ids.sort_by_key(|id| (steps(*id), *id));
    ids
}

#[cfg(test)]
mod tests {
    use crate::ui::UiState;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::{branches_told, merging};

    #[test]
    fn what_can_be_merged_comes_in_the_order_of_the_edges() {
        let mut state = merging(160, 45);
        let ids = |state: &UiState| to_merge(state).iter().map(|id| id.0).collect::<Vec<_>>();
        assert_eq!(ids(&state), [2, 6, 1]);
        branches_told(&mut state, &[("task-6", BranchState::Gone)]);
        assert_eq!(ids(&state), [2, 1]);
    }

    #[test]
    fn worktrees_that_are_gone_take_no_room_from_those_that_stand() {
        let told = |name: &str, state| Branch {
            worktree: worktree::WorktreeName::new(name).unwrap(),
            state,
        };
        let mut branches = Branches::default();
        let gone = (0..BRANCHES_MAX).map(|n| told(&format!("task-{n}"), BranchState::Gone));
        branches.changed(&gone.collect::<Vec<_>>());
        branches.changed(&[told("new", BranchState::Empty)]);
        assert_eq!(branches.of.get("new"), Some(&BranchState::Empty));
        assert!(branches.of.len() <= BRANCHES_MAX);
    }

    #[test]
    fn a_refusal_says_why() {
        let state = merging(160, 45);
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
                no("#3 is merged already (commit 0123456789)."),
                no("Not merged: #4 is still in progress."),
                no("#5 has no worktree: nothing was changed apart."),
                None,
                no("Not merged: #8 has to be completed first, in its worktree."),
                no("Not merged: #8 is not completed yet."),
                no("#9 has nothing to merge: its branch is empty."),
            ]
        );
    }
}
