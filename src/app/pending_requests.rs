//! Reports requests that are still pending when the crew of a headless run becomes idle.

use std::collections::BTreeMap;

use crate::crew::REMINDERS_MAX;
use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Request, RequestKind};
use crate::protocol::event::{EventKind, TeamEvent};

/// The requests that wait for a decision. They are reported when the crew of a headless run becomes idle.
#[derive(Debug, Default)]
pub struct PendingRequests {
    open: BTreeMap<RequestId, Request>,
}

impl PendingRequests {
    /// If `event` is about a request, adds the request while it is pending, or removes it once it is decided.
    pub fn update(&mut self, event: &EventKind) {
        if let EventKind::Team(TeamEvent::RequestChanged { request }) = event {
            if request.is_pending() {
                self.open.insert(request.id.clone(), request.clone());
            } else {
                self.open.remove(&request.id);
            }
        }
    }

    /// Returns one line that says why the run cannot continue and what to do; `None` if no request is pending.
    pub fn summary(&self) -> Option<String> {
        let first = self.open.values().next()?;
        let more = match self.open.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let why = match first.approver {
            Approver::Lead => {
                format!("the lead did not decide it, though it was reminded {REMINDERS_MAX} times")
            }
            Approver::Ask | Approver::Auto | Approver::Deny => {
                "there is no user to decide it".into()
            }
        };
        let otherwise = match first.kind {
            RequestKind::Plan => ", or run with --plan auto",
            RequestKind::Shutdown => ", or run with --shutdown auto",
            RequestKind::Permission => ", or run with --tool auto",
            RequestKind::Budget | RequestKind::Question => "",
        };
        Some(format!(
            "{} is undecided{more}: {why}. It is saved in .team/requests/{}.json: decide it yourself with crewdeck --resume{otherwise}",
            first.describe(),
            first.id
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{Name, TaskId};
    use crate::domain::request::RequestStatus;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    fn request(id: &str, kind: RequestKind) -> Request {
        let (id, bob) = (RequestId(id.into()), Name::member("bob").unwrap());
        Request {
            task: Some(TaskId(3)),
            approver: Approver::Lead,
            ..Request::new(
                id,
                kind,
                bob.clone(),
                bob,
                "First this.".into(),
                Timestamp(1.0),
            )
        }
    }

    #[test]
    fn pending_requests_are_reported_with_what_to_do() {
        let mut pending = PendingRequests::default();
        assert_eq!(pending.summary(), None);
        let plan = request("a", RequestKind::Plan);
        for request in [plan.clone(), request("b", RequestKind::Permission)] {
            pending.update(&EventKind::Team(TeamEvent::RequestChanged { request }));
        }
        assert_eq!(
            pending.summary().unwrap(),
            "the plan of bob on task #3 is undecided (and 1 more): the lead did not decide it, though it was reminded 3 times. It is saved in .team/requests/a.json: decide it yourself with crewdeck --resume, or run with --plan auto"
        );
        let decided = Request {
            status: RequestStatus::Approved,
            ..plan
        };
        pending.update(&EventKind::Team(TeamEvent::RequestChanged {
            request: decided,
        }));
        let words = pending.summary().unwrap();
        assert!(
            words.starts_with("a permission for bob on task #3 is undecided: "),
            "{words}"
        );
        assert!(words.ends_with("--tool auto"), "{words}");
    }
}
