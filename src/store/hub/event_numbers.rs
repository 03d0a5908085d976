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
    current: Option<CurrentPublish>,
}

/// A publish of events, in one or several batches, that has not ended with success.
#[derive(Debug)]
struct CurrentPublish {
    /// The hash of all its batches.
    hash: u64,
    /// Number of its batches.
    count: usize,
    /// Number of its batches that are stored.
    done: usize,
    /// Whether it is unknown whether the next batch was stored.
    is_uncertain: bool,
}

/// Whether a batch was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchResult {
    Stored,
    NotStored,
    Unknown,
}

impl PublishedEvents {
    /// Begins to publish events of a host in these batches. Returns how many of them are stored already: more than 0 if the
    /// same events were published before, and that attempt has failed in between.
    pub fn begin(&mut self, host: &HostName, batches: &[Vec<u8>]) -> usize {
        let published = self.0.entry(host_key(host));
        let published = published.or_insert_with(|| PublishedBatches {
            session: uuid::Uuid::now_v7().simple().to_string(),
            last: 0,
            current: None,
        });
        let hash = hash(batches);
        if let Some(current) = published.current.as_ref().filter(|c| c.hash == hash) {
            return current.done;
        }
        published.current = Some(CurrentPublish {
            hash,
            count: batches.len(),
            done: 0,
            is_uncertain: false,
        });
        0
    }

    /// Returns the id for the next batch of a host; `None` without [`PublishedEvents::begin`]. A batch that is repeated because
    /// it is unknown whether it was stored has the same id as before, so that readers get it once.
    pub fn next(&self, host: &HostName) -> Option<BatchId> {
        let published = self.0.get(&host_key(host))?;
        let current = published.current.as_ref()?;
        Some(BatchId {
            session: published.session.clone(),
            host: host.clone(),
            number: published.last + u64::from(!current.is_uncertain),
        })
    }

    /// Records the result of a batch.
    pub fn finish(&mut self, id: &BatchId, result: BatchResult) {
        let Some(published) = self.0.get_mut(&host_key(&id.host)) else {
            return;
        };
        let Some(current) = published.current.as_mut() else {
            return;
        };
        if result == BatchResult::NotStored {
            return;
        }
        published.last = id.number;
        current.is_uncertain = result == BatchResult::Unknown;
        current.done += usize::from(result == BatchResult::Stored);
        if current.done == current.count {
            published.current = None;
        }
    }
}

fn hash(batches: &[Vec<u8>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    batches.hash(&mut hasher);
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

    /// Publishes batches until one is not stored. Returns the numbers of those that were tried.
    fn publish(
        published: &mut PublishedEvents,
        host: &HostName,
        texts: &[&str],
        results: &[BatchResult],
    ) -> Vec<u64> {
        let batches: Vec<Vec<u8>> = texts.iter().map(|text| (*text).into()).collect();
        let done = published.begin(host, &batches);
        let mut numbers = Vec::new();
        for result in &results[..(batches.len() - done).min(results.len())] {
            let id = published.next(host).unwrap();
            numbers.push(id.number);
            published.finish(&id, *result);
        }
        numbers
    }

    #[test]
    fn only_an_uncertain_batch_is_repeated_with_its_number() {
        use BatchResult::{NotStored, Stored, Unknown};
        let host = HostName::parse("GPU").unwrap();
        let mut published = PublishedEvents::default();
        for (step, text, number, result) in [
            ("first", "a", 1, Stored),
            ("same content", "a", 2, NotStored),
            ("not stored", "b", 2, Unknown),
            ("repeated", "b", 2, NotStored),
            ("repeated again", "b", 2, Stored),
            ("same content later", "b", 3, Unknown),
            ("other content", "c", 4, Stored),
        ] {
            let numbers = publish(&mut published, &host, &[text], &[result]);
            assert_eq!(numbers, [number], "{step}");
        }
        let same = HostName::parse("gpu").unwrap();
        assert_eq!(publish(&mut published, &same, &["d"], &[Stored]), [5]);
    }

    #[test]
    fn repeated_publish_continues_with_the_batch_that_failed() {
        use BatchResult::{NotStored, Stored, Unknown};
        let host = HostName::parse("gpu").unwrap();
        let mut published = PublishedEvents::default();
        let texts = ["a", "b", "c"];
        for (results, numbers) in [
            (&[Stored, Unknown][..], &[1, 2][..]),
            (&[Unknown][..], &[2][..]),
            (&[Stored, NotStored][..], &[2, 3][..]),
            (&[Stored][..], &[3][..]),
            // The same events once more are new ones.
            (&[Stored, Stored, Stored][..], &[4, 5, 6][..]),
        ] {
            assert_eq!(publish(&mut published, &host, &texts, results), numbers);
        }
    }
}
