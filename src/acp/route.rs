//! The receiving side of a session: passes the agent's updates and permission requests to the session's handler.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::tool_calls::ToolCallTable;
use super::types::{AskedPermission, PermissionAnswer, PromptEnd, PromptEndReason, SessionHandler};
use super::update::{self, Report, id, parse_tool_call, parse_update};
use crate::domain::agent_update::{AgentToolStatus, AgentUpdate};
use crate::domain::external_agent::RefusalEffect;
use crate::domain::redact::{RedactingStream, Redactor};
use crate::domain::usage::Usage;

/// Maximum number of refused calls that are named at the end of a turn.
const REFUSED_MAX: usize = 20;

/// The part of a session that receives the messages of the program.
pub struct SessionRoute {
    pub id: String,
    handler: Arc<dyn SessionHandler>,
    redactor: Redactor,
    refusal: RefusalEffect,
    state: Mutex<RouteState>,
    /// Whether a turn runs. It runs until the agent has answered the prompt, even if the caller no longer waits.
    is_busy: watch::Sender<bool>,
}

struct RouteState {
    /// Whether the session is being loaded. The agent then repeats the old conversation, which the caller has already.
    is_loading: bool,
    calls: ToolCallTable,
    text: RedactingStream,
    thought: RedactingStream,
    turn: Option<PromptTurn>,
}

/// A running turn.
#[derive(Default)]
struct PromptTurn {
    cancel: CancellationToken,
    refused: Vec<String>,
    /// Whether the agent has written text since the last refusal.
    has_text_after_refusal: bool,
    /// The usage that the agent has reported in the metadata of updates; used if its answer to the prompt reports none.
    usage: Option<Usage>,
}

impl SessionRoute {
    pub fn new(
        id: String,
        handler: Arc<dyn SessionHandler>,
        redactor: &Redactor,
        refusal: RefusalEffect,
        is_loading: bool,
    ) -> SessionRoute {
        SessionRoute {
            id,
            handler,
            redactor: redactor.clone(),
            refusal,
            state: Mutex::new(RouteState {
                is_loading,
                calls: ToolCallTable::new(redactor.clone()),
                text: redactor.stream(),
                thought: redactor.stream(),
                turn: None,
            }),
            is_busy: watch::Sender::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RouteState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the replay of the old conversation, so that further updates reach the handler. Must be called when the
    /// agent has answered the request to load the session.
    pub fn end_loading(&self) {
        let mut state = self.lock();
        state.is_loading = false;
        state.calls.take_open();
        state.flush();
    }

    /// Processes the `update` of a `session/update` notification.
    pub fn update(&self, update: &Value) {
        let mut state = self.lock();
        if let Some(usage) = update.pointer("/_meta/usage").and_then(update::usage)
            && let Some(turn) = &mut state.turn
        {
            turn.usage.get_or_insert_default().add(usage);
        }
        let Some(report) = parse_update(update, &self.redactor) else {
            return;
        };
        let updates = state.apply(report);
        drop(state);
        self.deliver(updates);
    }

    /// Passes `updates` to the handler. Must not be called while the state is locked, because the handler may use the
    /// session.
    fn deliver(&self, updates: Vec<AgentUpdate>) {
        for update in updates {
            self.handler.update(update);
        }
    }

    /// Returns the permission request for `call`, and the token that is cancelled with the turn. Also reports the call
    /// to the handler. Returns `None` if no turn runs, if the turn is cancelled, or if the call cannot be read.
    pub fn permission(
        &self,
        call: &Value,
        options: &[Value],
    ) -> Option<(AskedPermission, CancellationToken)> {
        let change = parse_tool_call(call, &self.redactor)?;
        let mut state = self.lock();
        let cancel = state.turn.as_ref()?.cancel.clone();
        if cancel.is_cancelled() {
            return None;
        }
        let mut updates = state.flush();
        let call = state.calls.merge(change);
        updates.push(AgentUpdate::ToolCall(call.clone()));
        drop(state);
        self.deliver(updates);
        let request = AskedPermission {
            call,
            offers_always: option_of(options, "allow_always").is_some(),
        };
        Some((request, cancel))
    }

    /// Asks the handler to decide `request`, and records a refusal for the end of the turn. Returns `Cancelled` if the
    /// turn is cancelled before the handler has decided.
    pub async fn decide(
        &self,
        request: AskedPermission,
        cancel: &CancellationToken,
    ) -> PermissionAnswer {
        let title = request.call.title.clone();
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => PermissionAnswer::Cancelled,
            answer = self.handler.ask(request) => answer,
        };
        if answer == PermissionAnswer::Reject
            && let Some(turn) = &mut self.lock().turn
        {
            turn.has_text_after_refusal = false;
            if turn.refused.len() < REFUSED_MAX && !turn.refused.contains(&title) {
                turn.refused.push(title);
            }
        }
        answer
    }

    /// Begins a turn. Returns false if a turn already runs.
    pub fn begin_turn(&self) -> bool {
        let mut state = self.lock();
        if state.turn.is_some() {
            return false;
        }
        state.turn = Some(PromptTurn::default());
        self.is_busy.send_replace(true);
        true
    }

    /// Cancels the running turn: its permission requests are answered with `cancelled`. Returns whether a turn runs
    /// that was not cancelled before.
    pub fn cancel_turn(&self) -> bool {
        let state = self.lock();
        let Some(turn) = state
            .turn
            .as_ref()
            .filter(|turn| !turn.cancel.is_cancelled())
        else {
            return false;
        };
        turn.cancel.cancel();
        true
    }

    /// Returns the token that is cancelled with the running turn; `None` if no turn runs.
    pub fn turn_token(&self) -> Option<CancellationToken> {
        Some(self.lock().turn.as_ref()?.cancel.clone())
    }

    /// Ends the running turn. `answer` is the result of the prompt; `None` if the prompt failed. Returns how the turn
    /// ended; `None` if it failed and was not cancelled.
    pub fn end_turn(&self, answer: Option<&Value>) -> Option<PromptEnd> {
        let mut state = self.lock();
        let turn = state.turn.take().unwrap_or_default();
        let updates = state.flush();
        drop(state);
        self.deliver(updates);
        self.is_busy.send_replace(false);
        // Some agents answer a cancelled prompt with an error.
        let reason = match answer {
            Some(answer) => end_reason(answer),
            None if turn.cancel.is_cancelled() => PromptEndReason::Cancelled,
            None => return None,
        };
        let reported = |path: &str| answer?.pointer(path).and_then(update::usage);
        let is_unreported = match self.refusal {
            RefusalEffect::ModelContinues => false,
            RefusalEffect::TurnEnds => true,
            RefusalEffect::Unknown => !turn.has_text_after_refusal,
        };
        Some(PromptEnd {
            reason,
            usage: reported("/usage")
                .or_else(|| reported("/_meta/usage"))
                .or_else(|| reported("/_meta/quota/token_count"))
                .or(turn.usage),
            is_refusal_unreported: is_unreported && !turn.refused.is_empty(),
            refused: turn.refused,
        })
    }

    pub fn is_busy(&self) -> bool {
        *self.is_busy.borrow()
    }

    /// Waits until no turn runs.
    pub async fn wait_until_idle(&self) {
        // Fails only if the sender is dropped, which this value owns.
        let _ = self.is_busy.subscribe().wait_for(|busy| !busy).await;
    }

    /// Must be called when the program has ended. Cancels the running turn, and reports tool calls that have not ended
    /// as failed.
    pub fn end(&self) {
        self.cancel_turn();
        let mut state = self.lock();
        let mut updates = state.flush();
        for mut call in state.calls.take_open() {
            call.status = AgentToolStatus::Failed;
            updates.push(AgentUpdate::ToolCall(call));
        }
        drop(state);
        self.deliver(updates);
    }
}

impl RouteState {
    /// Returns the updates for the handler that follow from `report`. While the session is being loaded, texts,
    /// thoughts, tool calls and plans are left out.
    fn apply(&mut self, report: Report) -> Vec<AgentUpdate> {
        let is_old = self.is_loading;
        let mut out = Vec::new();
        match report {
            Report::Text(text) => {
                if let Some(turn) = &mut self.turn {
                    turn.has_text_after_refusal = true;
                }
                out.extend(thought_update(self.thought.end_text()));
                out.extend(text_update(self.text.push_text(&text)));
            }
            Report::Thought(text) => {
                out.extend(text_update(self.text.end_text()));
                out.extend(thought_update(self.thought.push_text(&text)));
            }
            Report::ToolCall(change) => {
                out = self.flush();
                out.push(AgentUpdate::ToolCall(self.calls.merge(change)));
            }
            Report::Plan(plan) => {
                out = self.flush();
                out.push(AgentUpdate::Plan(plan));
            }
            Report::Context(usage) => return vec![AgentUpdate::Context(usage)],
            Report::Title(title) => return vec![AgentUpdate::Title(title)],
            Report::Mode(mode) => return vec![AgentUpdate::Mode(mode)],
            Report::Commands(names) => return vec![AgentUpdate::Commands(names)],
            Report::Notice(text) => return vec![AgentUpdate::Notice(text)],
        }
        if is_old { Vec::new() } else { out }
    }

