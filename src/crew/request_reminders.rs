//! Reminds the lead of requests that it has not decided. After the last reminder, the crew counts as idle although
//! these requests are pending.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use super::lead_inbox::LeadInbox;
use super::request_broker::RequestBroker;
use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Request};
use crate::protocol::event::NoticeLevel;

/// Maximum number of reminders to the lead for each request. The number is small because each reminder wakes the lead,
/// which costs a model call.
pub const REMINDERS_MAX: u32 = 3;
/// Maximum number of requests that one reminder lists.
const NAMED_MAX: usize = 8;

pub struct RequestReminders {
    context: Arc<CrewContext>,
    broker: Arc<RequestBroker>,
    lead: Arc<LeadInbox>,
    sent: Mutex<Sent>,
}

/// The number of reminders that were sent for each pending request.
#[derive(Debug, Default)]
struct Sent(BTreeMap<RequestId, u32>);

impl Sent {
    /// Removes the entries of all requests that are not in `pending`.
    fn keep(&mut self, pending: &[Request]) {
        self.0.retain(|id, _| pending.iter().any(|r| r.id == *id));
    }

    fn is_due(&self, request: &Request) -> bool {
        self.0.get(&request.id).copied().unwrap_or_default() < REMINDERS_MAX
    }

    fn count(&mut self, request: &Request) {
        *self.0.entry(request.id.clone()).or_default() += 1;
    }
}

impl RequestReminders {
    pub fn new(
        context: Arc<CrewContext>,
        broker: Arc<RequestBroker>,
        lead: Arc<LeadInbox>,
    ) -> RequestReminders {
        RequestReminders {
            context,
            broker,
            lead,
            sent: Mutex::default(),
        }
    }

    /// Sends the lead a reminder of the requests in `pending` that it must decide, at most [`NAMED_MAX`] of them, and
    /// returns true. Leaves out requests of which the lead was already reminded [`REMINDERS_MAX`] times. If no request
    /// remains or the lead cannot be reached, warns the user, gives up waiting for all requests in `pending`, and
    /// returns false.
    pub async fn remind(&self, pending: &[Request]) -> bool {
        if self.send(pending) {
            return true;
        }
        for request in pending {
            let text = format!(
                "No decision on {}: the lead did not decide and gets no more reminders.",
                request.describe()
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        self.broker.give_up(pending);
        false
    }

    fn send(&self, pending: &[Request]) -> bool {
        let mut sent = lock(&self.sent);
        sent.keep(pending);
        let is_due = |r: &&Request| self.broker.approver_of(r) == Approver::Lead && sent.is_due(r);
        let due: Vec<&Request> = pending.iter().filter(is_due).take(NAMED_MAX).collect();
        if due.is_empty() || !self.lead.wake(text(&due)) {
            return false;
        }
        for request in due {
            sent.count(request);
        }
        true
    }
}

fn text(due: &[&Request]) -> String {
    let named: Vec<String> = due
        .iter()
        .map(|r| format!("{} (request_id {})", r.describe(), r.id))
        .collect();
    format!(
        "<crew>The team waits for your decision on {}. Only you can decide: approve or reject with decide_request, and add a comment if you want changes.</crew>",
        named.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::RequestKind;
    use crate::domain::timestamp::Timestamp;

    #[test]
    fn decided_requests_are_forgotten_and_reminders_are_limited() {
        let bob = Name::member("bob").unwrap();
        let (id, kind) = (RequestId("r".into()), RequestKind::Plan);
        let request = Request::new(id, kind, bob.clone(), bob, "x".into(), Timestamp(1.0));
        let mut sent = Sent::default();
        for _ in 0..REMINDERS_MAX {
            assert!(sent.is_due(&request));
            sent.count(&request);
        }
        sent.keep(std::slice::from_ref(&request));
        assert!(!sent.is_due(&request));
        sent.keep(&[]);
        assert!(sent.is_due(&request));
    }
}
