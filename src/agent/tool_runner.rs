//! Executes tool calls: finds the tool, applies the policy, asks for approval, runs it, and publishes events.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::mailbox::AgentMailbox;
use super::permission_card::{self, SHOWN_MAX, bounded};
use super::server_tools::ServerTools;
use crate::domain::chat::{Block, Message, ToolCall};
use crate::domain::ids::{CallId, Name};
use crate::domain::mcp::server_of;
use crate::domain::redact::Redactor;
use crate::domain::request::{NewRequest, PendingCall, RequestKind, RequestStatus};
use crate::domain::text::head_and_tail;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{AgentEvent, EventKind};
use crate::store::{Board, Skills};
use crate::tools::file_snapshots::FileSnapshots;
use crate::tools::host::Host;
use crate::tools::policy::{self, PermissionRules, PolicyContext, Ruling};
use crate::tools::{
    Access, Supervisor, Tool, ToolContext, ToolOutput, path_below_root, pending, reach, table,
    tool_search,
};

/// Maximum size, in bytes, of one tool result in the conversation.
pub const RESULT_MAX: usize = 64 * 1024;
/// Maximum size, in bytes, of an approver's comment in a tool result.
const COMMENT_MAX: usize = 8 * 1024;

/// The crew's permission rules, shared by all agents. They include the session permissions, which change while the
/// agents work.
pub type SharedRules = Arc<RwLock<PermissionRules>>;

pub struct ToolRunner {
    pub tools: Arc<Vec<&'static Tool>>,
    pub rules: SharedRules,
    pub mailbox: Arc<AgentMailbox>,
    pub skills: Skills,
    /// Access to the crew's services.
    pub host: Arc<dyn Host>,
    /// The project's root directory. `workdir` differs from it while the agent works in a worktree.
    pub root: PathBuf,
    pub board: Board,
    pub workdir: PathBuf,
    /// Maximum run time of a program that a tool starts.
    pub timeout: Duration,
    /// Removes secrets from tool results, approval requests and texts for other agents.
    pub redactor: Redactor,
    /// Supervises and sandboxes programs. With `None`, programs run directly.
    pub supervisor: Option<Arc<Supervisor>>,
    /// The files that the agent has read or written, as it last saw them.
    pub snapshots: Arc<FileSnapshots>,
    /// The tools of MCP servers; `None` if the agent sees no server.
    pub servers: Option<Arc<ServerTools>>,
    pub clock: fn() -> Timestamp,
}

impl ToolRunner {
    /// Executes one tool call. Returns the result and how long the tool took, without the wait for approval. Dropping
    /// the future stops the tool and withdraws an open approval request.
    pub async fn carry_out(&self, agent: &Name, call: &ToolCall) -> (ToolOutput, Duration) {
        let Some(tool) = self.tools.iter().find(|t| t.name == call.name) else {
            return self.call_server(agent, call).await;
        };
        let ruling = self.judged(|standing| policy::decide(tool, &call.input, standing));
        let note = match self.asking_for_network(ruling, agent, tool, call) {
            Ruling::Allow => String::new(),
            Ruling::Deny { why } => {
                return (
                    ToolOutput::error(format!("Error: not allowed: {why}")),
                    Duration::ZERO,
                );
            }
            Ruling::Ask { why } => match self.ask(agent, call, &why).await {
                Ok(note) => note,
                Err(why) => return (ToolOutput::error(why), Duration::ZERO),
            },
        };
        let cancel = CancellationToken::new();
        let _ends_with_this = cancel.clone().drop_guard();
        let context = ToolContext {
            agent: agent.clone(),
            call: call.id.clone(),
            root: self.root.clone(),
            board: self.board.clone(),
            workdir: self.workdir.clone(),
            skills: self.skills.clone(),
            host: Arc::clone(&self.host),
            cancel,
            timeout: self.timeout,
            redactor: self.redactor.clone(),
            supervisor: self.supervisor.clone(),
            snapshots: Arc::clone(&self.snapshots),
            clock: self.clock,
        };
        let began = Instant::now();
        let output = (tool.run)(context, self.input_for(tool, call)).await;
        let took = began.elapsed();
        (self.finish(output, &note), took)
    }

    /// Redacts and cuts an output, and adds the approver's note.
    pub(super) fn finish(&self, mut output: ToolOutput, note: &str) -> ToolOutput {
        // Redacted before the text is cut: a cut through a secret would hide the secret from the redactor.
        output.text = self.redactor.text(&output.text).into_owned();
        output.diff = self.redactor.text(&output.diff).into_owned();
        output.text = head_and_tail(&output.text, RESULT_MAX - note.len().min(RESULT_MAX / 2));
        output.text.push_str(note);
        output
    }

    /// Returns the input that the tool receives. In texts for others (messages, tasks, plans, questions), secrets are
    /// redacted. Commands and files stay as the model wrote them.
    fn input_for(&self, tool: &Tool, call: &ToolCall) -> Value {
        match tool.access {
            Access::Crew => self.redactor.data(call.input.clone()),
            Access::Read | Access::Write | Access::Run | Access::Delegate => call.input.clone(),
        }
    }

    /// If the settings require approval for the call's network access, returns a ruling that asks for it, in addition
    /// to what `ruling` asks for. A denial stays unchanged.
    fn asking_for_network(
        &self,
        ruling: Ruling,
        agent: &Name,
        tool: &Tool,
        call: &ToolCall,
    ) -> Ruling {
        let command = call.input.get("command").and_then(Value::as_str);
        let question = command
            .filter(|_| tool.access == Access::Run)
            .and_then(|text| reach::network_question(self.supervisor.as_deref(), agent, text));
        match (ruling, question) {
            (Ruling::Allow, Some(why)) => Ruling::Ask { why },
            (Ruling::Ask { why }, Some(more)) => Ruling::Ask {
                why: format!("{why}; {more}"),
            },
            (ruling, _) => ruling,
        }
    }

