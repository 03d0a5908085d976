//! The question for a summary: asked behind the conversation itself, or about a digest of it.

use crate::domain::chat::{Block, Message, Role};
use crate::domain::text::{clip, head_and_tail};

/// Most characters of one message in a digest.
const MESSAGE_MAX: usize = 4_000;
/// Longest focus, in characters.
const FOCUS_MAX: usize = 500;

const WANTED: &str = "Write down where this work stands. What you write replaces everything above it: \
nothing else of this conversation is kept for you. Call no tools. Say, in this order and with names, paths \
and numbers: what the person wants, in their words where the words matter; what was decided, by whom and why; \
what has been done, with the files that changed and the commands that were run and how they ended; what you \
found out that was hard to find; what is under way and what the very next step is; what is still wrong or \
unknown. At most 800 words, no preface.";

const SYSTEM: &str = "You keep the records of a coding agent. You are given its conversation and write down \
where its work stands, so that it can go on from your words alone.";

/// How the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The question stands behind the conversation as it is, with the same system prompt and tools: what
    /// the server has cached of it is read once more.
    Behind,
    /// The conversation is told as text, shortened to fit: for one that the model can no longer take.
    Digest,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Another system prompt; `None`: the agent's own, with its tools.
    pub system: Option<String>,
    /// The conversation with the question.
    pub messages: Vec<Message>,
}

/// Asks for a summary of `messages`. `room` bounds a digest, in bytes.
pub fn question(messages: &[Message], form: Form, focus: Option<&str>, room: usize) -> Question {
    let mut wanted = WANTED.to_string();
    if let Some(focus) = focus.map(str::trim).filter(|f| !f.is_empty()) {
        wanted.push_str("\nGive most room to: ");
        wanted.push_str(&clip(focus, FOCUS_MAX));
    }
    match form {
        Form::Behind => {
            let mut messages = messages.to_vec();
            match messages.last_mut() {
                Some(last) if last.role == Role::User => last.blocks.push(Block::text(wanted)),
                Some(_) | None => messages.push(Message::user(vec![Block::text(wanted)])),
            }
            Question {
                system: None,
                messages,
            }
        }
        Form::Digest => {
            let told: Vec<String> = messages.iter().map(told).collect();
            let text = head_and_tail(&told.join("\n\n"), room);
            let asked = format!("<conversation>\n{text}\n</conversation>\n\n{wanted}");
            Question {
                system: Some(SYSTEM.into()),
                messages: vec![Message::user(vec![Block::text(asked)])],
            }
        }
    }
}

/// A message as text.
fn told(message: &Message) -> String {
    let mut out = Vec::new();
    for block in &message.blocks {
        match (block, message.role) {
            (Block::Text { text }, Role::User) => out.push(format!("TOLD: {text}")),
            (Block::Text { text }, Role::Assistant) => out.push(format!("AGENT: {text}")),
            (Block::Thinking { .. }, _) => {}
            (Block::ToolCall(call), _) => out.push(format!("CALL {}: {}", call.name, call.input)),
            (Block::ToolResult { content, .. }, _) => out.push(format!("RESULT: {content}")),
        }
    }
    let lines: Vec<String> = out.iter().map(|t| head_and_tail(t, MESSAGE_MAX)).collect();
    lines.join("\n")
}
