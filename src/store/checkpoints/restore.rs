//! Rewinds the files of a work directory to a checkpoint, and finishes rewinds that were interrupted by a crash.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::apply::{TEMPORARY, apply, find_contents};
use super::directory::{SnapshotDirectory, UnchangedFiles};
use super::error::CheckpointError;
use super::known::split;
use super::plan::{RewindPlan, RewindTrees};
use super::project::Checkpoints;
use super::repository::{SnapshotRef, StoredCheckpoint};
use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, CheckpointReason, ConversationPlace, NewCheckpoint, RestoredFiles,
};
use crate::domain::timestamp::Timestamp;
use crate::store::git::{GitError, busy_in};
use crate::store::{StoreError, TranscriptFile, atomic, regular_file};

/// The file that describes a rewind that has begun.
const PENDING: &str = "pending.json";
/// Maximum size of this file, in bytes.
const PENDING_MAX: u64 = 64 * 1024;

/// A rewind that has begun. If it is still there later, the process was killed before the rewind ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PendingRewind {
    folder: String,
    target: CheckpointId,
    /// The checkpoint of the files before the rewind.
    undo: CheckpointId,
}

/// A rewind that was interrupted by a crash and is finished now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedRewind {
    pub target: CheckpointId,
    /// The checkpoint of the files before the rewind.
    pub undo: CheckpointId,
}

impl fmt::Display for FinishedRewind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FinishedRewind { target, undo } = self;
        write!(
            f,
            "a rewind to checkpoint {target} was interrupted and is finished now; checkpoint {undo} has the files before it"
        )
    }
}

impl Checkpoints {
    /// Restores the files of a work directory to a checkpoint. Records a checkpoint of the present files first, with
    /// the agent's place in the conversation, so that the rewind can be undone. Blocks.
    ///
    /// # Errors
    /// When there is no such checkpoint, its directory no longer exists, a git operation such as a merge is in progress
    /// there, or contents of the checkpoint are gone. No file is then changed.
    pub fn restore_at(
        &self,
        id: CheckpointId,
        now: Timestamp,
        place: Option<&ConversationPlace>,
    ) -> Result<RestoredFiles, CheckpointError> {
        let target = self.find_stored(id)?;
        self.finish_interrupted()?;
        let content = &target.message.content;
        self.with_directory(&content.folder, |directory| {
            let _lock = self.repository.lock()?;
            if let Some(busy) = busy_in(&directory.folder.own) {
                let dir = directory.folder.dir.display().to_string();
                return Err(CheckpointError::InProgress(busy.to_string(), dir));
            }
            let undo = self.next_id();
            let before = undo_of(id, content, now, place.cloned());
            self.restore_in(directory, &target, undo, &before)
        })
    }

    /// As [`Checkpoints::restore_at`], for an agent that does not run: its place in the conversation is read from its
    /// log.
    ///
    /// # Errors
    /// As [`Checkpoints::restore_at`].
    pub fn restore(
        &self,
        id: CheckpointId,
        now: Timestamp,
    ) -> Result<RestoredFiles, CheckpointError> {
        let target = self.find(id)?;
        let place = self.place_on_disk(&target.content)?;
        self.restore_at(id, now, place.as_ref())
    }

    /// Records a checkpoint before only the conversation of an agent that does not run is rewound to `target`.
    ///
    /// # Errors
    /// As [`Checkpoints::record`].
    pub fn record_undo(
        &self,
        target: &Checkpoint,
        now: Timestamp,
    ) -> Result<Option<CheckpointId>, CheckpointError> {
        let place = self.place_on_disk(&target.content)?;
        self.record(&undo_of(target.id, &target.content, now, place))
    }

    fn place_on_disk(
        &self,
        content: &NewCheckpoint,
    ) -> Result<Option<ConversationPlace>, CheckpointError> {
        let log = TranscriptFile::open(&self.root, &content.session, &content.agent);
        Ok(log.place_at_end()?)
    }

    fn restore_in(
        &self,
        directory: &mut SnapshotDirectory,
        target: &StoredCheckpoint,
        undo: CheckpointId,
        before: &NewCheckpoint,
    ) -> Result<RestoredFiles, CheckpointError> {
        let repository = &self.repository;
        let reference = SnapshotRef::Checkpoint(undo);
        let taken = directory.snapshot(repository, reference, before, UnchangedFiles::Store)?;
        let meta = repository.meta(target.id)?;
        let from = repository.files_of(reference, undo)?;
        let to = repository.files_of(SnapshotRef::Checkpoint(target.id), target.id)?;
        let trees = RewindTrees {
            id: target.id,
            from: &from,
            to: &to,
            present: &taken.meta,
            target: &meta,
        };
        let plan = RewindPlan::between(repository, &trees)?;
        let contents = find_contents(repository, target.id, &plan.steps)?;
        let pending = PendingRewind {
            folder: before.folder.clone(),
            target: target.id,
            undo,
        };
        let path = repository.file(PENDING);
        atomic::write(
            &path,
            &serde_json::to_vec(&pending).map_err(StoreError::from)?,
        )?;
        let mut done = apply(repository, directory, &plan.steps, &contents, &meta);
        for path in &plan.left_alone {
            if taken.meta.is_skipped(path) || meta.is_skipped(path) {
                let path = super::files::shown(path);
                done.skipped.add(format!("{path}: it is not recorded"));
            }
        }
        fs::remove_file(&path).map_err(StoreError::at(&path))?;
        done.undo = Some(undo);
        Ok(done)
    }

