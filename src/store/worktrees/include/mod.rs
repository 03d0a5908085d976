//! Copies untracked files of the root, such as `.env.local`, into new worktrees: those that the file `.worktreeinclude`
//! lists.
//!
//! The file in the root's work directory counts, as it is on disk, whether it is committed or not. The files of that name
//! in worktrees, which agents can change, are never read.
//!
//! The registry marks a worktree whose files are not copied yet. If crewdeck is killed, the next start copies the missing
//! files (`repair.rs`).

pub(super) mod copy;
pub(super) mod excludes;
pub(super) mod patterns;
mod search;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::OpenRegistry;
use super::log::LogEntry;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{FolderState, INCLUDE_FILE, IncludedFiles, WorktreeName};
use crate::store::{StoreError, os_errors};
use copy::{CopyOutcome, FileCopier};
use patterns::IncludePatterns;
use search::UntrackedFile;

pub(super) use patterns::is_there;

/// Maximum number of files that are copied into one worktree.
const COPIED_MAX: usize = 10_000;
/// Maximum size of the files that are copied into one worktree, together, in bytes.
const SIZE_MAX: u64 = 512 * 1024 * 1024;

/// Why files are left out of a worktree.
const TOO_MANY: &str = "more than 10,000 files";
const TOO_LARGE: &str = "more than 512 MiB in total";

impl OpenRegistry {
    /// Copies the files that `.worktreeinclude` lists into the worktree `name`, and records in the registry that this is
    /// done. Never replaces a file. Without `.worktreeinclude`, copies nothing. What cannot be copied is no error, but
    /// part of the result.
    ///
    /// # Errors
    /// When the log or the registry cannot be written.
    pub(super) fn copy_included(
        &mut self,
        name: &WorktreeName,
        now: Timestamp,
    ) -> Result<IncludedFiles, StoreError> {
        let mut report = IncludedFiles::default();
        match patterns::read(&self.repo.root) {
            None => {}
            Some(Err(why)) => report.problems.push(why),
            Some(Ok(mut patterns)) => {
                report.problems.append(&mut patterns.problems);
                let tree = self.entry_of(name);
                let begin = LogEntry::of("worktree.include.before", &tree);
                self.log.record(begin, now)?;
                if let Err(why) = self.copy_matching(name, &patterns, &mut report) {
                    let why = format!("{INCLUDE_FILE} is not used for worktree {name}: {why}");
                    report.problems.push(why);
                }
                let end = LogEntry::of("worktree.include.after", &tree).files(&report.names);
                self.log.record(end, now)?;
            }
        }
        if self
            .index
            .get(name)
            .is_some_and(|tree| tree.include_pending)
        {
            self.index
                .change(name, |tree| tree.include_pending = false)?;
            self.save()?;
        }
        Ok(report)
    }

    /// Copies the files that `.worktreeinclude` lists into `dir`, a checkout outside of the registry. Leaves out what
    /// cannot be copied. `scratch` is a folder on the same file system.
    ///
    /// # Errors
    /// When the files cannot be listed, or a folder cannot be opened.
    pub(super) fn copy_included_to(&self, dir: &Path, scratch: &Path) -> Result<(), StoreError> {
        let Some(Ok(patterns)) = patterns::read(&self.repo.root) else {
            return Ok(());
        };
        let (git, root) = (&self.repo.git, &self.repo.root);
        let mut report = IncludedFiles::default();
        let mut files = search::find(git, root, &patterns, &mut report)?;
        let copier = FileCopier::open(root, dir, scratch).map_err(StoreError::at(dir))?;
        files.retain(|file| !copier.exists(&file.path));
        let (files, room) = within_limits(files, &mut report);
        copy_all(&copier, &files, room, &mut report);
        Ok(())
    }

    /// Copies the files that `patterns` match and that do not exist in the worktree. Fails if the files cannot be listed,
    /// or git cannot be made to ignore them in the worktree; nothing is copied then.
    fn copy_matching(
        &self,
        name: &WorktreeName,
        patterns: &IncludePatterns,
        report: &mut IncludedFiles,
    ) -> Result<(), StoreError> {
        let tree = self.folder(name);
        if tree.on_disk != FolderState::Whole {
            return Ok(());
        }
        let (git, root) = (&self.repo.git, &self.repo.root);
        let mut files = search::find(git, root, patterns, report)?;
        if files.is_empty() {
            return Ok(());
        }
        let copier = FileCopier::open(root, &tree.dir, &self.dir);
        let copier = copier.map_err(StoreError::at(&tree.dir))?;
        files.retain(|file| !copier.exists(&file.path));
        let (files, room) = within_limits(files, report);
        if files.is_empty() {
            return Ok(());
        }
        let excludes = excludes::path_of(&self.dir, name);
        let paths = files.iter().map(|file| file.path.as_path());
        excludes::write(&excludes, git, root, paths)?;
        copy_all(&copier, &files, room, report);
        Ok(())
    }

