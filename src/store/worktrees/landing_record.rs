//! The record of a landing in progress, `.worktrees/landing.json`, and what happens with it after `kill -9`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::OpenRegistry;
use super::interrupted_merge::{self, FastForward};
use super::landing::MergeCheck;
use super::log::LogEntry;
use super::train::TrainBranch;
use crate::domain::text::{join_names, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{GitOperation, Worktree, WorktreeError, WorktreeName, WorktreePhase};
use crate::store::git::{commit_of, is_hash, locks};
use crate::store::{StoreError, atomic, regular_file};

/// Tag of the log entry that is written before branches land.
pub(super) const LAND: &str = "train.land.before";
/// Maximum size of the record, in bytes.
const RECORD_MAX: u64 = 256 * 1024;
/// Maximum number of files that are listed in a message.
const LISTED_MAX: usize = 5;

/// A branch that lands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LandingBranch {
    pub name: WorktreeName,
    pub tip: String,
    /// The merge commit.
    pub commit: String,
}

/// A landing in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LandingRecord {
    /// The base branch.
    pub into: String,
    /// The commit of the base branch before.
    pub before: String,
    /// The commit that is merged into the base branch.
    pub commit: String,
    /// The git tree of `commit`, on which the checks were green.
    pub tree: String,
    /// Whether `commit` gets a merge commit of its own, so that the user's hooks run. Otherwise the base branch is moved
    /// to `commit`.
    pub is_merged: bool,
    pub branches: Vec<LandingBranch>,
}

fn path_in(dir: &Path) -> PathBuf {
    dir.join("landing.json")
}

/// Returns whether a landing is in progress or was interrupted. `dir` is the worktrees folder.
pub fn has_landing(dir: &Path) -> bool {
    path_in(dir).exists()
}

impl LandingRecord {
    /// Writes the record.
    pub fn save(&self, dir: &Path) -> Result<(), StoreError> {
        atomic::write(&path_in(dir), &serde_json::to_vec_pretty(self)?)
    }

    /// Reads the record; `None` if there is none. A record that cannot be used counts as none: it is written completely
    /// or not at all, so another program has changed it.
    fn read(dir: &Path) -> Option<LandingRecord> {
        let bytes = regular_file::read(&path_in(dir), RECORD_MAX).ok()?;
        let record: LandingRecord = serde_json::from_slice(&bytes).ok()?;
        let hashes = [&record.before, &record.commit, &record.tree];
        hashes.iter().all(|hash| is_hash(hash)).then_some(record)
    }
}

