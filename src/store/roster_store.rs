//! What a roster needs from the store that holds it.

use std::fmt::Debug;

use super::StoreError;
use crate::domain::team::Team;

/// Changes a team.
pub type TeamEdit<'a> = dyn FnMut(&mut Team) -> Result<(), StoreError> + 'a;

/// Holds the roster of a crew.
///
/// All methods block, and may be called from several threads and processes at the same time.
pub trait RosterStore: Debug + Send + Sync {
    /// Returns and clears the pending notices about damaged state, one line each.
    fn take_notices(&self) -> Vec<String>;

    /// Returns the team; an empty one if none is stored or it was damaged.
    ///
    /// # Errors
    /// When the team cannot be read, or was written by another version and must not be overwritten.
    fn read(&self) -> Result<Team, StoreError>;

    /// Applies `edit` to the stored team, stores the result and returns it. If another writer was faster, the store calls
    /// `edit` again with the new state. So no other writer changes in between what `edit` changes, and nothing at all
    /// changes in between if `edit` adds a member, or brings back one that has shut down.
    ///
    /// A store may write each member for itself. If `edit` changes several, a part may be stored already when `edit` is
    /// called again, or when this process is killed: it must give the same result on a team that it has partly changed. It
    /// adds at most one member; that is stored last.
    ///
    /// # Errors
    /// When `edit` fails, or the team cannot be read or written.
    fn change(&self, edit: &mut TeamEdit<'_>) -> Result<Team, StoreError>;
}
