//! Approval requests on a hub: one key per request. A client has a copy, which is completed before each read. Old decided
//! requests are removed, so that the stream does not become full.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::super::StoreError;
use super::super::request_store::{RequestEdit, RequestStore, RequestsSnapshot};
use super::catch_up::{self, CopiedKeys, Rereads};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys;
use super::reads::{self, Range};
use super::request_records::{BOUNDS, RequestBounds, RequestMirror};
use super::sent_once;
use super::streams::StreamKind;
use super::turn_failure::TurnFailure;
use super::values;
use crate::domain::ids::RequestId;
use crate::domain::request::Request;
use crate::domain::timestamp::Timestamp;

/// The keys of the requests. What was sent about a request is below its key.
const REQUESTS: CopiedKeys = CopiedKeys {
    kind: StreamKind::State,
    keys: "request.*",
    most: 100_000,
    hides_others: |_| false,
};
/// Of so many new requests of a process, the first one makes the process remove old ones.
const CREATED: u64 = 100;
/// Maximum number of requests that are removed at once.
const REMOVED_MAX: usize = 500;

#[derive(Debug)]
pub(super) struct HubRequests {
    hub: Hub,
    mirror: Mutex<RequestMirror>,
    bounds: RequestBounds,
    created: AtomicU64,
    /// Whether this login must not remove requests. Another process of the crew removes them then.
    cannot_remove: Arc<AtomicBool>,
    failure: TurnFailure,
}

fn key(id: &RequestId) -> String {
    format!("request.{id}")
}

impl HubRequests {
    pub(super) fn new(hub: Hub) -> HubRequests {
        HubRequests {
            hub,
            mirror: Mutex::default(),
            bounds: BOUNDS,
            created: AtomicU64::new(0),
            cannot_remove: Arc::default(),
            failure: TurnFailure::default(),
        }
    }

    /// Stores a request if its key has this revision. If the stream is full, first removes old requests.
    fn store(&self, request: &Request, revision: u64) -> Result<Option<u64>, StoreError> {
        let (key, what) = (key(&request.id), "the request");
        match values::write(&self.hub, &key, request, revision, what) {
            Err(error) if is_full(&error) && self.make_room() => {
                values::write(&self.hub, &key, request, revision, what)
            }
            written => written,
        }
    }

    /// Removes old requests now. Returns whether there were any.
    fn make_room(&self) -> bool {
        let bounds = self.bounds;
        let removed = self
            .hub
            .run(move |connection| async move { remove_excess(&connection, bounds).await });
        removed.is_ok_and(|removed| removed > 0)
    }

    /// Removes old requests in the background, once in a while.
    fn remove_sometimes(&self) {
        let number = self.created.fetch_add(1, Ordering::Relaxed);
        if !number.is_multiple_of(CREATED) || self.cannot_remove.load(Ordering::Relaxed) {
            return;
        }
        let (bounds, cannot_remove) = (self.bounds, Arc::clone(&self.cannot_remove));
        // If this fails, another process or the next attempt removes them.
        let _ = self.hub.spawn(move |connection| async move {
            let began = Instant::now();
            let result = remove_excess(&connection, bounds).await;
            let is_denied = || {
                connection
                    .denial(StreamKind::State, "stream.purge", began)
                    .is_some()
            };
            if result.is_err() && is_denied() {
                cannot_remove.store(true, Ordering::Relaxed);
            }
        });
    }
}

fn is_full(error: &StoreError) -> bool {
    matches!(error, StoreError::Hub(HubError::Full { .. }))
}

/// Removes the decided requests that are too many, too large or too old, and what was stored about requests that are gone.
/// Returns the number of removed messages.
async fn remove_excess(connection: &HubConnection, bounds: RequestBounds) -> Result<u64, HubError> {
    let CopiedKeys {
        kind, keys, most, ..
    } = REQUESTS;
    // Read before the requests, so that the request of each record is known unless it is gone.
    let records = sent_once::all(connection).await?;
    let stored = reads::read_current(connection, kind, keys, Range::LastOfEach, most).await?;
    let mut requests = RequestMirror::default();
    for stored in &stored {
        requests.apply(stored);
    }
    let mut removed = 0;
    let excess = requests.excess(bounds);
    for (key, sequence) in excess.into_iter().take(REMOVED_MAX) {
        // A later change has a higher sequence number, and stays.
        removed += keys::purge(connection, kind, &format!("request.{key}"), sequence + 1).await?;
        removed += keys::purge(connection, kind, &format!("request.{key}.>"), u64::MAX).await?;
    }
    let known = requests.keys();
    let newest = records.iter().fold(requests.newest.0, |newest, record| {
        newest.max(record.stored_at.0)
    });
    let is_over = |at: Timestamp| newest - at.0 > bounds.age;
    let gone = records
        .iter()
        .filter(|record| is_over(record.stored_at) && !known.contains(record.request.as_str()));
    for record in gone.take(REMOVED_MAX) {
        let key = format!("request.{}.>", record.request);
        removed += keys::purge(connection, kind, &key, record.sequence + 1).await?;
    }
    Ok(removed)
}