/// Deletes the record. A missing record is no error.
pub(super) fn remove_record(dir: &Path) -> Result<(), StoreError> {
    let path = path_in(dir);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::at(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl OpenRegistry {
    /// Recovers an interrupted landing before the next change to the base branch. First removes the lock files of killed
    /// git processes. Returns what was done, as [`OpenRegistry::recover_landing`]. Fails if a lock file has to stay.
    pub(super) fn recover_landing_first(
        &mut self,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        if !has_landing(&self.dir) {
            return Ok(None);
        }
        let steps = self.log.interrupted_starts()?;
        let (_, stay) = locks::clear(&self.repo.root, self.repo.common(), &steps);
        if let Some((lock, holder)) = stay.first() {
            let why = format!("the lock file {} exists: {holder}", lock.display());
            let branch = "the merge train".into();
            return Err(WorktreeError::NotMerged { branch, why }.into());
        }
        self.recover_landing(now)
    }

    /// Records an interrupted landing if the base branch has its commit, else undoes what git has written to the main
    /// worktree. Keeps the user's changes, and any operation that the user has started since. Returns a line for the
    /// report, or `None` if there is nothing to report.
    pub(super) fn recover_landing(&mut self, now: Timestamp) -> Result<Option<String>, StoreError> {
        let Some(record) = LandingRecord::read(&self.dir) else {
            remove_record(&self.dir)?;
            return Ok(None);
        };
        let into = &record.into;
        let git = self.repo.git.clone();
        let current = self.repo.branch(into)?;
        let merging = commit_of(&git, "MERGE_HEAD")?;
        if let Some(current) = &current
            && git.succeeds(&["merge-base", "--is-ancestor", &record.commit, current])?
        {
            if merging.as_deref() == Some(&record.commit) {
                // The merge commit exists; only the state files of the merge are left.
                git.ok(&["merge", "--quit"])?;
            }
            let check = if record.is_merged {
                self.take_back_unchecked(&record, current)?
            } else {
                MergeCheck::Checked
            };
            if matches!(check, MergeCheck::Kept(_)) {
                self.record_unchecked(&record)?;
            }
            let failed = match check {
                MergeCheck::Checked => None,
                MergeCheck::TakenBack(why) => Some(format!(
                    "took back the interrupted landing of the merge train on {into}: {why}"
                )),
                MergeCheck::Kept(why) => Some(format!(
                    "the interrupted landing of the merge train on {into} was not taken back: {why}"
                )),
            };
            if let Some(line) = failed {
                let entry = LogEntry::of("train.land.failed", &self.train_entry()?);
                self.log.record(entry.error(&line), now)?;
                remove_record(&self.dir)?;
                return Ok(Some(line));
            }
            self.record_landed(&record, now)?;
            return Ok(Some(format!(
                "recorded that the merge train has landed on {into}"
            )));
        }
        let line = self.undo_landing(&record, merging.as_deref())?;
        let entry = LogEntry::of("train.land.failed", &self.train_entry()?);
        self.log.record(entry.error("git was killed"), now)?;
        remove_record(&self.dir)?;
        Ok(line)
    }

    /// Undoes what a landing that did not move the base branch has written to the main worktree.
    fn undo_landing(
        &self,
        record: &LandingRecord,
        merging: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        let git = &self.repo.git;
        let head = self.repo.head()?;
        if head.branch.as_deref() != Some(&record.into) {
            // Only the main worktree with the base branch is ever written.
            return Ok(None);
        }
        let is_other = match self.repo.busy() {
            None => false,
            Some(GitOperation::Merge) => {
                !record.is_merged || merging.is_some_and(|merging| merging != record.commit)
            }
            Some(_) => true,
        };
        if is_other || head.commit != record.before {
            let changed = git.ok(&["status", "--porcelain=v1", "--ignore-submodules=all"])?;
            return Ok((!changed.is_empty()).then(|| {
                format!(
                    "the merge train was interrupted while it landed on {}, and something else was started there since then. Uncommitted files were kept: run git status to see them",
                    record.into
                )
            }));
        }
        let fast_forward = if record.is_merged {
            FastForward::Never
        } else {
            FastForward::Possible
        };
        let (root, own) = (&self.repo.root, self.repo.git_dir());
        let kept = interrupted_merge::undo(git, root, own, &record.commit, fast_forward)?;
        let mut line = format!(
            "undid the interrupted landing of the merge train on {}",
            record.into
        );
        if !kept.is_empty() {
            let shown = kept.iter().take(LISTED_MAX).map(|file| one_line(file));
            let shown = join_names(&shown.collect::<Vec<_>>(), LISTED_MAX, kept.len());
            line.push_str(&format!("; your changes were kept: {shown}"));
        }
        Ok(Some(line))
    }

    /// Records that the branches of a landing were merged with content that no check has seen.
    pub(super) fn record_unchecked(&mut self, record: &LandingRecord) -> Result<(), StoreError> {
        for branch in &record.branches {
            if self.index.get(&branch.name).is_some() {
                let change = |tree: &mut Worktree| tree.phase = WorktreePhase::MergedUnchecked;
                self.index.change(&branch.name, change)?;
            }
        }
        self.save()
    }

    /// Records that the branches of a landing are merged, and that the landing has ended.
    pub(super) fn record_landed(
        &mut self,
        record: &LandingRecord,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for branch in &record.branches {
            // The worktree may have been removed meanwhile, and the branch may have new commits, which did not land.
            let tip = self.repo.branch(&branch.name.branch())?;
            if self.index.get(&branch.name).is_some() && tip.as_ref() == Some(&branch.tip) {
                let change = |tree: &mut Worktree| {
                    tree.mark_merged(&branch.commit, now);
                };
                let tree = self.index.change(&branch.name, change)?;
                let entry = LogEntry::of("worktree.merge.after", &tree);
                self.log.record(entry, now)?;
            }
        }
        self.save()?;
        let entry = LogEntry::of("train.land.after", &self.train_entry()?);
        self.log.record(entry.head(&record.commit), now)?;
        remove_record(&self.dir)
    }
}

impl LandingBranch {
    pub fn of(branch: &TrainBranch, commit: &str) -> LandingBranch {
        LandingBranch {
            name: branch.name.clone(),
            tip: branch.tip.clone(),
            commit: commit.into(),
        }
    }
}
