//! The hosts of a crew on a hub. A host holds a lease while its session exists, and has a record that others read. The host
//! that runs the lead holds a second lease, so that a crew has one lead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::host_store::{
    ConnectionReport, EventReport, EventStart, HostReport, HostSession, HostStore,
};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::events;
use super::host_records::{self, LEAD_KEY, host_key};
use super::host_watch;
use super::keys;
use super::lease::{Attempt, Lease, LeaseEnding, RENEWALS};
use super::lease_holder::LeaseHolder;
use super::outage;
use super::retry::{self, CHANGED_WITHIN};
use super::streams::StreamKind;
use super::values;
use crate::domain::host::{
    HOSTS_MAX, HostClaim, HostInfo, HostKind, HostName, HostPresence, HostState, SLOTS_MAX,
};
use crate::protocol::EventKind;

/// Maximum time in which a session that ends marks its host as left. Without an answer, the host is lost when its lease
/// expires.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);
/// Number of further attempts if another process changes a lease at the same time.
const RETRIES_MAX: u32 = 3;

#[derive(Debug)]
pub(super) struct HubHosts(pub(super) Hub);

impl HostStore for HubHosts {
    fn join(
        &self,
        info: &HostInfo,
        replaced: Option<&str>,
    ) -> Result<Box<dyn HostSession>, StoreError> {
        Ok(Box::new(self.join_for(
            info,
            replaced,
            self.0.lease_life(),
        )?))
    }

    fn hosts(&self) -> Result<Vec<HostState>, StoreError> {
        let hosts = self
            .0
            .run(|connection| async move { host_records::read_all(&connection).await })?;
        Ok(hosts.states())
    }

    fn watch_hosts(&self, report: HostReport) -> Result<Box<dyn Send>, StoreError> {
        host_watch::start(&self.0, report)
    }

    fn watch_connection(&self, report: ConnectionReport) -> Result<Box<dyn Send>, StoreError> {
        outage::start(&self.0, report)
    }

    fn outage(&self) -> Option<String> {
        self.0.outage()
    }

    fn publish(&self, host: &HostName, events: &[EventKind]) -> Result<(), StoreError> {
        events::publish(&self.0, host, events)
    }

    fn follow(
        &self,
        own: &HostName,
        from: EventStart,
        report: EventReport,
    ) -> Result<Box<dyn Send>, StoreError> {
        events::follow(&self.0, own, from, report)
    }
}

/// What the leases of a new session have in common.
struct SessionLeases<'a> {
    claim: HostClaim,
    /// The session of an earlier process of the host, which has ended.
    replaced: Option<&'a str>,
    life: Duration,
    is_lost: Arc<AtomicBool>,
}

impl HubHosts {
    /// Joins with leases that live for `life` without a renewal.
    fn join_for(
        &self,
        info: &HostInfo,
        replaced: Option<&str>,
        life: Duration,
    ) -> Result<HubHostSession, StoreError> {
        self.make_room(&info.name)?;
        let claim = HostClaim {
            host: info.name.clone(),
            session: uuid::Uuid::now_v7().to_string(),
        };
        let new = SessionLeases {
            claim: claim.clone(),
            replaced,
            life,
            is_lost: Arc::default(),
        };
        let lead = match info.kind {
            HostKind::Lead => Some(self.acquire(LEAD_KEY, &new, |o| lead_in_use(o, life))?),
            HostKind::Worker => None,
        };
        let key = host_key(&info.name);
        let in_use = |other: &LeaseHolder| host_in_use(&info.name, other, life);
        let lease = self.acquire(&key, &new, in_use);
        // The program may end after an error, and another host may want to run the lead.
        let lease = lease.inspect_err(|_| lead.iter().for_each(Lease::release))?;
        let record = Arc::new(SessionRecord {
            key,
            info: Mutex::new(checked(info, &claim)),
            claim,
            is_lost: new.is_lost,
        });
        let kept = Arc::clone(&record);
        let keeping = self
            .0
            .spawn(move |connection| keep_record(connection, kept, life / RENEWALS))?;
        let session = HubHostSession {
            hub: self.0.clone(),
            record,
            lease,
            lead,
            keeping,
            has_left: AtomicBool::new(false),
        };
        session.store(true).inspect_err(|_| session.leave())?;
        Ok(session)
    }