    /// Finishes a rewind that was interrupted by a crash; does nothing if there is none. Files that have changed since
    /// are left alone. Called before anything else that uses checkpoints.
    ///
    /// # Errors
    /// When the rewind cannot be finished now, for example because another process uses the checkpoints; the next call
    /// tries again. [`CheckpointError::NotFinished`] if it can never be finished; further calls then succeed.
    pub fn finish_interrupted(&self) -> Result<Option<FinishedRewind>, CheckpointError> {
        let path = self.repository.file(PENDING);
        let Some(pending) = read_pending(&path)? else {
            return Ok(None);
        };
        match self.finish(&pending) {
            Err(error) if !may_pass(&error) => {
                atomic::set_aside(&path)?;
                Err(CheckpointError::NotFinished(
                    pending.undo,
                    error.to_string(),
                ))
            }
            Err(error) => Err(error),
            Ok(is_finished) => Ok(is_finished.then_some(FinishedRewind {
                target: pending.target,
                undo: pending.undo,
            })),
        }
    }

    /// Finishes a rewind. Returns false if it has ended meanwhile.
    fn finish(&self, pending: &PendingRewind) -> Result<bool, CheckpointError> {
        let path = self.repository.file(PENDING);
        let target = self.find_stored(pending.target)?;
        self.find_stored(pending.undo)?;
        self.with_directory(&pending.folder, |directory| {
            let repository = &self.repository;
            let _lock = repository.lock()?;
            // The rewind was running, and has ended meanwhile.
            if read_pending(&path)?.as_ref() != Some(pending) {
                return Ok(false);
            }
            let content = &target.message.content;
            let reference = SnapshotRef::Preview;
            let store = UnchangedFiles::Store;
            let now = directory.snapshot(repository, reference, content, store)?;
            let meta = repository.meta(target.id)?;
            let present = repository.files_of(reference, target.id)?;
            let tree_of = |id| repository.files_of(SnapshotRef::Checkpoint(id), id);
            let (before, after) = (tree_of(pending.undo)?, tree_of(pending.target)?);
            let between = |from: &str, to: &str| {
                let trees = RewindTrees {
                    id: pending.target,
                    from,
                    to,
                    present: &now.meta,
                    target: &meta,
                };
                RewindPlan::between(repository, &trees)
            };
            // A file that is neither as before the rewind nor as after it was changed by another program since.
            let paths = |plan: RewindPlan| plan.steps.into_iter().map(|step| step.path);
            let part_of_rewind: HashSet<Vec<u8>> = paths(between(&before, &after)?).collect();
            let changed_since: HashSet<Vec<u8>> = paths(between(&before, &present)?).collect();
            let mut plan = between(&present, &after)?;
            plan.steps.retain(|step| {
                part_of_rewind.contains(&step.path) && !changed_since.contains(&step.path)
            });
            let contents = find_contents(repository, target.id, &plan.steps)?;
            apply(repository, directory, &plan.steps, &contents, &meta);
            for path in now.meta.ignored.iter().filter(|path| is_temporary(path)) {
                // A file that cannot be deleted does no harm.
                let _ = fs::remove_file(directory.folder.dir.join(OsStr::from_bytes(path)));
            }
            fs::remove_file(&path).map_err(StoreError::at(&path))?;
            Ok(true)
        })
    }
}

/// Returns whether a file is one that a killed rewind has left behind.
fn is_temporary(path: &[u8]) -> bool {
    split(path).1.starts_with(TEMPORARY.as_bytes())
}

/// Reads the description of a rewind that has begun; `None` if there is none. Sets aside a file that is not one.
fn read_pending(path: &Path) -> Result<Option<PendingRewind>, CheckpointError> {
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let text = match regular_file::read(path, PENDING_MAX) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::at(path)(error).into()),
    };
    match serde_json::from_slice(&text) {
        Ok(pending) => Ok(Some(pending)),
        Err(_) => {
            atomic::set_aside(path)?;
            Ok(None)
        }
    }
}

/// Returns whether an error may be gone at the next try.
fn may_pass(error: &CheckpointError) -> bool {
    let git = match error {
        CheckpointError::Busy => return true,
        CheckpointError::Git(git) | CheckpointError::Store(StoreError::Git(git)) => git,
        _ => return false,
    };
    matches!(
        git,
        GitError::TimedOut(_) | GitError::Start(_) | GitError::Stopped(_) | GitError::Missing
    )
}

/// Returns the checkpoint that is recorded before a rewind to `target`. `place` is the present place in the
/// conversation; `None` if the conversation is empty.
fn undo_of(
    id: CheckpointId,
    target: &NewCheckpoint,
    now: Timestamp,
    place: Option<ConversationPlace>,
) -> NewCheckpoint {
    NewCheckpoint {
        at: now,
        reason: CheckpointReason::Rewind,
        label: target.undo_label(id),
        starts_conversation: target.has_conversation() && place.is_none(),
        place,
        ..target.clone()
    }
}
