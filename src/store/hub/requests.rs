//! Approval requests on a hub: one key per request.

use super::super::StoreError;
use super::super::request_store::{RequestEdit, RequestStore, RequestsSnapshot};
use super::connection::Hub;
use super::error::HubError;
use super::keys::{self, Range};
use super::streams::StreamKind;
use super::values;
use crate::domain::ids::RequestId;
use crate::domain::request::Request;

/// Maximum number of requests that are read.
const REQUESTS_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct HubRequests(pub(super) Hub);

fn key(id: &RequestId) -> String {
    format!("request.{id}")
}

impl RequestStore for HubRequests {
    fn create(&self, request: &Request) -> Result<(), StoreError> {
        if !request.id.is_safe() {
            return Err(StoreError::NoRequest(request.id.clone()));
        }
        let (key, what) = (key(&request.id), "the request");
        let exists = || StoreError::from(HubError::RequestExists(request.id.to_string()));
        if values::write(&self.0, &key, request, 0, what)?.is_some() {
            return Ok(());
        }
        // A request without a valid signature is replaced.
        let found = values::read::<Request>(&self.0, &key)?;
        if found.value.is_some() {
            return Err(exists());
        }
        let written = values::write(&self.0, &key, request, found.revision, what)?;
        written.map(|_| ()).ok_or_else(exists)
    }

    fn get(&self, id: &RequestId) -> Result<Option<Request>, StoreError> {
        if !id.is_safe() {
            return Ok(None);
        }
        Ok(values::read(&self.0, &key(id))?.value)
    }

    fn read_all(&self) -> Result<RequestsSnapshot, StoreError> {
        let stored = self.0.run(|link| async move {
            let (kind, range) = (StreamKind::State, Range::LastOfEach);
            keys::read_current(&link, kind, "request.*", range, REQUESTS_MAX).await
        })?;
        let mut out = RequestsSnapshot::default();
        for stored in stored.iter().filter(|stored| !stored.is_unsigned) {
            match values::parse::<Request>(stored) {
                Ok(request) => {
                    // A request that was changed during the read comes twice.
                    out.requests.retain(|other| other.id != request.id);
                    out.requests.push(request);
                }
                Err(why) => out.notices.push(format!("a request is ignored: {why}")),
            }
        }
        out.notices.extend(self.0.take_problems());
        let by_time = |a: &Request, b: &Request| a.created_at.0.total_cmp(&b.created_at.0);
        out.requests.sort_by(by_time);
        Ok(out)
    }

    fn change(&self, id: &RequestId, edit: &mut RequestEdit<'_>) -> Result<Request, StoreError> {
        if !id.is_safe() {
            return Err(StoreError::NoRequest(id.clone()));
        }
        values::change(&self.0, &key(id), "request", |found: Option<Request>| {
            let mut request = found.ok_or_else(|| StoreError::NoRequest(id.clone()))?;
            let is_stored = edit(&mut request)?;
            Ok((is_stored.then(|| request.clone()), request))
        })
    }
}
