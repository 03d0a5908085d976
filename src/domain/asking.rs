//! What somebody puts before a decider: the question, its choices, the tool call that waits.

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::request::RequestKind;
use super::rule::Scope;

/// The tool call that a permission request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool.
    pub tool: String,
    /// The whole command, or the whole input as JSON.
    pub input: String,
    /// Why it is asked about.
    pub why: String,
    /// How far beyond this call it can be allowed; empty: only once.
    #[serde(default)]
    pub scopes: Vec<Scope>,
}

impl AskedCall {
    /// Whether the answer to one call is the answer to the other: the same tool, the same input, asked
    /// about for the same reason.
    pub fn is_like(&self, other: &AskedCall) -> bool {
        self.tool == other.tool && self.input == other.input && self.why == other.why
    }
}

/// What somebody puts before whoever decides its kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Asking {
    /// What is asked for.
    pub kind: RequestKind,
    /// Whom it is about.
    pub target: Name,
    /// Everything needed to decide.
    pub body: String,
    /// What a question may be answered with; empty: words of one's own.
    pub choices: Vec<String>,
    /// Where the asker works, below the root; empty: the root itself.
    pub workdir: String,
    /// The tool call that waits.
    pub call: Option<AskedCall>,
}

impl Asking {
    /// With nothing beside the text.
    pub fn new(kind: RequestKind, target: &Name, body: String) -> Asking {
        Asking {
            kind,
            target: target.clone(),
            body,
            choices: Vec::new(),
            workdir: String::new(),
            call: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::RequestId;
    use crate::domain::request::Request;
    use crate::domain::stamp::Stamp;

    #[test]
    fn one_answer_answers_two_permissions_for_the_same_call_and_nothing_else() {
        let call = |tool: &str, input: &str, why: &str| {
            Some(AskedCall {
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
                Stamp(1.0),
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
