//! Records the effect of each tool call of an agent, to decide whether the agent makes progress.

use super::published_calls::summarise_call;
use super::stall::{CallEffect, StallDetector};
use crate::domain::chat::{Outcome, ToolCall};
use crate::domain::text::{clip, one_line};
use crate::tools::{Access, ToolOutput, table};

/// Maximum length, in characters, of the description of one tool call in the question to the user whether the agent may
/// go on.
const SHOWN_MAX: usize = 120;

/// The check of one agent's progress.
#[derive(Debug)]
pub struct ProgressCheck(pub(super) StallDetector);

impl ProgressCheck {
    /// `limit` is the number of model calls in a row without progress after which the user is asked; 0 for no limit.
    pub fn new(limit: u32) -> ProgressCheck {
        ProgressCheck(StallDetector::new(limit))
    }

    /// Starts to count again, because something has arrived that the agent must react to.
    pub(super) fn reset(&mut self) {
        self.0.reset();
    }

    pub(super) fn note_answer(&mut self) {
        self.0.note_answer();
    }

    pub(super) fn note_call(&mut self, call: &ToolCall, output: &ToolOutput) {
        let shown = one_line(&format!("{} {}", call.name, summarise_call(call)));
        let shown = clip(&shown, SHOWN_MAX);
        self.0
            .note_call(call, &output.text, effect(call, output), shown);
    }
}

/// Returns the effect of a tool call. Whether a command has changed files is unknown here; the fingerprint of the files
/// shows it later.
fn effect(call: &ToolCall, output: &ToolOutput) -> CallEffect {
    let access = table::find(&call.name).map(|tool| tool.access);
    let is_change = match access {
        Some(Access::Write) => !output.diff.is_empty(),
        Some(Access::Crew) => table::changes_crew(&call.name),
        Some(Access::Read | Access::Run | Access::Delegate) | None => false,
    };
    if is_change && output.outcome == Outcome::Ok {
        CallEffect::Change
    } else {
        CallEffect::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::CallId;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn changes_of_files_board_and_messages_are_progress() {
        let changed = ToolOutput {
            diff: "+a".into(),
            ..ToolOutput::ok("done")
        };
        let ok = ToolOutput::ok("done");
        let failed = ToolOutput {
            diff: "+a".into(),
            ..ToolOutput::error("failed")
        };
        for (name, output, expected) in [
            ("edit_file", &changed, CallEffect::Change),
            ("edit_file", &failed, CallEffect::Unknown),
            ("write_file", &ok, CallEffect::Unknown),
            ("send_message", &ok, CallEffect::Change),
            ("task_create", &ok, CallEffect::Change),
            ("plan_approval", &ok, CallEffect::Change),
            ("ask_user", &ok, CallEffect::Change),
            ("todo", &ok, CallEffect::Unknown),
            ("compact", &ok, CallEffect::Unknown),
            ("bash", &ok, CallEffect::Unknown),
            ("read_file", &ok, CallEffect::Unknown),
            ("mcp__server__tool", &ok, CallEffect::Unknown),
        ] {
            let call = ToolCall {
                id: CallId("c".into()),
                name: name.into(),
                input: json!({}),
                broken: None,
            };
            assert_eq!(effect(&call, output), expected, "{name}");
        }
    }
}
