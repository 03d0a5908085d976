//! The queue of changes that were not reported yet. The queue merges events while the watch thread is busy.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::board::TaskSet;
use super::dirty::{Dirty, KINDS};

/// Maximum number of tasks that are listed by number. More changed tasks count as a change of the whole board.
const TASKS_MAX: usize = 1000;

/// Changes that were not reported yet. Holds at most one entry per variant of [`Dirty`].
#[derive(Debug, Default, PartialEq)]
pub(super) struct PendingChanges {
    board: Option<TaskSet>,
    others: [Option<Dirty>; KINDS - 1],
    pub is_stopping: bool,
}

impl PendingChanges {
    pub(super) fn add(&mut self, dirty: Dirty) {
        match dirty {
            Dirty::Board(which) => self.add_tasks(which),
            other @ (Dirty::Roster
            | Dirty::Mail
            | Dirty::Requests
            | Dirty::Branches
            | Dirty::Skills) => {
                let at = other.kind() - 1;
                self.others[at] = Some(other);
            }
        }
    }

    fn add_tasks(&mut self, which: TaskSet) {
        self.board = Some(match (self.board.take(), which) {
            (None, which) => which,
            (Some(TaskSet::These(mut ids)), TaskSet::These(more))
                if ids.len() + more.len() <= TASKS_MAX =>
            {
                ids.extend(more);
                TaskSet::These(ids)
            }
            (Some(_), _) => TaskSet::All,
        });
    }

    pub(super) fn add_all(&mut self) {
        for dirty in Dirty::all() {
            self.add(dirty);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == PendingChanges::default()
    }

    pub(super) fn take(&mut self) -> Vec<Dirty> {
        let board = self.board.take().map(Dirty::Board);
        let others = std::mem::take(&mut self.others);
        board
            .into_iter()
            .chain(others.into_iter().flatten())
            .collect()
    }
}

/// The queue between the event handler and the watch thread.
#[derive(Default)]
pub(super) struct DirtyQueue {
    pending: Mutex<PendingChanges>,
    changed: Condvar,
}

impl DirtyQueue {
    pub(super) fn lock_pending(&self) -> MutexGuard<'_, PendingChanges> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies `change` to the queued changes and wakes the watch thread.
    pub(super) fn update(&self, change: impl FnOnce(&mut PendingChanges)) {
        change(&mut self.lock_pending());
        self.changed.notify_one();
    }

    /// Waits until `is_enough` returns true for the pending changes, or until the time `within` has passed. Returns the
    /// locked pending changes in both cases.
    pub(super) fn wait(
        &self,
        within: Duration,
        is_enough: fn(&PendingChanges) -> bool,
    ) -> MutexGuard<'_, PendingChanges> {
        let waited = self
            .changed
            .wait_timeout_while(self.lock_pending(), within, |pending| !is_enough(pending));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(TaskSet::These(ids.iter().copied().map(TaskId).collect()))
    }

    #[test]
    fn changes_are_merged_and_bounded() {
        let mut pending = PendingChanges::default();
        for id in [3, 1, 3] {
            pending.add(these(&[id]));
        }
        pending.add(Dirty::Mail);
        pending.add(Dirty::Mail);
        assert_eq!(pending.take(), [these(&[1, 3]), Dirty::Mail]);
        assert!(pending.is_empty());
        (0..=TASKS_MAX as u64).for_each(|id| pending.add(these(&[id])));
        assert_eq!(pending.take(), [Dirty::Board(TaskSet::All)]);
    }
}
