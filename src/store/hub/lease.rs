//! Leases: exclusive rights that end by themselves when their holder is killed or cut off.
//!
//! A lease is a message with a time to live, renewed by its holder long before it expires. Every renewal names the
//! revision that it replaces and its own time to live: a renewal without the first could take over a lease of another
//! holder, and one without the second would never expire. The holder stops using the lease before the server can remove
//! it, measured from the moment before the last renewal was sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::super::StoreError;
use super::boot_time::BootTime;
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Write};
use super::lease_holder::{LeaseHolder, holder_in};
use super::streams::StreamKind;

/// Number of renewals in the life of a lease.
pub(super) const RENEWALS: u32 = 4;
/// The part of a lease's life at its end in which the holder does not use it: one in this number.
const MARGIN: u32 = 5;
/// Pause before a failed renewal is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// Time to live of the message that ends a lease.
const ENDED_LIFE: Duration = Duration::from_secs(1);
/// Maximum time of one request that ends a lease. Without an answer, the lease expires later.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

/// An exclusive right, until it is dropped, its holder is killed, or the hub cannot be reached for too long.
#[derive(Debug)]
pub(super) struct Lease {
    hub: Hub,
    key: String,
    holder: LeaseHolder,
    state: Arc<Mutex<LeaseState>>,
    renewing: AbortHandle,
    is_released: AtomicBool,
}

#[derive(Debug)]
struct LeaseState {
    revision: u64,
    /// When the last successful renewal was sent. Counts the time in which the machine sleeps, as the server does.
    renewed_at: BootTime,
    life: Duration,
    /// Whether another holder has replaced the lease, or it was not renewed in time. All leases of a session share it.
    is_lost: Arc<AtomicBool>,
}

impl LeaseState {
    /// Returns whether the lease may be used. Once false, it stays false, also if a late renewal succeeds.
    fn check(&self) -> bool {
        self.check_at(BootTime::now())
    }

    fn check_at(&self, now: BootTime) -> bool {
        if now.since(self.renewed_at) >= self.life.saturating_sub(self.life / MARGIN) {
            self.lose();
        }
        !self.is_lost.load(Ordering::SeqCst)
    }

    fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }
}

/// The result of an attempt to get a lease.
#[derive(Debug)]
pub(super) enum Attempt {
    Acquired(Lease),
    /// Another holder has it.
    Held(LeaseHolder),
}

