//! State of the key guard, which ignores keys that were meant for something that is no longer focused or shown.

use std::time::Duration;

use crate::domain::ids::{Name, RequestId};
use crate::domain::timestamp::Timestamp;

/// Time for which keys are ignored after the focus has moved or the focused content has changed, if no key press was
/// the cause. A key that the user pressed for the previous content must not act on the new content.
pub const SETTLE: Duration = Duration::from_millis(400);

/// Time for which the focus stays in the pane "Needs you" after the user has decided the last open request and pressed
/// another key. Before that other key, the focus stays as long as the agent that made the request is running, because
/// its next request often follows.
pub const HOLD: Duration = Duration::from_secs(5);

/// State for ignoring keys that were meant for the previous focus or content, after a change that no key press has
/// caused.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyGuard {
    /// When the focus last moved, or the focused content last changed, without a key press; `None` if keys are not
    /// ignored.
    pub moved_at: Option<Timestamp>,
    /// Set while the focus stays in the empty pane "Needs you" after the last decision.
    pub hold: Option<Hold>,
    /// The request that can be answered from the composer now; `None` if there is none.
    pub shown: Option<ShownRequest>,
}

/// A request that can be answered from the composer.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRequest {
    pub request: RequestId,
    /// When the request was first shown. For the time [`SETTLE`] after that, keys that would answer the request are
    /// ignored.
    pub since: Timestamp,
}

/// Why and how long the focus stays in the pane "Needs you" although it is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The agent whose request was decided last. Its next request may follow soon.
    pub requester: Name,
    /// The latest time at which the focus returns to where it was before; `None` until the user presses a key.
    pub until: Option<Timestamp>,
}
