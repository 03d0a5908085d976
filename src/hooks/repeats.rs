//! Counts how often a hook blocks the same action, so that a hook cannot keep an agent busy forever.

use std::collections::HashMap;

use crate::domain::hook::HookSpec;
use crate::domain::text::{clip, escape_control_chars, one_line};

/// Number of consecutive blocks of the same action by a hook after which the user is asked about the hook.
const REPEATS_MAX: u32 = 3;
/// Maximum number of counts that are stored, one for each hook and action. Before one more would be stored, all counts
/// are deleted.
const COUNTED_MAX: usize = 1024;
/// Maximum length, in characters, of a hook's reason in the question that the user gets after repeated blocks.
const REASON_MAX: usize = 300;

/// The number of consecutive blocks for each hook and action. The key is the position of the hook in the list of all
/// hooks, and the action's [`HookInput::block_key`](crate::domain::hook::HookInput::block_key).
#[derive(Debug, Default)]
pub struct RepeatedBlocks(HashMap<(usize, u64), u32>);

impl RepeatedBlocks {
    /// Counts a block of the action `key` by the hook at position `index`. Returns true, and resets the count, if this
    /// is the [`REPEATS_MAX`]th consecutive block. Without a block (`has_blocked` is false), only resets the count.
    pub fn count(&mut self, index: usize, key: u64, has_blocked: bool) -> bool {
        if !has_blocked {
            self.0.remove(&(index, key));
            return false;
        }
        if self.0.len() >= COUNTED_MAX && !self.0.contains_key(&(index, key)) {
            self.0.clear();
        }
        let count = self.0.entry((index, key)).or_default();
        *count += 1;
        let is_due = *count >= REPEATS_MAX;
        if is_due {
            self.0.remove(&(index, key));
        }
        is_due
    }
}

/// Returns the line of the question for the user about a hook that has blocked the same action [`REPEATS_MAX`] times in
/// a row. `reason` is the hook's last reason.
pub fn describe_repeats(hook: &HookSpec, reason: &str) -> String {
    let how = format!("has blocked the same action {REPEATS_MAX} times in a row");
    line(hook, &how, reason)
}

/// Returns the line of the question for the user about a further hook that blocks the same action, but not
/// [`REPEATS_MAX`] times in a row yet. `reason` is the hook's reason.
pub fn also_blocks(hook: &HookSpec, reason: &str) -> String {
    line(hook, "also blocks this action", reason)
}

fn line(hook: &HookSpec, how: &str, reason: &str) -> String {
    let reason = clip(&one_line(&escape_control_chars(reason)), REASON_MAX);
    let (label, file) = (hook.label(), &hook.source.file);
    format!("The hook {label} of {file} {how}: {reason}")
}