impl Lease {
    /// Tries to get the lease `key` for this process.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub fn try_acquire(hub: &Hub, key: &str, life: Duration) -> Result<Attempt, StoreError> {
        Lease::try_acquire_for(hub, key, life, LeaseHolder::new(), None, Arc::default())
    }

    /// Tries to get the lease `key` for `holder`. If the session `replaced` holds it, takes it over; its process must have
    /// ended. Leases with the same `is_lost` are lost together: if one is, the others are not renewed any more.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub fn try_acquire_for(
        hub: &Hub,
        key: &str,
        life: Duration,
        holder: LeaseHolder,
        replaced: Option<&str>,
        is_lost: Arc<AtomicBool>,
    ) -> Result<Attempt, StoreError> {
        let (wanted, new) = (key.to_string(), holder.clone());
        let replaced = replaced.filter(|session| !session.is_empty());
        let replaced = replaced.map(str::to_string);
        let acquired = hub.run(move |connection| async move {
            let found = keys::read(&connection, StreamKind::Leases, &wanted).await?;
            let other = found
                .as_ref()
                .and_then(|stored| holder_in(&stored.payload))
                .filter(|other| replaced.as_ref() != Some(&other.session));
            if let Some(other) = other {
                return Ok(Err(other));
            }
            // Fails if the lease was renewed or acquired after it was read.
            let revision = found.map_or(0, |stored| stored.sequence);
            let sent_at = BootTime::now();
            match renewal(&connection, &wanted, &new, revision, life, ANSWER_WITHIN).await? {
                Some(revision) => Ok(Ok((revision, sent_at))),
                None => Ok(Err(LeaseHolder::unknown())),
            }
        })?;
        let (revision, renewed_at) = match acquired {
            Ok(acquired) => acquired,
            Err(other) => return Ok(Attempt::Held(other)),
        };
        let state = Arc::new(Mutex::new(LeaseState {
            revision,
            renewed_at,
            life,
            is_lost,
        }));
        let renewed = (key.to_string(), holder.clone(), Arc::clone(&state));
        let renewing =
            hub.spawn(move |connection| renew(connection, renewed.0, renewed.1, renewed.2))?;
        Ok(Attempt::Acquired(Lease {
            hub: hub.clone(),
            key: key.into(),
            holder,
            state,
            renewing,
            is_released: AtomicBool::new(false),
        }))
    }

    /// Returns who holds the lease `key`; `None` if it is free.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub fn holder_of(hub: &Hub, key: &str) -> Result<Option<LeaseHolder>, StoreError> {
        let key = key.to_string();
        let found = hub.run(move |connection| async move {
            keys::read(&connection, StreamKind::Leases, &key).await
        })?;
        Ok(found.and_then(|stored| holder_in(&stored.payload)))
    }

    /// Returns whether this holder may still use the lease. Once false, it stays false. Does not ask the hub.
    pub fn is_valid(&self) -> bool {
        lock(&self.state).check()
    }

    /// Stops the renewals, as a kill of the process does.
    #[cfg(test)]
    pub fn stop_renewing(&self) {
        self.renewing.abort();
    }
}

/// What ends a lease on the hub after its holder has stopped using it.
pub(super) struct LeaseEnding {
    key: String,
    holder: LeaseHolder,
    revision: u64,
}

impl LeaseEnding {
    /// Ends the lease, so that others can get it at once, unless another holder has it. Waits a bounded time for the hub;
    /// without an answer, the lease expires later.
    pub async fn run(self, connection: &HubConnection) {
        let ending = async {
            if end(connection, &self.key, self.revision).await?.is_some() {
                return Ok(());
            }
            // The aborted renewal may have been stored.
            let found = keys::read(connection, StreamKind::Leases, &self.key).await?;
            let is_own =
                |stored: &keys::Stored| holder_in(&stored.payload).as_ref() == Some(&self.holder);
            if let Some(own) = found.filter(is_own) {
                end(connection, &self.key, own.sequence).await?;
            }
            Ok::<(), HubError>(())
        };
        let _ = tokio::time::timeout(RELEASE_WITHIN * 2, ending).await;
    }
}

impl Lease {
    /// Stops using and renewing the lease. Returns what ends it on the hub; `None` if an earlier call has returned it.
    pub fn stop(&self) -> Option<LeaseEnding> {
        if self.is_released.swap(true, Ordering::SeqCst) {
            return None;
        }
        self.renewing.abort();
        let state = lock(&self.state);
        state.lose();
        Some(LeaseEnding {
            key: self.key.clone(),
            holder: self.holder.clone(),
            revision: state.revision,
        })
    }

    /// Ends the lease, so that others can get it at once. Does nothing if it has ended. Waits a bounded time for the hub.
    pub fn release(&self) {
        if let Some(ending) = self.stop() {
            // If this fails, the lease expires later.
            let _ = self.hub.run(move |connection| async move {
                ending.run(&connection).await;
                Ok(())
            });
        }
    }
}

/// Ends the lease without waiting, because leases are dropped where nothing may block. A program that ends must call
/// [`Lease::release`] before, or the lease expires later.
impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(ending) = self.stop() {
            self.hub
                .spawn_if_connected(move |connection| async move { ending.run(&connection).await });
        }
    }
}