    fn acquire(
        &self,
        key: &str,
        new: &SessionLeases<'_>,
        in_use: impl Fn(&LeaseHolder) -> StoreError,
    ) -> Result<Lease, StoreError> {
        let mut attempt = 0;
        loop {
            let (holder, is_lost) = (LeaseHolder::for_host(&new.claim), Arc::clone(&new.is_lost));
            let (life, replaced) = (new.life, new.replaced);
            match Lease::try_acquire_for(&self.0, key, life, holder, replaced, is_lost)? {
                Attempt::Acquired(lease) => return Ok(lease),
                // Another process was faster, and the error must name it.
                Attempt::Held(other) if other.session.is_empty() && attempt < RETRIES_MAX => {
                    retry::pause(attempt);
                    attempt += 1;
                }
                Attempt::Held(other) => return Err(in_use(&other)),
            }
        }
    }

    /// Removes the record of a host that is absent if the crew has the maximum number of hosts.
    fn make_room(&self, name: &HostName) -> Result<(), StoreError> {
        let hosts = self.hosts()?;
        if hosts.len() < HOSTS_MAX || hosts.iter().any(|host| host.info.name.same(name)) {
            return Ok(());
        }
        let Some(oldest) = host_records::oldest_absent(&hosts).cloned() else {
            let text = format!("the crew has {HOSTS_MAX} hosts, the maximum: stop one of them");
            return Err(StoreError::TooLong(text));
        };
        self.0.run(
            move |connection| async move { host_records::remove(&connection, &oldest).await },
        )?;
        Ok(())
    }
}

fn lead_in_use(other: &LeaseHolder, life: Duration) -> StoreError {
    let on = if other.host.is_empty() {
        "another host"
    } else {
        &other.host
    };
    let text = format!(
        "crewdeck on {on}{} leads this crew already: stop it there, or watch the crew from here; if it was killed, try again after {} s",
        process_text(other),
        life.as_secs()
    );
    let host = other.host.clone();
    StoreError::LeadInUse { host, text }
}

fn host_in_use(name: &HostName, other: &LeaseHolder, life: Duration) -> StoreError {
    StoreError::HostInUse(format!(
        "another crewdeck{} works for this crew as the host {name}: stop it, or choose another name for this host (a worker: --name; the lead: delete .crewdeck/host.json here); if it was killed, try again after {} s",
        process_text(other),
        life.as_secs()
    ))
}

fn process_text(holder: &LeaseHolder) -> String {
    match holder.process {
        0 => String::new(),
        process => format!(" (process {process})"),
    }
}

/// What a session says about its host.
#[derive(Debug)]
struct SessionRecord {
    /// The key of the record and of the lease.
    key: String,
    info: Mutex<HostInfo>,
    claim: HostClaim,
    /// Whether a lease of the session was lost or has ended.
    is_lost: Arc<AtomicBool>,
}

impl SessionRecord {
    fn info(&self) -> MutexGuard<'_, HostInfo> {
        self.info.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> HostState {
        HostState {
            info: self.info().clone(),
            session: self.claim.session.clone(),
            presence: HostPresence::Present,
            seen_at: host_records::now(),
        }
    }
}

/// Stores the record of a session again whenever it is not its own, until the session is lost.
async fn keep_record(connection: Arc<HubConnection>, record: Arc<SessionRecord>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        if record.is_lost.load(Ordering::SeqCst) {
            return;
        }
        // Without an answer, the record is checked again later.
        let _ = host_records::restore(&connection, &record.key, &record.state()).await;
    }
}

/// Returns facts that can be stored and read again.
fn checked(info: &HostInfo, claim: &HostClaim) -> HostInfo {
    HostInfo {
        name: claim.host.clone(),
        slots: info.slots.min(SLOTS_MAX),
        // JSON has no other numbers.
        load: if info.load.is_finite() {
            info.load
        } else {
            0.0
        },
        ..info.clone()
    }
}

