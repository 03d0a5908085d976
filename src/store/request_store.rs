//! What approval requests need from the store that holds them.

use std::fmt::Debug;

use super::StoreError;
use crate::domain::ids::RequestId;
use crate::domain::request::Request;

/// All requests and the problems found while reading them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestsSnapshot {
    /// The requests, oldest first.
    pub requests: Vec<Request>,
    /// Notices about files that could not be read or were renamed, one line each.
    pub notices: Vec<String>,
}

/// Changes a request; returns whether it is to be stored.
pub type RequestEdit<'a> = dyn FnMut(&mut Request) -> Result<bool, StoreError> + 'a;

/// Holds the approval requests of a crew.
///
/// All methods block, and may be called from several threads and processes at the same time.
pub trait RequestStore: Debug + Send + Sync {
    /// Stores a new request under the id that it contains.
    ///
    /// # Errors
    /// When a request with this id already exists, the id cannot be used, or the request cannot be written.
    fn create(&self, request: &Request) -> Result<(), StoreError>;

    /// Returns the request `id`; `None` if it does not exist or the id cannot be used.
    ///
    /// # Errors
    /// When the request cannot be read.
    fn get(&self, id: &RequestId) -> Result<Option<Request>, StoreError>;

    /// Returns all requests, oldest first, and moves away damaged ones.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn read_all(&self) -> Result<RequestsSnapshot, StoreError>;

    /// Applies `edit` to the stored request `id`, stores the result if `edit` says so, and returns it. No other writer
    /// changes the request in between: if one was faster, the store calls `edit` again with the new state.
    ///
    /// # Errors
    /// When the request does not exist, `edit` fails, or the request cannot be read or written.
    fn change(&self, id: &RequestId, edit: &mut RequestEdit<'_>) -> Result<Request, StoreError>;
}