fn lock(state: &Mutex<LeaseState>) -> std::sync::MutexGuard<'_, LeaseState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the lease with a new time to live, in place of `revision`. Returns the new revision; `None` if the lease has
/// another revision.
async fn renewal(
    connection: &HubConnection,
    key: &str,
    holder: &LeaseHolder,
    revision: u64,
    life: Duration,
    within: Duration,
) -> Result<Option<u64>, HubError> {
    let payload = serde_json::to_vec(holder).unwrap_or_default();
    let expected = Expected::Key(revision);
    let kind = StreamKind::Leases;
    let mut write = Write::new(kind, key.into(), payload, expected, "the lease");
    write.life = Some(life);
    keys::write(connection, write, within).await
}

async fn end(
    connection: &HubConnection,
    key: &str,
    revision: u64,
) -> Result<Option<u64>, HubError> {
    let (kind, expected) = (StreamKind::Leases, Expected::Key(revision));
    let mut write = Write::new(kind, key.into(), Vec::new(), expected, "the lease");
    write.life = Some(ENDED_LIFE);
    keys::write(connection, write, RELEASE_WITHIN).await
}

/// Renews a lease until it is lost.
async fn renew(
    connection: Arc<HubConnection>,
    key: String,
    holder: LeaseHolder,
    state: Arc<Mutex<LeaseState>>,
) {
    loop {
        let pause = {
            let state = lock(&state);
            state.life / RENEWALS
        };
        tokio::time::sleep(pause).await;
        // A holder that does not use the lease any more must not keep it from others.
        if !lock(&state).check() {
            return;
        }
        while !renew_once(&connection, &key, &holder, &state).await {
            if !lock(&state).check() {
                return;
            }
        }
    }
}

