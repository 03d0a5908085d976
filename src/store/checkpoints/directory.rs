//! Takes snapshots of one work directory.

use std::collections::HashSet;
use std::mem;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;

use super::error::CheckpointError;
use super::files::{self, NoContent, is_foreign};
use super::known::{DiskFileState, KnownContent, KnownFiles, StoredContent};
use super::meta::CheckpointMeta;
use super::repository::{CheckpointMessage, CheckpointRepository, SnapshotRef, TreeChanges};
use super::rescan::{Rescan, ScanScope};
use super::scan::DirectoryScan;
use crate::domain::checkpoint::{CheckpointReason, NewCheckpoint};
use crate::store::WorkFolder;
use crate::store::git::{Git, GitError, is_hash};
use crate::store::regular_file;

/// Maximum size of all contents that one snapshot adds, in bytes.
const NEW_MAX: u64 = 512 * 1024 * 1024;
/// Maximum number of files that exist but are not in a snapshot. With more, no snapshot is taken.
const SKIPPED_MAX: usize = 10_000;
/// Time in seconds for which a file counts as recently written: longer than the resolution of time stamps on any common
/// file system.
const RECENT: i64 = 2;
/// Maximum size of `info/exclude`, in bytes.
const EXCLUDE_MAX: u64 = 1024 * 1024;
/// Maximum size of the lists of files that git prints, in bytes.
const LIST_MAX: usize = 256 * 1024 * 1024;
/// Maximum size of `HEAD` and of a ref, in bytes.
const HEAD_MAX: u64 = 4 * 1024;

/// A work directory and what its last snapshot contains.
pub struct SnapshotDirectory {
    pub folder: WorkFolder,
    top: OwnedFd,
    known: KnownFiles,
    rescan: Rescan,
    /// The tree of the last snapshot; `None` if it has no files.
    tree: Option<String>,
    /// The tree of the last checkpoint; differs from `tree` after a preview.
    checkpoint_tree: Option<String>,
    /// The commit whose files are known as tracked.
    tracked: Option<String>,
    /// Paths in `tree` that must not be in a snapshot. Empty after the first snapshot.
    foreign: Vec<Vec<u8>>,
}

/// The files of a work directory at one time, as stored in the repository.
#[derive(Debug, Clone)]
pub struct StoredSnapshot {
    pub meta: CheckpointMeta,
    /// Whether the snapshot was stored.
    pub is_stored: bool,
}

/// Whether a snapshot is stored if no file has changed since the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnchangedFiles {
    Store,
    Leave,
}

impl SnapshotDirectory {
    /// Opens a work directory. The files that are as in the last commit need not be read: git says which ones these
    /// are.
    pub fn open(folder: WorkFolder) -> Result<SnapshotDirectory, CheckpointError> {
        let top = open_top(&folder.dir)?;
        let mut directory = SnapshotDirectory {
            folder,
            top,
            known: KnownFiles::default(),
            rescan: Rescan::default(),
            tree: None,
            checkpoint_tree: None,
            tracked: None,
            foreign: Vec::new(),
        };
        directory.tracked = directory.head();
        // Without a usable commit, everything is read.
        if let Ok(Some((tree, listed))) = directory.committed() {
            directory.start_with(tree, &listed)?;
        }
        Ok(directory)
    }

    /// Reads the tree of the last commit; `None` if there is no commit. The files are a list of `MODE TYPE HASH
    /// SIZE<TAB>PATH`, each ending with a NUL byte.
    fn committed(&self) -> Result<Option<(String, Vec<u8>)>, GitError> {
        let git = self.git();
        let found = git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?;
        if found.code != 0 {
            return Ok(None);
        }
        let tree = found.out.trim().to_string();
        let listed = git.run_bytes(&["ls-tree", "-r", "-l", "-z", "HEAD"], LIST_MAX)?;
        Ok((listed.code == 0 && listed.lost == 0).then_some((tree, listed.out)))
    }

