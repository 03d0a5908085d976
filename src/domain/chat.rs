//! A conversation with a model. Each tool call has exactly one result.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attachment::AttachedImage;
use super::ids::CallId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Text of the user and of other agents, and tool results.
    User,
    /// Answers of the model, with their tool calls.
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the tool result refers to.
    pub id: CallId,
    pub name: String,
    /// The input: always a JSON object. If the model sent anything else, this object is empty, and `broken` contains
    /// what the model sent.
    pub input: Value,
    /// The text that the model sent as input, if it was not a JSON object. The middle of a text above 4 KiB is cut out.
    /// `None` if the input was valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Maximum length of a tool name, in characters. Providers reject a conversation with a longer name.
const TOOL_NAME_MAX: usize = 64;

/// Returns whether providers accept `name` as a tool name: 1 to 64 ASCII letters, digits, `_` and `-`.
pub fn is_tool_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=TOOL_NAME_MAX).contains(&name.len()) && name.bytes().all(is_allowed)
}

/// Returns the name under which a tool call is sent to the provider. A valid name is unchanged. In an invalid name,
/// each invalid character becomes `_`, characters beyond the 63rd are cut off, and `_` is appended, so that the result
/// is not the name of one of crewdeck's own tools.
pub fn valid_tool_name(name: &str) -> Cow<'_, str> {
    if is_tool_name(name) {
        return name.into();
    }
    let replace_invalid = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let valid = name.chars().take(TOOL_NAME_MAX - 1).map(replace_invalid);
    valid.chain(['_']).collect::<String>().into()
}

/// The server and the model that produced an answer. Encrypted reasoning and signatures are sent back only to the same
/// model on the same server. The server alone does not suffice, because one server may offer models of several vendors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnswerOrigin {
    /// The name of the provider and the origin of the server's URL, such as `responses https://api.openai.com`.
    pub server: String,
    /// The name of the model. Empty if the answer was read from a log that does not name the model. An empty name does
    /// not match the name of any model.
    #[serde(default)]
    pub model: String,
}

/// A part of an answer that only the server and model that produced it can read, such as encrypted reasoning. Later
/// requests to the same model on the same server contain it unchanged. No other model gets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderItem {
    #[serde(flatten)]
    pub origin: AnswerOrigin,
    /// The item in the wire format of the provider.
    pub item: Value,
}

/// Whether a tool call succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok,
    /// The tool failed, or the call was not run; the result text gives the reason.
    Error,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    Image(AttachedImage),
    /// Thinking of the model, which the user can read. Later requests contain it only if it has a signature, and if
    /// they go in the Anthropic wire format to the server and model in `origin`.
    Thinking {
        text: String,
        /// The server's signature. Must be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The server and model that produced the signature; `None` without a signature, or if the log does not name
        /// them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<AnswerOrigin>,
    },
    ProviderItem(ProviderItem),
    ToolCall(ToolCall),
    ToolResult {
        call: CallId,
        /// The output of the tool, or the reason why the call failed or was not run. The tool runner cuts out the
        /// middle of an output above 64 KiB.
        content: String,
        outcome: Outcome,
    },
}

impl Block {
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
}

impl Message {
    pub fn user(blocks: Vec<Block>) -> Message {
        Message {
            role: Role::User,
            blocks,
        }
    }

    pub fn assistant(blocks: Vec<Block>) -> Message {
        Message {
            role: Role::Assistant,
            blocks,
        }
    }

    /// Returns the text blocks of the message, joined with newlines. Tool results and thinking are not included.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|b| match b {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|b| match b {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the ids of the tool calls that this message has results for.
    pub fn result_ids(&self) -> impl Iterator<Item = &CallId> {
        self.blocks.iter().filter_map(|b| match b {
            Block::ToolResult { call, .. } => Some(call),
            Block::Text { .. }
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolCall(_) => None,
        })
    }
}

/// Why a conversation is invalid and must not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The first message does not have the role `user`.
    #[error("the first message does not have the role user")]
    First,
    /// The messages at these two consecutive indexes (from 0) have the same role.
    #[error("messages {0} and {1} have the same role")]
    Roles(usize, usize),
    /// The message at this index (from 0) has no blocks.
    #[error("message {0} is empty")]
    Empty(usize),
    /// The tool call with this id does not have exactly one result in the next message, or a result has this id but the
    /// message before it contains no such call.
    #[error("tool call {0} does not have exactly one result in the next message")]
    Pairing(CallId),
}

