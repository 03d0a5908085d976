//! Who did what to the board: the calls of the crew, so that a change without one is known to come from outside. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use crate::domain::ids::{CallId, Name, RequestId, TaskId};
use crate::domain::request::{Followed, RequestKind, RequestStatus};
use crate::domain::stamp::Stamp;
use crate::protocol::event::PersonAct;
use crate::protocol::{Event, EventKind};

/// Most calls that are remembered.
const CALLS_MAX: usize = 128;
/// Most requests that are remembered.
const REQUESTS_MAX: usize = 1000;
/// How long after its end a call may still explain a change of the files: so long they may go unread where the system
/// does not tell of every change.
const EXPLAINS: Duration = Duration::from_secs(5);

/// What a call does that others can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Writes a task with that subject.
    Create(String),
    /// Writes the task of that number.
    Write(TaskId),
    /// Changes a task; `None`: it is named by other words.
    Change(Option<TaskId>),
    /// Spawns a teammate of that name.
    Spawn(String),
}

#[derive(Debug)]
struct Call {
    id: CallId,
    agent: Name,
    deed: Deed,
    ended: Option<Stamp>,
}

/// What the log has to remember of the past to say who and why.
#[derive(Debug, Default)]
pub struct Actors {
    calls: VecDeque<Call>,
    requests: BTreeMap<RequestId, RequestStatus>,
    /// Who is to shut down and has not said no, and since when. No longer than the roster.
    parting: BTreeMap<Name, Stamp>,
    /// When the crew was there for the first time.
    began: Option<Stamp>,
}

impl Actors {
    /// Takes an event in.
    pub fn heard(&mut self, event: &Event) {
        if let EventKind::CrewReady(_) = &event.kind {
            self.began.get_or_insert(event.at);
        } else if let EventKind::ToolStarted {
            agent,
            call,
            tool,
            input,
            ..
        } = &event.kind
        {
            if let Some(deed) = deed(tool, input) {
                self.did(Call {
                    id: call.clone(),
                    agent: agent.clone(),
                    deed,
                    ended: None,
                });
            }
        } else if let EventKind::ToolFinished { agent, call, .. } = &event.kind {
            let here = |c: &&mut Call| c.id == *call && c.agent == *agent;
            if let Some(call) = self.calls.iter_mut().rev().find(here) {
                call.ended = Some(event.at);
            }
        } else if let EventKind::PersonActed { task, act } = &event.kind {
            let deed = match act {
                PersonAct::Added => Deed::Write(*task),
                PersonAct::Claimed
                | PersonAct::Released { .. }
                | PersonAct::Completed
                | PersonAct::Edited => Deed::Change(Some(*task)),
            };
            self.did(Call {
                id: CallId(String::new()),
                agent: Name::user(),
                deed,
                ended: Some(event.at),
            });
        } else if let EventKind::RequestChanged { request } = &event.kind {
            let (kind, status) = (request.kind, request.status);
            if kind == RequestKind::Shutdown
                && status == RequestStatus::Approved
                && request.followed == Followed::NotYet
                && self.requests.get(&request.id) != Some(&status)
            {
                self.parting.insert(request.target.clone(), event.at);
            }
            self.requests.insert(request.id.clone(), status);
            if self.requests.len() > REQUESTS_MAX {
                self.requests.pop_first();
            }
        } else if let EventKind::TeamChanged { team } = &event.kind {
            let is_here = |name: &Name| team.present().any(|m| m.name.same(name));
            self.parting.retain(|name, _| is_here(name));
        } else if let EventKind::Notice {
            agent: Some(agent),
            text,
            ..
        } = &event.kind
            && text.starts_with(&format!("{agent} does not shut down"))
        {
            self.parting.remove(agent);
        }
    }

    fn did(&mut self, call: Call) {
        self.calls.push_back(call);
        if self.calls.len() > CALLS_MAX {
            self.calls.pop_front();
        }
    }

    /// Who did `deed`, as far as a call of the crew explains it at that time.
    pub fn who(&self, deed: &Deed, at: Stamp) -> Option<&Name> {
        let explains = |call: &&Call| {
            let fits = match (&call.deed, deed) {
                (Deed::Create(a), Deed::Create(b)) => a.trim() == b.trim(),
                (Deed::Write(a), Deed::Write(b)) => a == b,
                (Deed::Change(a), Deed::Change(b)) => a.is_none() || a == b,
                (Deed::Spawn(a), Deed::Spawn(b)) => a.eq_ignore_ascii_case(b),
                (Deed::Create(_) | Deed::Write(_) | Deed::Change(_) | Deed::Spawn(_), _) => false,
            };
            fits && call.ended.is_none_or(|end| at.since(end) <= EXPLAINS)
        };
        let mut calls = self.calls.iter().rev();
        calls.find(explains).map(|call| &call.agent)
    }

    /// How that request stood when it was last heard of.
    pub fn request(&self, id: &RequestId) -> Option<RequestStatus> {
        self.requests.get(id).copied()
    }

    /// Since when that agent is to shut down; `None`: it is not.
    pub fn asked_to_go(&self, name: &Name) -> Option<Stamp> {
        self.parting.get(name).copied()
    }

    /// Whether something that happened at `at` was before this crew, as its time says; without one it was not.
    pub fn is_before(&self, at: Stamp) -> bool {
        at.0 > 0.0 && self.began.is_some_and(|began| at < began)
    }
}

fn deed(tool: &str, input: &Value) -> Option<Deed> {
    let text = |key: &str| {
        input
            .get(key)
            .and_then(Value::as_str)
            .map(ToString::to_string)
    };
    match tool {
        "task_create" => text("subject").or_else(|| text("title")).map(Deed::Create),
        "task_update" | "claim_task" => Some(Deed::Change(input.get("task_id").and_then(number))),
        "spawn_teammate" => text("name").map(Deed::Spawn),
        _ => None,
    }
}

/// The number in what a model wrote for a task.
fn number(value: &Value) -> Option<TaskId> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.trim().trim_start_matches('#').parse().ok().map(TaskId)
}