    fn start_with(&mut self, tree: String, listed: &[u8]) -> Result<(), CheckpointError> {
        let mut sizes = Vec::new();
        for line in listed.split(|byte| *byte == 0) {
            let Some(at) = line.iter().position(|byte| *byte == b'\t') else {
                continue;
            };
            let (facts, path) = (String::from_utf8_lossy(&line[..at]), &line[at + 1..]);
            let mut facts = facts.split_whitespace();
            let (mode, size) = (facts.next().unwrap_or_default(), facts.nth(2));
            if is_foreign(path) {
                self.foreign.push(path.to_vec());
                continue;
            }
            // The entry of a submodule stays in the tree.
            if mode == "160000" {
                self.known.submodules.insert(path.to_vec());
                continue;
            }
            let size = size.and_then(|size| size.parse::<u64>().ok());
            sizes.push((path, mode.to_string(), size));
            self.known.add_unknown(path);
        }
        self.known.sort();
        // The states must be older than git's comparison: a file that changes in between is then read again.
        let now = now_seconds();
        let found = self.scan(ScanScope::All)?;
        let Some(changed) = self.changed_since_commit()? else {
            self.known = KnownFiles::default();
            return Ok(());
        };
        let changed: HashSet<&[u8]> = changed.iter().map(Vec::as_slice).collect();
        for (path, mode, size) in sizes {
            // The content of no file is known yet, so the scan lists all of them.
            let at = found.changed.binary_search_by(|(p, _)| (**p).cmp(path));
            let Some((_, state)) = at.ok().and_then(|at| found.changed.get(at)) else {
                continue;
            };
            // A file of another size was converted at checkout, for example its line ends. Snapshots contain files as
            // they are on disk.
            let is_same = !changed.contains(path)
                && state.git_mode() == mode
                && (size == Some(state.size) || state.is_symlink());
            if is_same {
                self.known.set(path, stored(*state, now, None));
            }
        }
        self.tree = Some(tree);
        Ok(())
    }

    /// Returns the tracked files of which git does not know that they are as in the commit; `None` if git fails.
    fn changed_since_commit(&self) -> Result<Option<Vec<Vec<u8>>>, GitError> {
        let git = self.git();
        // The user can tell git to look at less than all of a file's state, also for single files.
        let strict = ["-c", "core.checkStat=default", "-c", "core.trustctime=true"];
        let args = [
            "diff-index",
            "--name-only",
            "-z",
            "--no-renames",
            "--ignore-submodules=all",
            "HEAD",
        ];
        let changed = git.run_bytes(&[&strict[..], &args].concat(), LIST_MAX)?;
        let marked = git.run_bytes(&["ls-files", "-v", "-z"], LIST_MAX)?;
        if changed.code != 0 || changed.lost > 0 || marked.code != 0 || marked.lost > 0 {
            return Ok(None);
        }
        let changed = changed.out.split(|byte| *byte == 0).map(Vec::from);
        // A lower-case character marks files that git assumes to be unchanged, `S` those that it skips.
        let is_marked = |line: &&[u8]| {
            let mark = line.first();
            mark.is_some_and(|mark| mark.is_ascii_lowercase() || *mark == b'S')
        };
        let marked = marked.out.split(|byte| *byte == 0).filter(is_marked);
        let marked = marked.filter_map(|line| line.get(2..)).map(Vec::from);
        Ok(Some(changed.chain(marked).collect()))
    }

    /// Returns a git that reads objects as they are.
    fn git(&self) -> Git {
        self.folder.git.without_fetching().without_replacements()
    }

    fn scan(&mut self, scope: ScanScope) -> Result<DirectoryScan, CheckpointError> {
        let exclude = self.folder.common.join("info/exclude");
        let exclude = regular_file::read(&exclude, EXCLUDE_MAX).unwrap_or_default();
        let patterns = vec![self.folder.user_patterns.clone(), exclude];
        #[cfg(test)]
        let rules = super::rules::IgnoreRules::new(&patterns);
        let found = self.rescan.scan(&self.top, &self.known, patterns, scope)?;
        // In tests, every scan of single folders is compared with one of all folders.
        #[cfg(test)]
        super::tests::assert_equal_scans(
            &found,
            super::scan::scan(&self.top, &self.known, rules, None)?,
        );
        Ok(found)
    }

    /// Stores the present files under `reference`. With [`UnchangedFiles::Leave`], stores nothing if no file has changed
    /// since the last checkpoint. The caller holds the lock of the repository.
    ///
    /// # Errors
    /// When too much has changed, a file cannot be written or git fails. What is known then stays as it was.
    pub fn snapshot(
        &mut self,
        repository: &CheckpointRepository,
        reference: SnapshotRef,
        content: &NewCheckpoint,
        unchanged: UnchangedFiles,
    ) -> Result<StoredSnapshot, CheckpointError> {
        match self.try_snapshot(repository, reference, content, unchanged) {
            // Objects of an earlier snapshot may have been removed, so it begins from the commit again.
            Err(CheckpointError::Git(GitError::Failed { .. })) => {
                *self = SnapshotDirectory::open(self.folder.clone())?;
                self.try_snapshot(repository, reference, content, unchanged)
            }
            taken => taken,
        }
    }

