//! Follow-up of decisions, including those made before crewdeck ended. If the agent no longer waits, it gets the decision
//! as a message, and need not ask again for what was allowed.

use std::sync::Arc;

use super::clerk::Heard;
use super::{Shared, lock};
use crate::agent::driver::blocking;
use crate::domain::conversation::{PlanState, Record};
use crate::domain::ids::{Name, RequestId};
use crate::domain::mail::LetterKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::text::{clip, one_line};
use crate::store::Transcript;

/// Most characters of a request that the message about its decision repeats.
const ABOUT_MAX: usize = 300;

impl Shared {
    /// Executes a decision that is new or was not executed before crewdeck ended, and wakes or informs the agent.
    pub(super) async fn follow(self: &Arc<Self>, request: Request, heard: Heard) {
        let is_news = heard == Heard::Now || request.is_unfinished();
        if is_news {
            self.carry_out(&request).await;
        }
        let waiter = lock(&self.clerk.waiting).remove(&request.id);
        match waiter {
            Some(waiter) => {
                let _ = waiter.tell.send(request.clone());
            }
            None if is_news => self.tell_late(&request).await,
            None => {}
        }
        // An approved shutdown is finished when its target has answered.
        let is_under_way =
            request.kind == RequestKind::Shutdown && request.status == RequestStatus::Approved;
        if !is_under_way && request.is_unfinished() {
            self.finish(&request.id).await;
        }
    }

    /// Marks a request as finished, so that nothing more is done for it.
    pub(super) async fn finish(&self, id: &RequestId) {
        let (requests, id) = (self.requests.clone(), id.clone());
        if let Err(error) = blocking(move || requests.finish(&id)).await {
            tracing::error!("a request could not be marked as finished: {error}");
        }
    }

    /// Hands pending requests to their approvers again, since crewdeck may have ended between filing a request and
    /// notifying the approver.
    pub(super) async fn hand_over_again(self: &Arc<Self>) {
        let requests = self.requests.clone();
        let Ok(reading) = blocking(move || requests.read_all()).await else {
            return;
        };
        for mut request in reading.requests.into_iter().filter(Request::is_pending) {
            // The approver may differ from the one at the time of the request: a user may be present now, or no longer.
            request.decider = self.decider_of(&request);
            self.hand_over(&request).await;
        }
    }

    /// Whether a running agent has a pending request or a decision that was not executed yet.
    pub(super) async fn has_requests_left(&self) -> bool {
        let requests = self.requests.clone();
        let all = blocking(move || requests.read_all()).await;
        let mut all = all.map(|r| r.requests).unwrap_or_default().into_iter();
        all.any(|r| (r.is_pending() || r.is_unfinished()) && self.handle(&r.target).is_some())
    }

    /// Sends a decision as a message to an agent that no longer waits for it.
    pub(super) async fn tell_late(self: &Arc<Self>, request: &Request) {
        let kind = match request.kind {
            RequestKind::Plan => LetterKind::PlanResponse,
            RequestKind::Permission => LetterKind::PermissionResponse,
            RequestKind::Question => LetterKind::Message,
            // No agent waits for a shutdown, and an agent that a budget stopped asks again when it continues.
            RequestKind::Shutdown | RequestKind::Ceiling => return,
        };
        if self.handle(&request.target).is_none() {
            return;
        }
        if request.kind == RequestKind::Permission && request.status == RequestStatus::Approved {
            lock(&self.clerk.granted).push(request.clone());
        }
        let Ok(by) = Name::party(&request.decided_by) else {
            return;
        };
        let said = match request.comment.trim() {
            "" => String::new(),
            comment => format!(": {comment}"),
        };
        let about = one_line(&clip(&request.body, ABOUT_MAX));
        let text = match request.status {
            _ if request.kind == RequestKind::Question => {
                format!("You asked: {about}. Answer{said}")
            }
            RequestStatus::Approved => format!("Approved{said}. Continue with this now: {about}"),
            RequestStatus::Rejected => format!("Rejected{said}. The request was: {about}"),
            RequestStatus::Pending | RequestStatus::Withdrawn => return,
        };
        self.write_letter(&by, &request.target, kind, request, &text)
            .await;
    }

    /// Takes a permission that was given while no agent waited for it.
    pub(super) fn take_granted(
        &self,
        from: &Name,
        kind: RequestKind,
        body: &str,
    ) -> Option<Request> {
        let mut granted = lock(&self.clerk.granted);
        let at = granted
            .iter()
            .position(|r| r.from.same(from) && r.kind == kind && r.body == body)?;
        Some(granted.remove(at))
    }

    /// Returns an identical pending request of an earlier run.
    pub(super) async fn waits_already(
        &self,
        from: &Name,
        kind: RequestKind,
        body: &str,
    ) -> Option<Request> {
        let requests = self.requests.clone();
        let reading = blocking(move || requests.read_all()).await.ok()?;
        let waiting = lock(&self.clerk.waiting);
        reading.requests.into_iter().find(|r| {
            r.is_pending()
                && r.kind == kind
                && r.from.same(from)
                && r.body == body
                && !waiting.contains_key(&r.id)
        })
    }

    /// Records in the transcript that an agent's plan was approved, for a later resume.
    pub(super) async fn keep_plan(&self, agent: &Name) {
        let session = lock(&self.setup).session.clone();
        let transcript =
            Transcript::open(&self.root, &session, agent).redacting(self.publisher.redactor());
        let plan = PlanState::Approved;
        if let Err(error) = blocking(move || transcript.append(&Record::Plan { plan })).await {
            tracing::error!("the approval of a plan could not be recorded: {error}");
        }
    }
}
