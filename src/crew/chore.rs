//! Counts the crew's own work in progress. The crew is not idle while there is any.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;

/// Marks the crew as busy until it is dropped.
pub struct Chore(Arc<Shared>);

impl Drop for Chore {
    fn drop(&mut self) {
        self.0.chores.fetch_sub(1, Ordering::SeqCst);
        self.0.beat();
    }
}

impl Shared {
    /// Marks the crew as busy until the result is dropped.
    pub(super) fn chore(self: &Arc<Self>) -> Chore {
        self.chores.fetch_add(1, Ordering::SeqCst);
        Chore(Arc::clone(self))
    }
}
