//! Queue of changes that were not reported yet. Merges events while the watch thread is busy.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::board::Which;
use super::dirty::{Dirty, KINDS};

/// Most tasks listed by number. More changes count as the whole board.
const TASKS_MAX: usize = 1000;

/// Changes that were not reported yet. Bounded: at most one entry per kind.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Heard {
    board: Option<Which>,
    others: [Option<Dirty>; KINDS - 1],
    /// Whether the watch is being stopped.
    pub is_over: bool,
}

impl Heard {
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

    fn add_tasks(&mut self, which: Which) {
        self.board = Some(match (self.board.take(), which) {
            (None, which) => which,
            (Some(Which::These(mut ids)), Which::These(more))
                if ids.len() + more.len() <= TASKS_MAX =>
            {
                ids.extend(more);
                Which::These(ids)
            }
            (Some(_), _) => Which::All,
        });
    }

    pub(super) fn add_all(&mut self) {
        for dirty in Dirty::all() {
            self.add(dirty);
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        *self == Heard::default()
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
pub(super) struct Ear {
    heard: Mutex<Heard>,
    bell: Condvar,
}

impl Ear {
    pub(super) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the queue and wakes the watch thread.
    pub(super) fn tell(&self, note: impl FnOnce(&mut Heard)) {
        note(&mut self.heard());
        self.bell.notify_one();
    }

    /// Waits until `is_enough` returns true for the pending changes, at most `within`.
    pub(super) fn wait(
        &self,
        within: Duration,
        is_enough: fn(&Heard) -> bool,
    ) -> MutexGuard<'_, Heard> {
        let waited = self
            .bell
            .wait_timeout_while(self.heard(), within, |heard| !is_enough(heard));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(Which::These(ids.iter().copied().map(TaskId).collect()))
    }

    #[test]
    fn changes_are_merged_and_bounded() {
        let mut heard = Heard::default();
        for id in [3, 1, 3] {
            heard.add(these(&[id]));
        }
        heard.add(Dirty::Mail);
        heard.add(Dirty::Mail);
        assert_eq!(heard.take(), [these(&[1, 3]), Dirty::Mail]);
        assert!(heard.is_quiet());
        (0..=TASKS_MAX as u64).for_each(|id| heard.add(these(&[id])));
        assert_eq!(heard.take(), [Dirty::Board(Which::All)]);
    }
}
