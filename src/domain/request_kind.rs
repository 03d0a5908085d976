//! The kinds of requests, and the word for each kind in texts.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// A teammate asks to carry out a plan.
    Plan,
    /// A teammate is asked to shut down.
    Shutdown,
    /// A tool call needs permission, because no rule allows it.
    Permission,
    /// An agent or the team has used up a budget of tokens or money.
    #[serde(rename = "ceiling")]
    Budget,
    /// A question to the user. The answer is the comment of the decision.
    Question,
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RequestKind::Plan => "plan",
            RequestKind::Shutdown => "shutdown",
            RequestKind::Permission => "permission",
            RequestKind::Budget => "limit",
            RequestKind::Question => "question",
        })
    }
}
