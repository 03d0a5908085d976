//! The answer of an external agent to one prompt, as it arrives.

use std::collections::BTreeSet;

use super::shared::{Deltas, send};
use crate::acp::{PromptEnd, PromptEndReason};
use crate::domain::agent_update::AgentUpdate;
use crate::domain::chat::Block;
use crate::domain::text::LongText;
use crate::model::{Delta, Reply, StopReason};

/// Maximum size, in bytes, of an answer's text in the conversation, and of its thoughts. The middle of a longer text is
/// left out.
const ANSWER_MAX: usize = 256 * 1024;
/// Maximum number of parts into which tool calls divide an answer. All text after these parts is one more part.
const PARTS_MAX: usize = 1024;
/// Maximum number of running tool calls that are tracked. Further calls do not count in
/// [`ExternalAnswer::has_open_calls`].
const OPEN_CALLS_MAX: usize = 256;
/// The text that replaces a part of an answer if the answer is too long.
const LEFT_OUT: &str = "[… part left out …]";

pub struct ExternalAnswer {
    /// The complete parts of the answer. A part is complete when a tool call follows it.
    parts: Vec<String>,
    /// The size of all `parts` together, in bytes.
    size: usize,
    /// The text of the part that is still arriving.
    text: LongText,
    thoughts: LongText,
    /// The ids of the tool calls that have not ended.
    open_calls: BTreeSet<String>,
    calls: usize,
    /// Whether the agent has reported a text, a thought or a tool call.
    has_updates: bool,
}

impl Default for ExternalAnswer {
    fn default() -> ExternalAnswer {
        ExternalAnswer {
            parts: Vec::new(),
            size: 0,
            text: LongText::new(ANSWER_MAX),
            thoughts: LongText::new(ANSWER_MAX),
            open_calls: BTreeSet::new(),
            calls: 0,
            has_updates: false,
        }
    }
}

impl ExternalAnswer {
    pub fn has_open_calls(&self) -> bool {
        !self.open_calls.is_empty()
    }

    /// Returns whether the agent has begun to work on the prompt.
    pub fn has_updates(&self) -> bool {
        self.has_updates
    }

    pub async fn process(&mut self, updates: Vec<AgentUpdate>, deltas: &Deltas) {
        for update in updates {
            match update {
                AgentUpdate::Text(text) => {
                    self.has_updates = true;
                    self.text.push(&text);
                    send(deltas, Delta::Text(text)).await;
                }
                AgentUpdate::Thought(text) => {
                    self.has_updates = true;
                    self.thoughts.push(&text);
                    send(deltas, Delta::Thinking(text)).await;
                }
                AgentUpdate::ToolCall(call) => {
                    self.has_updates = true;
                    if call.status.is_final() {
                        self.open_calls.remove(&call.id);
                    } else if self.open_calls.len() < OPEN_CALLS_MAX
                        && self.open_calls.insert(call.id.clone())
                    {
                        self.calls += 1;
                        self.end_part(deltas).await;
                    }
                    send(deltas, Delta::External(AgentUpdate::ToolCall(call))).await;
                }
                other => send(deltas, Delta::External(other)).await,
            }
        }
    }

    /// Ends the part of the answer before a tool call, so that both are shown in their order. Does nothing if that part
    /// has no text, or if the answer already has `PARTS_MAX` parts.
    async fn end_part(&mut self, deltas: &Deltas) {
        if self.parts.len() >= PARTS_MAX {
            return;
        }
        let text = std::mem::replace(&mut self.text, LongText::new(ANSWER_MAX)).finish();
        if !text.trim().is_empty() {
            self.thoughts = LongText::new(ANSWER_MAX);
            self.add_part(text.clone());
            send(deltas, Delta::Part(text)).await;
        }
    }

