//! A request for approval or a question that is not stored yet, and the tool call that a permission request is about.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::permission::PermissionScope;
use super::request_kind::RequestKind;

/// The tool call that a permission request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCall {
    pub tool: String,
    /// The input of the call: the whole command for a tool of crewdeck that runs commands, otherwise the whole input as
    /// JSON.
    pub input: String,
    /// The reason why the call needs approval.
    pub why: String,
    /// What the approver can permit the whole team until crewdeck ends, instead of allowing only this call. If the list
    /// is empty, only this call can be allowed.
    #[serde(default)]
    pub scopes: Vec<PermissionScope>,
}

impl PendingCall {
    /// Returns the fingerprint of the tool's definition ([`crate::domain::mcp::McpTool::fingerprint`]) that is stored
    /// in the [`PermissionScope::ServerTool`] of `scopes`. Returns 0 if `scopes` contains no
    /// [`PermissionScope::ServerTool`], for example because the tool does not belong to an MCP server.
    pub fn definition(&self) -> u64 {
        let found = self.scopes.iter().find_map(|scope| match scope {
            PermissionScope::ServerTool { definition, .. } => Some(*definition),
            PermissionScope::Exact { .. }
            | PermissionScope::Begins { .. }
            | PermissionScope::Server { .. }
            | PermissionScope::ServerFolder { .. }
            | PermissionScope::ServerCall { .. } => None,
        });
        found.unwrap_or(0)
    }

    /// Returns whether one decision can answer both calls, because they have the same tool, definition, input and
    /// reason.
    pub fn has_same_call(&self, other: &PendingCall) -> bool {
        self.tool == other.tool
            && self.definition() == other.definition()
            && self.input == other.input
            && self.why == other.why
    }
}

/// A request for approval or a question, before it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRequest {
    pub kind: RequestKind,
    /// The agent that the request is about: the author of the plan, the teammate to shut down, or the agent that waits
    /// for the decision.
    pub target: Name,
    /// The text that the approver reads. It contains everything that is needed to decide.
    pub body: String,
    /// The choices for the answer to a question. If there are none, the answer is free text.
    pub choices: Vec<String>,
    /// The asker's working directory, relative to the project root; empty for the root itself.
    pub workdir: String,
    /// The tool call that a permission request is about. `None` for other requests, and for a call that is too long to
    /// be stored whole or contains a secret.
    pub call: Option<PendingCall>,
    /// How long the agent waits for the decision; `None` for no limit. After that time, the agent continues, the
    /// request stays pending, and the decision arrives as a message.
    pub wait_max: Option<Duration>,
}

impl NewRequest {
    /// Creates a request without choices, working directory or tool call.
    pub fn new(kind: RequestKind, target: &Name, body: String) -> NewRequest {
        NewRequest {
            kind,
            target: target.clone(),
            body,
            choices: Vec::new(),
            workdir: String::new(),
            call: None,
            wait_max: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::request::Request;
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn only_identical_permission_calls_share_a_decision() {
        let call = |tool: &str, input: &str, why: &str| {
            Some(PendingCall {
                tool: tool.into(),
                input: input.into(),
                why: why.into(),
                scopes: Vec::new(),
            })
        };
        let request = |kind, call| Request {
            call,
            ..Request::new(
                RequestId("r1".into()),
                kind,
                Name::lead(),
                Name::lead(),
                String::new(),
                Timestamp(1.0),
            )
        };
        let push = || call("bash", "git push", "it publishes");
        let first = request(RequestKind::Permission, push());
        let cases = [
            (RequestKind::Permission, push(), true),
            (
                RequestKind::Permission,
                call("background_run", "git push", "it publishes"),
                false,
            ),
            (
                RequestKind::Permission,
                call("bash", "git  push", "it publishes"),
                false,
            ),
            (
                RequestKind::Permission,
                call("bash", "git push", "it writes to /etc"),
                false,
            ),
            (RequestKind::Permission, None, false),
            (RequestKind::Plan, push(), false),
        ];
        for (kind, call, expected) in cases {
            let other = request(kind, call);
            assert_eq!(first.is_like(&other), expected, "{other:?}");
            assert_eq!(other.is_like(&first), expected, "{other:?}");
        }
        assert!(
            !request(RequestKind::Permission, None)
                .is_like(&request(RequestKind::Permission, None))
        );
    }
}
