//! Imports that are larger than a message: their parts are stored first, and count only with the closing message.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::StoreError;
use super::connection::Hub;
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Write};
use super::streams::StreamKind;
use super::task_keys::part_key;
use super::task_records::{ImportParts, LeftoverImport, TaskRecord};
use crate::domain::ids::TaskId;

/// The part of the largest message that is left for its headers, in bytes.
const HEADERS_MAX: usize = 1024;
/// The age after which the writer of an import without a closing message counts as killed. It only has to be unlikely that
/// the writer is still busy: if it is, it notices that the import is abandoned and stores the parts again.
const OVER_AFTER: Duration = Duration::from_secs(600);
/// Maximum time that a failed import waits for each of its parts to be emptied.
const ABANDONED_WITHIN: Duration = Duration::from_secs(2);

/// Returns the size in bytes of the largest message that the server accepts.
pub(super) fn message_limit(hub: &Hub) -> Result<usize, HubError> {
    hub.run(|connection| async move { Ok(connection.client.max_payload()) })
}

/// Returns the maximum size of the content of a message, in bytes.
pub(super) fn part_limit(message_limit: usize) -> usize {
    message_limit.saturating_sub(HEADERS_MAX)
}

/// Returns the id of a new import. Contains the time.
pub(super) fn new_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// Returns whether the parts of an import can be emptied, because its writer has probably ended.
pub(super) fn is_over(import: &LeftoverImport) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    import.is_abandoned || now.is_ok_and(|now| is_older(&import.key, now))
}

/// Returns whether the import with the key `key` began more than [`OVER_AFTER`] before `now`, the time since 1970.
fn is_older(key: &str, now: Duration) -> bool {
    let id = key.rsplit('-').next().unwrap_or_default();
    let began = uuid::Uuid::parse_str(id).ok();
    let began = began.and_then(|id| id.get_timestamp());
    began.is_some_and(|began| now.as_secs() > began.to_unix().0 + OVER_AFTER.as_secs())
}

/// The parts of an import that were stored, or are being stored, without a closing message.
#[derive(Debug)]
pub(super) struct ImportUpload {
    /// The key of the closing message.
    pub key: String,
    pub parts: Vec<Vec<u8>>,
    /// Whether the closing message may have been stored.
    pub is_closing: bool,
}

impl ImportUpload {
    pub fn new(key: String, parts: Vec<Vec<u8>>) -> ImportUpload {
        ImportUpload {
            key,
            parts,
            is_closing: false,
        }
    }

    /// Stores the parts. Returns their sequence numbers.
    ///
    /// # Errors
    /// When the hub does not answer, or rejects a part.
    pub fn store(&self, hub: &Hub, what: &str) -> Result<Vec<u64>, StoreError> {
        let mut stored = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let (kind, key) = (StreamKind::Tasks, part_key(&self.key, number));
            let write = Write::new(kind, key, part.clone(), Expected::Anything, what);
            let sequence = hub.run(move |connection| async move {
                keys::write(&connection, write, ANSWER_WITHIN).await
            })?;
            // A write that expects nothing has no conflict.
            stored.extend(sequence);
        }
        Ok(stored)
    }

    /// Empties the parts, unless the closing message was stored. Parts that cannot be emptied now do no harm.
    pub fn abandon(self, hub: &Hub) {
        let leftover = LeftoverImport {
            key: self.key,
            parts: (0..self.parts.len()).collect(),
            // Only this writer could store the closing message. A full stream would reject another record.
            is_abandoned: !self.is_closing,
        };
        let _ = empty(hub, &leftover);
    }
}

