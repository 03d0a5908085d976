//! The decisions of all hooks of an event, merged.

use serde_json::Value;

use super::decision::{HookDecision, PermissionVerdict};
use crate::domain::text::head_and_tail;

/// Maximum length of a text of a hook for a model or the user, in characters. A longer text is cut to this number of
/// bytes.
pub const CONTEXT_MAX: usize = 10_000;

/// What the hooks of an event have decided together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutcome {
    /// The strictest decision about a tool call with its reasons: deny, defer, ask, allow.
    pub permission: Option<(PermissionVerdict, String)>,
    /// The whole new input of the tool call, in crewdeck's own fields.
    pub updated_input: Option<Value>,
    /// The reasons of hooks that block, see [`super::HookEvent::block_effect`].
    pub blocks: Vec<String>,
    /// Why the agent must stop working.
    pub stop: Option<String>,
    /// Texts for the model, together at most [`CONTEXT_MAX`] characters.
    pub context: Vec<String>,
    /// Texts for the user.
    pub messages: Vec<String>,
    /// The directory that a hook of `WorktreeCreate` has made.
    pub worktree: Option<String>,
    /// Problems of hooks for the user, each on one line.
    pub problems: Vec<String>,
    /// Set if a hook has blocked the same too often: what to ask the user.
    pub ask_user: Option<Box<BlockQuestion>>,
}

/// The question about hooks that block the same too often.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockQuestion {
    /// Names all hooks that block, one in a line.
    pub text: String,
    /// The outcome if the user ignores these hooks. What the other hooks decide holds.
    pub lifted: HookOutcome,
}

impl HookOutcome {
    /// Returns whether a hook prevents what was about to happen.
    pub fn is_blocked(&self) -> bool {
        !self.blocks.is_empty() || matches!(self.permission, Some((PermissionVerdict::Deny, _)))
    }

    /// Returns the reasons of all blocks, for a model or the user.
    pub fn reason(&self) -> String {
        match &self.permission {
            Some((PermissionVerdict::Deny, reason)) => reason.clone(),
            _ => bounded(&self.blocks.join("\n")),
        }
    }
}

/// Returns `text`. If it has more than [`CONTEXT_MAX`] characters, the middle is cut, and a mark says how much.
pub fn bounded(text: &str) -> String {
    if text.chars().nth(CONTEXT_MAX).is_none() {
        return text.to_string();
    }
    head_and_tail(text, CONTEXT_MAX)
}

/// Merges decisions, which are in the order of the hooks.
pub fn merge(decisions: Vec<HookDecision>) -> HookOutcome {
    let mut out = HookOutcome::default();
    let strictest = decisions
        .iter()
        .filter_map(|d| d.permission.as_ref())
        .map(|(v, _)| *v)
        .max();
    let mut reasons: Vec<String> = Vec::new();
    for decision in decisions {
        if let Some((verdict, reason)) = decision.permission
            && Some(verdict) == strictest
            && !reason.is_empty()
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
        if let Some(input) = decision.updated_input {
            match &out.updated_input {
                None => out.updated_input = Some(input),
                Some(earlier) if *earlier == input => {}
                Some(_) => out.problems.push(
                    "Several hooks changed the input of the same call: the first change is used"
                        .into(),
                ),
            }
        }
        out.blocks.extend(decision.block.map(|text| bounded(&text)));
        out.stop = out.stop.or(decision.stop.map(|text| bounded(&text)));
        out.context.extend(decision.context);
        out.messages
            .extend(decision.message.map(|text| bounded(&text)));
        out.worktree = out.worktree.or(decision.worktree);
        out.problems.extend(decision.problem);
    }
    let context = out.context.join("\n");
    if context.chars().nth(CONTEXT_MAX).is_some() {
        out.context = vec![bounded(&context)];
    }
    out.permission = strictest.map(|verdict| (verdict, bounded(&reasons.join("\n"))));
    if strictest == Some(PermissionVerdict::Deny) {
        out.updated_input = None;
    }
    out
}