    pub(super) fn judged<T>(&self, judge: impl FnOnce(&PolicyContext<'_>) -> T) -> T {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        judge(&PolicyContext {
            rules: &rules,
            gate: self.mailbox.gate(),
            workdir: &self.workdir,
        })
    }

    /// Requests approval of a call. Returns a note with the approver's comment, to be added to the call's result.
    ///
    /// # Errors
    /// Returns the error text of the call if it was not approved.
    pub(super) async fn ask(
        &self,
        agent: &Name,
        call: &ToolCall,
        why: &str,
    ) -> Result<String, String> {
        let command = call.input.get("command").and_then(Value::as_str);
        let command = command.filter(|_| server_of(&call.name).is_none());
        let parts = command.map_or_else(Vec::new, |c| self.judged(|s| policy::flagged(c, s)));
        // Redacted before the parts are cut: a cut through a secret would hide the secret from the redactor.
        let clean = |part: &String| self.redactor.text(part).into_owned();
        let parts: Vec<String> = parts.iter().map(clean).collect();
        let body = permission_card::body(&call.name, &call.input, why, &parts);
        let body = self.redactor.text(&body).into_owned();
        let asking = NewRequest {
            workdir: path_below_root(&self.root, &self.workdir),
            call: self.asked_call(call, why),
            ..NewRequest::new(RequestKind::Permission, agent, body)
        };
        let asked = self.host.ask(agent, asking).await;
        let request = asked.map_err(|e| format!("Error: approval could not be requested: {e}"))?;
        let comment = head_and_tail(&request.comment, COMMENT_MAX);
        let said = if comment.is_empty() {
            String::new()
        } else {
            format!(": {comment}")
        };
        let by = match request.decided_by.as_str() {
            "user" => "the user",
            other => other,
        };
        match request.status {
            // The comment of an automatic rule says nothing about this call.
            RequestStatus::Approved if comment.is_empty() || by == Name::policy().as_str() => {
                Ok(String::new())
            }
            RequestStatus::Approved => {
                Ok(format!("\n[Approved by {by} with the comment: {comment}]"))
            }
            RequestStatus::Rejected => Err(format!(
                "Error: rejected by {by}{said}. Do not retry it: find another way or ask."
            )),
            RequestStatus::Pending | RequestStatus::Withdrawn => Err(format!(
                "Error: the approval request was withdrawn before a decision{said}"
            )),
        }
    }

    /// Returns the call as stored in its approval request, so that identical calls can share one decision. `None` if
    /// the call is too long to be stored whole or contains a secret, because different calls could then look
    /// identical.
    fn asked_call(&self, call: &ToolCall, why: &str) -> Option<PendingCall> {
        // A tool of a server may have an input of this name that is no command.
        let command = call
            .input
            .get("command")
            .filter(|_| server_of(&call.name).is_none());
        let shown = match command.and_then(Value::as_str) {
            Some(command) => command.to_string(),
            None => call.input.to_string(),
        };
        if shown.len() > SHOWN_MAX || self.redactor.has_secret(&shown) {
            return None;
        }
        let mut asked = PendingCall {
            tool: call.name.clone(),
            input: shown,
            why: why.into(),
            scopes: Vec::new(),
        };
        asked.scopes = match server_of(&call.name) {
            Some(_) => {
                let definition = self.definition_of(&call.name);
                policy::servers::offered(&call.name, definition, &asked.input)
            }
            None => self.judged(|s| pending::scopes(&asked, s)),
        };
        Some(asked)
    }
}

/// Summarises a tool call in one line. For a tool of a server, this is its arguments; for an unknown tool, the start and
/// end of its input.
pub fn shown(call: &ToolCall) -> String {
    match table::find(&call.name) {
        Some(tool) => (tool.show)(&call.input),
        None if call.name == tool_search::NAME => tool_search::shown(&call.input),
        None => match &call.input {
            Value::Object(fields) if server_of(&call.name).is_some() => shown_arguments(fields),
            input => head_and_tail(&input.to_string(), 200),
        },
    }
}

/// Returns the arguments of a call as `name: value`, without those that are null.
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
    pub fn started(&mut self, agent: &Name, calls: &[ToolCall]) -> Vec<EventKind> {
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
    pub fn finished(
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

    /// Returns the events for calls that did not run to the end and whose result is in `message`: refused, malformed or
    /// interrupted calls. Also records the calls that `message` requests.
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
                events.push(self.finished(agent, &known, &output, Duration::ZERO));
            }
        }
        events
    }
}

fn started_event(agent: &Name, call: &ToolCall) -> EventKind {
    AgentEvent::ToolStarted {
        call: call.id.clone(),
        tool: call.name.clone(),
        on: shown(call),
        input: bounded(&call.input),
    }
    .of(agent.clone())
}

#[cfg(test)]
mod tests {
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
        let short = bounded(&input);
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
            assert!(bounded(&input).to_string().len() < SHOWN_MAX * 2);
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
            kinds(&announced.started(&lead, &calls[..2])),
            vec!["start done", "start interrupted"]
        );
        let output = ToolOutput::ok("fine");
        let ended = announced.finished(&lead, &calls[0], &output, Duration::ZERO);
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
