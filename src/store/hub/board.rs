//! The board on a hub: each change is one message, which is stored only if no other change was stored in between. A large
//! import has further messages before, which count only with that message.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::super::StoreError;
use super::super::board::{
    BoardSnapshot, BoardStore, BoardTransaction, BoardUpdate, FirstWrite, TaskSet, TransactionBody,
};
use super::super::notices::limit_notices;
use super::catch_up::{self, CopiedKeys};
use super::connection::Hub;
use super::error::HubError;
use super::import::{self, ImportUpload};
use super::keys::{self, ANSWER_WITHIN, Expected, Write};
use super::problems::ReportedProblems;
use super::retry::{self, CHANGED_WITHIN};
use super::streams::StreamKind;
use super::task_keys::{import_key, part_key, task_key};
use super::task_records::{ImportParts, TaskMirror, TaskRecord, is_readable, part_payloads};
use super::turn_failure::TurnFailure;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// The records of the tasks. The maximum is that of the first read: every number ever used.
const RECORDS: CopiedKeys = CopiedKeys {
    kind: StreamKind::Tasks,
    keys: ">",
    most: 1_000_000,
    hides_others: |record| !is_readable(&record.key, &record.payload),
};

/// The tasks of a crew on a hub, and a copy of them that is completed before each use.
#[derive(Debug)]
pub(super) struct HubBoard {
    hub: Hub,
    mirror: Mutex<TaskMirror>,
    /// What [`BoardStore::update_since`] has returned.
    reported: ReportedProblems,
    failure: TurnFailure,
}

impl HubBoard {
    pub(super) fn new(hub: Hub) -> HubBoard {
        HubBoard {
            hub,
            mirror: Mutex::default(),
            reported: ReportedProblems::default(),
            failure: TurnFailure::default(),
        }
    }

    fn mirror(&self) -> MutexGuard<'_, TaskMirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the copy with every change that was stored before this call.
    fn current(&self) -> Result<MutexGuard<'_, TaskMirror>, StoreError> {
        let asked_at = Instant::now();
        let mut mirror = self.mirror();
        let (from, epoch, rereads) = (mirror.sequence, mirror.epoch, mirror.rereads);
        let missed = self.failure.attempt(asked_at, || {
            self.hub.run(move |connection| async move {
                catch_up::missed(&connection, RECORDS, from, epoch, rereads).await
            })
        })?;
        if missed.is_complete {
            *mirror = TaskMirror::default();
        }
        mirror.epoch = missed.epoch;
        mirror.rereads = missed.rereads;
        for message in missed.records {
            mirror.apply(&message.key, message.sequence, &message.payload);
        }
        Ok(mirror)
    }

    /// Returns the copy after a write whose copy had the last sequence number `sequence`, and that conflicted. If the
    /// copy has no new record, the stream has gone back, and everything is read again.
    fn current_after_conflict(
        &self,
        sequence: u64,
    ) -> Result<MutexGuard<'_, TaskMirror>, StoreError> {
        let mut mirror = self.current()?;
        if mirror.sequence != sequence {
            return Ok(mirror);
        }
        mirror.epoch = 0;
        drop(mirror);
        self.current()
    }

    /// Returns the number of imports of which only parts are stored.
    #[cfg(test)]
    pub(super) fn open_imports(&self) -> Result<usize, StoreError> {
        Ok(self.current()?.leftover_imports().len())
    }

    /// Runs `body` until it does not conflict. `upload` has the parts of an import that are stored and do not count yet.
    fn try_transact(
        &self,
        body: &mut TransactionBody<'_>,
        upload: &mut Option<ImportUpload>,
    ) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut conflict = None;
        for attempt in 0.. {
            let mirror = match conflict {
                Some(sequence) => self.current_after_conflict(sequence)?,
                None => self.current()?,
            };
            let mut transaction = HubTransaction {
                hub: &self.hub,
                graph: Arc::clone(&mirror.graph),
                mirror,
                has_conflict: false,
                upload: &mut *upload,
            };
            let result = body(&mut transaction);
            if !transaction.has_conflict {
                return result;
            }
            conflict = Some(transaction.mirror.sequence);
            drop(transaction);
            if began.elapsed() > CHANGED_WITHIN {
                break;
            }
            retry::pause(attempt);
        }
        Err(HubError::Contention { what: "board" }.into())
    }
}