/// Tries to renew a lease once. Returns whether it was renewed.
async fn renew_once(
    connection: &HubConnection,
    key: &str,
    holder: &LeaseHolder,
    state: &Mutex<LeaseState>,
) -> bool {
    let (revision, life) = {
        let state = lock(state);
        (state.revision, state.life)
    };
    let within = life / RENEWALS;
    let sent_at = BootTime::now();
    match renewal(connection, key, holder, revision, life, within).await {
        Ok(Some(revision)) => {
            let mut state = lock(state);
            state.revision = revision;
            state.renewed_at = sent_at;
            return true;
        }
        Err(_) => {}
        // Either another holder has the lease, or an earlier renewal was stored although it got no answer.
        Ok(None) => {
            let found = keys::read(connection, StreamKind::Leases, key);
            if let Ok(Ok(found)) = tokio::time::timeout(within, found).await {
                let is_own =
                    |stored: &keys::Stored| holder_in(&stored.payload).as_ref() == Some(holder);
                match found.filter(is_own) {
                    Some(own) => lock(state).revision = own.sequence,
                    None => lock(state).lose(),
                }
            }
        }
    }
    tokio::time::sleep(RETRY_PAUSE).await;
    false
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::test_server::TestServer;
    use super::*;

    const LIFE: Duration = Duration::from_secs(2);

    fn acquire(hub: &Hub) -> Option<Lease> {
        match Lease::try_acquire(hub, "reader.bob", LIFE).unwrap() {
            Attempt::Acquired(lease) => Some(lease),
            Attempt::Held(_) => None,
        }
    }

    /// Ends a lease as a kill of its process does: it is not renewed any more, and stays on the hub.
    fn kill(lease: Lease) {
        lease.stop_renewing();
        std::mem::forget(lease);
    }

    fn is_held(hub: &Hub) -> bool {
        Lease::holder_of(hub, "reader.bob").unwrap().is_some()
    }

    /// Returns how long the lease is held from now on, in milliseconds.
    fn held_for(hub: &Hub) -> u128 {
        let began = Instant::now();
        while is_held(hub) {
            assert!(began.elapsed() < LIFE * 3, "the lease never expires");
            std::thread::sleep(Duration::from_millis(20));
        }
        began.elapsed().as_millis()
    }

    #[test]
    fn holder_that_has_slept_too_long_may_not_use_the_lease() {
        let woken = BootTime::now();
        let asleep_for = |seconds| LeaseState {
            revision: 1,
            renewed_at: woken.before(Duration::from_secs(seconds)),
            life: Duration::from_secs(15),
            is_lost: Arc::default(),
        };
        assert!(asleep_for(11).check_at(woken));
        // The server removes the lease after 15 seconds.
        let mut state = asleep_for(12);
        assert!(!state.check_at(woken));
        // The answer to a renewal that was sent after the sleep.
        state.renewed_at = woken;
        assert!(!state.check_at(woken.after(Duration::from_secs(1))));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn lease_expires_after_each_way_to_get_and_renew_it() {
        let server = TestServer::start();
        let (hub, other) = (server.hub(), server.hub());
        // A new lease.
        let lease = acquire(&hub).unwrap();
        assert!(acquire(&other).is_none());
        kill(lease);
        assert!((1000..3500).contains(&held_for(&other)));
        // A lease over the mark of an expired one, and after the mark is gone.
        for pause in [0, 2500] {
            std::thread::sleep(Duration::from_millis(pause));
            kill(acquire(&other).unwrap());
            assert!((1000..3500).contains(&held_for(&hub)));
        }
        // A lease over one that was ended.
        acquire(&hub).unwrap().release();
        kill(acquire(&hub).unwrap());
        assert!((1000..3500).contains(&held_for(&hub)));
        // A lease that was renewed several times.
        let lease = acquire(&hub).unwrap();
        std::thread::sleep(LIFE * 2);
        assert!(lease.is_valid() && is_held(&other) && acquire(&other).is_none());
        kill(lease);
        assert!((1000..3500).contains(&held_for(&hub)));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn holder_that_cannot_renew_stops_before_another_one_starts() {
        let server = TestServer::start();
        let (hub, other) = (server.hub(), server.hub());
        let lease = acquire(&hub).unwrap();
        lease.stop_renewing();
        loop {
            if let Some(new) = acquire(&other) {
                assert!(!lease.is_valid());
                // The former holder ends. The lease of the new one stays.
                drop(lease);
                assert!(new.is_valid() && is_held(&hub));
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn renewal_without_an_answer_does_not_lose_the_lease() {
        let server = TestServer::start();
        let hub = server.hub();
        let lease = acquire(&hub).unwrap();
        let (holder, revision) = (lease.holder.clone(), lock(&lease.state).revision);
        // A renewal that was stored, but whose answer was lost.
        let renewed = hub.run(move |connection| async move {
            renewal(
                &connection,
                "reader.bob",
                &holder,
                revision,
                LIFE,
                ANSWER_WITHIN,
            )
            .await
        });
        assert!(renewed.unwrap().is_some());
        std::thread::sleep(LIFE * 2);
        assert!(lease.is_valid() && is_held(&server.hub()));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn repeated_write_is_stored_once() {
        let server = TestServer::start();
        let hub = server.hub();
        for expected in [Expected::Key(0), Expected::Stream(1), Expected::Anything] {
            let kind = StreamKind::State;
            let key = format!("{expected:?}").replace(['(', ')'], "-");
            let write = Write::new(kind, key, b"1".to_vec(), expected, "a value");
            let other = Write::new(kind, write.key.clone(), b"2".to_vec(), expected, "a value");
            let written = hub.run(move |connection| async move {
                let first = keys::write(&connection, write.clone(), ANSWER_WITHIN).await?;
                // The answer to the first request was lost.
                let mut again = write;
                again.may_be_stored = true;
                let second = keys::write(&connection, again, ANSWER_WITHIN).await?;
                Ok((
                    first,
                    second,
                    keys::write(&connection, other, ANSWER_WITHIN).await?,
                ))
            });
            let (first, second, other) = written.unwrap();
            assert!(first.is_some());
            assert_eq!(first, second);
            assert_eq!(other.is_some(), expected == Expected::Anything);
        }
    }
}
