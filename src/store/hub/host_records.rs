//! The hosts as they are stored on a hub: one record per host, and a lease while its session exists. Whether a host is
//! present follows from both.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::connection::HubConnection;
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Stored, Write};
use super::lease_holder::{LeaseHolder, holder_in};
use super::reads::{self, Range};
use super::streams::StreamKind;
use crate::domain::host::{HOSTS_MAX, HostInfo, HostKind, HostName, HostPresence, HostState};
use crate::domain::timestamp::Timestamp;

/// The keys of all hosts, in the stream of the records and in the one of the leases.
pub(super) const HOST_KEYS: &str = "host.*";
/// The key of the lease of the host that runs the lead.
pub(super) const LEAD_KEY: &str = "lead";
/// Begins the key of a host.
const HOST: &str = "host.";
/// Maximum number of messages that are read. A host that changes its record during the read has several.
const MESSAGES_MAX: usize = 4 * HOSTS_MAX;

/// Returns the key of a host, which is the same for all spellings of its name.
pub(super) fn host_key(name: &HostName) -> String {
    format!("{HOST}{}", name.as_str().to_ascii_lowercase())
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0.0, |since| since.as_secs_f64()))
}

/// Returns the record in a stored message; `None` if it is unsigned, damaged, or the record of another key.
pub(super) fn record_in(stored: &Stored) -> Option<HostState> {
    let state: HostState = serde_json::from_slice(&stored.payload).ok()?;
    let is_own = state.info.name.as_str().eq_ignore_ascii_case(&stored.key);
    is_own.then_some(state)
}

/// The records and leases of the hosts, from messages in any order.
#[derive(Debug, Clone, Default)]
pub(super) struct HostMirror {
    /// By the last part of the key.
    hosts: BTreeMap<String, MirroredHost>,
}

#[derive(Debug, Clone)]
struct MirroredHost {
    record: Option<HostState>,
    record_sequence: u64,
    /// Who holds the lease. The session is empty if the lease cannot be read.
    holder: Option<LeaseHolder>,
    lease_sequence: u64,
    /// When the server has stored the newest report or renewal.
    seen_at: Timestamp,
    /// When this process has received the newest renewal.
    received_at: Instant,
    /// Whether the record was read after the end of the lease was seen.
    is_loss_confirmed: bool,
}

impl HostMirror {
    /// Adds a message of a key of a host. Does nothing if a newer one of the key is known.
    pub fn apply(&mut self, kind: StreamKind, stored: &Stored) {
        if self.hosts.len() >= MESSAGES_MAX && !self.hosts.contains_key(&stored.key) {
            return;
        }
        let host = self
            .hosts
            .entry(stored.key.clone())
            .or_insert(MirroredHost {
                record: None,
                record_sequence: 0,
                holder: None,
                lease_sequence: 0,
                seen_at: Timestamp::default(),
                received_at: Instant::now(),
                is_loss_confirmed: false,
            });
        match kind {
            StreamKind::State if stored.sequence > host.record_sequence => {
                host.record_sequence = stored.sequence;
                host.record = record_in(stored);
            }
            StreamKind::Leases if stored.sequence > host.lease_sequence => {
                host.lease_sequence = stored.sequence;
                host.holder = holder_in(&stored.payload);
                host.received_at = Instant::now();
                host.is_loss_confirmed = false;
            }
            _ => return,
        }
        // The server, and not the host, stores the mark of an expired lease.
        if !stored.payload.is_empty() && !stored.is_unsigned {
            host.seen_at = Timestamp(host.seen_at.0.max(stored.stored_at().0));
        }
    }

    /// Returns the hosts, sorted by name regardless of case.
    pub fn states(&self) -> Vec<HostState> {
        let states = self.hosts.iter().filter_map(|(key, host)| host.state(key));
        states.collect()
    }

    /// Replaces the messages by those of `new`, which were read at once. The renewals of a host that is lost are not among
    /// them, but remain signs of it.
    pub fn replace(&mut self, mut new: HostMirror) {
        for (key, host) in &mut new.hosts {
            let known = self.hosts.get(key).map_or(0.0, |known| known.seen_at.0);
            host.seen_at = Timestamp(host.seen_at.0.max(known));
        }
        *self = new;
    }

