//! State of the key guard, which ignores keys that were meant for something that is no longer focused or shown.

use std::time::Duration;

use crate::domain::ids::RequestId;
use crate::domain::timestamp::Timestamp;

/// How long keys are ignored after the focus or the focused content has changed without a key press. A key that the
/// user pressed for the previous content must not act on the new content.
pub const SETTLE: Duration = Duration::from_millis(400);

/// State of the key guard. After a change of the focus or of the focused content that no key press has caused, the key
/// guard ignores keys for the time [`SETTLE`].
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
