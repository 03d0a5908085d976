//! Removes old checkpoints, so that they need a bounded space.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::CheckpointError;
use super::project::Checkpoints;
use super::repository::{CheckpointRepository, DURABLE, StoredCheckpoint};
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
/// Number of packs above which they are combined. Each checkpoint writes one, and git looks for an object in all of them.
const PACKS_MAX: u64 = 50;
/// Age above which a temporary file is no longer in use.
const LEFTOVER_AGE: Duration = Duration::from_secs(3600);

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
        self.repository.remove_leftovers();
        let mut is_collected = !removed.is_empty();
        if is_collected {
            self.remove(removed)?;
        } else if self.repository.is_scattered() {
            self.repository.combine_packs()?;
        }
        loop {
            let size = self.disk_use();
            if size <= limits.disk || kept <= 1 {
                let is_too_large = size > limits.disk;
                return Ok(Cleanup { size, is_too_large });
            }
            // Objects that no checkpoint uses, as those of previews, go before a checkpoint does.
            if !is_collected {
                self.repository.collect()?;
                is_collected = true;
                continue;
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
        Ok(())
    }

    fn repack(&self) -> Result<(), CheckpointError> {
        let args = ["repack", "-a", "-d", "-l", "--quiet"];
        self.git().ok(&[&DURABLE[..], &args].concat())?;
        self.git().ok(&["prune", "--expire=now"])?;
        Ok(())
    }

    /// Combines small packs, so that similar folders are stored as differences. Large packs stay as they are, so the
    /// time does not grow with the size of the repository. The caller holds the lock.
    fn combine_packs(&self) -> Result<(), CheckpointError> {
        let args = ["repack", "--geometric=2", "-d", "-l", "--quiet"];
        match self.git().ok(&[&DURABLE[..], &args].concat()) {
            Ok(_) => Ok(()),
            // An object is missing, or git is older than 2.32.
            Err(_) => self.collect(),
        }
    }

    /// Returns whether the objects are in so many files that git becomes slow.
    fn is_scattered(&self) -> bool {
        self.counted(&["count"]) > LOOSE_MAX || self.counted(&["packs"]) > PACKS_MAX
    }

    /// Deletes what a `git fast-import` leaves behind that failed or was killed: reports, parts of packs, and marks that
    /// would keep a pack forever.
    fn remove_leftovers(&self) {
        let is_report = |name: &str| name.starts_with("fast_import_crash_");
        let is_kept = |name: &str| Path::new(name).extension().is_some_and(|e| e == "keep");
        let is_part = |name: &str| name.starts_with("tmp_") || is_kept(name);
        remove_old_files(&self.dir(), is_report);
        remove_old_files(&self.dir().join("objects/pack"), is_part);
    }

    fn size(&self) -> u64 {
        // Not `size-garbage`: it includes what a `git gc` is just writing in the project's repository.
        self.counted(&["size", "size-pack"]) * 1024
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

/// Deletes the files in `folder` whose name is `wanted` and that are older than [`LEFTOVER_AGE`].
fn remove_old_files(folder: &Path, wanted: impl Fn(&str) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        let is_old = age.is_some_and(|age| age > LEFTOVER_AGE);
        if is_old && entry.file_name().to_str().is_some_and(&wanted) {
            // A file that cannot be deleted does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
