//! Calls that wait for approval: which session permissions can be granted for one, and whether the rules allow it by now.
//! Pure.

use super::policy::{self, PolicyContext, Ruling, servers};
use super::{Access, table};
use crate::domain::permission::PermissionScope;
use crate::domain::request::PendingCall;

/// Returns the session permissions that the user can grant for a call as its request contains it.
pub fn scopes(call: &PendingCall, standing: &PolicyContext<'_>) -> Vec<PermissionScope> {
    if is_command(call) {
        return policy::scopes(&call.input, standing);
    }
    servers::offered(&call.tool, call.definition(), &call.input)
}

/// Returns whether the rules allow a call that waits for approval.
pub fn is_allowed(call: &PendingCall, standing: &PolicyContext<'_>) -> bool {
    if is_command(call) {
        return policy::judge(&call.input, standing) == Ruling::Allow;
    }
    servers::is_allowed(&call.tool, call.definition(), &call.input, standing.rules)
}

/// Returns whether the tool call runs a command.
fn is_command(call: &PendingCall) -> bool {
    table::find(&call.tool).is_some_and(|t| t.access == Access::Run)
}