    fn try_snapshot(
        &mut self,
        repository: &CheckpointRepository,
        reference: SnapshotRef,
        content: &NewCheckpoint,
        unchanged: UnchangedFiles,
    ) -> Result<StoredSnapshot, CheckpointError> {
        self.open_top_again()?;
        let started = now_seconds();
        let head = self.head();
        // A rewind overwrites files, so it trusts no report.
        let scope = match (reference, content.reason) {
            (SnapshotRef::Checkpoint(_), CheckpointReason::Turn | CheckpointReason::Calls) => {
                ScanScope::Changed
            }
            (SnapshotRef::Checkpoint(_), CheckpointReason::Rewind) | (SnapshotRef::Preview, _) => {
                ScanScope::All
            }
        };
        if self.tracked != head {
            // A file that becomes a tracked one need not change.
            self.rescan.forget_last();
            self.track_files_of(head.as_deref());
        }
        let mut found = self.scan(scope)?;
        let mut meta = self.unrecorded(&mut found);
        let gone = found.gone;
        let mut changes = SnapshotChanges {
            repository,
            reference,
            message: CheckpointMessage {
                content: content.clone(),
                head,
            },
            base: self.tree.as_deref(),
            gone: &gone,
            foreign: &self.foreign,
            begun: None,
        };
        let differs = self.tree != self.checkpoint_tree;
        if !gone.is_empty() || differs || unchanged == UnchangedFiles::Store {
            changes.begin()?;
        }
        let mut size = 0;
        let mut updates = Vec::new();
        for (path, _) in found.changed {
            let before = self.known.find(&path).map(|file| &file.content);
            let was_in_tree = matches!(
                before,
                Some(KnownContent::Stored(_) | KnownContent::Unknown)
            );
            let update = match files::read(&self.top, &path) {
                Ok(content) => {
                    let hash = Box::new(files::hash(&content.bytes));
                    let mode = content.state.git_mode();
                    let is_same = matches!(before, Some(KnownContent::Stored(old))
                        if old.hash.as_ref() == Some(&hash) && old.state.git_mode() == mode);
                    if !is_same {
                        size += content.bytes.len() as u64;
                        if size > NEW_MAX {
                            return Err(CheckpointError::TooMuch(NEW_MAX / 1024 / 1024));
                        }
                        changes.begin()?.write(&path, mode, &content.bytes)?;
                    }
                    Some(stored(content.state, started, Some(hash)))
                }
                Err(why) => {
                    if was_in_tree {
                        changes.begin()?.delete(&path)?;
                    }
                    (why != NoContent::Gone).then_some(KnownContent::Skipped)
                }
            };
            updates.push((path, update));
        }
        let skipped = updates
            .iter()
            .filter(|(_, update)| matches!(update, Some(KnownContent::Skipped)));
        meta.skipped.extend(skipped.map(|(path, _)| path.clone()));
        meta.skipped.sort();
        if meta.skipped.len() > SKIPPED_MAX {
            return Err(CheckpointError::TooManySkipped(SKIPPED_MAX));
        }
        let begun = changes.begun.take();
        let is_stored = begun.is_some();
        if let Some(begun) = begun {
            self.tree = repository.commit(reference, begun, &meta)?;
            self.foreign = Vec::new();
            if matches!(reference, SnapshotRef::Checkpoint(_)) {
                self.checkpoint_tree.clone_from(&self.tree);
            }
        }
        for path in &gone {
            self.known.remove(path);
        }
        self.rescan.settle(&updates);
        for (path, update) in updates {
            match update {
                Some(content) => self.known.set(&path, content),
                None => self.known.remove(&path),
            }
        }
        Ok(StoredSnapshot { meta, is_stored })
    }

    /// Opens the work directory again, which may have been removed and created again at the same path.
    fn open_top_again(&mut self) -> Result<(), CheckpointError> {
        let top = open_top(&self.folder.dir)?;
        if !files::is_same(&self.top, &top) {
            // The watch belongs to the other one.
            self.rescan = Rescan::default();
        }
        self.top = top;
        Ok(())
    }

