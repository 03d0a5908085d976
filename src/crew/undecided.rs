//! Requests that are left to the lead and that it leaves: it is reminded, and in the end nobody waits for it any more.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{Shared, Standing, lock};
use crate::agent::driver::blocking;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::{Decider, Request};
use crate::protocol::event::Level;

/// How often the lead is reminded of a request that it does not decide. Each time it is woken, which costs a call.
pub const REMINDERS_MAX: u32 = 3;
/// Most requests that one reminder names.
const NAMED_MAX: usize = 8;

/// How often the lead was reminded, by request. Only of those that wait still: bounded by them.
pub type Reminded = BTreeMap<RequestId, u32>;

/// An agent whose call goes on when its request is decided.
pub struct Waiter {
    pub(super) from: Name,
    pub(super) tell: oneshot::Sender<Request>,
}

/// What came of the wish to remind the lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reminder {
    /// It hears of it.
    Sent,
    /// It has heard of all of them often enough, or can not be reached.
    InVain,
}

impl Shared {
    /// Whether an agent in a turn does nothing but wait for decisions.
    pub(super) fn only_waits(&self, name: &Name) -> bool {
        let waiting = lock(&self.clerk.waiting);
        let waits = waiting.values().filter(|w| w.from.same(name)).count();
        drop(waiting);
        // What its subagents ask is asked in its name.
        let errands = lock(&self.errands);
        let out = errands.keys().filter_map(Name::parent);
        waits > 0 && out.filter(|parent| parent.same(name)).count() <= waits
    }

    /// The requests that wait, when the person is to decide none of them. `None`: it is, one was decided and who waits
    /// is about to hear of it, or they can not be read.
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

    /// Reminds the lead of what it has not decided, if it was not reminded often enough.
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
                "Nobody decides {}: the lead was reminded and is not reminded again.",
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

    /// Who asked for what the crew no longer waits for and nobody has decided: they come back with the next crew of
    /// the session, and what they asked waits for it.
    pub(super) async fn who_asked_in_vain(&self) -> Vec<Name> {
        let requests = self.requests.clone();
        let reading = blocking(move || requests.read_all()).await;
        let all = reading.map(|r| r.requests).unwrap_or_default();
        all.into_iter()
            .filter(|r| r.is_pending() && self.is_given_up(&r.id))
            .map(|r| r.from)
            .collect()
    }

    /// Whether an agent counts as at rest: it is in no turn, or waits in one.
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
        "<crew>The team waits for your decision on {}. Nobody else decides it: say yes or no with decide_request, with a comment where you want changes.</crew>",
        named.join("; ")
    )
}
