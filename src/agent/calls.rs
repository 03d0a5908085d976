//! Tool calls in action: found, judged by the policy, asked about, run; and what the screen hears of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::permission_card;
use crate::domain::chat::{Block, Message, ToolCall};
use crate::domain::ids::{CallId, Name};
use crate::domain::redact::Redactor;
use crate::domain::request::{AskedCall, Asking, RequestKind, RequestStatus};
use crate::domain::stamp::Stamp;
use crate::domain::text::head_and_tail;
use crate::protocol::event::EventKind;
use crate::store::{Board, Skills};
use crate::tools::file_snapshots::FileSnapshots;
use crate::tools::host::Host;
use crate::tools::policy::{self, Rules, Ruling, Standing};
use crate::tools::{Access, Guard, Tool, ToolContext, ToolOutput, path_below_root, reach, table};

/// Most bytes of one tool result that enter the conversation.
pub const RESULT_MAX: usize = 64 * 1024;
/// Most bytes of a decision's comment that are added to a result.
const COMMENT_MAX: usize = 8 * 1024;
/// Most bytes of a call's input that an event carries.
pub(super) const SHOWN_MAX: usize = 16 * 1024;

/// The standing rules of a crew; those of the session come and go.
pub type RuleBook = Arc<RwLock<Rules>>;

/// Where an agent's calls are carried out.
pub struct Workshop {
    /// The tools that it was given.
    pub tools: Arc<Vec<&'static Tool>>,
    /// The standing rules.
    pub rules: RuleBook,
    /// What the crew and the agent share.
    pub desk: Arc<Desk>,
    /// The skills that can be loaded.
    pub skills: Skills,
    /// The floors above.
    pub host: Arc<dyn Host>,
    /// The crew's root.
    pub root: PathBuf,
    /// The crew's board.
    pub board: Board,
    /// Where the agent works.
    pub workdir: PathBuf,
    /// How long a program may run.
    pub timeout: Duration,
    /// Takes secrets out of what tools bring back, and out of what is asked and written down for others.
    pub redactor: Redactor,
    /// What stands between crewdeck and a program; `None`: nothing.
    pub guard: Option<Arc<Guard>>,
    /// The files as the agent last saw them.
    pub snapshots: Arc<FileSnapshots>,
    /// The time.
    pub clock: fn() -> Stamp,
}

impl Workshop {
    /// Carries one call out; also says how long the tool itself took, without the wait for a person.
    /// Dropping the future ends the tool and withdraws an open question.
    pub async fn carry_out(&self, agent: &Name, call: &ToolCall) -> (ToolOutput, Duration) {
        let Some(tool) = self.tools.iter().find(|t| t.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|t| t.name).collect();
            return (
                ToolOutput::error(table::unknown(&call.name, &names)),
                Duration::ZERO,
            );
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
            Ruling::Ask { why } => match self.ask(agent, tool, call, &why).await {
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
            guard: self.guard.clone(),
            snapshots: Arc::clone(&self.snapshots),
            clock: self.clock,
        };
        let began = Instant::now();
        let mut output = (tool.run)(context, self.input_for(tool, call)).await;
        let took = began.elapsed();
        // Before the cut, which could go through a secret.
        output.text = self.redactor.text(&output.text).into_owned();
        output.diff = self.redactor.text(&output.diff).into_owned();
        output.text = head_and_tail(&output.text, RESULT_MAX - note.len().min(RESULT_MAX / 2));
        output.text.push_str(&note);
        (output, took)
    }

    /// What a tool is given. What it writes down for others (letters, tasks, plans, questions) has no secrets in it; a
    /// command and a file are as the model wrote them.
    fn input_for(&self, tool: &Tool, call: &ToolCall) -> Value {
        match tool.access {
            Access::Crew => self.redactor.data(call.input.clone()),
            Access::Read | Access::Write | Access::Run | Access::Delegate => call.input.clone(),
        }
    }

