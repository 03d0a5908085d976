//! Finds out who changed the board or the team: looks for a recent tool call or user action that explains the change. A
//! change without such an explanation is attributed to another program. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::domain::ids::{CallId, Name, RequestId, TaskId};
use crate::domain::request::{FollowUp, RequestKind, RequestStatus};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::UserAction;
use crate::protocol::{AgentEvent, BoardEvent, CrewEvent, Event, EventKind, TeamEvent};

/// Maximum number of tool calls and user actions in memory. If there are more, the oldest is dropped.
const CALLS_MAX: usize = 128;
/// Maximum number of requests in memory. If there are more, the one with the lowest id is dropped.
const REQUESTS_MAX: usize = 1000;
/// Time after the end of a tool call in which the call can still be the cause of a change. A change may be noticed late
/// on file systems that do not report all changes and are therefore polled.
const ATTRIBUTION_TIMEOUT: Duration = Duration::from_secs(5);

/// What a tool call or a user action does to the board or the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionEffect {
    /// An agent creates a task with this subject. The number of the task is not known from the tool call.
    Create(String),
    /// The user creates the task with this number.
    Write(TaskId),
    /// Changes the task with this number; `None` if the tool call does not name a task.
    Change(Option<TaskId>),
    /// Spawns a teammate with this name.
    Spawn(String),
}

#[derive(Debug)]
struct RecordedCall {
    id: CallId,
    agent: Name,
    effect: ActionEffect,
    ended: Option<Timestamp>,
}

/// The recent tool calls, user actions, requests and shutdowns, by which later changes can be explained.
#[derive(Debug, Default)]
pub struct Attribution {
    calls: VecDeque<RecordedCall>,
    requests: BTreeMap<RequestId, RequestStatus>,
    /// The agents whose shutdown was approved, with the time of the approval. An agent is removed when it leaves or
    /// refuses to shut down.
    approved_shutdowns: BTreeMap<Name, Timestamp>,
    /// The start of the crew: the time of the first `Ready` event. `None` before that event.
    began: Option<Timestamp>,
}

impl Attribution {
    /// Records an event if it can explain later changes: a tool call, a user action, a change of a request or of the
    /// team, the start of the crew, or a notice that an agent does not shut down. Ignores other events.
    pub fn record(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Agent { agent, event: what } => self.agent_event(agent, what, event.at),
            EventKind::Board(BoardEvent::UserActed { task, act }) => {
                let effect = match act {
                    UserAction::Added => ActionEffect::Write(*task),
                    _ => ActionEffect::Change(Some(*task)),
                };
                self.record_call(RecordedCall {
                    id: CallId(String::new()),
                    agent: Name::user(),
                    effect,
                    ended: Some(event.at),
                });
            }
            EventKind::Team(TeamEvent::RequestChanged { request }) => {
                let (kind, status) = (request.kind, request.status);
                if kind == RequestKind::Shutdown
                    && status == RequestStatus::Approved
                    && request.followed == FollowUp::NotYet
                    && self.requests.get(&request.id) != Some(&status)
                {
                    self.approved_shutdowns
                        .insert(request.target.clone(), event.at);
                }
                self.requests.insert(request.id.clone(), status);
                if self.requests.len() > REQUESTS_MAX {
                    self.requests.pop_first();
                }
            }
            EventKind::Team(TeamEvent::RosterChanged { team }) => {
                let is_here = |name: &Name| team.present().any(|m| m.name.same(name));
                self.approved_shutdowns.retain(|name, _| is_here(name));
            }
            EventKind::Crew(CrewEvent::Ready(_)) => {
                self.began.get_or_insert(event.at);
            }
            EventKind::Crew(CrewEvent::Notice {
                agent: Some(agent),
                text,
                ..
            }) if text.starts_with(&format!("{agent} does not shut down")) => {
                self.approved_shutdowns.remove(agent);
            }
            _ => {}
        }
    }

    fn agent_event(&mut self, agent: &Name, event: &AgentEvent, at: Timestamp) {
        match event {
            AgentEvent::ToolStarted {
                call, tool, input, ..
            } => {
                if let Some(effect) = action_effect(tool, input) {
                    self.record_call(RecordedCall {
                        id: call.clone(),
                        agent: agent.clone(),
                        effect,
                        ended: None,
                    });
                }
            }
            AgentEvent::ToolFinished { call, .. } => {
                let here = |c: &&mut RecordedCall| c.id == *call && c.agent == *agent;
                if let Some(call) = self.calls.iter_mut().rev().find(here) {
                    call.ended = Some(at);
                }
            }
            _ => {}
        }
    }

    fn record_call(&mut self, call: RecordedCall) {
        self.calls.push_back(call);
        if self.calls.len() > CALLS_MAX {
            self.calls.pop_front();
        }
    }

    /// Returns the agent or user who caused `effect`, a change that was observed at the time `at`. This is who ran the
    /// latest recorded action with this effect. The action must be still running or have ended at most
    /// `ATTRIBUTION_TIMEOUT` before `at`. Returns `None` if there is no such action.
    pub fn who(&self, effect: &ActionEffect, at: Timestamp) -> Option<&Name> {
        let explains = |call: &&RecordedCall| {
            let fits = match (&call.effect, effect) {
                (ActionEffect::Create(a), ActionEffect::Create(b)) => a.trim() == b.trim(),
                (ActionEffect::Write(a), ActionEffect::Write(b)) => a == b,
                (ActionEffect::Change(a), ActionEffect::Change(b)) => a.is_none() || a == b,
                (ActionEffect::Spawn(a), ActionEffect::Spawn(b)) => a.eq_ignore_ascii_case(b),
                _ => false,
            };
            fits && call
                .ended
                .is_none_or(|end| at.since(end) <= ATTRIBUTION_TIMEOUT)
        };
        let mut calls = self.calls.iter().rev();
        calls.find(explains).map(|call| &call.agent)
    }

    /// Returns the last known status of a request; `None` if no event has reported the request.
    pub fn request(&self, id: &RequestId) -> Option<RequestStatus> {
        self.requests.get(id).copied()
    }

    /// Returns when the shutdown of the agent `name` was approved; `None` if no approved shutdown is pending.
    pub fn shutdown_approved_at(&self, name: &Name) -> Option<Timestamp> {
        self.approved_shutdowns.get(name).copied()
    }

    /// Returns whether the time `at` is before the start of the crew. Returns false if one of the two times is unknown.
    pub fn is_before(&self, at: Timestamp) -> bool {
        at.0 > 0.0 && self.began.is_some_and(|began| at < began)
    }
}

fn action_effect(tool: &str, input: &Value) -> Option<ActionEffect> {
    let text = |key: &str| {
        input
            .get(key)
            .and_then(Value::as_str)
            .map(ToString::to_string)
    };
    match tool {
        "task_create" => text("subject")
            .or_else(|| text("title"))
            .map(ActionEffect::Create),
        "task_update" | "claim_task" => {
            Some(ActionEffect::Change(input.get("task_id").and_then(number)))
        }
        "spawn_teammate" => text("name").map(ActionEffect::Spawn),
        _ => None,
    }
}

/// Parses a task number in one of the forms that models write: `3`, `"3"` or `"#3"`. Returns `None` for any other
/// value.
fn number(value: &Value) -> Option<TaskId> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim().trim_start_matches('#').parse().ok().map(TaskId)
}
