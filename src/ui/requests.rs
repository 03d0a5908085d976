//! The requests: what waits for the person, the oldest first.

use std::collections::{BTreeSet, VecDeque};

use crate::domain::ids::RequestId;
use crate::domain::request::{Request, RequestKind};
use crate::domain::text::head_and_tail;

/// Most requests that are kept while they wait; the crew bounds them far below.
pub const WAITING_MAX: usize = 200;

/// Longest body that is kept for the screen, in bytes.
pub const BODY_MAX: usize = 64 * 1024;

/// The requests that wait for the person.
#[derive(Debug, Default)]
pub struct RequestBook {
    waiting: VecDeque<Request>,
    answered: BTreeSet<RequestId>,
}

impl RequestBook {
    /// Takes a request in as it stands now. What is decided is forgotten.
    pub fn changed(&mut self, request: &Request) {
        let place = self.waiting.iter().position(|r| r.id == request.id);
        if !request.is_pending() || is_own(request) {
            if let Some(at) = place {
                self.waiting.remove(at);
            }
            self.answered.remove(&request.id);
            return;
        }
        let mut request = request.clone();
        request.body = head_and_tail(&request.body, BODY_MAX);
        if let Some(there) = place.and_then(|at| self.waiting.get_mut(at)) {
            *there = request;
            return;
        }
        let at = self
            .waiting
            .partition_point(|r| r.created_at <= request.created_at);
        self.waiting.insert(at, request);
        self.waiting.truncate(WAITING_MAX);
    }

    /// What waits, the oldest first.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.waiting.iter()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The waiting request of that id.
    pub fn get(&self, id: &RequestId) -> Option<&Request> {
        self.waiting.iter().find(|r| r.id == *id)
    }

    /// The place of the waiting request of that id, counted from the oldest.
    pub fn place(&self, id: &RequestId) -> Option<usize> {
        self.waiting.iter().position(|r| r.id == *id)
    }

    /// The waiting request at a place, counted from the oldest.
    pub fn at(&self, place: usize) -> Option<&Request> {
        self.waiting.get(place)
    }

    /// Notes that the person has answered and the crew has not confirmed it yet.
    pub fn answer(&mut self, id: &RequestId) {
        self.answered.insert(id.clone());
    }

    /// Whether an answer is on its way.
    pub fn is_answered(&self, id: &RequestId) -> bool {
        self.answered.contains(id)
    }

    /// The crew refused something: answers that are on their way may be given again.
    pub fn forget_answers(&mut self) {
        self.answered.clear();
    }
}

/// Whether it is the person's own wish, which waits for a teammate and not for the person.
fn is_own(request: &Request) -> bool {
    match request.kind {
        RequestKind::Shutdown => request.from.is_user(),
        RequestKind::Plan | RequestKind::Permission | RequestKind::Ceiling => false,
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
        let ids: Vec<&str> = book.waiting().map(|r| r.id.0.as_str()).collect();
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