impl BoardStore for HubBoard {
    fn read(&self) -> Result<BoardSnapshot, StoreError> {
        let mirror = self.current()?;
        Ok(BoardSnapshot {
            graph: Arc::clone(&mirror.graph),
            notices: limit_notices(mirror.problems()),
        })
    }

    /// Empties the parts of imports whose writers were killed. Nothing else is ever half stored. Also returns the reports
    /// of unsigned messages.
    fn repair(&self) -> Result<Vec<String>, StoreError> {
        let leftovers = self.current()?.leftover_imports();
        let mut notices = self.hub.take_unsigned_reports();
        for leftover in leftovers.into_iter().filter(import::is_over) {
            let is_reported = leftover.is_abandoned;
            // If this fails, the parts stay. They do no harm.
            let emptied = import::empty(&self.hub, &leftover);
            if !is_reported && matches!(emptied, Ok(true)) {
                let text = "an import that was interrupted was removed from the hub: none of its tasks was added, so import them again";
                notices.push(text.to_string());
            }
        }
        Ok(notices)
    }

    fn query(&self, question: &mut dyn FnMut(&TaskGraph)) -> Result<(), StoreError> {
        question(&self.current()?.graph);
        Ok(())
    }

    fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        Ok(Arc::clone(self.current()?.graph.require(id)?))
    }

    fn update_since(&self, which: &TaskSet, known: &TaskGraph) -> Result<BoardUpdate, StoreError> {
        let mirror = self.current()?;
        let delta = match which {
            TaskSet::These(ids) => known.delta_of(&mirror.graph, ids),
            TaskSet::All => known.delta(&mirror.graph),
        };
        let state = (mirror.epoch, mirror.sequence);
        let mut notices = self.reported.unreported(state, || mirror.problems());
        notices.extend(self.hub.take_unsigned_reports());
        Ok(BoardUpdate { delta, notices })
    }

    fn preview(&self) -> Result<(TaskGraph, TaskId), StoreError> {
        let mirror = self.current()?;
        Ok((TaskGraph::clone(&mirror.graph), mirror.last))
    }

    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
        let mut upload = None;
        let result = self.try_transact(body, &mut upload);
        if let Some(upload) = upload {
            // The import has failed. If its parts cannot be emptied now, a repair empties them later.
            upload.abandon(&self.hub);
        }
        result
    }
}

/// One attempt to change the board. The copy is locked, so that the threads of this process do not compete.
struct HubTransaction<'a> {
    hub: &'a Hub,
    mirror: MutexGuard<'a, TaskMirror>,
    /// The tasks with the changes of this attempt.
    graph: Arc<TaskGraph>,
    /// Whether another change was stored in between, so that this attempt has stored nothing that counts.
    has_conflict: bool,
    /// The parts of an import that are stored and do not count yet; kept for the next attempt.
    upload: &'a mut Option<ImportUpload>,
}

