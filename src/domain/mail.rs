//! Letters between the parties of a crew, with the spellings of the inbox files.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{LetterId, Name, RequestId};
use super::stamp::Stamp;

/// Longest text of one letter, in bytes; a longer one is refused with a hint to use a file.
pub const LETTER_MAX: usize = 64 * 1024;

/// What a letter is for. The first five are the reference's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterKind {
    /// Plain words.
    #[default]
    Message,
    /// Plain words to everybody.
    Broadcast,
    /// Asks the recipient to shut down.
    ShutdownRequest,
    /// The answer to it.
    ShutdownResponse,
    /// The decision on a plan.
    PlanApprovalResponse,
    /// A plan was submitted.
    PlanRequest,
    /// The decision on a plan, in the newer spelling.
    PlanResponse,
    /// A task was given to the recipient.
    TaskAssignment,
    /// The sender has nothing to do.
    IdleNotification,
    /// A tool wants permission.
    PermissionRequest,
    /// The decision on it.
    PermissionResponse,
    /// A type that another program made up; kept as it is.
    #[serde(untagged)]
    Other(String),
}

impl LetterKind {
    /// The types that crewdeck knows, in the spelling of the files.
    pub const KNOWN: [&'static str; 11] = [
        "message",
        "broadcast",
        "shutdown_request",
        "shutdown_response",
        "plan_approval_response",
        "plan_request",
        "plan_response",
        "task_assignment",
        "idle_notification",
        "permission_request",
        "permission_response",
    ];

    /// Whether only the crew itself may send it: a model that could would forge a decision.
    pub fn is_protocol(&self) -> bool {
        !matches!(
            self,
            LetterKind::Message | LetterKind::Broadcast | LetterKind::Other(_)
        )
    }
}

impl fmt::Display for LetterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_value(self).ok();
        f.pad(text.as_ref().and_then(Value::as_str).unwrap_or("message"))
    }
}

/// What a letter has been through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterStep {
    /// It lies in the inbox.
    Sent,
    /// The recipient's conversation holds it, on disk.
    Delivered,
    /// The recipient's model has answered with it in view.
    ActedOn,
}

/// One line of `.team/inbox/NAME.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Letter {
    /// Its id; the reference writes none, then it is derived from the letter's place in the file.
    #[serde(default)]
    pub id: LetterId,
    /// What it is for.
    #[serde(rename = "type", default)]
    pub kind: LetterKind,
    /// Who wrote it. Free text, because other programs write it too.
    pub from: String,
    /// To whom; the reference writes none, then it is the owner of the inbox.
    #[serde(default)]
    pub to: String,
    /// The text.
    #[serde(default)]
    pub content: String,
    /// When it was sent; zero: unknown.
    #[serde(default)]
    pub timestamp: Stamp,
    /// Fields of other programs, and `request_id`, `approve` and the like.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Letter {
    /// A letter of plain words.
    pub fn new(
        id: LetterId,
        kind: LetterKind,
        from: &Name,
        to: &Name,
        content: &str,
        at: Stamp,
    ) -> Letter {
        Letter {
            id,
            kind,
            from: from.to_string(),
            to: to.to_string(),
            content: content.into(),
            timestamp: at,
            extra: Map::new(),
        }
    }

    /// The request that it speaks of.
    pub fn request_id(&self) -> Option<RequestId> {
        self.extra
            .get("request_id")
            .and_then(Value::as_str)
            .map(|id| RequestId(id.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_of_the_reference_is_read_and_unknown_types_are_kept() {
        let letter: Letter = serde_json::from_str(
            r#"{"type":"plan_approval_response","from":"lead","content":"","timestamp":1.5,"request_id":"ab12","approve":true}"#,
        )
        .unwrap();
        assert_eq!(letter.kind, LetterKind::PlanApprovalResponse);
        assert_eq!(letter.request_id(), Some(RequestId("ab12".into())));
        let odd: Letter =
            serde_json::from_str(r#"{"type":"result","from":"x","content":"y"}"#).unwrap();
        assert_eq!(odd.kind, LetterKind::Other("result".into()));
        assert_eq!(serde_json::to_value(&odd).unwrap()["type"], "result");
    }

    #[test]
    fn every_known_spelling_is_a_kind_of_its_own() {
        for text in LetterKind::KNOWN {
            let kind: LetterKind = serde_json::from_value(Value::from(text)).unwrap();
            assert!(!matches!(kind, LetterKind::Other(_)), "{text}");
            assert_eq!(kind.to_string(), text);
        }
    }
}
