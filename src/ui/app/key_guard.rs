//! What keeps a key from acting on something that the user has not seen yet.

use std::time::Duration;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;

/// How long keys go nowhere after the focus, or what has it, changed without a key of the user. The second press of a
/// key that was meant for what was there before must not act on what is there now.
pub const SETTLE: Duration = Duration::from_millis(400);

/// How long the focus stays in Needs you after the last decision while the agent goes on: its next request is likely to
/// follow.
pub const HOLD: Duration = Duration::from_secs(5);

/// When the focus last changed by itself, and whether it is about to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyGuard {
    /// When the focus, or what has it, changed without a key of the user.
    pub moved_at: Option<Stamp>,
    /// The focus stays in Needs you, where nothing waits, for the next request.
    pub hold: Option<Hold>,
}

/// Why the focus stays in Needs you, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The agent that goes on.
    pub asker: Name,
    /// When the focus goes back.
    pub until: Stamp,
}
