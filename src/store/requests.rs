//! Approval requests. Each request is decided once. The embedded store is `.team/requests/ID.json`.

use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::file_requests::FileRequests;
use super::request_store::{RequestStore, RequestsSnapshot};
use crate::domain::ids::RequestId;
use crate::domain::request::{Decision, FollowUp, Request};
use crate::domain::timestamp::Timestamp;

/// The approval requests of a crew. Cheap to clone; clones share the store.
#[derive(Debug, Clone)]
pub struct Requests {
    store: Arc<dyn RequestStore>,
}

impl Requests {
    /// Opens the requests of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Requests {
        Requests::with_store(Arc::new(FileRequests::open(root)))
    }

    /// Returns the requests that are in `store`.
    pub fn with_store(store: Arc<dyn RequestStore>) -> Requests {
        Requests { store }
    }

    /// Saves a new request under the id that it contains.
    ///
    /// # Errors
    /// When a file for this id already exists, the id cannot be used as a file name, or the request cannot be written.
    pub fn create(&self, request: &Request) -> Result<(), StoreError> {
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
    /// When the request does not exist or cannot be read or written, or when it rejects the decision, for example
    /// because it is decided already. Nothing is changed then.
    pub fn decide(&self, decision: &Decision, now: Timestamp) -> Result<Request, StoreError> {
        self.store.change(&decision.id, &mut |request| {
            request.decide(decision, now)?;
            Ok(true)
        })
    }

    /// Closes a pending request on behalf of the agent that made it, with the reason `why`.
    ///
    /// # Errors
    /// When the request does not exist, is decided already, or cannot be read or written.
    pub fn withdraw(
        &self,
        id: &RequestId,
        why: &str,
        now: Timestamp,
    ) -> Result<Request, StoreError> {
        self.store.change(id, &mut |request| {
            request.withdraw(why, now)?;
            Ok(true)
        })
    }

    /// Marks a decided request as finished. Call this when all consequences of the decision are carried out. Does nothing
    /// if the request has no consequences to carry out.
    ///
    /// # Errors
    /// When the request does not exist, or cannot be read or written.
    pub fn finish(&self, id: &RequestId) -> Result<(), StoreError> {
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
