//! What a crew with several hosts needs from the store that the hosts share. The store of the files has no hosts.

use std::fmt::Debug;
use std::sync::Arc;

use super::StoreError;
use crate::domain::host::{HostClaim, HostInfo, HostName, HostState};
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventKind;

/// Called with each change of the hosts. It may block.
pub type HostReport = Box<dyn Fn(Vec<HostState>) + Send>;
/// Called with why the store cannot be reached, and with `None` when it can be reached again. Must not block.
pub type ConnectionReport = Box<dyn Fn(Option<String>) + Send>;
/// Called with the events of another host, in the order in which they were published. It may block.
pub type EventReport = Box<dyn Fn(HostEvents) + Send>;

/// Holds the hosts of a crew, and the events of their agents.
///
/// All methods block, and may be called from several threads and processes at the same time.
pub trait HostStore: Debug + Send + Sync {
    /// Announces this process as a host. `replaced` is the session of an earlier process of this host that has certainly
    /// ended; its lease is taken over.
    ///
    /// # Errors
    /// [`StoreError::HostInUse`] if another process has the name; [`StoreError::LeadInUse`] for the host of the lead, if another
    /// process leads the crew.
    fn join(
        &self,
        info: &HostInfo,
        replaced: Option<&str>,
    ) -> Result<Box<dyn HostSession>, StoreError>;

    /// Returns all hosts, sorted by name. Hosts that have left are returned until their name is used again.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn hosts(&self) -> Result<Vec<HostState>, StoreError>;

    /// Calls `report` from a separate thread with all hosts: at once, and after each change, until the returned value is
    /// dropped.
    ///
    /// # Errors
    /// When the watch cannot be started.
    fn watch_hosts(&self, report: HostReport) -> Result<Box<dyn Send>, StoreError>;

    /// Calls `report` each time when the store cannot be reached, when the cause of that changes, and when the store can be
    /// reached again, until the returned value is dropped. Does not ask the store.
    ///
    /// # Errors
    /// When the store cannot be reached now.
    fn watch_connection(&self, report: ConnectionReport) -> Result<Box<dyn Send>, StoreError>;

    /// Returns why the store cannot be reached; `None` if it can be, or if that is not known. Does not ask the store.
    fn outage(&self) -> Option<String>;

    /// Publishes events of the agents of `host`, in this order. They are kept up to a bound, oldest removed first.
    ///
    /// # Errors
    /// When the events cannot be stored.
    fn publish(&self, host: &HostName, events: &[EventKind]) -> Result<(), StoreError>;

    /// Calls `report` from a separate thread with the events of all hosts but `own`, from now on or from the first one
    /// that is kept, until the returned value is dropped.
    ///
    /// # Errors
    /// When the events cannot be read.
    fn follow(
        &self,
        own: &HostName,
        from: EventStart,
        report: EventReport,
    ) -> Result<Box<dyn Send>, StoreError>;
}

/// Which events [`HostStore::follow`] reports first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStart {
    FirstKept,
    Now,
}

/// Events that a host has published together.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvents {
    pub host: HostName,
    pub events: Vec<EventKind>,
    /// When the store has received the events, by its own clock.
    pub stored_at: Timestamp,
    /// Whether the events were in the store before the reader began.
    pub is_earlier: bool,
    /// Whether events before these were removed before they could be read.
    pub is_cut: bool,
}

/// The presence of this process as a host, until it is dropped, its process ends, or the store cannot be reached for too
/// long. Dropping it does what [`HostSession::leave`] does, but does not wait.
pub trait HostSession: Debug + Send + Sync {
    /// Returns what the tasks contain that are claimed for this session.
    fn claim(&self) -> HostClaim;

    /// Returns whether the session still exists: whether agents of this host may act as owners of tasks. Once false, it
    /// stays false. Does not ask the store. Becomes false before other hosts see the host as lost.
    fn is_valid(&self) -> bool;

    /// Ends the session and marks the host as left; does nothing if it has ended. Waits a bounded time for the store.
    fn leave(&self);

    /// Reports new facts about the host.
    ///
    /// # Errors
    /// When they cannot be stored.
    fn update(&self, info: &HostInfo) -> Result<(), StoreError>;
}

/// Keeps a host that has lost its session from writing shared state: another host may do its work by then. Without a session,
/// nothing is rejected.
#[derive(Debug, Clone, Default)]
pub(super) struct HostFence(Option<Arc<dyn HostSession>>);

impl HostFence {
    pub(super) fn new(session: Arc<dyn HostSession>) -> HostFence {
        HostFence(Some(session))
    }

    /// Fails if the host has lost its session. `act` completes the sentence "agents of this host can no longer".
    pub(super) fn check(&self, act: &'static str) -> Result<(), StoreError> {
        if self.0.as_ref().is_none_or(|session| session.is_valid()) {
            Ok(())
        } else {
            Err(StoreError::HostLost(act))
        }
    }
}

/// A session in memory for tests, which a test can end.
#[cfg(test)]
#[derive(Debug)]
pub struct FakeHostSession {
    claim: HostClaim,
    is_valid: std::sync::atomic::AtomicBool,
    /// How often [`HostSession::is_valid`] may still return true.
    valid_answers: std::sync::atomic::AtomicUsize,
    updates: std::sync::Mutex<Vec<HostInfo>>,
}

#[cfg(test)]
impl FakeHostSession {
    /// Returns a valid session of a host.
    pub fn new(host: &str, session: &str) -> std::sync::Arc<FakeHostSession> {
        std::sync::Arc::new(FakeHostSession {
            claim: HostClaim {
                host: HostName::similar_to(host),
                session: session.into(),
            },
            is_valid: true.into(),
            valid_answers: usize::MAX.into(),
            updates: std::sync::Mutex::default(),
        })
    }

    /// Ends the session, as a loss of its lease does.
    pub fn end(&self) {
        let order = std::sync::atomic::Ordering::SeqCst;
        self.is_valid.store(false, order);
    }

    /// Ends the session as [`FakeHostSession::end`] does, after [`HostSession::is_valid`] has returned true `answers` more
    /// times.
    pub fn end_after(&self, answers: usize) {
        let order = std::sync::atomic::Ordering::SeqCst;
        self.valid_answers.store(answers, order);
    }

    /// Returns what the host has reported about itself, oldest first.
    pub fn updates(&self) -> Vec<HostInfo> {
        self.lock_updates().clone()
    }

    fn lock_updates(&self) -> std::sync::MutexGuard<'_, Vec<HostInfo>> {
        let updates = self.updates.lock();
        updates.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
impl HostSession for FakeHostSession {
    fn claim(&self) -> HostClaim {
        self.claim.clone()
    }

    fn is_valid(&self) -> bool {
        let order = std::sync::atomic::Ordering::SeqCst;
        let left = &self.valid_answers;
        let left = left.fetch_update(order, order, |left| left.checked_sub(1));
        left.is_ok() && self.is_valid.load(order)
    }

    fn update(&self, info: &HostInfo) -> Result<(), StoreError> {
        if !self.is_valid() {
            return Err(StoreError::HostLost("report themselves"));
        }
        self.lock_updates().push(info.clone());
        Ok(())
    }

    fn leave(&self) {
        self.is_valid
            .store(false, std::sync::atomic::Ordering::SeqCst);
    }
}
