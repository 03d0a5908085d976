//! The copy that a client has of the requests, and which decided ones are removed. Does no I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::super::request_store::RequestsSnapshot;
use super::ignored_records::unreadable_text;
use super::stored::Stored;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;

/// How many decided requests are kept. Pending ones are always kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestBounds {
    /// Maximum number of decided requests.
    pub count: usize,
    /// Maximum size of all decided requests together, in bytes.
    pub bytes: usize,
    /// Maximum time after the last change of a decided request, in seconds.
    pub age: f64,
}

/// The bounds of a crew. The stream has 64 MiB.
pub(super) const BOUNDS: RequestBounds = RequestBounds {
    count: 2000,
    bytes: 16 * 1024 * 1024,
    age: 7.0 * 24.0 * 60.0 * 60.0,
};

#[derive(Debug)]
struct CopiedRequest {
    sequence: u64,
    /// When the server has stored the last change.
    stored_at: Timestamp,
    size: usize,
    /// The request, or why it cannot be read.
    request: Result<Request, String>,
}

/// The requests up to a point, by the last part of their key.
#[derive(Debug, Default)]
pub(super) struct RequestMirror {
    requests: BTreeMap<String, CopiedRequest>,
    /// The sequence number up to which all changes are in this copy.
    pub sequence: u64,
    /// The epoch of the connection in which the requests were read; 0 if they must be read again.
    pub epoch: u64,
    /// When the server has stored the newest record. Ages are measured by the clock of the server, because that of this
    /// machine may be ahead.
    pub newest: Timestamp,
}

impl RequestMirror {
    /// Adds a record that was stored after all others. One without a valid signature removes the request.
    pub fn apply(&mut self, stored: &Stored) {
        self.sequence = self.sequence.max(stored.sequence);
        self.newest = Timestamp(self.newest.0.max(stored.stored_at().0));
        if stored.is_unsigned {
            self.requests.remove(&stored.key);
            return;
        }
        let request = serde_json::from_slice(&stored.payload);
        let copied = CopiedRequest {
            sequence: stored.sequence,
            stored_at: stored.stored_at(),
            size: stored.payload.len(),
            request: request.map_err(|why| {
                let subject = format!("state.request.{}", stored.key);
                unreadable_text(&subject, &why.to_string())
            }),
        };
        self.requests.insert(stored.key.clone(), copied);
    }

    /// Returns the keys of the decided requests that are too many, too large or too old when the newest record was stored,
    /// with their sequence numbers, the oldest first. One whose decision has not been carried out is removed for its age
    /// only.
    pub fn excess(&self, bounds: RequestBounds) -> Vec<(String, u64)> {
        let mut decided: Vec<(&String, &CopiedRequest, &Request)> = Vec::new();
        for (key, copied) in &self.requests {
            if let Ok(request) = &copied.request
                && !request.is_pending()
            {
                decided.push((key, copied, request));
            }
        }
        decided.sort_by_key(|(_, copied, _)| std::cmp::Reverse(copied.sequence));
        let (mut count, mut bytes) = (0, 0);
        let mut excess = Vec::new();
        for (key, copied, request) in decided {
            count += 1;
            bytes += copied.size;
            let is_surplus = count > bounds.count || bytes > bounds.bytes;
            let is_old = self.newest.0 - copied.stored_at.0 > bounds.age;
            if is_old || (is_surplus && !request.has_open_follow_up()) {
                excess.push((key.clone(), copied.sequence));
            }
        }
        excess.reverse();
        excess
    }

    /// Forgets the requests that are [excess](RequestMirror::excess), which another client may have removed from the hub: a
    /// removal is not reported.
    pub fn forget_excess(&mut self, bounds: RequestBounds) {
        for (key, _) in self.excess(bounds) {
            self.requests.remove(&key);
        }
    }

    /// Returns the keys of the requests.
    pub fn keys(&self) -> BTreeSet<&str> {
        self.requests.keys().map(String::as_str).collect()
    }

