//! The requests: what waits for the person, the oldest first.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::ids::RequestId;
use crate::domain::request::{Decider, Request, RequestKind};
use crate::domain::text::{clip, head_and_tail};
use crate::ui::model::plan_pages::PlanPages;

/// Most requests that are kept while they wait; the crew bounds them far below.
pub const WAITING_MAX: usize = 200;

/// Most choices of a question: there are no more keys.
const CHOICES_MAX: usize = 6;
/// Longest choice that is kept, in characters.
const CHOICE_MAX: usize = 400;

/// Longest body that is kept for the screen, in bytes.
pub const BODY_MAX: usize = 64 * 1024;

/// The requests that wait for the person. Permissions for the same call are one card.
#[derive(Debug, Default)]
pub struct RequestBook {
    /// What the person has to decide first, then what the lead may decide; each the oldest first.
    waiting: VecDeque<Request>,
    /// The places in `waiting` of those that stand for a card: no one before them asks the same.
    cards: Vec<usize>,
    /// What an answer is on its way to, each with the request that it was given to.
    answered: BTreeMap<RequestId, RequestId>,
    pages: PlanPages,
}

impl RequestBook {
    /// Takes a request in as it stands now. What is decided is forgotten.
    pub fn changed(&mut self, request: &Request) {
        let place = self.waiting.iter().position(|r| r.id == request.id);
        if !request.is_pending() || is_no_concern(request) {
            if let Some(at) = place {
                self.waiting.remove(at);
            }
            self.answered.remove(&request.id);
            self.deal();
            return;
        }
        let mut request = request.clone();
        request.body = head_and_tail(&request.body, BODY_MAX);
        // Other programs may have written the file.
        request.choices.truncate(CHOICES_MAX);
        for choice in &mut request.choices {
            *choice = clip(choice, CHOICE_MAX);
        }
        if let Some(there) = place.and_then(|at| self.waiting.get_mut(at)) {
            *there = request;
        } else {
            let rank = |r: &Request| (is_the_leads(r), r.created_at);
            let at = self.waiting.partition_point(|r| rank(r) <= rank(&request));
            self.waiting.insert(at, request);
            self.waiting.truncate(WAITING_MAX);
        }
        self.deal();
    }

    fn deal(&mut self) {
        let all = &self.waiting;
        let is_first = |at: &usize| {
            let request = &all[*at];
            !all.iter().take(*at).any(|r| r.is_like(request))
        };
        self.cards = (0..all.len()).filter(is_first).collect();
    }

    /// The plans as pages.
    pub fn plans(&self) -> &PlanPages {
        &self.pages
    }

    /// How many cards there are.
    pub fn len(&self) -> usize {
        self.cards.len()
    }

    /// How many cards nobody but the person decides.
    pub fn for_person(&self) -> usize {
        self.cards().filter(|r| !is_the_leads(r)).count()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The cards in their order.
    pub fn cards(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.cards.iter().filter_map(|at| self.waiting.get(*at))
    }

    /// The waiting request of that id.
    pub fn get(&self, id: &RequestId) -> Option<&Request> {
        self.waiting.iter().find(|r| r.id == *id)
    }

    /// Whether that request waits and is a question.
    pub fn is_question(&self, id: &RequestId) -> bool {
        self.get(id)
            .is_some_and(|r| r.kind == RequestKind::Question)
    }

    /// The place of the card that the request of that id is on.
    pub fn place(&self, id: &RequestId) -> Option<usize> {
        let wanted = self.get(id)?;
        self.cards().position(|r| r.id == *id || r.is_like(wanted))
    }

    /// The card at a place.
    pub fn at(&self, place: usize) -> Option<&Request> {
        self.cards.get(place).and_then(|at| self.waiting.get(*at))
    }

    /// The other requests that wait for the same answer.
    pub fn same(&self, request: &Request) -> impl Iterator<Item = &Request> {
        self.waiting
            .iter()
            .filter(|r| r.id != request.id && r.is_like(request))
    }

    /// Notes that the person has answered and the crew has not confirmed it yet.
    pub fn answer(&mut self, id: &RequestId) {
        let same: Vec<RequestId> = self
            .get(id)
            .map(|r| self.same(r).map(|o| o.id.clone()).collect())
            .unwrap_or_default();
        let all = same.into_iter().chain([id.clone()]);
        self.answered.extend(all.map(|each| (each, id.clone())));
    }

    /// Whether an answer is on its way.
    pub fn is_answered(&self, id: &RequestId) -> bool {
        self.answered.contains_key(id)
    }

    /// The answer that was given to that request was refused: it may be given again.
    pub fn forget_answer(&mut self, id: &RequestId) {
        self.answered.retain(|_, given| given != id);
    }

    /// No answer is on its way.
    pub fn forget_answers(&mut self) {
        self.answered.clear();
    }
}

/// Whether the lead may decide it.
pub fn is_the_leads(request: &Request) -> bool {
    request.decider == Decider::Lead
}

/// Whether nobody at the screen has anything to decide: a rule decides at once, or it is the person's own
/// wish, which waits for a teammate.
fn is_no_concern(request: &Request) -> bool {
    let is_ruled = matches!(request.decider, Decider::Auto | Decider::Deny);
    is_ruled
        || match request.kind {
            RequestKind::Shutdown => request.from.is_user(),
            RequestKind::Plan
            | RequestKind::Permission
            | RequestKind::Ceiling
            | RequestKind::Question => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::RequestStatus;
    use crate::domain::stamp::Stamp;

    fn request(id: &str, kind: RequestKind, from: Name, at: f64) -> Request {
        let bob = Name::member("bob").unwrap();
        Request::new(RequestId(id.into()), kind, from, bob, "x".into(), Stamp(at))
    }

    #[test]
    fn the_oldest_comes_first_and_what_is_decided_goes() {
        let bob = || Name::member("bob").unwrap();
        let mut book = RequestBook::default();
        book.changed(&request("late", RequestKind::Plan, bob(), 9.0));
        book.changed(&request("early", RequestKind::Permission, bob(), 2.0));
        book.changed(&request("own", RequestKind::Shutdown, Name::user(), 1.0));
        let ids: Vec<&str> = book.cards().map(|r| r.id.0.as_str()).collect();
        assert_eq!(ids, ["early", "late"]);
        let id = RequestId("early".into());
        book.answer(&id);
        assert!(book.is_answered(&id));
        let mut decided = request("early", RequestKind::Permission, bob(), 2.0);
        decided.status = RequestStatus::Approved;
        book.changed(&decided);
        assert_eq!(book.len(), 1);
        assert!(!book.is_answered(&id));
    }
}