    /// Returns whether a lease was not renewed for longer than its life. Its end may have been missed, because the mark of
    /// an expired lease exists for a second only.
    pub fn is_overdue(&self, life: Duration) -> bool {
        let mut hosts = self.hosts.values();
        hosts.any(|host| host.session().is_some() && host.received_at.elapsed() >= life)
    }

    /// Returns whether [`confirm_lost`] has to read records.
    pub fn has_unconfirmed(&self) -> bool {
        self.unconfirmed().next().is_some()
    }

    fn unconfirmed(&self) -> impl Iterator<Item = &String> {
        let lost = self
            .hosts
            .iter()
            .filter(|(key, host)| !host.is_loss_confirmed && self.lost_session(key).is_some());
        lost.map(|(key, _)| key)
    }

    /// Returns the session of a host that is lost.
    fn lost_session(&self, key: &str) -> Option<String> {
        let state = self.hosts.get(key)?.state(key)?;
        (state.presence == HostPresence::Lost).then_some(state.session)
    }
}

impl MirroredHost {
    /// Returns the session that holds the lease.
    fn session(&self) -> Option<&str> {
        let holder = self.holder.as_ref()?;
        (!holder.session.is_empty()).then_some(holder.session.as_str())
    }

    /// Returns what the record and the lease say together. The lease decides which session exists: a record of another one
    /// says only what the host was like.
    fn state(&self, key: &str) -> Option<HostState> {
        let record = self.record.as_ref();
        let mut state = match (record, self.session()) {
            (Some(record), Some(session)) if record.session != session => HostState {
                session: session.into(),
                presence: HostPresence::Present,
                ..record.clone()
            },
            (Some(record), session) => HostState {
                presence: match (record.presence, session) {
                    (HostPresence::Left, _) => HostPresence::Left,
                    (_, Some(_)) => HostPresence::Present,
                    (_, None) => HostPresence::Lost,
                },
                ..record.clone()
            },
            (None, Some(session)) => {
                let holder = self.holder.as_ref().map(|holder| holder.host.as_str());
                let name = holder.filter(|name| name.eq_ignore_ascii_case(key));
                let name = HostName::parse(name.unwrap_or(key)).ok()?;
                HostState {
                    info: HostInfo::new(name, HostKind::Worker),
                    session: session.into(),
                    presence: HostPresence::Present,
                    seen_at: self.seen_at,
                }
            }
            (None, None) => return None,
        };
        if self.seen_at.0 > 0.0 {
            state.seen_at = self.seen_at;
        }
        Some(state)
    }
}

/// Reads all hosts.
pub(super) async fn read_all(connection: &HubConnection) -> Result<HostMirror, HubError> {
    let mut mirror = HostMirror::default();
    // In this order: a host first acquires its lease and then writes its record, so a record without a lease is one of a
    // host that is lost or is just leaving.
    for kind in [StreamKind::State, StreamKind::Leases] {
        let range = Range::LastOfEach;
        let all = reads::read_current(connection, kind, HOST_KEYS, range, MESSAGES_MAX).await?;
        for stored in &all {
            mirror.apply(kind, stored);
        }
    }
    confirm_lost(connection, &mut mirror).await?;
    Ok(mirror)
}

/// Reads the records of hosts again that look lost: a host may have marked itself as left before its lease ended, and a new
/// session may have begun.
pub(super) async fn confirm_lost(
    connection: &HubConnection,
    mirror: &mut HostMirror,
) -> Result<(), HubError> {
    let lost: Vec<String> = mirror.unconfirmed().cloned().collect();
    for name in lost {
        let key = format!("{HOST}{name}");
        let mut session = mirror.lost_session(&name);
        while let Some(lost) = session.take() {
            match keys::read(connection, StreamKind::State, &key).await? {
                Some(record) => mirror.apply(StreamKind::State, &record),
                None => {
                    mirror.hosts.remove(&name);
                }
            }
            // A new session has a lease before it has a record.
            if mirror.lost_session(&name).is_some_and(|new| new != lost) {
                if let Some(lease) = keys::read(connection, StreamKind::Leases, &key).await? {
                    mirror.apply(StreamKind::Leases, &lease);
                }
                session = mirror.lost_session(&name);
            }
        }
        if let Some(host) = mirror.hosts.get_mut(&name) {
            host.is_loss_confirmed = true;
        }
    }
    Ok(())
}

