//! The content of a prompt for an external agent: the part of the conversation that its session has not received yet.

use crate::acp::{PromptEnd, PromptPart};
use crate::agent::prompt::EXTERNAL_RESUMED_TURN;
use crate::domain::chat::{Block, Message, Role};
use crate::domain::text::head_and_tail;
use crate::model::ModelRequest;

/// Maximum size of the summary with which a new session begins, in bytes.
const SUMMARY_MAX: usize = 16 * 1024;
/// Maximum size of one message in the summary, in bytes.
const MESSAGE_MAX: usize = 2 * 1024;

/// Which part of the conversation a session of an external agent has already received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The session is new and has received nothing.
    Nothing,
    /// The session has received the first `count` messages of the conversation. Before these messages, the conversation
    /// was emptied `clearings` times.
    Messages { count: usize, clearings: u64 },
}

impl Known {
    /// Creates the value for a session that has received the first `count` messages of the conversation in `request`.
    pub fn first(count: usize, request: &ModelRequest) -> Known {
        Known::Messages {
            count,
            clearings: request.clearings,
        }
    }

    /// Returns whether the session can continue with the conversation in `request`. It cannot if the conversation was
    /// emptied after the session received a part of it, or has fewer messages than the session has received.
    pub fn fits(self, request: &ModelRequest) -> bool {
        match self {
            Known::Nothing => true,
            Known::Messages { count, clearings } => {
                clearings == request.clearings && request.messages.len() >= count
            }
        }
    }
}

/// Which part of the conversation a session has received, and what its next prompt must say in addition.
#[derive(Debug, Clone)]
pub struct SessionKnowledge {
    pub known: Known,
    /// What the next prompt must say about calls that were refused; `None` if nothing.
    refusals: Option<String>,
}

impl SessionKnowledge {
    pub fn new(known: Known) -> SessionKnowledge {
        SessionKnowledge {
            known,
            refusals: None,
        }
    }

    /// Returns the content of the next prompt: the notice about refused calls, if there is one, and what is new in the
    /// conversation of `request`.
    pub fn next_content(&self, request: &ModelRequest) -> Vec<PromptPart> {
        let mut parts: Vec<PromptPart> = Vec::new();
        parts.extend(self.refusals.clone().map(PromptPart::Text));
        parts.extend(new_parts(request, &self.known));
        parts
    }

    /// Records that the prompt for `request` was sent.
    pub fn note_sent(&mut self, request: &ModelRequest) {
        self.refusals = None;
        self.known = Known::first(request.messages.len(), request);
    }

    pub fn note_end(&mut self, end: &PromptEnd) {
        self.refusals = end.refusal_notice();
    }
}

/// Returns whether the conversation contains an answer of the agent.
pub fn has_answer(request: &ModelRequest) -> bool {
    answered(request) > 0
}

/// Returns the number of messages up to and including the last answer of the agent; 0 if there is no answer.
pub fn answered(request: &ModelRequest) -> usize {
    let is_answer = |message: &Message| message.role == Role::Assistant;
    let last = request.messages.iter().rposition(is_answer);
    last.map_or(0, |at| at + 1)
}

/// Returns the parts of a prompt with the messages that are new for a session; never empty. A new session first gets
/// the system prompt and a summary of the conversation so far.
fn new_parts(request: &ModelRequest, known: &Known) -> Vec<PromptPart> {
    let mut parts = Vec::new();
    let first_new = match known {
        Known::Nothing => {
            parts.push(PromptPart::Text(request.system.clone()));
            let answered = answered(request);
            parts.extend(summary(&request.messages[..answered]).map(PromptPart::Text));
            answered
        }
        Known::Messages { count, .. } => *count,
    };
    let new = request.messages.get(first_new..).unwrap_or_default();
    let new = new.iter().filter(|message| message.role == Role::User);
    let mut new: Vec<&Block> = new.flat_map(|message| &message.blocks).collect();
    // What was sent before an interruption is sent again, and the agent must know that before it reads it.
    let is_mark =
        |block: &Block| matches!(block, Block::Text { text } if text == EXTERNAL_RESUMED_TURN);
    new.sort_by_key(|block| !is_mark(block));
    parts.extend(new.into_iter().filter_map(part));
    if parts.is_empty() {
        parts.push(PromptPart::Text("Continue.".into()));
    }
    parts
}

fn part(block: &Block) -> Option<PromptPart> {
    match block {
        Block::Text { text } => (!text.trim().is_empty()).then(|| PromptPart::Text(text.clone())),
        Block::Image(image) => Some(match &image.data.0 {
            Some(data) => PromptPart::Image {
                media_type: image.size.media_type.clone(),
                data: data.to_string(),
            },
            None => PromptPart::Text(image.placeholder("is no longer stored")),
        }),
        Block::ToolResult { content, .. } => Some(PromptPart::Text(content.clone())),
        Block::Thinking { .. } | Block::ToolCall(_) | Block::ProviderItem(_) => None,
    }
}

/// Returns the text of the last `messages` that fit in `SUMMARY_MAX` bytes, each cut in the middle to `MESSAGE_MAX`
/// bytes. `None` if no message has text.
fn summary(messages: &[Message]) -> Option<String> {
    let mut lines = Vec::new();
    let mut room = SUMMARY_MAX;
    for message in messages.iter().rev() {
        let who = match message.role {
            Role::User => "To you",
            Role::Assistant => "You",
        };
        let text = head_and_tail(message.text().trim(), MESSAGE_MAX);
        if text.is_empty() {
            continue;
        }
        let line = format!("{who}: {text}");
        let Some(left) = room.checked_sub(line.len()) else {
            lines.push("(Earlier messages are left out.)".to_string());
            break;
        };
        room = left;
        lines.push(line);
    }
    if lines.is_empty() {
        return None;
    }
    lines.reverse();
    Some(format!(
        "<earlier>\nYou have already worked in this crew, in another session. What was said:\n\n{}\n</earlier>",
        lines.join("\n\n")
    ))
}