impl RequestStore for HubRequests {
    fn create(&self, request: &Request) -> Result<(), StoreError> {
        if !request.id.is_safe() {
            return Err(StoreError::NoRequest(request.id.clone()));
        }
        let exists = || StoreError::from(HubError::RequestExists(request.id.to_string()));
        if self.store(request, 0)?.is_none() {
            // A request without a valid signature is replaced.
            let found = values::read::<Request>(&self.hub, &key(&request.id))?;
            if found.value.is_some() {
                return Err(exists());
            }
            let written = self.store(request, found.revision)?;
            written.ok_or_else(exists)?;
        }
        self.remove_sometimes();
        Ok(())
    }

    fn get(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        if !id.is_safe() {
            return Ok(None);
        }
        Ok(values::read(&self.hub, &key(id))?.value)
    }

    fn read_all(&self) -> Result<RequestsSnapshot, StoreError> {
        let asked_at = Instant::now();
        let mut mirror = self.mirror.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, epoch) = (mirror.sequence, mirror.epoch);
        let missed = self.failure.attempt(asked_at, || {
            self.hub.run(move |connection| async move {
                catch_up::missed(&connection, REQUESTS, from, epoch, Rereads::default()).await
            })
        })?;
        if missed.is_complete {
            *mirror = RequestMirror::default();
        }
        mirror.epoch = missed.epoch;
        missed
            .records
            .iter()
            .for_each(|stored| mirror.apply(stored));
        mirror.forget_excess(self.bounds);
        Ok(mirror.snapshot())
    }

    fn change(&self, id: &RequestId, edit: &mut RequestEdit<'_>) -> Result<Request, StoreError> {
        if !id.is_safe() {
            return Err(StoreError::NoRequest(id.clone()));
        }
        let mut change = || {
            values::change(&self.hub, &key(id), "request", |found: Option<Request>| {
                let mut request = found.ok_or_else(|| StoreError::NoRequest(id.clone()))?;
                let is_stored = edit(&mut request)?;
                Ok((is_stored.then(|| request.clone()), request))
            })
        };
        match change() {
            // A decision makes the request larger.
            Err(error) if is_full(&error) && self.make_room() => change(),
            changed => changed,
        }
    }
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::super::test_server::TestServer;
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::RequestKind;

    fn request(number: u32) -> Request {
        let (id, bob) = (
            RequestId(format!("r{number}")),
            Name::member("bob").unwrap(),
        );
        let (kind, at) = (RequestKind::Plan, Timestamp(f64::from(number)));
        Request::new(id, kind, bob.clone(), bob, "the plan".into(), at)
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn many_requests_stay_bounded_and_pending_ones_stay() {
        let server = TestServer::start();
        let bounds = RequestBounds { count: 5, ..BOUNDS };
        let requests = HubRequests {
            bounds,
            ..HubRequests::new(server.hub())
        };
        let other = HubRequests {
            bounds,
            ..HubRequests::new(server.hub())
        };
        let count = u32::try_from(CREATED).unwrap() + 1;
        for number in 0..count {
            let request = request(number);
            requests.create(&request).unwrap();
            if number % 10 != 0 {
                let withdrawn = requests.change(&request.id, &mut |request| {
                    request.withdraw("not needed", Timestamp(1.0))?;
                    Ok(true)
                });
                withdrawn.unwrap();
            }
        }
        let snapshot = other.read_all().unwrap();
        let (pending, decided): (Vec<Request>, Vec<Request>) =
            snapshot.requests.into_iter().partition(Request::is_pending);
        assert_eq!((pending.len(), decided.len()), (11, 5));
        assert_eq!(decided[4].id.0, "r99");
        // The old ones are removed from the hub too.
        let began = Instant::now();
        while other.get(&RequestId("r1".into())).unwrap().is_some() {
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
        for request in pending.iter().chain(&decided) {
            assert_eq!(other.get(&request.id).unwrap().as_ref(), Some(request));
        }
    }
}
