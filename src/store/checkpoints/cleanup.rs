//! Removes old checkpoints, so that they need a bounded space.

use std::time::{Duration, SystemTime};

use super::error::CheckpointError;
use super::project::Checkpoints;
use super::repository::{CheckpointRepository, StoredCheckpoint};
use crate::domain::checkpoint::{CheckpointId, CheckpointLimits};
use crate::domain::timestamp::Timestamp;
use crate::store::{StoreError, atomic};

/// Maximum number of checkpoints. Older ones are removed.
const COUNT_MAX: usize = 2000;
/// The file whose age tells when old checkpoints were last removed.
const STAMP: &str = "cleaned";
/// Minimum time between two cleanups.
const INTERVAL: Duration = Duration::from_secs(600);
/// Number of objects that are not packed above which they are packed.
const LOOSE_MAX: u64 = 5000;

/// The result of a cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleanup {
    /// The size of the repository of checkpoints afterwards, in bytes.
    pub size: u64,
    /// Whether the size exceeds the limit although only the newest checkpoint is left.
    pub is_too_large: bool,
}

impl Checkpoints {
    /// Removes checkpoints that are too old, too many or need too much space, oldest first. The newest one is always
    /// kept. Does nothing and returns `None` if the last cleanup was less than ten minutes ago. Blocks.
    ///
    /// # Errors
    /// When git fails. A call after ten minutes tries again.
    pub fn clean_up(
        &self,
        limits: CheckpointLimits,
        now: Timestamp,
    ) -> Result<Option<Cleanup>, CheckpointError> {
        let stamp = self.repository.file(STAMP);
        let last = stamp.metadata().and_then(|meta| meta.modified());
        let age = last
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if !self.repository.exists() || age.is_some_and(|age| age < INTERVAL) {
            return Ok(None);
        }
        // Written first, so that a failure is not repeated at each checkpoint.
        atomic::write(&stamp, b"")?;
        self.remove_old(limits, now).map(Some)
    }

    /// As [`Checkpoints::clean_up`], at any time.
    pub(super) fn remove_old(
        &self,
        limits: CheckpointLimits,
        now: Timestamp,
    ) -> Result<Cleanup, CheckpointError> {
        let _lock = self.repository.lock()?;
        let all = self.repository.list()?;
        let is_old =
            |checkpoint: &StoredCheckpoint| now.since(checkpoint.message.content.at) > limits.keep;
        let kept = all.iter().take(COUNT_MAX);
        let mut kept = kept
            .take_while(|checkpoint| !is_old(checkpoint))
            .count()
            .max(1);
        let removed = all.get(kept..).unwrap_or_default();
        if !removed.is_empty() || self.repository.loose_objects() > LOOSE_MAX {
            self.remove(removed)?;
        }
        loop {
            let size = self.disk_use();
            if size <= limits.disk || kept <= 1 {
                let is_too_large = size > limits.disk;
                return Ok(Cleanup { size, is_too_large });
            }
            // The size of a single checkpoint is not known, because checkpoints share their contents.
            let fewer = kept / 2;
            self.remove(all.get(fewer..kept).unwrap_or_default())?;
            kept = fewer;
        }
    }

    fn remove(&self, checkpoints: &[StoredCheckpoint]) -> Result<(), CheckpointError> {
        for checkpoint in checkpoints {
            self.repository.delete(checkpoint.id)?;
        }
        self.repository.collect()
    }

    /// Returns the size of the repository of checkpoints in bytes; 0 if it cannot be determined.
    pub fn disk_use(&self) -> u64 {
        self.repository.size()
    }
}

impl CheckpointRepository {
    fn delete(&self, id: CheckpointId) -> Result<(), CheckpointError> {
        let path = self.ref_file(id);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::at(&path)(error).into())
            }
            _ => Ok(()),
        }
    }

    /// Deletes the objects that no checkpoint uses, and packs the others. Checkpoints that have lost objects are deleted
    /// if they prevent that. The caller holds the lock.
    fn collect(&self) -> Result<(), CheckpointError> {
        if self.repack().is_err() {
            for id in self.ids().into_iter().map(CheckpointId) {
                let name = format!("refs/checkpoints/{id}");
                let args = ["rev-list", "--objects", "--quiet", &name];
                if self.git().run(&args)?.code != 0 {
                    self.delete(id)?;
                }
            }
            // The preview may have lost objects too; the next one writes it again.
            self.git().run(&["update-ref", "-d", "refs/preview"])?;
            self.repack()?;
        }
        self.remove_crash_reports();
        Ok(())
    }

    fn repack(&self) -> Result<(), CheckpointError> {
        self.git().ok(&["repack", "-a", "-d", "-l", "--quiet"])?;
        self.git().ok(&["prune", "--expire=now"])?;
        Ok(())
    }

    /// Returns the number of objects that are not packed; 0 if it cannot be determined.
    fn loose_objects(&self) -> u64 {
        self.counted(&["count"])
    }

    fn size(&self) -> u64 {
        self.counted(&["size", "size-pack", "size-garbage"]) * 1024
    }

    /// Returns the sum of numbers that `git count-objects` prints under these names.
    fn counted(&self, names: &[&str]) -> u64 {
        let Ok(counted) = self.git().ok(&["count-objects", "-v"]) else {
            return 0;
        };
        let numbers = counted.lines().filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            names.contains(&name).then(|| value.parse::<u64>().ok())?
        });
        numbers.sum()
    }
}