    /// Returns the texts that were held back because their end could be the start of a secret.
    fn flush(&mut self) -> Vec<AgentUpdate> {
        let thought = thought_update(self.thought.end_text());
        let text = text_update(self.text.end_text());
        thought.into_iter().chain(text).collect()
    }
}

fn text_update(text: String) -> Option<AgentUpdate> {
    (!text.is_empty()).then_some(AgentUpdate::Text(text))
}

fn thought_update(text: String) -> Option<AgentUpdate> {
    (!text.is_empty()).then_some(AgentUpdate::Thought(text))
}

fn end_reason(answer: &Value) -> PromptEndReason {
    match answer.get("stopReason").and_then(Value::as_str) {
        Some("end_turn") => PromptEndReason::EndTurn,
        Some("max_tokens") => PromptEndReason::MaxTokens,
        Some("max_turn_requests") => PromptEndReason::MaxRequests,
        Some("refusal") => PromptEndReason::Refusal,
        Some("cancelled") => PromptEndReason::Cancelled,
        _ => PromptEndReason::Other,
    }
}

/// Returns the id of the first option of a permission request whose kind is `kind`; `None` if there is none.
fn option_of(options: &[Value], kind: &str) -> Option<String> {
    let option = options
        .iter()
        .find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))?;
    id(option, "optionId")
}

/// Returns the result of `session/request_permission` for `answer`. Chooses the option by its kind, because ids and
/// order differ between agents. Never chooses an option that allows more than the answer. If no option fits, the result
/// is `cancelled`.
pub fn permission_result(answer: PermissionAnswer, options: &[Value]) -> Value {
    let kinds: &[&str] = match answer {
        PermissionAnswer::AllowOnce => &["allow_once"],
        PermissionAnswer::AllowAlways => &["allow_always", "allow_once"],
        PermissionAnswer::Reject => &["reject_once", "reject_always"],
        PermissionAnswer::Cancelled => &[],
    };
    let option = kinds.iter().find_map(|kind| option_of(options, kind));
    match option {
        Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

#[cfg(test)]
mod tests;
