//! Messages between the members of a crew, in the format of the inbox files.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::attachment::Attachment;
use super::ids::{MessageId, Name, RequestId};
use super::timestamp::Timestamp;

/// Maximum size of a message's text, in bytes. The store rejects a longer text with the advice to use a file.
pub const MAIL_MESSAGE_MAX: usize = 64 * 1024;

/// The JSON field that contains the attachments of a message.
const ATTACHMENTS: &str = "attachments";
/// The JSON field that marks a message whose text crewdeck has written in the name of the sender.
const GENERATED: &str = "generated";

/// The type of a message. The first five variants also exist in learn-claude-code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailKind {
    /// A message to one recipient.
    #[default]
    Message,
    Broadcast,
    ShutdownRequest,
    ShutdownResponse,
    PlanApprovalResponse,
    PlanRequest,
    /// Newer spelling of `plan_approval_response`, with the same meaning.
    PlanResponse,
    TaskAssignment,
    IdleNotification,
    PermissionRequest,
    PermissionResponse,
    /// A type that only another program knows. It is written back unchanged.
    #[serde(untagged)]
    Other(String),
}

impl MailKind {
    /// The known types of messages, as spelled in the inbox files.
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

    /// Returns whether messages of this type belong to a protocol of crewdeck, such as `plan_approval_response`. Models
    /// cannot send them; otherwise a model could forge a decision.
    pub fn is_protocol(&self) -> bool {
        !matches!(
            self,
            MailKind::Message | MailKind::Broadcast | MailKind::Other(_)
        )
    }
}

impl fmt::Display for MailKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_value(self).ok();
        f.pad(text.as_ref().and_then(Value::as_str).unwrap_or("message"))
    }
}

/// The progress of a message from the sender to the recipient's model. A later state is greater than an earlier one;
/// `Blocked` is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The message is in the recipient's inbox, but not in its conversation yet.
    Sent,
    /// The message is part of the recipient's conversation on disk.
    Delivered,
    /// The model has received the message as part of the recipient's conversation, and has answered.
    ActedOn,
    /// A hook has blocked the message, so that the recipient never receives it.
    Blocked,
}

/// A message, stored as one line of `.team/inbox/NAME.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailMessage {
    /// The id. For a stored message without an id, as learn-claude-code writes it, the id is derived from its position
    /// in the file.
    #[serde(default)]
    pub id: MessageId,
    #[serde(rename = "type", default)]
    pub kind: MailKind,
    /// The sender. Not a [`Name`], because other programs write this field too.
    pub from: String,
    /// The recipient. For a stored message without this field, as learn-claude-code writes it, the recipient is the
    /// owner of the inbox.
    #[serde(default)]
    pub to: String,
    #[serde(default)]
    pub content: String,
    /// When the message was sent; zero if unknown.
    #[serde(default)]
    pub timestamp: Timestamp,
    /// The JSON fields of the message for which this struct has no field: `request_id`, `approve` and similar, and
    /// fields written by other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl MailMessage {
    /// Creates a message without [`MailMessage::extra`] fields.
    pub fn new(
        id: MessageId,
        kind: MailKind,
        from: &Name,
        to: &Name,
        content: &str,
        at: Timestamp,
    ) -> MailMessage {
        MailMessage {
            id,
            kind,
            from: from.to_string(),
            to: to.to_string(),
            content: content.into(),
            timestamp: at,
            extra: Map::new(),
        }
    }

    /// Returns the attachments; an empty list if the message has none or the field is invalid.
    pub fn attachments(&self) -> Vec<Attachment> {
        let field = self.extra.get(ATTACHMENTS).cloned();
        field
            .and_then(|list| serde_json::from_value(list).ok())
            .unwrap_or_default()
    }

    #[must_use]
    pub fn with_attachments(mut self, attachments: &[Attachment]) -> MailMessage {
        if !attachments.is_empty() {
            self.extra
                .insert(ATTACHMENTS.into(), serde_json::json!(attachments));
        }
        self
    }

    /// Returns the message without its attachments, which can be much larger than its text.
    #[must_use]
    pub fn without_attachments(mut self) -> MailMessage {
        self.extra.remove(ATTACHMENTS);
        self
    }

    /// Marks that crewdeck, not the sender, has written the text.
    #[must_use]
    pub fn generated(mut self) -> MailMessage {
        self.extra.insert(GENERATED.into(), true.into());
        self
    }

    /// Returns whether the user has written the text as a prompt, so that hooks of `UserPromptSubmit` run for it. False
    /// for the user's answers to requests, and for text that crewdeck has written in the user's name.
    pub fn is_prompt(&self) -> bool {
        let is_generated = self.extra.get(GENERATED).and_then(Value::as_bool) == Some(true);
        self.from == Name::user().as_str()
            && !self.kind.is_protocol()
            && self.request_id().is_none()
            && !is_generated
    }

    /// Returns the id of the request that the message refers to; `None` for messages without a request. Another program
    /// may have written the id, see [`RequestId::is_safe`].
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
    fn learn_claude_code_message_and_unknown_types_are_read() {
        let message: MailMessage = serde_json::from_str(
            r#"{"type":"plan_approval_response","from":"lead","content":"","timestamp":1.5,"request_id":"ab12","approve":true}"#,
        )
        .unwrap();
        assert_eq!(message.kind, MailKind::PlanApprovalResponse);
        assert_eq!(message.request_id(), Some(RequestId("ab12".into())));
        let odd: MailMessage =
            serde_json::from_str(r#"{"type":"result","from":"x","content":"y"}"#).unwrap();
        assert_eq!(odd.kind, MailKind::Other("result".into()));
        assert_eq!(serde_json::to_value(&odd).unwrap()["type"], "result");
    }

    #[test]
    fn only_texts_that_the_user_has_written_are_prompts() {
        let message = |from: &str, kind: &str, more: &str| -> MailMessage {
            let text = format!(r#"{{"type":"{kind}","from":"{from}","content":"hello"{more}}}"#);
            serde_json::from_str(&text).unwrap()
        };
        for kind in ["message", "broadcast", "other"] {
            assert!(message("user", kind, "").is_prompt(), "{kind}");
            assert!(!message("lead", kind, "").is_prompt(), "{kind}");
        }
        assert!(!message("user", "plan_response", "").is_prompt());
        assert!(!message("user", "message", r#","request_id":"r1""#).is_prompt());
        assert!(!message("user", "message", "").generated().is_prompt());
    }

    #[test]
    fn known_types_are_parsed_and_displayed() {
        for text in MailKind::KNOWN {
            let kind: MailKind = serde_json::from_value(Value::from(text)).unwrap();
            assert!(!matches!(kind, MailKind::Other(_)), "{text}");
            assert_eq!(kind.to_string(), text);
        }
    }
}