    /// Adds a part. While all parts together are larger than `ANSWER_MAX`, replaces the oldest of them by `LEFT_OUT`,
    /// but never the first part or the new one.
    fn add_part(&mut self, part: String) {
        self.size += part.len();
        self.parts.push(part);
        while self.size > ANSWER_MAX {
            let last = self.parts.len() - 1;
            let mut middle = self.parts.iter_mut().take(last).skip(1);
            let Some(oldest) = middle.find(|part| part.len() > LEFT_OUT.len()) else {
                return;
            };
            self.size -= oldest.len() - LEFT_OUT.len();
            *oldest = LEFT_OUT.into();
        }
    }

    pub fn reply(self, end: &PromptEnd) -> Reply {
        let (text, thoughts) = (self.text.finish(), self.thoughts.finish());
        let mut blocks: Vec<Block> = self.parts.into_iter().map(Block::text).collect();
        if !thoughts.is_empty() {
            blocks.push(Block::Thinking {
                text: thoughts,
                signature: None,
                origin: None,
            });
        }
        let is_empty = text.trim().is_empty() && blocks.is_empty();
        if !text.trim().is_empty() {
            blocks.push(Block::text(text));
        } else if is_empty && self.calls > 0 {
            blocks.push(Block::text("(no text)"));
        }
        Reply {
            blocks,
            stop: match end.reason {
                PromptEndReason::EndTurn | PromptEndReason::Cancelled => StopReason::EndTurn,
                PromptEndReason::MaxTokens => StopReason::MaxTokens,
                PromptEndReason::Refusal => StopReason::Refusal,
                PromptEndReason::MaxRequests => StopReason::Other("max_turn_requests".into()),
                PromptEndReason::Other => StopReason::Other("unknown".into()),
            },
            usage: end.usage.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agent_update::{AgentToolCall, AgentToolKind, AgentToolStatus};
    use crate::domain::text::bytes_cut;

    async fn answer(updates: Vec<AgentUpdate>) -> Vec<Block> {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
        tokio::spawn(async move { while receiver.recv().await.is_some() {} });
        let mut answer = ExternalAnswer::default();
        answer.process(updates, &sender).await;
        let end = PromptEnd {
            reason: PromptEndReason::EndTurn,
            usage: None,
            refused: Vec::new(),
            is_refusal_unreported: false,
        };
        answer.reply(&end).blocks
    }

    fn text(block: &Block) -> &str {
        match block {
            Block::Text { text } => text,
            _ => "",
        }
    }

    fn call(id: usize) -> AgentUpdate {
        AgentUpdate::ToolCall(AgentToolCall {
            title: "t".into(),
            kind: AgentToolKind::Execute,
            status: AgentToolStatus::InProgress,
            ..AgentToolCall::new(id.to_string())
        })
    }

    #[tokio::test]
    async fn long_answer_keeps_its_start_and_end_and_marks_the_cut() {
        let piece = "x".repeat(100_000);
        let mut updates = vec![AgentUpdate::Text("start ".into())];
        updates.extend((0..10).map(|_| AgentUpdate::Text(piece.clone())));
        updates.push(AgentUpdate::Text(" end".into()));
        let blocks = answer(updates).await;
        let text = text(&blocks[0]);
        assert!(text.starts_with("start ") && text.ends_with(" end"));
        assert_eq!(bytes_cut(text), 1_000_010 - ANSWER_MAX);
    }

    #[tokio::test]
    async fn parts_of_an_answer_share_one_limit() {
        let mut updates = Vec::new();
        for at in 0..20 {
            let size = if at == 0 { 10 } else { 50_000 };
            updates.push(AgentUpdate::Text(format!("{at}{}", "y".repeat(size))));
            updates.push(call(at));
        }
        updates.push(AgentUpdate::Text("end".into()));
        let blocks = answer(updates).await;
        // The number of blocks stays, because the blocks that were published already are counted.
        assert_eq!(blocks.len(), 21);
        let size: usize = blocks.iter().map(|block| text(block).len()).sum();
        assert!(size <= ANSWER_MAX, "{size}");
        assert!(text(&blocks[0]).starts_with('0') && text(&blocks[19]).starts_with("19"));
        assert_eq!(text(&blocks[1]), LEFT_OUT);
        assert_eq!(text(&blocks[20]), "end");
    }
}
