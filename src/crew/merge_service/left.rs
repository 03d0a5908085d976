//! The branches that automatic merge trains have left: when they are tried again.

use std::collections::BTreeSet;

use super::super::context::lock;
use super::super::merge_report::mergeable;
use super::MergeService;
use crate::agent::driver::run_blocking;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::builds_on_open_branch;
use crate::domain::worktree::WorktreeName;
use crate::store::TaskSet;

impl MergeService {
    /// Returns whether automatic trains have left branches.
    pub fn has_left(&self) -> bool {
        !lock(&self.left).is_empty()
    }

    /// Tries the branches again that automatic trains have left, if something can land now and could not before, or if a base
    /// branch has moved. Call this when a branch or what is checked out has changed.
    pub async fn retry_left(&self) {
        let left = lock(&self.left).clone();
        let mut has_changed = false;
        for (id, before) in left {
            let now = self.landing_state(id).await;
            if now.is_none() || now == before {
                continue;
            }
            has_changed = true;
            if let Some(state) = lock(&self.left).get_mut(&id) {
                *state = now;
            }
        }
        if has_changed {
            self.merge_due(true).await;
        }
    }

    /// Records that an automatic train has left `tasks`.
    pub(super) async fn leave(&self, tasks: impl IntoIterator<Item = TaskId>) {
        for id in tasks {
            let state = self.landing_state(id).await;
            lock(&self.left).insert(id, state);
        }
    }

    /// Returns the [landing state](crate::store::Worktrees::landing_state) of the branch of a task; `None` also if it is not
    /// known.
    async fn landing_state(&self, id: TaskId) -> Option<String> {
        let store = self.worktrees.clone()?;
        let name = WorktreeName::new(&self.board.graph().get(id)?.worktree).ok()?;
        let state = run_blocking(move || store.landing_state(&name)).await;
        state.ok().flatten()
    }

    /// Takes those tasks that automatic trains have left and that can be tried again now. Forgets those that are merged, and
    /// those with an open task in their worktree, whose completion makes the branch due again. Those that build on such a
    /// branch stay: they have its work, so they would break in the same way.
    pub(super) async fn take_left(&self) -> BTreeSet<TaskId> {
        let left = std::mem::take(&mut *lock(&self.left));
        let Some(store) = self.worktrees.clone().filter(|_| !left.is_empty()) else {
            return BTreeSet::new();
        };
        let Ok(listed) = run_blocking(move || store.list()).await else {
            lock(&self.left).extend(left);
            return BTreeSet::new();
        };
        let read = self.board.read(TaskSet::All).await;
        let graph = read.unwrap_or_else(|| self.board.graph());
        let is_unmerged = |name: &WorktreeName| {
            let mut all = listed.worktrees.iter();
            all.any(|tree| tree.name == *name && tree.merged_at.is_none())
        };
        let mut found = BTreeSet::new();
        for (id, state) in left {
            match mergeable(&graph, id) {
                Ok((_, name)) if is_unmerged(&name) => {}
                Ok(_) | Err(_) => continue,
            }
            if builds_on_open_branch(&graph, id) {
                lock(&self.left).insert(id, state);
            } else {
                found.insert(id);
            }
        }
        found
    }
}
