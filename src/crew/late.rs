//! What follows from a decision, also where crewdeck was ended before it did. A decision for which nobody waits any
//! more reaches the agent by letter, and what was allowed need not be asked for again.

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

/// Longest part of a request that a letter about it repeats, in characters.
const ABOUT_MAX: usize = 300;

impl Shared {
    /// Does what follows from a decision that is new, or that was not followed when crewdeck was ended.
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
        // A shutdown that is allowed is done when its target has answered it.
        let is_under_way =
            request.kind == RequestKind::Shutdown && request.status == RequestStatus::Approved;
        if !is_under_way && request.is_unfinished() {
            self.finish(&request.id).await;
        }
    }

    /// Notes that nothing more follows from a request.
    pub(super) async fn finish(&self, id: &RequestId) {
        let (requests, id) = (self.requests.clone(), id.clone());
        if let Err(error) = blocking(move || requests.finish(&id)).await {
            tracing::error!("the end of a request can not be written down: {error}");
        }
    }

    /// Hands what still waits for its decision to its decider again: crewdeck may have been ended between the
    /// request and the letter, or the standing rule.
    pub(super) async fn hand_over_again(self: &Arc<Self>) {
        let requests = self.requests.clone();
        let Ok(reading) = blocking(move || requests.read_all()).await else {
            return;
        };
        for mut request in reading.requests.into_iter().filter(Request::is_pending) {
            // Whoever was to decide when it was asked: the person may be here by now, or not here any more.
            request.decider = self.decider_of(&request);
            self.hand_over(&request).await;
        }
    }

    /// Whether something of the requests on disk is left to do: somebody waits for a decision, or one was not followed.
    pub(super) async fn has_requests_left(&self) -> bool {
        let requests = self.requests.clone();
        let all = blocking(move || requests.read_all()).await;
        let mut all = all.map(|r| r.requests).unwrap_or_default().into_iter();
        all.any(|r| (r.is_pending() || r.is_unfinished()) && self.handle(&r.target).is_some())
    }

    /// Tells an agent of a decision that it does not wait for any more.
    pub(super) async fn tell_late(self: &Arc<Self>, request: &Request) {
        let kind = match request.kind {
            RequestKind::Plan => LetterKind::PlanResponse,
            RequestKind::Permission => LetterKind::PermissionResponse,
            RequestKind::Question => LetterKind::Message,
            // Shutdowns are never waited for; what a ceiling stopped asks again when it goes on.
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
                format!("You asked: {about}. The answer{said}")
            }
            RequestStatus::Approved => format!("Approved{said}. Go on with it now: {about}"),
            RequestStatus::Rejected => format!("Rejected{said}. It was: {about}"),
            RequestStatus::Pending | RequestStatus::Withdrawn => return,
        };
        self.write_letter(&by, &request.target, kind, request, &text)
            .await;
    }

    /// Takes a permission that was given while nobody waited for it.
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

    /// A request of an earlier run that asks for the same and still waits.
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

    /// Writes down that an agent's plan was approved, so that a restart knows it.
    pub(super) async fn keep_plan(&self, agent: &Name) {
        let session = lock(&self.setup).session.clone();
        let transcript =
            Transcript::open(&self.root, &session, agent).redacting(self.publisher.redactor());
        let plan = PlanState::Approved;
        if let Err(error) = blocking(move || transcript.append(&Record::Plan { plan })).await {
            tracing::error!("an approved plan can not be written down: {error}");
        }
    }
}
