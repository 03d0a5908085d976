//! Counts how often a hook blocks the same thing, so that it cannot keep an agent busy forever.

use std::collections::HashMap;

use crate::domain::hook::HookSpec;
use crate::domain::text::{clip, escape_control_chars, one_line};

/// The number of times that a hook may block the same thing before the user is asked.
const REPEATS_MAX: u32 = 3;
/// Maximum number of counted things. When there are more, counting starts again.
const COUNTED_MAX: usize = 1024;
/// Maximum length of a reason in a question, in characters.
const REASON_MAX: usize = 300;

/// The number of blocks, by the index of the hook and
/// [`HookInput::block_key`](crate::domain::hook::HookInput::block_key).
#[derive(Debug, Default)]
pub struct RepeatedBlocks(HashMap<(usize, u64), u32>);

impl RepeatedBlocks {
    /// Counts whether a hook has blocked what `key` identifies. If this is the [`REPEATS_MAX`]th block in a row, returns
    /// true and starts to count again.
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

/// Returns the line of the question about a hook that has blocked too often.
pub fn repeated(hook: &HookSpec, reason: &str) -> String {
    let how = format!("has blocked the same action {REPEATS_MAX} times in a row");
    line(hook, &how, reason)
}

/// Returns the line of the question about another hook that blocks the same thing.
pub fn also_blocks(hook: &HookSpec, reason: &str) -> String {
    line(hook, "blocks it too", reason)
}

fn line(hook: &HookSpec, how: &str, reason: &str) -> String {
    let reason = clip(&one_line(&escape_control_chars(reason)), REASON_MAX);
    let (label, file) = (hook.label(), &hook.source.file);
    format!("The hook {label} of {file} {how}: {reason}")
}