    /// Returns the requests, oldest first.
    pub fn snapshot(&self) -> RequestsSnapshot {
        let mut out = RequestsSnapshot::default();
        for copied in self.requests.values() {
            match &copied.request {
                Ok(request) => out.requests.push(request.clone()),
                Err(why) => out.notices.push(why.clone()),
            }
        }
        let by_time = |a: &Request, b: &Request| a.created_at.0.total_cmp(&b.created_at.0);
        out.requests.sort_by(by_time);
        out
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::{Name, RequestId};
    use crate::domain::request::{FollowUp, RequestKind, RequestStatus};

    const FEW: RequestBounds = RequestBounds {
        count: 2,
        bytes: 1_000_000,
        age: 100.0,
    };

    /// Returns the record of a request that was stored at the second `at`.
    fn stored(at: u32, status: RequestStatus, followed: FollowUp) -> Stored {
        let (id, bob) = (RequestId(format!("r{at}")), Name::member("bob").unwrap());
        let (kind, now) = (RequestKind::Plan, Timestamp(f64::from(at)));
        let mut request = Request::new(id, kind, bob.clone(), bob, "the plan".into(), now);
        (request.status, request.followed) = (status, followed);
        Stored {
            key: request.id.to_string(),
            sequence: u64::from(at),
            nanoseconds: i128::from(at) * 1_000_000_000,
            payload: serde_json::to_vec(&request).unwrap(),
            id: String::new(),
            is_unsigned: false,
        }
    }

    fn excess(mirror: &RequestMirror, bounds: RequestBounds) -> Vec<String> {
        let excess = mirror.excess(bounds).into_iter();
        excess.map(|(key, _)| key).collect()
    }

    #[test]
    fn decided_requests_are_bounded_and_pending_ones_stay() {
        let (approved, done) = (RequestStatus::Approved, FollowUp::Done);
        let mut mirror = RequestMirror::default();
        mirror.apply(&stored(1, RequestStatus::Pending, FollowUp::NotYet));
        mirror.apply(&stored(2, approved, FollowUp::NotYet));
        for at in 3..=5 {
            mirror.apply(&stored(at, approved, done));
        }
        // The decision of the second one must still be carried out.
        assert_eq!(excess(&mirror, FEW), ["r3"]);
        let small = RequestBounds { bytes: 1, ..FEW };
        assert_eq!(excess(&mirror, small), ["r3", "r4", "r5"]);
        mirror.apply(&stored(104, RequestStatus::Pending, FollowUp::NotYet));
        assert_eq!(excess(&mirror, FEW), ["r2", "r3"]);
        mirror.apply(&stored(1000, RequestStatus::Pending, FollowUp::NotYet));
        assert_eq!(excess(&mirror, FEW), ["r2", "r3", "r4", "r5"]);
        mirror.forget_excess(FEW);
        assert_eq!(mirror.keys(), BTreeSet::from(["r1", "r104", "r1000"]));
        assert_eq!(mirror.snapshot().requests.len(), 3);
    }

    #[test]
    fn age_of_a_decision_is_measured_from_the_newest_record() {
        let mut mirror = RequestMirror::default();
        // These were stored long ago by the clock of this machine.
        mirror.apply(&stored(1, RequestStatus::Approved, FollowUp::NotYet));
        mirror.apply(&stored(101, RequestStatus::Approved, FollowUp::NotYet));
        assert_eq!(excess(&mirror, FEW), Vec::<String>::new());
        // A record without a valid signature has the time of the server too.
        let mut unsigned = stored(102, RequestStatus::Pending, FollowUp::NotYet);
        unsigned.is_unsigned = true;
        mirror.apply(&unsigned);
        assert_eq!(excess(&mirror, FEW), ["r1"]);
    }

    #[test]
    fn changed_request_is_replaced_and_an_unreadable_one_reported() {
        let mut mirror = RequestMirror::default();
        let mut first = stored(1, RequestStatus::Pending, FollowUp::NotYet);
        mirror.apply(&first);
        mirror.apply(&stored(2, RequestStatus::Pending, FollowUp::NotYet));
        first.payload = b"{".to_vec();
        first.sequence = 3;
        mirror.apply(&first);
        let snapshot = mirror.snapshot();
        assert_eq!((snapshot.requests.len(), snapshot.notices.len()), (1, 1));
        assert!(snapshot.notices[0].starts_with("request r1 is ignored"));
        first.is_unsigned = true;
        mirror.apply(&first);
        assert_eq!(mirror.snapshot().notices, Vec::<String>::new());
        assert_eq!(mirror.sequence, 3);
    }
}
