//! Builds the request for a summary: a prompt that is appended to the conversation, or sent with a shortened text of
//! the conversation.

use crate::domain::chat::{Block, Message, Role};
use crate::domain::text::{clip, head_and_tail};

/// Maximum size, in bytes, of each block of a message in a [`SummaryForm::Digest`].
const MESSAGE_MAX: usize = 4_000;
/// Maximum length, in characters, of a summary's focus: the text that says what the summary should cover in most
/// detail.
const FOCUS_MAX: usize = 500;

const WANTED: &str = "Write down the state of this work. Your summary replaces the conversation above: nothing \
else of it is kept for you. Do not call tools. Cover, in this order and with names, paths and \
numbers: what the user wants, quoted where the wording matters; what was decided, by whom and why; what has \
been done, with the files that changed, the commands that were run and their results; what you found out that \
was hard to find; what is in progress and the exact next step; what is still wrong or unknown. At most 800 \
words, no preface.";

const SYSTEM: &str = "You summarise the conversation of a coding agent. Write down the state of its work, so \
that the agent can continue from your summary alone.";

/// How the conversation is sent to the model for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryForm {
    /// The conversation itself, followed by the prompt for the summary. System prompt and tools are the agent's own, so
    /// the server's prompt cache applies.
    Appended,
    /// The conversation as one text, shortened to fit the model's window. Used if the server refuses the conversation
    /// as too long, or if the answer to [`SummaryForm::Appended`] is empty.
    Digest,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRequest {
    /// The system prompt of the request, which then has no tools. With `None`, the request has the system prompt and
    /// the tools of the agent.
    pub system: Option<String>,
    /// The conversation, followed by the prompt for the summary. For a [`SummaryForm::Digest`], one message that
    /// contains both.
    pub messages: Vec<Message>,
}

/// Returns the request for a summary of `messages`. `focus` says what the summary should cover in most detail; at most
/// `FOCUS_MAX` characters of it are used. In a [`SummaryForm::Digest`], `room` is the maximum size of the
/// conversation's text, in bytes; otherwise it has no effect.
pub fn question(
    messages: &[Message],
    form: SummaryForm,
    focus: Option<&str>,
    room: usize,
) -> SummaryRequest {
    let mut wanted = WANTED.to_string();
    if let Some(focus) = focus.map(str::trim).filter(|f| !f.is_empty()) {
        wanted.push_str("\nCover in most detail: ");
        wanted.push_str(&clip(focus, FOCUS_MAX));
    }
    match form {
        SummaryForm::Appended => {
            let mut messages = messages.to_vec();
            match messages.last_mut() {
                Some(last) if last.role == Role::User => last.blocks.push(Block::text(wanted)),
                Some(_) | None => messages.push(Message::user(vec![Block::text(wanted)])),
            }
            SummaryRequest {
                system: None,
                messages,
            }
        }
        SummaryForm::Digest => {
            let parts: Vec<String> = messages.iter().map(as_text).collect();
            let text = head_and_tail(&parts.join("\n\n"), room);
            let asked = format!("<conversation>\n{text}\n</conversation>\n\n{wanted}");
            SummaryRequest {
                system: Some(SYSTEM.into()),
                messages: vec![Message::user(vec![Block::text(asked)])],
            }
        }
    }
}

/// Returns a message as plain text for a [`SummaryForm::Digest`], without the model's thinking.
fn as_text(message: &Message) -> String {
    let mut out = Vec::new();
    for block in &message.blocks {
        match (block, message.role) {
            (Block::Text { text }, Role::User) => out.push(format!("USER: {text}")),
            (Block::Text { text }, Role::Assistant) => out.push(format!("AGENT: {text}")),
            (Block::Image(image), _) => out.push(format!("USER: [image {}]", image.path)),
            (Block::Thinking { .. } | Block::ProviderItem(_), _) => {}
            (Block::ToolCall(call), _) => out.push(format!("CALL {}: {}", call.name, call.input)),
            (Block::ToolResult { content, .. }, _) => out.push(format!("RESULT: {content}")),
        }
    }
    let lines: Vec<String> = out.iter().map(|t| head_and_tail(t, MESSAGE_MAX)).collect();
    lines.join("\n")
}
