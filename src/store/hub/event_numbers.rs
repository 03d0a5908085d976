//! The numbers of published events: how a reader recognizes repeated and missing batches. Does no I/O.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::host::{HOSTS_MAX, HostName};

/// Identifies a batch of events. Its text form is the id of the message, which the server and the signature cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchId {
    /// The process that has published the batch, and its connection to the hub.
    pub session: String,
    pub host: HostName,
    /// 1 for the first batch of a session.
    pub number: u64,
}

impl BatchId {
    pub fn text(&self) -> String {
        format!("{}/{}/{}", self.session, self.host, self.number)
    }

    /// Returns the id in a message; `None` if another program has stored it with another id.
    pub fn parse(text: &str) -> Option<BatchId> {
        let mut parts = text.split('/');
        let id = BatchId {
            session: parts.next()?.into(),
            host: HostName::parse(parts.next()?).ok()?,
            number: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(id)
    }
}

/// Returns the name of a host in subjects, where names that differ only in case are the same.
pub(super) fn host_key(host: &HostName) -> String {
    host.as_str().to_ascii_lowercase()
}

/// The batches that this process has published, by the key of their host.
#[derive(Debug, Default)]
pub(super) struct PublishedEvents(HashMap<String, PublishedBatches>);

#[derive(Debug)]
struct PublishedBatches {
    session: String,
    /// The number of the last batch that was stored, or may have been stored.
    last: u64,
    /// The hash of the last batch, if it is unknown whether it was stored.
    uncertain: Option<u64>,
}

/// Whether a batch was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchResult {
    Stored,
    NotStored,
    Unknown,
}

impl PublishedEvents {
    /// Returns the id for the next batch of a host. A batch that is repeated because it is unknown whether it was stored
    /// has the same id as before, so that readers get it once.
    pub fn next(&mut self, host: &HostName, payload: &[u8]) -> BatchId {
        let batches = self.0.entry(host_key(host));
        let batches = batches.or_insert_with(|| PublishedBatches {
            session: uuid::Uuid::now_v7().simple().to_string(),
            last: 0,
            uncertain: None,
        });
        let is_repeated = batches.uncertain == Some(hash(payload));
        BatchId {
            session: batches.session.clone(),
            host: host.clone(),
            number: batches.last + u64::from(!is_repeated),
        }
    }

    /// Records the result of a batch.
    pub fn finish(&mut self, id: &BatchId, payload: &[u8], result: BatchResult) {
        let Some(batches) = self.0.get_mut(&host_key(&id.host)) else {
            return;
        };
        match result {
            BatchResult::NotStored => return,
            BatchResult::Stored => batches.uncertain = None,
            BatchResult::Unknown => batches.uncertain = Some(hash(payload)),
        }
        batches.last = id.number;
    }
}

fn hash(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
    hasher.finish()
}

/// The batches that a reader has seen: for each host, the last one.
#[derive(Debug, Default)]
pub(super) struct SeenBatches {
    hosts: HashMap<String, (String, u64)>,
    /// Whether the first batches of a session must have been seen too. False for a reader that has started in between.
    is_complete: bool,
}

impl SeenBatches {
    /// Returns the state of a reader that has seen nothing. `is_complete` is whether it reads from the first batch on.
    pub fn new(is_complete: bool) -> SeenBatches {
        SeenBatches {
            hosts: HashMap::new(),
            is_complete,
        }
    }

    /// Records that batches between the last one and the next one are missing, or that the reader starts again from the
    /// first batch.
    pub fn expect_all(&mut self) {
        self.is_complete = true;
    }

    /// Adds a batch. Returns whether batches before it are missing; `None` if the batch is a repeated one.
    pub fn add(&mut self, id: &BatchId) -> Option<bool> {
        let key = host_key(&id.host);
        let is_cut = match self.hosts.get(&key) {
            Some((session, last)) if *session == id.session => {
                if id.number <= *last {
                    return None;
                }
                id.number > last + 1
            }
            Some(_) => id.number > 1,
            None => self.is_complete && id.number > 1,
        };
        // A crew cannot have more hosts; another program has stored their events.
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(&key) {
            self.hosts.clear();
        }
        self.hosts.insert(key, (id.session.clone(), id.number));
        Some(is_cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn id(session: &str, host: &str, number: u64) -> BatchId {
        let (session, host) = (session.into(), HostName::parse(host).unwrap());
        BatchId {
            session,
            host,
            number,
        }
    }

    #[test]
    fn id_survives_its_text_form() {
        let own = id("s1", "GPU-box", 7);
        assert_eq!(BatchId::parse(&own.text()), Some(own));
        for other in ["", "s/h", "s/h/x", "s/h/1/2", "s/a b/1", "uuid"] {
            assert_eq!(BatchId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn reader_drops_repeated_batches_and_marks_gaps() {
        let mut seen = SeenBatches::new(false);
        for (step, session, host, number, expected) in [
            ("reader starts in between", "s1", "a", 5, Some(false)),
            ("next", "s1", "a", 6, Some(false)),
            ("repeated", "s1", "A", 6, None),
            ("older", "s1", "a", 5, None),
            ("gap", "s1", "a", 8, Some(true)),
            ("other host", "s9", "b", 1, Some(false)),
            ("new session", "s2", "a", 1, Some(false)),
            ("session without its start", "s3", "a", 2, Some(true)),
        ] {
            assert_eq!(seen.add(&id(session, host, number)), expected, "{step}");
        }
        seen.expect_all();
        assert_eq!(seen.add(&id("s4", "c", 2)), Some(true));
        assert_eq!(SeenBatches::new(true).add(&id("s", "a", 2)), Some(true));
    }

    #[test]
    fn seen_hosts_are_bounded() {
        let mut seen = SeenBatches::new(false);
        for number in 0..HOSTS_MAX * 3 {
            seen.add(&id("s", &format!("host-{number}"), 1));
        }
        assert!(seen.hosts.len() <= HOSTS_MAX);
    }

    #[test]
    fn only_an_uncertain_batch_is_repeated_with_its_number() {
        let host = HostName::parse("GPU").unwrap();
        let mut published = PublishedEvents::default();
        for (step, payload, number, result) in [
            ("first", "a", 1, BatchResult::Stored),
            ("same content", "a", 2, BatchResult::NotStored),
            ("not stored", "b", 2, BatchResult::Unknown),
            ("repeated", "b", 2, BatchResult::NotStored),
            ("repeated again", "b", 2, BatchResult::Stored),
            ("same content later", "b", 3, BatchResult::Unknown),
            ("other content", "c", 4, BatchResult::Stored),
        ] {
            let id = published.next(&host, payload.as_bytes());
            assert_eq!(id.number, number, "{step}");
            published.finish(&id, payload.as_bytes(), result);
        }
        let same = HostName::parse("gpu").unwrap();
        assert_eq!(published.next(&same, b"d").number, 5);
    }
}