/// The presence of this process as a host.
#[derive(Debug)]
struct HubHostSession {
    hub: Hub,
    record: Arc<SessionRecord>,
    lease: Lease,
    /// The lease of the host that runs the lead.
    lead: Option<Lease>,
    /// Restores the record.
    keeping: AbortHandle,
    has_left: AtomicBool,
}

impl HubHostSession {
    fn lost(&self) -> StoreError {
        let what = format!("act as the host {}", self.record.claim.host);
        HubError::LostLease { what }.into()
    }

    /// Writes the record, which a new session does in place of the one of an earlier session. Fails if this session is no
    /// longer valid. A record that cannot be read is replaced.
    fn store(&self, is_new: bool) -> Result<(), StoreError> {
        let began = Instant::now();
        for attempt in 0.. {
            let key = self.record.key.clone();
            let found = self.hub.run(move |connection| async move {
                keys::read(&connection, StreamKind::State, &key).await
            })?;
            let other = found.as_ref().and_then(host_records::record_in);
            let is_replaced = other.is_some_and(|o| o.session != self.record.claim.session);
            // A slow write of an earlier session must not replace the record of a later one.
            if !self.is_valid() || (is_replaced && !is_new) {
                return Err(self.lost());
            }
            let (state, revision) = (self.record.state(), found.map_or(0, |f| f.sequence));
            if values::write(&self.hub, &self.record.key, &state, revision, "the host")?.is_some() {
                return Ok(());
            }
            if began.elapsed() > CHANGED_WITHIN {
                break;
            }
            retry::pause(attempt);
        }
        Err(HubError::Contention { what: "host" }.into())
    }

    /// Ends the session in this process. Returns what ends it on the hub; `None` if there is nothing to
    /// end.
    fn stop(&self) -> Option<SessionEnding> {
        if self.has_left.swap(true, Ordering::SeqCst) {
            return None;
        }
        let is_leaving = self.is_valid();
        self.keeping.abort();
        let leases = self.lead.iter().chain([&self.lease]);
        let leases: Vec<LeaseEnding> = leases.filter_map(Lease::stop).collect();
        // Nothing of a lost session is ended on the hub: until its leases expire there, the host can join again and keep its
        // tasks.
        is_leaving.then(|| SessionEnding {
            key: self.record.key.clone(),
            session: self.record.claim.session.clone(),
            leases,
        })
    }
}

/// What ends the session of a host on the hub.
struct SessionEnding {
    key: String,
    session: String,
    leases: Vec<LeaseEnding>,
}

impl SessionEnding {
    /// Marks the host as left before its leases end, so that others do not see it as lost.
    async fn run(self, connection: Arc<HubConnection>) {
        let leaving = host_records::mark_left(&connection, &self.key, &self.session, LEAVE_WITHIN);
        let _ = tokio::time::timeout(LEAVE_WITHIN, leaving).await;
        let leases = self.leases.into_iter().map(|lease| lease.run(&connection));
        futures::future::join_all(leases).await;
    }
}

impl HostSession for HubHostSession {
    fn claim(&self) -> HostClaim {
        self.record.claim.clone()
    }

    fn is_valid(&self) -> bool {
        // Without the second lease, another host may run the lead. A host that has lost one is soon lost to others too.
        self.lease.is_valid() && self.lead.as_ref().is_none_or(Lease::is_valid)
    }

    fn update(&self, info: &HostInfo) -> Result<(), StoreError> {
        if !self.is_valid() {
            return Err(self.lost());
        }
        *self.record.info() = checked(info, &self.record.claim);
        self.store(false)
    }

    fn leave(&self) {
        if let Some(ending) = self.stop() {
            let _ = self.hub.run(move |connection| async move {
                ending.run(connection).await;
                Ok(())
            });
        }
    }
}

/// Ends the session as [`HostSession::leave`] does, but without waiting.
impl Drop for HubHostSession {
    fn drop(&mut self) {
        if let Some(ending) = self.stop() {
            self.hub
                .spawn_if_connected(move |connection| ending.run(connection));
        }
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
