//! The description of who holds a lease, which the lease contains.

use serde::{Deserialize, Serialize};

use crate::domain::host::HostClaim;

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaseHolder {
    pub process: u32,
    /// The name of the machine, or the host for whose session the lease is held; empty if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Distinguishes the leases of one process.
    pub session: String,
}

impl LeaseHolder {
    /// Returns this process as the session of a host.
    pub fn for_host(claim: &HostClaim) -> LeaseHolder {
        LeaseHolder {
            process: std::process::id(),
            host: claim.host.to_string(),
            session: claim.session.clone(),
        }
    }

    /// Returns the holder of a lease that does not say who holds it.
    pub fn unknown() -> LeaseHolder {
        LeaseHolder {
            process: 0,
            host: String::new(),
            session: String::new(),
        }
    }

    /// Returns this process as a new holder.
    pub fn new() -> LeaseHolder {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
        LeaseHolder {
            process: std::process::id(),
            host: host.unwrap_or_default().trim().to_string(),
            session: uuid::Uuid::now_v7().to_string(),
        }
    }
}

/// Returns the holder in a stored lease; `None` for the message that ends a lease and for the mark of an expired one.
pub(super) fn holder_in(payload: &[u8]) -> Option<LeaseHolder> {
    if payload.is_empty() {
        return None;
    }
    // A lease that cannot be read belongs to another version, and is respected.
    Some(serde_json::from_slice(payload).unwrap_or_else(|_| LeaseHolder::unknown()))
}
