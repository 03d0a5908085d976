//! Tool calls that wait for approval. Returns which session permissions the user can grant for a waiting call, and
//! whether a permission that was granted in the meantime allows it. Does no I/O.

use super::policy::{self, PolicyContext, Ruling, servers};
use super::{Access, table};
use crate::domain::permission::PermissionScope;
use crate::domain::request::PendingCall;

/// Returns the session permissions that the user can grant for a waiting call. Empty if the user can only allow this
/// one call.
pub fn scopes(call: &PendingCall, standing: &PolicyContext<'_>) -> Vec<PermissionScope> {
    if is_command(call) {
        return policy::scopes(&call.input, standing);
    }
    servers::offered_scopes(&call.tool, call.definition(), &call.input)
}

/// Returns whether the current rules allow a call that waits for approval.
pub fn is_allowed(call: &PendingCall, standing: &PolicyContext<'_>) -> bool {
    if is_command(call) {
        return policy::judge(&call.input, standing) == Ruling::Allow;
    }
    servers::is_allowed(&call.tool, call.definition(), &call.input, standing.rules)
}

fn is_command(call: &PendingCall) -> bool {
    table::find(&call.tool).is_some_and(|t| t.access == Access::Run)
}
