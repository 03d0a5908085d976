//! What the crew itself is at: while anything is, it does not rest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;

/// Something that the crew is at, until this is dropped.
pub struct Chore(Arc<Shared>);

impl Drop for Chore {
    fn drop(&mut self) {
        self.0.chores.fetch_sub(1, Ordering::SeqCst);
        self.0.beat();
    }
}

impl Shared {
    /// The crew begins something.
    pub(super) fn chore(self: &Arc<Self>) -> Chore {
        self.chores.fetch_add(1, Ordering::SeqCst);
        Chore(Arc::clone(self))
    }
}
