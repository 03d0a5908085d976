//! Gives identical requests the same decision. [`Request::is_like`] defines which requests are identical.

use crate::domain::request::{Decision, Request};
use crate::domain::timestamp::Timestamp;
use crate::store::{Requests, StoreError};

/// Writes the decision to disk: for the request that `decision` names, and for every pending request that is identical
/// to that request. Returns the request that `decision` names, as it is after the decision.
///
/// # Errors
/// Fails if that request cannot be decided, or the requests cannot be read.
pub fn decide_with_like(
    requests: &Requests,
    decision: &Decision,
    now: Timestamp,
) -> Result<Request, StoreError> {
    let decided = requests.decide(decision, now)?;
    for same in requests.read_all()?.requests {
        if same.is_pending() && same.is_like(&decided) {
            let decision = Decision {
                id: same.id,
                target: same.target,
                ..decision.clone()
            };
            // Fails for a request that was decided in the meantime, and for a request of the approver itself. Such a
            // request stays as it is.
            let _ = requests.decide(&decision, now);
        }
    }
    Ok(decided)
}