    /// Returns the file with which git ignores the files that were copied into the worktree `name`; `None` if none were
    /// copied.
    pub(super) fn excludes_of(&self, name: &WorktreeName) -> Option<PathBuf> {
        let path = excludes::path_of(&self.dir, name);
        path.is_file().then_some(path)
    }

    /// Deletes the file of [`OpenRegistry::excludes_of`] of a worktree that does not exist.
    pub(super) fn remove_excludes(&self, name: &WorktreeName) {
        excludes::remove(&excludes::path_of(&self.dir, name));
    }
}

/// Returns the files within the limits of one worktree, first those that are least deep in folders, and the number of
/// bytes below the limit of their size. Adds the other files to `report`.
fn within_limits(
    mut files: Vec<UntrackedFile>,
    report: &mut IncludedFiles,
) -> (Vec<UntrackedFile>, u64) {
    files.sort_by_cached_key(|file| (file.path.iter().count(), file.path.clone()));
    let mut room = SIZE_MAX;
    let mut chosen = Vec::new();
    for file in files {
        let why = if chosen.len() == COPIED_MAX {
            Some(TOO_MANY)
        } else if file.size > room {
            Some(TOO_LARGE)
        } else {
            None
        };
        if let Some(why) = why {
            report.leave_out(&file.path.to_string_lossy(), why);
        } else {
            room -= file.size;
            chosen.push(file);
        }
    }
    (chosen, room)
}

/// Copies files, and adds each one to `report`. Files that have grown may take `room` more bytes in total.
fn copy_all(
    copier: &FileCopier,
    files: &[UntrackedFile],
    mut room: u64,
    report: &mut IncludedFiles,
) {
    let mut full: Option<String> = None;
    for file in files {
        let shown = file.path.to_string_lossy();
        if let Some(why) = &full {
            report.leave_out(&shown, why);
            continue;
        }
        let max = file.size + room;
        match copier.copy(&file.path, max) {
            Ok(CopyOutcome::Copied(size)) => {
                room = max - size;
                report.add(&shown);
            }
            Ok(CopyOutcome::Exists) => {}
            // The file was removed in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let why = os_errors::explain(&error);
                report.leave_out(&shown, &why);
                if matches!(
                    error.kind(),
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded
                ) {
                    full = Some(why);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn file(path: &str, size: u64) -> UntrackedFile {
        UntrackedFile {
            path: path.into(),
            size,
        }
    }

    #[test]
    fn files_above_the_size_limit_are_left_out_and_smaller_ones_fill_the_rest() {
        let mut report = IncludedFiles::default();
        let files = vec![
            file("deep/a/b", 1),
            file("z", SIZE_MAX - 10),
            file("b", 10),
            file("deep/c", 11),
            file("deep/d", 0),
        ];
        let (chosen, room) = within_limits(files, &mut report);
        let paths: Vec<&str> = chosen.iter().filter_map(|f| f.path.to_str()).collect();
        assert_eq!((paths, room), (vec!["b", "z", "deep/d"], 0));
        let warning = report.warnings().remove(0);
        assert!(
            warning.ends_with("deep/c, deep/a/b (more than 512 MiB in total)."),
            "{warning}"
        );
    }

    #[test]
    fn files_above_the_number_limit_are_left_out() {
        let mut report = IncludedFiles::default();
        let files = (0..COPIED_MAX + 3).map(|n| file(&format!("{n:05}"), 1));
        let (chosen, room) = within_limits(files.collect(), &mut report);
        assert_eq!((chosen.len(), room), (COPIED_MAX, SIZE_MAX - 10_000));
        let warning = report.warnings().remove(0);
        assert!(
            warning.ends_with("10000, 10001, 10002 (more than 10,000 files)."),
            "{warning}"
        );
    }
}
