//! Publishes tool calls: one start event and one end event for each.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::permission_card::shorten_input;
use crate::domain::chat::{Block, Message, ToolCall};
use crate::domain::ids::{CallId, Name};
use crate::domain::mcp::server_of;
use crate::domain::text::head_and_tail;
use crate::protocol::event::{AgentEvent, EventKind};
use crate::tools::{ToolOutput, table, tool_search};

/// Summarises a tool call for the screen. A built-in tool writes its own summary. For a tool of an MCP server, the
/// summary is the call's arguments. For an unknown tool, it is the call's input as JSON, of which at most 200 bytes
/// from the start and the end are kept.
pub fn summarise_call(call: &ToolCall) -> String {
    match table::find(&call.name) {
        Some(tool) => (tool.show)(&call.input),
        None if call.name == tool_search::NAME => tool_search::format_query(&call.input),
        None => match &call.input {
            Value::Object(fields) if server_of(&call.name).is_some() => shown_arguments(fields),
            input => head_and_tail(&input.to_string(), 200),
        },
    }
}

/// Returns the arguments of a call as `name: value`, separated by two spaces. Leaves out arguments that are null. If
/// the result has more than 200 bytes, its middle is cut out.
fn shown_arguments(fields: &Map<String, Value>) -> String {
    let given = fields.iter().filter(|(_, value)| !value.is_null());
    let shown = given.map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    head_and_tail(&shown.collect::<Vec<_>>().join("  "), 200)
}

/// Tracks the tool calls for which events were published, so that each call gets exactly one start event and one end
/// event.
#[derive(Debug, Default)]
pub struct PublishedCalls {
    asked: HashMap<CallId, ToolCall>,
    running: HashMap<CallId, ToolCall>,
}

impl PublishedCalls {
    /// Records that `calls` start, and returns one start event for each.
    pub fn record_starts(&mut self, agent: &Name, calls: &[ToolCall]) -> Vec<EventKind> {
        calls
            .iter()
            .map(|call| {
                self.asked.remove(&call.id);
                self.running.insert(call.id.clone(), call.clone());
                started_event(agent, call)
            })
            .collect()
    }

    /// Records that `call` finished, and returns its end event with the output and the run time.
    pub fn record_finish(
        &mut self,
        agent: &Name,
        call: &ToolCall,
        output: &ToolOutput,
        took: Duration,
    ) -> EventKind {
        self.running.remove(&call.id);
        AgentEvent::ToolFinished {
            call: call.id.clone(),
            tool: call.name.clone(),
            outcome: output.outcome,
            output: output.text.clone(),
            diff: output.diff.clone(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
        .of(agent.clone())
    }

    /// Processes a conversation message. From an answer of the model, records the calls that it requests. From a
    /// message with results, returns the events for the calls that have a result but no end event yet: refused,
    /// malformed and interrupted calls.
    pub fn on_message(&mut self, agent: &Name, message: &Message) -> Vec<EventKind> {
        self.asked
            .extend(message.calls().map(|c| (c.id.clone(), c.clone())));
        let mut events = Vec::new();
        for block in &message.blocks {
            let Block::ToolResult {
                call,
                content,
                outcome,
            } = block
            else {
                continue;
            };
            let known = match self.asked.remove(call) {
                Some(asked) => {
                    events.push(started_event(agent, &asked));
                    Some(asked)
                }
                None => self.running.remove(call),
            };
            if let Some(known) = known {
                let output = ToolOutput {
                    outcome: *outcome,
                    text: content.clone(),
                    diff: String::new(),
                    images: Vec::new(),
                };
                events.push(self.record_finish(agent, &known, &output, Duration::ZERO));
            }
        }
        events
    }
}

/// Returns the start event of a call. A later start event of the same call replaces the summary and the input that the
/// screen shows.
pub fn started_event(agent: &Name, call: &ToolCall) -> EventKind {
    AgentEvent::ToolStarted {
        call: call.id.clone(),
        tool: call.name.clone(),
        on: summarise_call(call),
        input: shorten_input(&call.input),
    }
    .of(agent.clone())
}

#[cfg(test)]
mod tests {
    use super::super::permission_card::SHOWN_MAX;
    use super::*;
    use crate::domain::chat::Outcome;
    use pretty_assertions::assert_eq;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: CallId(id.into()),
            name: "nothing".into(),
            input: serde_json::json!({}),
            broken: None,
        }
    }

    fn kinds(events: &[EventKind]) -> Vec<String> {
        let name = |e: &EventKind| match e {
            EventKind::Agent {
                event: AgentEvent::ToolStarted { call, .. },
                ..
            } => format!("start {call}"),
            EventKind::Agent {
                event:
                    AgentEvent::ToolFinished {
                        call,
                        outcome: Outcome::Ok,
                        ..
                    },
                ..
            } => format!("ok {call}"),
            EventKind::Agent {
                event: AgentEvent::ToolFinished { call, .. },
                ..
            } => format!("error {call}"),
            other => format!("{other:?}"),
        };
        events.iter().map(name).collect()
    }

    #[test]
    fn long_texts_of_an_input_are_cut_and_short_fields_kept() {
        let long = "line\n".repeat(50_000);
        let input =
            serde_json::json!({"subject": "Write it", "description": long, "blocked_by": [1]});
        let short = shorten_input(&input);
        assert_eq!(short["subject"], "Write it");
        assert_eq!(short["blocked_by"], serde_json::json!([1]));
        let said = short["description"].as_str().unwrap();
        assert!(
            said.contains("bytes cut here") && said.starts_with("line\n"),
            "{said}"
        );
        for input in [
            input,
            serde_json::json!([long]),
            serde_json::json!({"a": [long]}),
        ] {
            assert!(shorten_input(&input).to_string().len() < SHOWN_MAX * 2);
        }
    }

    #[test]
    fn every_call_starts_once_and_finishes_once() {
        let lead = Name::lead();
        let mut announced = PublishedCalls::default();
        let calls = ["done", "interrupted", "broken"].map(call);
        let asked = Message::assistant(calls.iter().cloned().map(Block::ToolCall).collect());
        assert_eq!(
            kinds(&announced.on_message(&lead, &asked)),
            Vec::<String>::new()
        );
        assert_eq!(
            kinds(&announced.record_starts(&lead, &calls[..2])),
            vec!["start done", "start interrupted"]
        );
        let output = ToolOutput::ok("fine");
        let ended = announced.record_finish(&lead, &calls[0], &output, Duration::ZERO);
        assert_eq!(kinds(&[ended]), vec!["ok done"]);
        let result = |c: &ToolCall, outcome| Block::ToolResult {
            call: c.id.clone(),
            content: "x".into(),
            outcome,
        };
        let results = Message::user(vec![
            result(&calls[0], Outcome::Ok),
            result(&calls[1], Outcome::Error),
            result(&calls[2], Outcome::Error),
        ]);
        assert_eq!(
            kinds(&announced.on_message(&lead, &results)),
            vec!["error interrupted", "start broken", "error broken"]
        );
        assert_eq!(
            kinds(&announced.on_message(&lead, &results)),
            Vec::<String>::new()
        );
    }
}
