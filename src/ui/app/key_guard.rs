//! State of the key guard, which ignores keys that were meant for something that is no longer focused or shown.

use std::time::Duration;

use crate::domain::ids::RequestId;
use crate::domain::timestamp::Timestamp;

/// Time for which keys are ignored after the focus has moved or the focused content has changed, if no key press was
/// the cause. A key that the user pressed for the previous content must not act on the new content.
pub const SETTLE: Duration = Duration::from_millis(400);

/// State for ignoring keys that were meant for the previous focus or content, after a change that no key press has
/// caused.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyGuard {
    /// When the focus last moved, or the focused content last changed, without a key press; `None` if keys are not
    /// ignored.
    pub moved_at: Option<Timestamp>,
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