/// Replaces the parts of an import by empty messages, to free their space. First stores that the import is abandoned, so
/// that a writer that is still busy conflicts. Returns false if its closing message was stored before.
///
/// # Errors
/// When the hub does not answer, or rejects a message. The rest of the parts stays then.
pub(super) fn empty(hub: &Hub, import: &LeftoverImport) -> Result<bool, StoreError> {
    let abandoned = TaskRecord {
        parts: Some(ImportParts {
            count: 0,
            last: TaskId::default(),
        }),
        ..TaskRecord::default()
    };
    let payload = serde_json::to_vec(&abandoned)?;
    let write = |key: String, payload: Vec<u8>, expected: Expected| {
        let kind = StreamKind::Tasks;
        Write::new(kind, key, payload, expected, "the end of an import")
    };
    let closing = write(import.key.clone(), payload, Expected::Key(0));
    let parts = import.parts.iter();
    let parts: Vec<Write> = parts
        .map(|number| part_key(&import.key, *number))
        .map(|key| write(key, Vec::new(), Expected::Anything))
        .collect();
    let is_abandoned = import.is_abandoned;
    Ok(hub.run(move |connection| async move {
        if !is_abandoned
            && keys::write(&connection, closing, ABANDONED_WITHIN)
                .await?
                .is_none()
        {
            return Ok(false);
        }
        for part in parts {
            keys::write(&connection, part, ABANDONED_WITHIN).await?;
        }
        Ok(true)
    })?)
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`, except the first.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::super::board::HubBoard;
    use super::super::task_keys::import_key;
    use super::super::task_records::part_payloads;
    use super::super::test_server::TestServer;
    use super::*;
    use crate::domain::graph::PlannedTask;
    use crate::domain::task::Task;
    use crate::domain::timestamp::Timestamp;
    use crate::store::Board;

    /// The key of an import that began in 2020.
    fn old_key() -> String {
        let began = uuid::Timestamp::from_unix(uuid::NoContext, 1_577_836_800, 0);
        import_key(&uuid::Uuid::new_v7(began).simple().to_string())
    }

    fn task(id: u64) -> Task {
        let json = serde_json::json!({ "id": id, "subject": "imported" });
        serde_json::from_value(json).unwrap()
    }

    /// Stores the parts of an import, as a writer that is killed afterwards does.
    fn upload(hub: &Hub, key: String) {
        let parts = part_payloads(&[task(1)], usize::MAX).unwrap().unwrap();
        ImportUpload::new(key, parts).store(hub, "a test").unwrap();
    }

    fn add(board: &Board, tasks: usize, description: &str) -> usize {
        let mut planned = PlannedTask::default();
        planned.new.subject = "imported".into();
        planned.new.description = description.into();
        let plan = |_: &crate::domain::graph::TaskGraph| {
            Ok::<_, crate::store::StoreError>(vec![planned.clone(); tasks])
        };
        board.create_all(plan, Timestamp(1.0)).unwrap().len()
    }

    #[test]
    fn import_is_over_some_time_after_it_began() {
        let leftover = |key: String, is_abandoned| LeftoverImport {
            key,
            parts: vec![0],
            is_abandoned,
        };
        assert!(!is_over(&leftover(import_key(&new_id()), false)));
        assert!(is_over(&leftover(import_key(&new_id()), true)));
        assert!(is_over(&leftover(old_key(), false)));
        assert!(!is_over(&leftover("import-7".into(), false)));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn parts_of_a_killed_writer_are_ignored_and_emptied() {
        let server = TestServer::start();
        let (hub, other) = (server.hub(), server.hub());
        upload(&hub, old_key());
        upload(&hub, import_key(&new_id()));
        let board = Board::with_store(Arc::new(HubBoard::new(hub)));
        assert_eq!(board.read().unwrap().graph.len(), 0);
        let notices = board.set_aside().unwrap();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert_eq!(board.set_aside().unwrap(), Vec::<String>::new());
        // A client that reads everything finds the parts of the new import only.
        let fresh = HubBoard::new(other);
        assert_eq!(fresh.open_imports().unwrap(), 1);
        // What was stored last is what the next change expects.
        assert_eq!(add(&board, 2, "after the repair"), 2);
        let fresh = Board::with_store(Arc::new(fresh));
        assert_eq!(add(&fresh, 1, "by another client"), 1);
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn large_import_survives_the_changes_of_others() {
        let server = TestServer::start();
        let board = Board::with_store(Arc::new(HubBoard::new(server.hub())));
        let other = Board::with_store(Arc::new(HubBoard::new(server.hub())));
        let description = "x".repeat(20_000);
        let busy = add(&other, 1, "busy");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let ordering = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for n in 0..100 {
                    let edit = crate::domain::graph::TaskEdit {
                        description: Some(n.to_string()),
                        ..Default::default()
                    };
                    other.edit(TaskId(1), &edit, Timestamp(2.0)).unwrap();
                    if is_over.load(ordering) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
            assert_eq!(add(&board, 80, &description), 80);
            is_over.store(true, ordering);
        });
        let fresh = HubBoard::new(server.hub());
        assert_eq!(fresh.open_imports().unwrap(), 0);
        let graph = Board::with_store(Arc::new(fresh)).read().unwrap().graph;
        assert_eq!(graph.len(), 80 + busy);
        let last = graph.tasks().next_back().map(|task| task.id);
        assert_eq!(last, Some(TaskId(81)));
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn import_is_abandoned_once() {
        let server = TestServer::start();
        let hub = server.hub();
        let key = import_key(&new_id());
        upload(&hub, key.clone());
        let leftover = || LeftoverImport {
            key: key.clone(),
            parts: vec![0],
            is_abandoned: false,
        };
        assert!(empty(&hub, &leftover()).unwrap());
        // The second one finds that it is abandoned.
        assert!(!empty(&hub, &leftover()).unwrap());
        let mirror = HubBoard::new(server.hub());
        assert_eq!(mirror.open_imports().unwrap(), 0);
    }
}
