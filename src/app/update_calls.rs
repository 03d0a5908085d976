//! The progress lines of calls of `task_update`. "task_update #1 completed" reads as a fact, so the line is printed with the
//! result of the call and not at its start.

use std::collections::BTreeMap;

use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name};
use crate::domain::text::clip;
use crate::protocol::event::AgentEvent;

const TOOL: &str = "task_update";
/// Maximum number of calls without a result that are remembered. Further ones are printed at their start.
const CALLS_MAX: usize = 1024;

/// The calls that have started and have no result yet, with what they change.
#[derive(Debug, Default)]
pub struct UpdateCalls(BTreeMap<(Name, CallId), String>);

/// What is printed for an event.
#[derive(Debug, PartialEq, Eq)]
pub enum UpdateLine {
    /// Nothing, because the result of the call is not known yet.
    None,
    Result(String),
    /// The event is not one of these calls.
    OtherEvent,
}

impl UpdateCalls {
    /// Takes an event of `agent` into account, and returns what is printed for it.
    pub fn note(&mut self, agent: &Name, event: &AgentEvent) -> UpdateLine {
        match event {
            AgentEvent::ToolStarted { call, tool, on, .. }
                if tool == TOOL && self.0.len() < CALLS_MAX =>
            {
                self.0.insert((agent.clone(), call.clone()), on.clone());
                UpdateLine::None
            }
            AgentEvent::ToolFinished {
                call,
                tool,
                outcome,
                output,
                ..
            } if tool == TOOL => match self.0.remove(&(agent.clone(), call.clone())) {
                Some(on) => UpdateLine::Result(result_line(&on, *outcome, output)),
                None => UpdateLine::OtherEvent,
            },
            _ => UpdateLine::OtherEvent,
        }
    }
}

fn result_line(on: &str, outcome: Outcome, output: &str) -> String {
    let on = clip(on, 100);
    match outcome {
        // The changed task. Any other text says that the change is not made yet.
        Outcome::Ok if output.starts_with('{') => format!("{TOOL} {on}"),
        Outcome::Ok => format!("{TOOL} (requested: {on}): {}", clip(output, 160)),
        Outcome::Error => format!("{TOOL} failed (requested: {on}): {}", clip(output, 160)),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::*;

    fn started(call: &str, tool: &str) -> AgentEvent {
        AgentEvent::ToolStarted {
            call: CallId(call.into()),
            tool: tool.into(),
            on: "#1 completed".into(),
            input: Value::Null,
        }
    }

    fn finished(call: &str, outcome: Outcome, output: &str) -> AgentEvent {
        AgentEvent::ToolFinished {
            call: CallId(call.into()),
            tool: TOOL.into(),
            outcome,
            output: output.into(),
            diff: String::new(),
            took_ms: 0,
        }
    }

    #[test]
    fn change_of_a_task_is_printed_with_its_result() {
        let bob = Name::member("bob").unwrap();
        for (outcome, output, line) in [
            (Outcome::Ok, "{\"id\": 1}", "task_update #1 completed"),
            (
                Outcome::Ok,
                "The checks are still running.",
                "task_update (requested: #1 completed): The checks are still running.",
            ),
            (
                Outcome::Error,
                "Error: red checks",
                "task_update failed (requested: #1 completed): Error: red checks",
            ),
        ] {
            let mut calls = UpdateCalls::default();
            assert_eq!(calls.note(&bob, &started("c1", TOOL)), UpdateLine::None);
            // Calls of different agents may have the same id.
            let of_other = calls.note(&Name::lead(), &finished("c1", outcome, output));
            assert_eq!(of_other, UpdateLine::OtherEvent);
            let printed = calls.note(&bob, &finished("c1", outcome, output));
            assert_eq!(printed, UpdateLine::Result(line.into()));
        }
    }

    #[test]
    fn start_of_another_tool_is_another_event() {
        let mut calls = UpdateCalls::default();
        let line = calls.note(&Name::lead(), &started("c1", "bash"));
        assert_eq!(line, UpdateLine::OtherEvent);
    }
}
