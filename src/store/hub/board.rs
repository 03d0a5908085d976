//! The board on a hub: each change is one message, which is stored only if no other change was stored in between.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::super::StoreError;
use super::super::board::{
    BoardSnapshot, BoardStore, BoardTransaction, BoardUpdate, FirstWrite, TaskSet, TransactionBody,
};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Range, Write};
use super::retry::{self, CHANGED_WITHIN};
use super::streams::StreamKind;
use super::task_records::{TaskMirror, TaskRecord, import_key, task_key};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// Maximum number of records that the first read loads: every number ever used.
const RECORDS_MAX: usize = 1_000_000;

/// The tasks of a crew on a hub, and a copy of them that is completed before each use.
#[derive(Debug)]
pub(super) struct HubBoard {
    hub: Hub,
    mirror: Mutex<TaskMirror>,
}

impl HubBoard {
    pub(super) fn new(hub: Hub) -> HubBoard {
        HubBoard {
            hub,
            mirror: Mutex::default(),
        }
    }

    fn mirror(&self) -> MutexGuard<'_, TaskMirror> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the copy with every change that was stored before this call.
    fn current(&self) -> Result<MutexGuard<'_, TaskMirror>, StoreError> {
        let mut mirror = self.mirror();
        let (from, epoch) = (mirror.sequence, mirror.epoch);
        let missed = self
            .hub
            .run(move |link| async move { missed(&link, from, epoch).await })?;
        if missed.is_complete {
            *mirror = TaskMirror::default();
        }
        mirror.epoch = missed.epoch;
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
}

/// The records that a copy of the tasks lacks.
struct MissedRecords {
    records: Vec<keys::Stored>,
    /// Whether these are all records, which replace the copy.
    is_complete: bool,
    /// The epoch of the connection in which they were read.
    epoch: u64,
}

/// Returns the records after the sequence number `from`, or all if the stream may have gone back since the epoch `known`.
async fn missed(link: &HubConnection, from: u64, known: u64) -> Result<MissedRecords, HubError> {
    let (mut from, mut known) = (from, known);
    loop {
        let epoch = link.epoch();
        if known != epoch {
            from = 0;
        }
        let records = records_after(link, from).await?;
        // A record that is not signed may have replaced a signed one, whose task is then missing for other readers too.
        if from > 0 && records.iter().any(|record| record.is_unsigned) {
            known = 0;
            continue;
        }
        // A part of the records may come from before a change of the epoch.
        if epoch == link.epoch() {
            return Ok(MissedRecords {
                records,
                is_complete: from == 0,
                epoch,
            });
        }
        known = 0;
    }
}

/// Returns the records after the sequence number `from`, up to the last one. A reader that stops earlier may miss a task:
/// its old record is already gone, and the new one comes later.
async fn records_after(link: &HubConnection, from: u64) -> Result<Vec<keys::Stored>, HubError> {
    let kind = StreamKind::Tasks;
    if from == 0 {
        return keys::read_current(link, kind, ">", Range::LastOfEach, RECORDS_MAX).await;
    }
    let mut all = Vec::new();
    let mut next = from + 1;
    while let Some(message) = keys::next(link, kind, ">", next).await? {
        next = message.sequence + 1;
        all.push(message);
    }
    Ok(all)
}

impl BoardStore for HubBoard {
    fn read(&self) -> Result<BoardSnapshot, StoreError> {
        let mirror = self.current()?;
        Ok(BoardSnapshot {
            graph: Arc::clone(&mirror.graph),
            notices: mirror.problems(),
        })
    }

    /// Does nothing: no change is ever half stored.
    fn repair(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
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
        Ok(BoardUpdate {
            delta,
            notices: Vec::new(),
        })
    }

    fn preview(&self) -> Result<(TaskGraph, TaskId), StoreError> {
        let mirror = self.current()?;
        Ok((TaskGraph::clone(&mirror.graph), mirror.last))
    }

    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
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

/// One attempt to change the board. The copy is locked, so that the threads of this process do not compete.
struct HubTransaction<'a> {
    hub: &'a Hub,
    mirror: MutexGuard<'a, TaskMirror>,
    /// The tasks with the changes of this attempt.
    graph: Arc<TaskGraph>,
    /// Whether another change was stored in between, so that this attempt has stored nothing.
    has_conflict: bool,
}

impl HubTransaction<'_> {
    fn store(&mut self, key: String, record: &TaskRecord, what: String) -> Result<(), StoreError> {
        let payload = serde_json::to_vec(record)?;
        let expected = Expected::Stream(self.mirror.sequence);
        let mut write = Write::new(StreamKind::Tasks, key, payload, expected, "");
        write.what = what;
        let (key, payload) = (write.key.clone(), write.payload.clone());
        let stored = self
            .hub
            .run(move |link| async move { keys::write(&link, write, ANSWER_WITHIN).await });
        let Some(sequence) = stored? else {
            self.has_conflict = true;
            return Err(HubError::Contention { what: "board" }.into());
        };
        self.mirror.apply(&key, sequence, &payload);
        self.graph = Arc::clone(&self.mirror.graph);
        Ok(())
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
        let key = import_key(&uuid::Uuid::now_v7().simple().to_string());
        let what = format!("the import of {} tasks", new.len());
        self.store(key, &record, what)
    }
}
