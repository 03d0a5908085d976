//! A conversation with a model, and the rule that each tool call has exactly one result.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::CallId;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, other agents, and tool results.
    User,
    /// The model.
    Assistant,
}

/// What a model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, which its result names.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// Its input. An object always; broken JSON is kept in `broken`.
    pub input: Value,
    /// The text that the model sent as input where it was not a JSON object, bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Most characters of a tool's name: the vendors refuse a conversation with a longer one.
const TOOL_NAME_MAX: usize = 64;

/// Whether the vendors take `name` as the name of a tool: letters, digits, `_` and `-`.
pub fn is_tool_name(name: &str) -> bool {
    let is_known = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=TOOL_NAME_MAX).contains(&name.len()) && name.bytes().all(is_known)
}

/// The name under which a call is sent: a valid one as it is, else one that is made of it and ends with `_`, so that it
/// is no tool's.
pub fn sent_name(name: &str) -> Cow<'_, str> {
    if is_tool_name(name) {
        return name.into();
    }
    let known = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let kept = name.chars().take(TOOL_NAME_MAX - 1).map(known);
    kept.chain(['_']).collect::<String>().into()
}

/// How a tool call ended, for the model and the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what was asked.
    Ok,
    /// It could not; the text says why.
    Error,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought aloud. Shown; sent back only where a signature says that it must be.
    Thinking {
        /// The thought.
        text: String,
        /// The server's signature, which a later request must carry unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call.
    ToolCall(ToolCall),
    /// Its result.
    ToolResult {
        /// Which call.
        call: CallId,
        /// What came out, bounded.
        content: String,
        /// How it ended.
        outcome: Outcome,
    },
}

impl Block {
    /// Words.
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its parts, in order.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A message of the user's side.
    pub fn user(blocks: Vec<Block>) -> Message {
        Message {
            role: Role::User,
            blocks,
        }
    }

    /// A message of the model.
    pub fn assistant(blocks: Vec<Block>) -> Message {
        Message {
            role: Role::Assistant,
            blocks,
        }
    }

    /// Its words, joined.
    pub fn words(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|b| match b {
                Block::Text { text } => Some(text.as_str()),
                Block::Thinking { .. } | Block::ToolCall(_) | Block::ToolResult { .. } => None,
            })
            .collect();
        texts.join("\n")
    }

    /// Its tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|b| match b {
            Block::ToolCall(call) => Some(call),
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolResult { .. } => None,
        })
    }

    /// The calls that it answers.
    pub fn answered(&self) -> impl Iterator<Item = &CallId> {
        self.blocks.iter().filter_map(|b| match b {
            Block::ToolResult { call, .. } => Some(call),
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) => None,
        })
    }
}

/// Why a conversation must not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The conversation does not begin with the user's side.
    #[error("the first message is not the user's")]
    First,
    /// Two messages of one side follow each other.
    #[error("messages {0} and {1} are of the same side")]
    Roles(usize, usize),
    /// A message without any part.
    #[error("message {0} is empty")]
    Empty(usize),
    /// Calls and results do not pair up.
    #[error("tool call {0} does not have exactly one result in the next message")]
    Pairing(CallId),
}

/// Checks promise 8: sides alternate, each call has exactly one result, in the next message.
pub fn check(messages: &[Message]) -> Result<(), ChatError> {
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
        for call in message.answered() {
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

/// A rough count of tokens, for the time before a server has counted: four bytes each.
pub fn estimate_tokens(messages: &[Message]) -> u64 {
    let bytes: usize = messages
        .iter()
        .flat_map(|m| &m.blocks)
        .map(|b| match b {
            Block::Text { text } | Block::Thinking { text, .. } => text.len(),
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
    fn a_name_that_no_vendor_takes_is_sent_as_one_that_is_no_tools() {
        for name in ["bash", "read_file", "a-B_9", &"x".repeat(64)] {
            assert_eq!(sent_name(name), name);
        }
        for (name, sent) in [
            ("", "_"),
            ("read file", "read_file_"),
            ("a\n\u{1b}[2J", "a___2J_"),
            ("\u{1f600}", "__"),
        ] {
            assert_eq!(sent_name(name), sent);
        }
        let long = sent_name(&"x".repeat(65)).into_owned();
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
    fn each_call_needs_exactly_one_result_in_the_next_message() {
        let hi = Message::user(vec![Block::text("hi")]);
        let ask = Message::assistant(vec![call("a"), call("b")]);
        let both = Message::user(vec![result("a"), result("b")]);
        assert_eq!(check(&[hi.clone(), ask.clone(), both]), Ok(()));
        let one = Message::user(vec![result("a")]);
        assert!(check(&[hi.clone(), ask.clone(), one]).is_err());
        let twice = Message::user(vec![result("a"), result("a"), result("b")]);
        assert!(check(&[hi.clone(), ask.clone(), twice]).is_err());
        assert!(
            check(&[hi.clone(), ask]).is_err(),
            "an open call at the end"
        );
        assert_eq!(check(&[hi.clone(), hi]), Err(ChatError::Roles(0, 1)));
    }
}