/// Checks that roles alternate, starting with `user`, that no message is empty, and that each tool call has exactly one
/// result, in the next message (guarantee 8 in docs/GUARANTEES.md). Each result must answer a call of the message
/// before. A conversation without messages is valid.
///
/// # Errors
/// Returns the first violation, in the order of the messages.
pub fn validate(messages: &[Message]) -> Result<(), ChatError> {
    if messages.first().is_some_and(|m| m.role != Role::User) {
        return Err(ChatError::First);
    }
    let mut open: HashSet<&CallId> = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message.blocks.is_empty() {
            return Err(ChatError::Empty(at));
        }
        if at > 0 && messages[at - 1].role == message.role {
            return Err(ChatError::Roles(at - 1, at));
        }
        for call in message.result_ids() {
            if !open.remove(call) {
                return Err(ChatError::Pairing(call.clone()));
            }
        }
        if let Some(left) = open.iter().next() {
            return Err(ChatError::Pairing((*left).clone()));
        }
        for call in message.calls() {
            if !open.insert(&call.id) {
                return Err(ChatError::Pairing(call.id.clone()));
            }
        }
    }
    match open.iter().next() {
        Some(left) => Err(ChatError::Pairing((*left).clone())),
        None => Ok(()),
    }
}

/// Estimates the number of tokens in `messages`: one per four bytes of text, and [`AttachedImage::tokens`] for each
/// image. Used for messages that the server has not counted yet.
pub fn estimate_tokens(messages: &[Message]) -> u64 {
    let bytes: usize = messages
        .iter()
        .flat_map(|m| &m.blocks)
        .map(|b| match b {
            Block::Text { text } | Block::Thinking { text, .. } => text.len(),
            Block::Image(image) => usize::try_from(image.tokens() * 4).unwrap_or(usize::MAX),
            Block::ProviderItem(item) => item.item.to_string().len(),
            Block::ToolCall(call) => call.name.len() + call.input.to_string().len(),
            Block::ToolResult { content, .. } => content.len(),
        })
        .sum();
    (bytes / 4) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall {
            id: CallId(id.into()),
            name: "bash".into(),
            input: Value::Object(serde_json::Map::new()),
            broken: None,
        })
    }

    #[test]
    fn invalid_tool_names_are_replaced_when_sent() {
        for name in ["bash", "read_file", "a-B_9", &"x".repeat(64)] {
            assert_eq!(valid_tool_name(name), name);
        }
        for (name, sent) in [
            ("", "_"),
            ("read file", "read_file_"),
            ("a\n\u{1b}[2J", "a___2J_"),
            ("\u{1f600}", "__"),
        ] {
            assert_eq!(valid_tool_name(name), sent);
        }
        let long = valid_tool_name(&"x".repeat(65)).into_owned();
        assert!(is_tool_name(&long) && long.ends_with("x_"), "{long}");
    }

    fn result(id: &str) -> Block {
        Block::ToolResult {
            call: CallId(id.into()),
            content: "ok".into(),
            outcome: Outcome::Ok,
        }
    }

    #[test]
    fn each_tool_call_needs_exactly_one_result() {
        let hi = Message::user(vec![Block::text("hi")]);
        let ask = Message::assistant(vec![call("a"), call("b")]);
        let both = Message::user(vec![result("a"), result("b")]);
        assert_eq!(validate(&[hi.clone(), ask.clone(), both]), Ok(()));
        let one = Message::user(vec![result("a")]);
        assert!(validate(&[hi.clone(), ask.clone(), one]).is_err());
        let twice = Message::user(vec![result("a"), result("a"), result("b")]);
        assert!(validate(&[hi.clone(), ask.clone(), twice]).is_err());
        assert!(
            validate(&[hi.clone(), ask]).is_err(),
            "an open call at the end"
        );
        assert_eq!(validate(&[hi.clone(), hi]), Err(ChatError::Roles(0, 1)));
    }
}
