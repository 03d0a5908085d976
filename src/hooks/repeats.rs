//! Counts how often a hook blocks the same thing, so that it cannot keep an agent busy forever.

use std::collections::HashMap;

use crate::domain::hook::{HookDecision, HookSpec, PermissionVerdict};
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
    /// Counts a hook's decision about what `key` identifies. If it is the [`REPEATS_MAX`]th block in a row, returns the
    /// question for the user and starts to count again.
    pub fn count(
        &mut self,
        index: usize,
        hook: &HookSpec,
        key: u64,
        decision: &HookDecision,
    ) -> Option<String> {
        let denied = match &decision.permission {
            Some((PermissionVerdict::Deny, reason)) => Some(reason),
            _ => None,
        };
        let Some(reason) = decision.block.as_ref().or(denied) else {
            self.0.remove(&(index, key));
            return None;
        };
        if self.0.len() >= COUNTED_MAX && !self.0.contains_key(&(index, key)) {
            self.0.clear();
        }
        let count = self.0.entry((index, key)).or_default();
        *count += 1;
        if *count < REPEATS_MAX {
            return None;
        }
        self.0.remove(&(index, key));
        let reason = clip(&one_line(&escape_control_chars(reason)), REASON_MAX);
        Some(format!(
            "The hook {} of {} has blocked the same {REPEATS_MAX} times: {reason}",
            hook.label(),
            hook.source.file
        ))
    }
}
