//! Merges the decisions of all hooks that ran for one event.

use serde_json::Value;

use super::decision::{HookDecision, PermissionVerdict};
use crate::domain::text::head_and_tail;

/// Maximum length, in characters, of a text from a hook for a model or the user. A longer text is shortened by
/// [`limit_length`].
pub const CONTEXT_MAX: usize = 10_000;

/// The merged decision of all hooks that ran for one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HookOutcome {
    /// The strictest decision about the tool call, and the reasons of the hooks that made this decision, one per line.
    /// The order from strict to weak is deny, defer, ask, allow. `None` if no hook decided.
    pub permission: Option<(PermissionVerdict, String)>,
    /// The new input of the tool call, which replaces the whole input; `None` if no hook changes the input. In the
    /// result of [`merge`], the fields have the names of Claude Code; in the result of the hook runner, they have
    /// crewdeck's names.
    pub updated_input: Option<Value>,
    /// The reasons of the hooks that block; [`super::HookEvent::block_effect`] says what a block changes.
    pub blocks: Vec<String>,
    /// Why a hook stops the agent, from the first hook that does; `None` if no hook does.
    pub stop: Option<String>,
    /// Texts for the model, one from each hook that has one. If they have more than [`CONTEXT_MAX`] characters
    /// together, they are joined to a single text, which [`limit_length`] has shortened.
    pub context: Vec<String>,
    /// Texts for the user, one from each hook that has one, each shortened by [`limit_length`].
    pub messages: Vec<String>,
    /// The path of the directory that a hook of `WorktreeCreate` has created; `None` for other events.
    pub worktree: Option<String>,
    /// What went wrong with hooks, for the user; each problem is on one line.
    pub problems: Vec<String>,
    /// The question for the user about a hook that has blocked the same action too often; `None` if there is no such
    /// hook. [`merge`] leaves this empty; the hook runner sets it.
    pub ask_user: Option<Box<BlockQuestion>>,
}

/// The question for the user about hooks that have blocked the same action too often.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockQuestion {
    /// The text of the question, with one line for each hook that blocks the action.
    pub text: String,
    /// The merged decision that applies if the user ignores the hooks that block. The decisions of the other hooks stay
    /// in effect.
    pub lifted: HookOutcome,
}

impl HookOutcome {
    /// Returns whether at least one hook blocks the event or denies the tool call.
    pub fn is_blocked(&self) -> bool {
        !self.blocks.is_empty() || matches!(self.permission, Some((PermissionVerdict::Deny, _)))
    }

    /// Returns the reasons to show to a model or the user, one per line: the reasons of the hooks that deny the tool
    /// call, otherwise the reasons of the hooks that block. Empty if no hook denies or blocks, or if the hooks give no
    /// reason.
    pub fn reason(&self) -> String {
        match &self.permission {
            Some((PermissionVerdict::Deny, reason)) => reason.clone(),
            _ => limit_length(&self.blocks.join("\n")),
        }
    }
}

/// Shortens `text` if it has more than [`CONTEXT_MAX`] characters. Keeps its start and end, together at most
/// [`CONTEXT_MAX`] bytes. A note between them says how many bytes were cut.
pub fn limit_length(text: &str) -> String {
    if text.chars().nth(CONTEXT_MAX).is_none() {
        return text.to_string();
    }
    head_and_tail(text, CONTEXT_MAX)
}

/// Merges the decisions of several hooks for one event. The strictest decision about a tool call counts. A value that
/// only one hook can set, such as the new input of a call, comes from the first hook that sets it. A denied call has no
/// new input.
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
        out.blocks
            .extend(decision.block.map(|text| limit_length(&text)));
        out.stop = out.stop.or(decision.stop.map(|text| limit_length(&text)));
        out.context.extend(decision.context);
        out.messages
            .extend(decision.message.map(|text| limit_length(&text)));
        out.worktree = out.worktree.or(decision.worktree);
        out.problems.extend(decision.problem);
    }
    let context = out.context.join("\n");
    if context.chars().nth(CONTEXT_MAX).is_some() {
        out.context = vec![limit_length(&context)];
    }
    out.permission = strictest.map(|verdict| (verdict, limit_length(&reasons.join("\n"))));
    if strictest == Some(PermissionVerdict::Deny) {
        out.updated_input = None;
    }
    out
}