    /// Returns what a snapshot says about files that it does not contain. Removes those from the missing files that are only
    /// unknown: the ones below unreadable folders.
    fn unrecorded(&self, found: &mut DirectoryScan) -> CheckpointMeta {
        let mut meta = CheckpointMeta {
            private: mem::take(&mut found.private),
            ignored: mem::take(&mut found.ignored),
            skipped: mem::take(&mut found.unreadable),
            gone: Vec::new(),
        };
        found.gone.retain(|path| !meta.is_skipped(path));
        let gone = self.known.gone().chain(&found.gone);
        let mut gone: Vec<_> = gone
            .filter(|path| meta.was_ignored(path))
            .cloned()
            .collect();
        gone.sort();
        meta.gone = gone;
        meta
    }

    /// Marks the files as tracked that the commit `head` has added since the last snapshot. If git cannot list them, they
    /// count as not tracked, which matters only for files with an ignored name.
    fn track_files_of(&mut self, head: Option<&str>) {
        let Some(head) = head.filter(|head| self.tracked.as_deref() != Some(*head)) else {
            return;
        };
        let git = self.git();
        let listed = match &self.tracked {
            Some(old) => {
                let args = [
                    "diff-tree",
                    "-r",
                    "-z",
                    "--name-only",
                    "--no-renames",
                    "--diff-filter=A",
                ];
                git.run_bytes(&[&args[..], &[old, head]].concat(), LIST_MAX)
            }
            None => git.run_bytes(&["ls-tree", "-r", "-z", "--name-only", head], LIST_MAX),
        };
        let Ok(listed) = listed else {
            return;
        };
        let paths = listed.out.split(|byte| *byte == 0);
        for path in paths.filter(|path| !path.is_empty() && !is_foreign(path)) {
            self.known.track(path);
        }
        self.tracked = Some(head.to_string());
    }

    /// Returns the state of a file in the last snapshot; `None` if the snapshot does not contain the file.
    pub fn known_state(&self, path: &[u8]) -> Option<DiskFileState> {
        match &self.known.find(path)?.content {
            KnownContent::Stored(stored) => Some(stored.state),
            KnownContent::Skipped | KnownContent::Unknown | KnownContent::Gone => None,
        }
    }

    pub fn top(&self) -> &OwnedFd {
        &self.top
    }

    /// Returns the commit that is checked out; `None` if there is none or it cannot be determined.
    pub fn head(&self) -> Option<String> {
        let head = regular_file::read_text(&self.folder.own.join("HEAD"), HEAD_MAX).ok()?;
        let commit = match head.trim().strip_prefix("ref: ") {
            None => head,
            Some(branch) => regular_file::read_text(&self.folder.common.join(branch), HEAD_MAX)
                .ok()
                .or_else(|| {
                    self.folder
                        .git
                        .ok(&["rev-parse", "--verify", "--quiet", "HEAD"])
                        .ok()
                })?,
        };
        let commit = commit.trim().to_string();
        is_hash(&commit).then_some(commit)
    }
}

/// The changes of a snapshot. The input for git is written only if there are any.
struct SnapshotChanges<'a> {
    repository: &'a CheckpointRepository,
    reference: SnapshotRef,
    message: CheckpointMessage,
    base: Option<&'a str>,
    gone: &'a [Vec<u8>],
    foreign: &'a [Vec<u8>],
    begun: Option<TreeChanges>,
}

impl SnapshotChanges<'_> {
    /// Returns the changes after the deletion of the files that are gone, which must come first: a folder can have
    /// taken the place of a file, and a file that of a folder.
    fn begin(&mut self) -> Result<&mut TreeChanges, CheckpointError> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let mut begun = self
                    .repository
                    .begin(self.reference, &self.message, self.base)?;
                for path in self.foreign.iter().chain(self.gone) {
                    begun.delete(path)?;
                }
                begun
            }
        };
        Ok(self.begun.insert(begun))
    }
}

fn stored(state: DiskFileState, read_at: i64, hash: Option<Box<[u8; 32]>>) -> KnownContent {
    KnownContent::Stored(StoredContent {
        is_recent: state.latest() >= read_at - RECENT,
        state,
        hash,
    })
}

fn now_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

fn open_top(dir: &Path) -> Result<OwnedFd, CheckpointError> {
    files::open_top(dir).map_err(|error| match error {
        Errno::NOENT | Errno::NOTDIR => CheckpointError::NoFolder(dir.display().to_string()),
        error => CheckpointError::read(b"", error),
    })
}