/// Stores the record of a session again if it is missing, damaged or of another session, while the session holds the lease.
pub(super) async fn restore(
    connection: &HubConnection,
    key: &str,
    own: &HostState,
) -> Result<(), HubError> {
    let record = keys::read(connection, StreamKind::State, key).await?;
    let found = record.as_ref().and_then(record_in);
    if found.is_some_and(|found| found.session == own.session) {
        return Ok(());
    }
    let lease = keys::read(connection, StreamKind::Leases, key).await?;
    let holder = lease.and_then(|lease| holder_in(&lease.payload));
    if holder.is_none_or(|holder| holder.session != own.session) {
        return Ok(());
    }
    let Ok(payload) = serde_json::to_vec(own) else {
        return Ok(());
    };
    let expected = Expected::Key(record.map_or(0, |record| record.sequence));
    let write = Write::new(StreamKind::State, key.into(), payload, expected, "the host");
    // Another record that was stored meanwhile is checked the next time.
    keys::write(connection, write, ANSWER_WITHIN).await?;
    Ok(())
}

/// Marks a host as left, unless another session has the name.
pub(super) async fn mark_left(
    connection: &HubConnection,
    key: &str,
    session: &str,
    within: Duration,
) -> Result<(), HubError> {
    loop {
        let Some(record) = keys::read(connection, StreamKind::State, key).await? else {
            return Ok(());
        };
        let Some(mut state) = record_in(&record).filter(|s| s.session == session) else {
            return Ok(());
        };
        state.presence = HostPresence::Left;
        state.seen_at = now();
        let Ok(payload) = serde_json::to_vec(&state) else {
            return Ok(());
        };
        let (kind, expected) = (StreamKind::State, Expected::Key(record.sequence));
        let write = Write::new(kind, key.into(), payload, expected, "the host");
        // An update of the record may have been on its way.
        if keys::write(connection, write, within).await?.is_some() {
            return Ok(());
        }
    }
}

/// Returns the host whose record is removed to make room for a new one: the one that was last seen the longest time ago;
/// a lost one only if none has left.
pub(super) fn oldest_absent(hosts: &[HostState]) -> Option<&HostState> {
    let with = |presence: HostPresence| {
        let hosts = hosts.iter().filter(move |host| host.presence == presence);
        hosts.min_by(|a, b| a.seen_at.0.total_cmp(&b.seen_at.0))
    };
    with(HostPresence::Left).or_else(|| with(HostPresence::Lost))
}

