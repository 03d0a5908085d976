//! Decisions for which nobody waits: crewdeck was started again after the request was made. They reach the
//! agent by letter, and what was allowed need not be asked for again.

use std::sync::Arc;

use super::{Shared, lock};
use crate::agent::driver::blocking;
use crate::domain::conversation::{PlanState, Record};
use crate::domain::ids::Name;
use crate::domain::mail::LetterKind;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::text::{clip, one_line};
use crate::store::Transcript;

/// Longest part of a request that a letter about it repeats, in characters.
const ABOUT_MAX: usize = 300;

impl Shared {
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
