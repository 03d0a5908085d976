//! Reminds the lead of requests that it has not decided. After the last reminder, the crew no longer waits for them.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{Shared, Standing, lock};
use crate::agent::driver::blocking;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decider, Request};
use crate::protocol::event::Level;

/// How often the lead is reminded of a request. Each reminder wakes the lead, which costs a model call.
pub const REMINDERS_MAX: u32 = 3;
/// Most requests that one reminder lists.
const NAMED_MAX: usize = 8;

/// The number of reminders by request. Contains only pending requests.
pub type Reminded = BTreeMap<RequestId, u32>;

/// An agent whose tool call waits for the decision of a request.
pub struct Waiter {
    pub(super) from: Name,
    pub(super) tell: oneshot::Sender<Request>,
}

/// The result of a reminder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reminder {
    /// A reminder was sent.
    Sent,
    /// No reminder was sent: the lead was reminded of all requests often enough, or cannot be reached.
    InVain,
}

impl Shared {
    /// Whether an agent in a turn only waits for decisions.
    pub(super) fn only_waits(&self, name: &Name) -> bool {
        let waiting = lock(&self.clerk.waiting);
        let waits = waiting.values().filter(|w| w.from.same(name)).count();
        drop(waiting);
        // Requests of its subagents are filed in its name.
        let errands = lock(&self.errands);
        let out = errands.keys().filter_map(Name::parent);
        waits > 0 && out.filter(|parent| parent.same(name)).count() <= waits
    }

    /// Returns the pending requests if none of them is for the user. `None` if one is, if one was just decided and its
    /// agent is about to continue, or if the requests cannot be read.
    pub(super) async fn left_to_lead(&self) -> Option<Vec<Request>> {
        let waiting: Vec<RequestId> = lock(&self.clerk.waiting).keys().cloned().collect();
        if !self.has_open_request() {
            return waiting.is_empty().then(Vec::new);
        }
        let requests = self.requests.clone();
        let reading = blocking(move || requests.read_all()).await.ok()?;
        let open: Vec<Request> = reading
            .requests
            .into_iter()
            .filter(Request::is_pending)
            .collect();
        let is_left = |request: &Request| match self.decider_of(request) {
            Decider::Lead | Decider::Auto | Decider::Deny => true,
            Decider::Ask => self.deciders.question != Decider::Ask,
        };
        let is_open = |id: &RequestId| open.iter().any(|r| r.id == *id);
        (waiting.iter().all(is_open) && open.iter().all(is_left)).then_some(open)
    }

    /// Reminds the lead of the pending requests in `left` that have had fewer than [`REMINDERS_MAX`] reminders. If there
    /// are none, warns the user and gives the requests up.
    pub(super) async fn remind(&self, left: &[Request], reminded: &mut Reminded) -> Reminder {
        reminded.retain(|id, _| left.iter().any(|r| r.id == *id));
        let is_due = |r: &&Request| {
            let times = reminded.get(&r.id).copied().unwrap_or_default();
            self.decider_of(r) == Decider::Lead && times < REMINDERS_MAX
        };
        let due: Vec<&Request> = left.iter().filter(is_due).take(NAMED_MAX).collect();
        if !due.is_empty() && self.wake(reminder(&due)) {
            for request in due {
                *reminded.entry(request.id.clone()).or_default() += 1;
            }
            return Reminder::Sent;
        }
        for request in left {
            let text = format!(
                "No decision on {}: the lead was reminded and is not reminded again.",
                request.shown()
            );
            self.notice(Level::Warn, text).await;
        }
        let ids = left.iter().map(|r| r.id.clone()).collect();
        *lock(&self.clerk.given_up) = ids;
        Reminder::InVain
    }

    /// Whether the crew no longer waits for a decision.
    pub(super) fn is_given_up(&self, id: &RequestId) -> bool {
        lock(&self.clerk.given_up).contains(id)
    }

    /// Returns the agents with a pending request for which the crew no longer waits. They are kept for the next run of
    /// the session, and so are their requests.
    pub(super) async fn who_asked_in_vain(&self) -> Vec<Name> {
        let requests = self.requests.clone();
        let reading = blocking(move || requests.read_all()).await;
        let all = reading.map(|r| r.requests).unwrap_or_default();
        all.into_iter()
            .filter(|r| r.is_pending() && self.is_given_up(&r.id))
            .map(|r| r.from)
            .collect()
    }

    /// Whether an agent counts as idle: it is not in a turn, or only waits for decisions in one.
    pub(super) fn seems_at_rest(&self, name: &Name, standing: Standing) -> bool {
        match standing {
            Standing::Resting | Standing::Held => true,
            Standing::Working => !name.is_lead() && self.only_waits(name),
        }
    }
}

fn reminder(due: &[&Request]) -> String {
    let named: Vec<String> = due
        .iter()
        .map(|r| format!("{} (request_id {})", r.shown(), r.id))
        .collect();
    format!(
        "<crew>The team waits for your decision on {}. Only you can decide: approve or reject with decide_request, and add a comment if you want changes.</crew>",
        named.join("; ")
    )
}