/// Removes the record of a host, unless it is one of another session now.
pub(super) async fn remove(connection: &HubConnection, host: &HostState) -> Result<(), HubError> {
    let (kind, key) = (StreamKind::State, host_key(&host.info.name));
    let Some(record) = keys::read(connection, kind, &key).await? else {
        return Ok(());
    };
    if record_in(&record).is_none_or(|found| found.session != host.session) {
        return Ok(());
    }
    // A later record has a higher sequence number, and stays.
    keys::purge(connection, kind, &key, record.sequence + 1).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn host(name: &str, presence: HostPresence, seen_at: f64) -> HostState {
        HostState {
            info: HostInfo {
                name: HostName::parse(name).unwrap(),
                kind: HostKind::Worker,
                slots: 2,
                tags: vec!["gpu".into()],
                version: "1.0.0".into(),
                cores: 8,
                load: 0.5,
                is_draining: false,
                started_at: Timestamp(1.0),
            },
            session: "s1".into(),
            presence,
            seen_at: Timestamp(seen_at),
        }
    }

    fn message(sequence: u64, payload: Vec<u8>) -> Stored {
        Stored {
            key: "gpu-1".into(),
            sequence,
            nanoseconds: i128::from(sequence) * 1_000_000_000,
            payload,
            id: String::new(),
            is_unsigned: false,
        }
    }

    fn record(sequence: u64, session: &str, presence: HostPresence) -> Stored {
        let state = HostState {
            session: session.into(),
            ..host("GPU-1", presence, 5.0)
        };
        message(sequence, serde_json::to_vec(&state).unwrap())
    }

    fn lease(sequence: u64, session: &str) -> Stored {
        let holder = LeaseHolder {
            process: 7,
            host: "GPU-1".into(),
            session: session.into(),
        };
        message(sequence, serde_json::to_vec(&holder).unwrap())
    }

    fn mirror(record: Option<Stored>, lease: Option<Stored>) -> HostMirror {
        let mut mirror = HostMirror::default();
        let record = record.map(|record| (StreamKind::State, record));
        let lease = lease.map(|lease| (StreamKind::Leases, lease));
        for (kind, stored) in record.into_iter().chain(lease) {
            mirror.apply(kind, &stored);
        }
        mirror
    }

    #[test]
    fn lease_says_which_session_of_a_host_is_present() {
        use HostPresence::{Left, Lost, Present};
        for (stored, holder, expected) in [
            (Some(Present), Some("s1"), Some(("s1", Present))),
            (Some(Present), None, Some(("s1", Lost))),
            (Some(Left), Some("s1"), Some(("s1", Left))),
            (Some(Left), None, Some(("s1", Left))),
            (Some(Present), Some("s2"), Some(("s2", Present))),
            (Some(Left), Some("s2"), Some(("s2", Present))),
            // A lease that cannot be read is of no session.
            (Some(Present), Some(""), Some(("s1", Lost))),
            (None, Some("s2"), Some(("s2", Present))),
            (None, Some(""), None),
        ] {
            let record = stored.map(|presence| record(1, "s1", presence));
            let lease = holder.map(|session| lease(2, session));
            let states = mirror(record, lease).states();
            let found = states.first().map(|s| (s.session.as_str(), s.presence));
            assert_eq!(found, expected, "{stored:?}, {holder:?}");
        }
    }

    #[test]
    fn host_with_a_damaged_record_is_present_under_its_name() {
        for damaged in [b"{".to_vec(), Vec::new(), b"not signed".to_vec()] {
            let states = mirror(Some(message(1, damaged)), Some(lease(2, "s1"))).states();
            assert_eq!(states[0].info.name.as_str(), "GPU-1");
            assert_eq!(states[0].presence, HostPresence::Present);
        }
        let other = host("other", HostPresence::Present, 5.0);
        let other = message(1, serde_json::to_vec(&other).unwrap());
        assert!(mirror(Some(other), None).states().is_empty());
    }

    #[test]
    fn renewal_is_a_sign_of_the_host_and_its_end_is_none() {
        let mut mirror = mirror(
            Some(record(1, "s1", HostPresence::Present)),
            Some(lease(9, "s1")),
        );
        assert_eq!(mirror.states()[0].seen_at, Timestamp(9.0));
        assert!(!mirror.has_unconfirmed() && mirror.is_overdue(Duration::ZERO));
        mirror.apply(StreamKind::Leases, &lease(8, "older"));
        mirror.apply(StreamKind::Leases, &message(20, Vec::new()));
        let state = &mirror.states()[0];
        assert_eq!(
            (state.presence, state.seen_at),
            (HostPresence::Lost, Timestamp(9.0))
        );
        assert!(mirror.has_unconfirmed() && !mirror.is_overdue(Duration::ZERO));
        let again = record(1, "s1", HostPresence::Present);
        mirror.replace(self::mirror(Some(again), None));
        assert_eq!(mirror.states()[0].seen_at, Timestamp(9.0));
    }

    #[test]
    fn all_spellings_of_a_name_have_one_key() {
        let key = |name: &str| host_key(&HostName::parse(name).unwrap());
        assert_eq!(key("GPU-1"), "host.gpu-1");
        assert_eq!(key("GPU-1"), key("gpu-1"));
    }

    #[test]
    fn host_that_left_longest_ago_makes_room() {
        let hosts = [
            host("a", HostPresence::Present, 1.0),
            host("b", HostPresence::Lost, 2.0),
            host("c", HostPresence::Left, 4.0),
            host("d", HostPresence::Left, 3.0),
        ];
        let name = |hosts: &[HostState]| oldest_absent(hosts).map(|h| h.info.name.to_string());
        assert_eq!(name(&hosts).as_deref(), Some("d"));
        assert_eq!(name(&hosts[..2]).as_deref(), Some("b"));
        assert_eq!(name(&hosts[..1]), None);
    }
}
