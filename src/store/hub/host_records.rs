//! The hosts as they are stored on a hub: one record per host, and a lease while its session exists. Whether a host is
//! present follows from both.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::connection::HubConnection;
use super::error::HubError;
use super::keys::{self, Expected, Stored, Write};
use super::lease;
use super::reads::{self, Range};
use super::streams::StreamKind;
use crate::domain::host::{HOSTS_MAX, HostName, HostPresence, HostState};
use crate::domain::timestamp::Timestamp;

/// The keys of all hosts, in the stream of the records and in the one of the leases.
pub(super) const HOST_KEYS: &str = "host.*";
/// The key of the lease of the host that runs the lead.
pub(super) const LEAD_KEY: &str = "lead";
/// Maximum number of messages that are read. A host that changes its record during the read has several.
const MESSAGES_MAX: usize = 4 * HOSTS_MAX;

/// Returns the key of a host, which is the same for all spellings of its name.
pub(super) fn host_key(name: &HostName) -> String {
    format!("host.{}", name.as_str().to_ascii_lowercase())
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.map_or(0.0, |since| since.as_secs_f64()))
}

/// Returns all hosts, sorted by name regardless of case. Ignores records that cannot be read.
pub(super) async fn read_all(link: &HubConnection) -> Result<Vec<HostState>, HubError> {
    // In this order: a host first acquires its lease and then writes its record, so a record without a lease is one of a
    // host that is lost or is just leaving.
    let records = read_latest(link, StreamKind::State).await?;
    let leases = read_latest(link, StreamKind::Leases).await?;
    let mut all = Vec::new();
    for (name, record) in records {
        let is_held = leases
            .get(&name)
            .is_some_and(|lease| lease::holder_in(&lease.payload).is_some());
        let Some(mut state) = parse(&record.payload, is_held) else {
            continue;
        };
        if state.presence == HostPresence::Lost {
            // The host may have marked itself as left between both reads.
            let key = host_key(&state.info.name);
            let record = keys::read(link, StreamKind::State, &key).await?;
            match record.and_then(|record| parse(&record.payload, false)) {
                // A new session has written its record, so it has a lease.
                Some(new) if new.session != state.session => {
                    state = HostState {
                        presence: present_unless_left(new.presence),
                        ..new
                    };
                }
                Some(same) => state = same,
                None => continue,
            }
        }
        all.push(state);
    }
    Ok(all)
}

async fn read_latest(
    link: &HubConnection,
    kind: StreamKind,
) -> Result<BTreeMap<String, Stored>, HubError> {
    let stored =
        reads::read_current(link, kind, HOST_KEYS, Range::LastOfEach, MESSAGES_MAX).await?;
    // The last of several messages of a key counts.
    Ok(stored.into_iter().map(|s| (s.key.clone(), s)).collect())
}

fn parse(record: &[u8], is_held: bool) -> Option<HostState> {
    let state: HostState = serde_json::from_slice(record).ok()?;
    let presence = presence(state.presence, is_held);
    Some(HostState { presence, ..state })
}

/// Returns the presence of a host. `stored` is what its session has written; `is_held` says whether its lease exists.
fn presence(stored: HostPresence, is_held: bool) -> HostPresence {
    match (stored, is_held) {
        (HostPresence::Left, _) => HostPresence::Left,
        // A new session may have acquired the lease and not yet written its record.
        (HostPresence::Present | HostPresence::Lost, true) => HostPresence::Present,
        (HostPresence::Present | HostPresence::Lost, false) => HostPresence::Lost,
    }
}

fn present_unless_left(presence: HostPresence) -> HostPresence {
    match presence {
        HostPresence::Left => HostPresence::Left,
        HostPresence::Present | HostPresence::Lost => HostPresence::Present,
    }
}

/// Marks a host as left, unless another session has the name.
pub(super) async fn mark_left(
    link: &HubConnection,
    key: &str,
    session: &str,
    within: Duration,
) -> Result<(), HubError> {
    loop {
        let Some(record) = keys::read(link, StreamKind::State, key).await? else {
            return Ok(());
        };
        let Some(mut state) = parse(&record.payload, false).filter(|s| s.session == session) else {
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
        if keys::write(link, write, within).await?.is_some() {
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

/// Removes the record of a host, unless it has changed.
pub(super) async fn remove(link: &HubConnection, host: &HostState) -> Result<(), HubError> {
    let (kind, key) = (StreamKind::State, host_key(&host.info.name));
    let Some(record) = keys::read(link, kind, &key).await? else {
        return Ok(());
    };
    let found = parse(&record.payload, false);
    if found.is_none_or(|found| found.session != host.session || found.seen_at != host.seen_at) {
        return Ok(());
    }
    // A later record has a higher sequence number, and stays.
    keys::purge(link, kind, &key, record.sequence + 1).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::host::{HostInfo, HostKind};
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

    #[test]
    fn host_is_lost_if_its_lease_is_missing_and_it_has_not_left() {
        use HostPresence::{Left, Lost, Present};
        for (stored, is_held, expected) in [
            (Present, true, Present),
            (Present, false, Lost),
            (Left, true, Left),
            (Left, false, Left),
            (Lost, true, Present),
        ] {
            assert_eq!(presence(stored, is_held), expected);
        }
    }

    #[test]
    fn stored_host_is_read_unchanged() {
        let state = host("gpu-1", HostPresence::Present, 5.0);
        let record = serde_json::to_vec(&state).unwrap();
        assert_eq!(parse(&record, true), Some(state));
        assert_eq!(parse(b"", true), None);
        assert_eq!(parse(b"{\"name\":\"gpu-1\"}", true), None);
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
