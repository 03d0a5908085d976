//! State of the key guard, which keeps a key from acting on something that the user has not seen yet.

use std::time::Duration;

use crate::domain::ids::{Name, RequestId};
use crate::domain::timestamp::Timestamp;

/// How long keys are ignored after the focus or its content changed without a key press. A second press of a key meant
/// for the previous content must not act on the new content.
pub const SETTLE: Duration = Duration::from_millis(400);

/// How long the focus stays in Needs you after the last decision while the agent continues: its next request often
/// follows soon.
pub const HOLD: Duration = Duration::from_secs(5);

/// The state that keeps a key press meant for the previous focus from acting on a new one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyGuard {
    /// When the focus or its content last changed without a key press.
    pub moved_at: Option<Timestamp>,
    /// Set while the focus stays in the empty Needs you pane.
    pub hold: Option<Hold>,
    /// The request that can be answered from the composer now.
    pub shown: Option<ShownRequest>,
}

/// A request that can be answered from the composer.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRequest {
    pub request: RequestId,
    /// Since when the request is shown. Until [`SETTLE`] later, keys that answer it are ignored.
    pub since: Timestamp,
}

/// Why and how long the focus stays in Needs you.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The agent whose request was decided last, and whose next request may follow soon.
    pub requester: Name,
    /// When the focus returns to the previous pane.
    pub until: Timestamp,
}
