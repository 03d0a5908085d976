//! Approval requests. Each request is decided once. The embedded store is `.team/requests/ID.json`.

use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::file_requests::FileRequests;
use super::host_store::{HostFence, HostSession};
use super::request_store::{RequestStore, RequestsSnapshot};
use crate::domain::ids::RequestId;
use crate::domain::request::{Approver, Decision, FollowUp, Request};
use crate::domain::timestamp::Timestamp;

/// The approval requests of a crew. Cheap to clone; clones share the store.
#[derive(Debug, Clone)]
pub struct Requests {
    store: Arc<dyn RequestStore>,
    fence: HostFence,
}

impl Requests {
    /// Opens the requests of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Requests {
        Requests::with_store(Arc::new(FileRequests::open(root)))
    }

    /// Returns the requests that are in `store`.
    pub fn with_store(store: Arc<dyn RequestStore>) -> Requests {
        Requests {
            store,
            fence: HostFence::default(),
        }
    }

    /// Returns the requests for a host. After `session` has become invalid, the host cannot change requests: that fails with
    /// [`StoreError::HostLost`]. What the user requests and decides is not limited.
    #[must_use]
    pub fn with_host(self, session: Arc<dyn HostSession>) -> Requests {
        Requests {
            fence: HostFence::new(session),
            ..self
        }
    }

    /// Saves a new request under the id that it contains.
    ///
    /// # Errors
    /// When a file for this id already exists, the id cannot be used as a file name, this host has lost its session, or the
    /// request cannot be written.
    pub fn create(&self, request: &Request) -> Result<(), StoreError> {
        if !request.from.is_user() {
            self.fence.check("file requests")?;
        }
        self.store.create(request)
    }

    /// Returns the request `id`. Returns `None` if the request does not exist, or if `id` cannot be used as a file
    /// name.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or contains a request with another id.
    pub fn get(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        self.store.get(id)
    }

    /// Returns all requests, and renames damaged files to `NAME.damaged-N`. A missing folder counts as empty. A file that
    /// cannot be used becomes a notice; a file whose name cannot be an id is ignored.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn read_all(&self) -> Result<RequestsSnapshot, StoreError> {
        self.store.read_all()
    }

    /// Applies a decision to a request and returns the decided request.
    ///
    /// # Errors
    /// When the request does not exist or cannot be read or written, when this host has lost its session, or when the request
    /// rejects the decision, for example because it is decided already. Nothing is changed then.
    pub fn decide(&self, decision: &Decision, now: Timestamp) -> Result<Request, StoreError> {
        let check = || {
            if decision.by.is_user() {
                Ok(())
            } else {
                self.fence.check("decide requests")
            }
        };
        // Without a connection, the store would wait long for an answer first.
        check()?;
        self.store.change(&decision.id, &mut |request| {
            // The store may have waited long for its turn.
            check()?;
            request.decide(decision, now)?;
            Ok(true)
        })
    }

    /// Records who decides a pending request, and returns it. Changes nothing if it is decided.
    ///
    /// # Errors
    /// When the request does not exist, this host has lost its session, or the request cannot be read or written.
    pub fn set_approver(&self, id: &RequestId, approver: Approver) -> Result<Request, StoreError> {
        self.fence.check("hand over requests")?;
        self.store.change(id, &mut |request| {
            let is_new = request.is_pending() && request.approver != approver;
            if is_new {
                request.approver = approver;
            }
            Ok(is_new)
        })
    }

    /// Closes a pending request on behalf of the agent that made it, with the reason `why`.
    ///
    /// # Errors
    /// When the request does not exist, is decided already, or cannot be read or written, or when this host has lost its
    /// session.
    pub fn withdraw(
        &self,
        id: &RequestId,
        why: &str,
        now: Timestamp,
    ) -> Result<Request, StoreError> {
        const ACT: &str = "withdraw requests";
        self.fence.check(ACT)?;
        self.store.change(id, &mut |request| {
            self.fence.check(ACT)?;
            request.withdraw(why, now)?;
            Ok(true)
        })
    }

    /// Marks a decided request as finished. Call this when all consequences of the decision are carried out. Does nothing
    /// if the request has no consequences to carry out.
    ///
    /// # Errors
    /// When the request does not exist, this host has lost its session, or the request cannot be read or written.
    pub fn finish(&self, id: &RequestId) -> Result<(), StoreError> {
        self.fence.check("carry out decisions")?;
        self.store.change(id, &mut |request| {
            let is_open = request.has_open_follow_up();
            if is_open {
                request.followed = FollowUp::Done;
            }
            Ok(is_open)
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::request::{RequestKind, RequestStatus, Verdict};
    use crate::store::{FakeHostSession, prepare};

    const NOW: Timestamp = Timestamp(1.0);

    fn request(id: &str, from: Name) -> Request {
        let (id, bob) = (RequestId(id.into()), Name::member("bob").unwrap());
        Request::new(id, RequestKind::Shutdown, from, bob, "x".into(), NOW)
    }

    #[test]
    fn host_without_session_changes_requests_only_for_the_user() {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        let session = FakeHostSession::new("gpu", "s1");
        let fence: Arc<dyn HostSession> = session.clone();
        let requests = Requests::open(dir.path()).with_host(fence);
        let lead = request("r1", Name::lead());
        requests.create(&lead).unwrap();
        session.end();
        let decide = |by| {
            let decision = Decision::on(&lead, Verdict::Approve, by, String::new());
            requests.decide(&decision, NOW)
        };
        let errors = [
            requests.create(&request("r2", Name::lead())).unwrap_err(),
            decide(Name::policy()).unwrap_err(),
            requests.withdraw(&lead.id, "late", NOW).unwrap_err(),
            requests.set_approver(&lead.id, Approver::Lead).unwrap_err(),
            requests.finish(&lead.id).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::HostLost(_)), "{error}");
        }
        assert_eq!(requests.get(&lead.id).unwrap().as_ref(), Some(&lead));
        requests.create(&request("r2", Name::user())).unwrap();
        let decided = decide(Name::user()).unwrap();
        assert_eq!(decided.status, RequestStatus::Approved);
    }
}
