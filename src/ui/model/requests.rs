//! The view model of requests that wait for a decision, oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Request, RequestKind};
use crate::domain::text::{clip, head_and_tail};
use crate::ui::model::plan_pages::PlanPages;

/// Maximum number of open requests in memory. If there are more, the last one in the order of the cards is dropped. The
/// crew allows far fewer.
pub const WAITING_MAX: usize = 200;

/// Maximum number of choices of a question. Only this many choices have a key, so further choices are dropped.
const CHOICES_MAX: usize = 6;
/// Maximum length of a choice, in characters. A longer choice is cut.
const CHOICE_MAX: usize = 400;

/// Maximum length of a request's body in memory, in bytes. A longer body is cut in the middle.
pub const BODY_MAX: usize = 64 * 1024;

/// The open requests. Several permission requests for the same call share one card on the screen.
#[derive(Debug, Default)]
pub struct RequestBook {
    /// The open requests: first those that the user must decide, then those that the lead may decide; each group oldest
    /// first.
    waiting: VecDeque<Request>,
    /// One entry for each card: the index in `waiting` of the first request on the card.
    cards: Vec<usize>,
    /// The requests whose answer the crew has not confirmed yet. The value is the request for which the answer was
    /// sent: the same request, or another request on the same card.
    answered: BTreeMap<RequestId, RequestId>,
    pages: PlanPages,
}

impl RequestBook {
    /// Adds or updates a request. If the request is no longer open or the user has nothing to decide, removes it
    /// instead.
    pub fn apply_change(&mut self, request: &Request) {
        let place = self.waiting.iter().position(|r| r.id == request.id);
        if !request.is_pending() || needs_no_user(request) {
            if let Some(at) = place {
                self.waiting.remove(at);
            }
            self.answered.remove(&request.id);
            self.rebuild_cards();
            return;
        }
        let mut request = request.clone();
        request.body = head_and_tail(&request.body, BODY_MAX);
        // Another program may have written the file of the request, so its choices may exceed the limits.
        request.choices.truncate(CHOICES_MAX);
        for choice in &mut request.choices {
            *choice = clip(choice, CHOICE_MAX);
        }
        if let Some(there) = place.and_then(|at| self.waiting.get_mut(at)) {
            *there = request;
        } else {
            let rank = |r: &Request| (is_for_lead(r), r.created_at);
            let at = self.waiting.partition_point(|r| rank(r) <= rank(&request));
            self.waiting.insert(at, request);
            self.waiting.truncate(WAITING_MAX);
        }
        self.rebuild_cards();
    }

    fn rebuild_cards(&mut self) {
        let all = &self.waiting;
        let is_first = |at: &usize| {
            let request = &all[*at];
            !all.iter().take(*at).any(|r| r.is_like(request))
        };
        self.cards = (0..all.len()).filter(is_first).collect();
    }

    pub fn plans(&self) -> &PlanPages {
        &self.pages
    }

    /// Returns the number of cards. Permission requests for the same call share one card.
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    /// Returns the number of cards that the user must decide.
    pub fn for_user(&self) -> usize {
        self.cards().filter(|r| !is_for_lead(r)).count()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the first request of each card, in the order of the cards.
    pub fn cards(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.cards.iter().filter_map(|at| self.waiting.get(*at))
    }

    pub fn get(&self, id: &RequestId) -> Option<&Request> {
        self.waiting.iter().find(|r| r.id == *id)
    }

    /// Returns whether the request `id` is an open question.
    pub fn is_question(&self, id: &RequestId) -> bool {
        self.get(id)
            .is_some_and(|r| r.kind == RequestKind::Question)
    }

    /// Returns the index of the card with the request `id`; `None` if the request is not open.
    pub fn place(&self, id: &RequestId) -> Option<usize> {
        let wanted = self.get(id)?;
        self.cards().position(|r| r.id == *id || r.is_like(wanted))
    }

    /// Returns the first request of the card at the index `place`; `None` if there is no such card.
    pub fn at(&self, place: usize) -> Option<&Request> {
        self.cards.get(place).and_then(|at| self.waiting.get(*at))
    }

    /// Returns the other requests that share the card of `request`.
    pub fn same(&self, request: &Request) -> impl Iterator<Item = &Request> {
        self.waiting
            .iter()
            .filter(|r| r.id != request.id && r.is_like(request))
    }

    /// Marks the request `id` and all others on its card as answered, until the crew confirms the answer.
    pub fn answer(&mut self, id: &RequestId) {
        let same: Vec<RequestId> = self
            .get(id)
            .map(|r| self.same(r).map(|o| o.id.clone()).collect())
            .unwrap_or_default();
        let all = same.into_iter().chain([id.clone()]);
        self.answered.extend(all.map(|each| (each, id.clone())));
    }

    /// Returns whether the user has answered the request `id` and the crew has not confirmed the answer yet.
    pub fn is_answered(&self, id: &RequestId) -> bool {
        self.answered.contains_key(id)
    }

    /// Marks the request `id` and the requests that were answered together with it as not answered, because the crew
    /// has refused the answer. The user can then answer again.
    pub fn forget_answer(&mut self, id: &RequestId) {
        self.answered.retain(|_, given| given != id);
    }

    /// Marks all requests as not answered.
    pub fn forget_answers(&mut self) {
        self.answered.clear();
    }
}

/// Returns whether the lead may decide the request.
pub fn is_for_lead(request: &Request) -> bool {
    request.approver == Approver::Lead
}

/// Returns whether the user has nothing to decide: the request is approved or denied by a rule, or it is a shutdown
/// that the user has requested.
fn needs_no_user(request: &Request) -> bool {
    let is_ruled = matches!(request.approver, Approver::Auto | Approver::Deny);
    is_ruled || request.kind == RequestKind::Shutdown && request.from.is_user()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::RequestStatus;
    use crate::domain::timestamp::Timestamp;

    fn request(id: &str, kind: RequestKind, from: Name, at: f64) -> Request {
        let bob = Name::member("bob").unwrap();
        Request::new(
            RequestId(id.into()),
            kind,
            from,
            bob,
            "x".into(),
            Timestamp(at),
        )
    }

    #[test]
    fn oldest_request_is_first_and_decided_ones_are_removed() {
        let bob = || Name::member("bob").unwrap();
        let mut book = RequestBook::default();
        book.apply_change(&request("late", RequestKind::Plan, bob(), 9.0));
        book.apply_change(&request("early", RequestKind::Permission, bob(), 2.0));
        book.apply_change(&request("own", RequestKind::Shutdown, Name::user(), 1.0));
        let ids: Vec<&str> = book.cards().map(|r| r.id.0.as_str()).collect();
        assert_eq!(ids, ["early", "late"]);
        let id = RequestId("early".into());
        book.answer(&id);
        assert!(book.is_answered(&id));
        let mut decided = request("early", RequestKind::Permission, bob(), 2.0);
        decided.status = RequestStatus::Approved;
        book.apply_change(&decided);
        assert_eq!(book.len(), 1);
        assert!(!book.is_answered(&id));
    }
}
