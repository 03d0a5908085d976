//! Small compaction: which old tool results give way to a placeholder.

use std::collections::HashMap;

use crate::domain::chat::{Block, Message};
use crate::domain::ids::CallId;

/// The newest results that stay; the reference's number.
const KEEP_RECENT: usize = 3;
/// Results up to this length, in characters, stay; the reference's number.
const SHORT: usize = 100;
/// Tools whose results stay: what a file holds and what a skill says is worked with later.
const KEPT_TOOLS: &[&str] = &["read_file", "load_skill"];

/// A small compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Small {
    /// The results that go: message, block, and the tool that gave it.
    places: Vec<(usize, usize, String)>,
    /// The tokens that this frees, estimated.
    pub frees: u64,
}

impl Small {
    /// The results of `messages` that may go.
    pub fn of(messages: &[Message]) -> Small {
        let tools: HashMap<&CallId, &str> = messages
            .iter()
            .flat_map(Message::calls)
            .map(|c| (&c.id, c.name.as_str()))
            .collect();
        let mut results: Vec<(usize, usize, &CallId, &str)> = Vec::new();
        for (m, message) in messages.iter().enumerate() {
            for (b, block) in message.blocks.iter().enumerate() {
                if let Block::ToolResult { call, content, .. } = block {
                    results.push((m, b, call, content));
                }
            }
        }
        let old = results.len().saturating_sub(KEEP_RECENT);
        let mut small = Small::default();
        let mut bytes = 0;
        for (m, b, call, content) in results.into_iter().take(old) {
            let tool = tools.get(call).copied().unwrap_or("unknown");
            if content.chars().nth(SHORT).is_none() || KEPT_TOOLS.contains(&tool) {
                continue;
            }
            bytes += content.len().saturating_sub(placeholder(tool).len());
            small.places.push((m, b, tool.to_string()));
        }
        small.frees = (bytes / 4) as u64;
        small
    }

    /// How many results go.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Puts the placeholders in.
    pub fn apply(&self, messages: &mut [Message]) {
        for (m, b, tool) in &self.places {
            let block = messages.get_mut(*m).and_then(|m| m.blocks.get_mut(*b));
            if let Some(Block::ToolResult { content, .. }) = block {
                *content = placeholder(tool);
            }
        }
    }
}

/// The reference's words.
fn placeholder(tool: &str) -> String {
    format!("[Previous: used {tool}]")
}