impl HubTransaction<'_> {
    fn store(&mut self, key: String, record: &TaskRecord, what: String) -> Result<(), StoreError> {
        let payload = serde_json::to_vec(record)?;
        self.store_payload(key, payload, what)
    }

    fn store_payload(
        &mut self,
        key: String,
        payload: Vec<u8>,
        what: String,
    ) -> Result<(), StoreError> {
        let expected = Expected::Stream(self.mirror.sequence);
        let mut write = Write::new(StreamKind::Tasks, key, payload, expected, "");
        write.what = what;
        let (key, payload) = (write.key.clone(), write.payload.clone());
        let stored = self.hub.run(move |connection| async move {
            keys::write(&connection, write, ANSWER_WITHIN).await
        });
        let Some(sequence) = stored? else {
            self.has_conflict = true;
            return Err(HubError::Contention { what: "board" }.into());
        };
        self.mirror.apply(&key, sequence, &payload);
        self.graph = Arc::clone(&self.mirror.graph);
        Ok(())
    }

    /// Stores the parts of an import and returns its key. Parts that an earlier attempt has stored are used if they are the
    /// same: a retry of a large import must not take as long as the first attempt.
    fn upload(&mut self, parts: Vec<Vec<u8>>, what: &str) -> Result<String, StoreError> {
        if let Some(upload) = self.upload.as_ref()
            && upload.parts == parts
            && self.mirror.has_open_import(&upload.key, parts.len())
        {
            return Ok(upload.key.clone());
        }
        if let Some(other) = self.upload.take() {
            other.abandon(self.hub);
        }
        let key = import_key(&import::new_id());
        let upload = self.upload.insert(ImportUpload::new(key.clone(), parts));
        for (number, sequence) in upload.store(self.hub, what)?.into_iter().enumerate() {
            // Something was stored in between. The next attempt reads it, and uses these parts.
            if sequence != self.mirror.sequence + 1 {
                self.has_conflict = true;
                return Err(HubError::Contention { what: "board" }.into());
            }
            let part = upload.parts.get(number).map_or(&[][..], Vec::as_slice);
            self.mirror.apply(&part_key(&key, number), sequence, part);
        }
        Ok(key)
    }
}

impl BoardTransaction for HubTransaction<'_> {
    fn graph(&self) -> &TaskGraph {
        &self.graph
    }

    fn graph_mut(&mut self) -> &mut TaskGraph {
        Arc::make_mut(&mut self.graph)
    }

    /// Does nothing: the graph is current, and if it changes before the change is stored, nothing is stored.
    fn refresh(&mut self, _ids: &BTreeSet<TaskId>) -> Result<(), StoreError> {
        Ok(())
    }

    fn refresh_all(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn task(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        Ok(Arc::clone(self.graph.require(id)?))
    }

    fn next_id(&mut self) -> Result<TaskId, StoreError> {
        let last = self.mirror.last;
        if last >= TaskId::MAX {
            let text = format!("no number is left for a new task, because task {last} exists");
            return Err(StoreError::TooLong(text));
        }
        Ok(TaskId(last.0 + 1))
    }

    fn reserve_id(&mut self, id: TaskId) -> Result<(), StoreError> {
        let record = TaskRecord::default();
        self.store(task_key(id), &record, format!("task {id}"))
    }

    fn save(&mut self, changed: &[TaskId], _first: FirstWrite) -> Result<(), StoreError> {
        let Some((id, others)) = changed.split_first() else {
            return Ok(());
        };
        let record = self.mirror.record(*id, others, &self.graph);
        let what = format!("task {id} with its dependencies");
        self.store(task_key(*id), &record, what)
    }

    fn save_import(&mut self, new: &[TaskId], blockers: &[TaskId]) -> Result<(), StoreError> {
        let record = self.mirror.import(new, blockers, &self.graph);
        let what = format!("the import of {} tasks", new.len());
        let server_limit = import::message_limit(self.hub)?;
        let limit = import::part_limit(server_limit);
        let parts = match part_payloads(&record.imported, limit)? {
            Ok(parts) => parts,
            Err(id) => {
                let (what, limit) = (format!("task {id} of the import"), server_limit);
                return Err(HubError::TooLarge { what, limit }.into());
            }
        };
        if parts.len() == 1 {
            let payload = serde_json::to_vec(&record)?;
            if payload.len() <= limit {
                return self.store_payload(import_key(&import::new_id()), payload, what);
            }
        }
        let closing = TaskRecord {
            parts: Some(ImportParts {
                count: parts.len(),
                last: new.iter().copied().max().unwrap_or_default(),
            }),
            dependencies: record.dependencies,
            ..TaskRecord::default()
        };
        let key = self.upload(parts, &what)?;
        if let Some(upload) = self.upload.as_mut() {
            upload.is_closing = true;
        }
        let closed = self.store(key, &closing, what);
        if closed.is_ok() {
            *self.upload = None;
        } else if let Some(upload) = self.upload.as_mut() {
            // After a conflict it is certain that the closing message is not stored.
            upload.is_closing = !self.has_conflict;
        }
        closed
    }
}