    /// The ruling with the question for the network, where the settings have it asked.
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
            .and_then(|text| reach::network_question(self.guard.as_deref(), agent, text));
        match (ruling, question) {
            (Ruling::Allow, Some(why)) => Ruling::Ask { why },
            (Ruling::Ask { why }, Some(more)) => Ruling::Ask {
                why: format!("{why}; {more}"),
            },
            (ruling, _) => ruling,
        }
    }

    fn judged<T>(&self, judge: impl FnOnce(&Standing<'_>) -> T) -> T {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        judge(&Standing {
            rules: &rules,
            gate: self.desk.gate(),
            workdir: &self.workdir,
        })
    }

    /// Asks whether a call may run. What comes back is added to its result; the error is its result.
    async fn ask(
        &self,
        agent: &Name,
        tool: &Tool,
        call: &ToolCall,
        why: &str,
    ) -> Result<String, String> {
        let command = call.input.get("command").and_then(Value::as_str);
        let parts = command.map_or_else(Vec::new, |c| self.judged(|s| policy::flagged(c, s)));
        // Before they are cut: half a secret is not found any more.
        let clean = |part: &String| self.redactor.text(part).into_owned();
        let parts: Vec<String> = parts.iter().map(clean).collect();
        let body = permission_card::body(tool, &call.input, why, &parts);
        let body = self.redactor.text(&body).into_owned();
        let asking = Asking {
            workdir: path_below_root(&self.root, &self.workdir),
            call: self.asked_call(tool, &call.input, why),
            ..Asking::new(RequestKind::Permission, agent, body)
        };
        let asked = self.host.ask(agent, asking).await;
        let request =
            asked.map_err(|e| format!("Error: the permission could not be asked for: {e}"))?;
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
            // A standing rule has nothing to say to one call.
            RequestStatus::Approved if comment.is_empty() || by == Name::policy().as_str() => {
                Ok(String::new())
            }
            RequestStatus::Approved => Ok(format!("\n[Allowed by {by}, who says: {comment}]")),
            RequestStatus::Rejected => Err(format!(
                "Error: not allowed by {by}{said}. Find another way or ask."
            )),
            RequestStatus::Pending | RequestStatus::Withdrawn => Err(format!(
                "Error: nobody decided whether this is allowed{said}"
            )),
        }
    }

    /// The call as its request holds it. One that is too long to be held whole, or has a secret in it, is like no
    /// other: what is held of it would not tell them apart.
    fn asked_call(&self, tool: &Tool, input: &Value, why: &str) -> Option<AskedCall> {
        let command = input.get("command").and_then(Value::as_str);
        let shown = command.map_or_else(|| input.to_string(), str::to_string);
        (shown.len() <= SHOWN_MAX && !self.redactor.finds(&shown)).then(|| AskedCall {
            tool: tool.name.into(),
            input: shown,
            why: why.into(),
            scopes: command.map_or_else(Vec::new, |c| self.judged(|s| policy::scopes(c, s))),
        })
    }
}

/// What a call works on, in one line; for a tool that is not there, its input.
pub fn shown(call: &ToolCall) -> String {
    match table::find(&call.name) {
        Some(tool) => (tool.show)(&call.input),
        None => head_and_tail(&call.input.to_string(), 200),
    }
}

/// Which calls the screen has heard of, so that each is begun once and ended once.
#[derive(Debug, Default)]
pub struct Announced {
    asked: HashMap<CallId, ToolCall>,
    running: HashMap<CallId, ToolCall>,
}

impl Announced {
    /// The events for calls that begin.
    pub fn started(&mut self, agent: &Name, calls: &[ToolCall]) -> Vec<EventKind> {
        calls
            .iter()
            .map(|call| {
                self.asked.remove(&call.id);
                self.running.insert(call.id.clone(), call.clone());
                begun(agent, call)
            })
            .collect()
    }

    /// The event for a call that ended.
    pub fn finished(
        &mut self,
        agent: &Name,
        call: &ToolCall,
        output: &ToolOutput,
        took: Duration,
    ) -> EventKind {
        self.running.remove(&call.id);
        EventKind::ToolFinished {
            agent: agent.clone(),
            call: call.id.clone(),
            tool: call.name.clone(),
            outcome: output.outcome,
            output: output.text.clone(),
            diff: output.diff.clone(),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The events for calls that the machine answered itself: refused, broken, interrupted.
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
                    events.push(begun(agent, &asked));
                    Some(asked)
                }
                None => self.running.remove(call),
            };
            if let Some(known) = known {
                let output = ToolOutput {
                    outcome: *outcome,
                    text: content.clone(),
                    diff: String::new(),
                };
                events.push(self.finished(agent, &known, &output, Duration::ZERO));
            }
        }
        events
    }
}

/// An input of at most about [`SHOWN_MAX`] bytes: its long texts are cut, each for itself, and where that is not enough it is
/// a text that is cut.
fn bounded(input: &Value) -> Value {
    let whole = input.to_string();
    if whole.len() <= SHOWN_MAX {
        return input.clone();
    }
    if let Value::Object(fields) = input {
        // As JSON a text may take twice the room, and the marks take some.
        let each = SHOWN_MAX / (2 * fields.len().max(1));
        let mut short = fields.clone();
        for value in short.values_mut() {
            if let Value::String(text) = value {
                *text = head_and_tail(text, each);
            }
        }
        let short = Value::Object(short);
        if short.to_string().len() <= SHOWN_MAX {
            return short;
        }
    }
    Value::String(head_and_tail(&whole, SHOWN_MAX))
}

fn begun(agent: &Name, call: &ToolCall) -> EventKind {
    EventKind::ToolStarted {
        agent: agent.clone(),
        call: call.id.clone(),
        tool: call.name.clone(),
        on: shown(call),
        input: bounded(&call.input),
    }
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
            EventKind::ToolStarted { call, .. } => format!("start {call}"),
            EventKind::ToolFinished {
                call,
                outcome: Outcome::Ok,
                ..
            } => format!("ok {call}"),
            EventKind::ToolFinished { call, .. } => format!("error {call}"),
            other => format!("{other:?}"),
        };
        events.iter().map(name).collect()
    }

    #[test]
    fn of_a_long_input_each_text_is_cut_and_what_is_short_stays() {
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
    fn every_call_begins_once_and_ends_once_whatever_happens_to_it() {
        let lead = Name::lead();
        let mut announced = Announced::default();
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
