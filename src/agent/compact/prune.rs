//! The small compaction: replaces old tool results with placeholders.

use std::collections::HashMap;

use crate::domain::chat::{Block, Message};
use crate::domain::ids::CallId;

/// Number of newest tool results that are never replaced, as in learn-claude-code.
const KEEP_RECENT: usize = 3;
/// Tool results of at most this many characters are never replaced, as in learn-claude-code. Replacing them would free
/// too little.
const SHORT: usize = 100;
/// Tools whose results are never replaced, because the model still needs file contents and skills.
const KEPT_TOOLS: &[&str] = &["read_file", "load_skill"];

/// The old tool results that a compaction replaces with placeholders instead of summarising the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prune {
    /// For each result to replace: the index of its message, the index of its block, and the name of the tool.
    places: Vec<(usize, usize, String)>,
    /// The estimated number of tokens that replacing these results frees.
    pub frees: u64,
}

impl Prune {
    /// Selects the tool results to replace: those longer than `SHORT`, except the newest `KEEP_RECENT` and the results
    /// of `KEPT_TOOLS`.
    pub fn of(messages: &[Message]) -> Prune {
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
        let mut small = Prune::default();
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

    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Replaces the selected results in `messages` with placeholders. `messages` must be unchanged since
    /// [`Prune::of`].
    pub fn apply(&self, messages: &mut [Message]) {
        for (m, b, tool) in &self.places {
            let block = messages.get_mut(*m).and_then(|m| m.blocks.get_mut(*b));
            if let Some(Block::ToolResult { content, .. }) = block {
                *content = placeholder(tool);
            }
        }
    }
}

/// Returns the placeholder for a result of `tool`, in the wording of learn-claude-code.
fn placeholder(tool: &str) -> String {
    format!("[Previous: used {tool}]")
}
