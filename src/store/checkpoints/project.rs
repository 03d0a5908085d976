//! The checkpoints of a project: recording, listing and comparing them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::directory::{SnapshotDirectory, UnchangedFiles};
use super::error::CheckpointError;
use super::plan::preview;
use super::repository::{CheckpointRepository, SnapshotRef, StoredCheckpoint};

use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, CheckpointReason, NewCheckpoint, RewindPreview,
};
use crate::domain::worktree::WorktreeError;
use crate::store::{StoreError, Worktrees};

/// Maximum number of checkpoint numbers that an error lists.
const NAMED_MAX: usize = 5;
/// Number of work directories from which on those are forgotten that are not in use.
const DIRECTORIES_MAX: usize = 8;

/// The work directories of which this process has taken snapshots, by path. `None` before the first snapshot.
type Directories = HashMap<PathBuf, Arc<Mutex<Option<SnapshotDirectory>>>>;

/// The checkpoints of a project. Clones share what they know about the work directories.
#[derive(Clone)]
pub struct Checkpoints {
    pub(super) root: PathBuf,
    worktrees: Worktrees,
    pub(super) repository: CheckpointRepository,
    directories: Arc<Mutex<Directories>>,
}

impl Checkpoints {
    /// Returns the checkpoints of the project in `root`. Accesses no file.
    pub fn open(root: &Path) -> Checkpoints {
        Checkpoints {
            root: root.to_path_buf(),
            worktrees: Worktrees::open(root),
            repository: CheckpointRepository::of(root),
            directories: Arc::default(),
        }
    }

    /// Checks that checkpoints can be recorded in this project.
    ///
    /// # Errors
    /// When the root is not the top folder of a git repository, or git cannot be used.
    pub fn check(&self) -> Result<(), CheckpointError> {
        self.worktrees.repository()?;
        Ok(())
    }

    /// Returns all checkpoints, newest first.
    ///
    /// # Errors
    /// When git fails.
    pub fn list(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        let all = self.repository.list()?.into_iter();
        Ok(all.map(StoredCheckpoint::into_checkpoint).collect())
    }

    /// Returns a checkpoint.
    ///
    /// # Errors
    /// When there is no checkpoint with this number; the error names the newest ones. Also when git fails.
    pub fn find(&self, id: CheckpointId) -> Result<Checkpoint, CheckpointError> {
        self.find_stored(id).map(StoredCheckpoint::into_checkpoint)
    }

    pub(super) fn find_stored(
        &self,
        id: CheckpointId,
    ) -> Result<StoredCheckpoint, CheckpointError> {
        let all = self.repository.list()?;
        let newest: Vec<String> = all
            .iter()
            .take(NAMED_MAX)
            .map(|c| c.id.to_string())
            .collect();
        let hint = match &newest[..] {
            [] => "none has been recorded yet".to_string(),
            newest => format!("the newest ones are {}", newest.join(", ")),
        };
        let found = all.into_iter().find(|checkpoint| checkpoint.id == id);
        found.ok_or(CheckpointError::NotFound(id, hint))
    }

    /// Records a checkpoint of the folder that `new` names. A checkpoint before later calls of a turn
    /// ([`CheckpointReason::Calls`]) is recorded only if a file has changed since the last checkpoint of the folder. Blocks.
    ///
    /// # Errors
    /// When the project is not a git repository, too much has changed, or git fails.
    pub fn record(&self, new: &NewCheckpoint) -> Result<Option<CheckpointId>, CheckpointError> {
        let unchanged = match new.reason {
            CheckpointReason::Calls => UnchangedFiles::Leave,
            CheckpointReason::Turn | CheckpointReason::Rewind => UnchangedFiles::Store,
        };
        self.finish_interrupted()?;
        self.with_directory(&new.folder, |directory| {
            let _lock = self.repository.lock()?;
            let id = self.next_id();
            let reference = SnapshotRef::Checkpoint(id);
            let taken = directory.snapshot(&self.repository, reference, new, unchanged)?;
            Ok(taken.is_stored.then_some(id))
        })
    }

    /// Returns what a rewind of the files to a checkpoint would change. Changes no file, except that it finishes a rewind
    /// that was interrupted by a crash.
    ///
    /// # Errors
    /// As [`Checkpoints::restore`].
    pub fn preview(&self, id: CheckpointId) -> Result<RewindPreview, CheckpointError> {
        let target = self.find_stored(id)?;
        self.finish_interrupted()?;
        self.with_directory(&target.message.content.folder, |directory| {
            let _lock = self.repository.lock()?;
            preview(&self.repository, directory, &target)
        })
    }

    /// Returns the next unused number. The caller holds the lock of the repository. Numbers are not reused, because the
    /// checkpoint with the highest number is never removed.
    pub(super) fn next_id(&self) -> CheckpointId {
        CheckpointId(self.repository.ids().into_iter().max().unwrap_or(0) + 1)
    }

    /// Runs `work` with the work directory `folder`, a path relative to the root.
    pub(super) fn with_directory<T>(
        &self,
        folder: &str,
        work: impl FnOnce(&mut SnapshotDirectory) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        let dir = self.dir_of(folder);
        let entry = self.entry_of(&dir);
        let mut slot = entry.lock().unwrap_or_else(PoisonError::into_inner);
        // The user may have deleted all checkpoints.
        if !self.repository.exists() {
            *slot = None;
        }
        let directory = match &mut *slot {
            Some(directory) => directory,
            none => {
                self.repository.prepare(&self.worktrees.repository()?)?;
                let folder = match self.worktrees.work_folder(&dir) {
                    Err(StoreError::Worktree(
                        WorktreeError::Missing(_) | WorktreeError::NoWorkFolder(_),
                    )) => return Err(CheckpointError::NoFolder(dir.display().to_string())),
                    folder => folder?,
                };
                none.insert(SnapshotDirectory::open(folder)?)
            }
        };
        work(directory)
    }

    /// Returns the entry of a work directory. Forgets other directories that are not in use if there are too many, because
    /// each one can know many files.
    fn entry_of(&self, dir: &Path) -> Arc<Mutex<Option<SnapshotDirectory>>> {
        let mut all = self.directories();
        if !all.contains_key(dir) && all.len() >= DIRECTORIES_MAX {
            all.retain(|_, entry| Arc::strong_count(entry) > 1);
        }
        Arc::clone(all.entry(dir.to_path_buf()).or_default())
    }

    /// Returns the path of a work directory that is given relative to the root; `.` and an empty text are the root.
    fn dir_of(&self, folder: &str) -> PathBuf {
        match folder {
            "" | "." => self.root.clone(),
            folder => self.root.join(folder),
        }
    }

    fn directories(&self) -> MutexGuard<'_, Directories> {
        self.directories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
