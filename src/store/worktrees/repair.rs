//! Repairs what killed git processes left in the repository (see `debris.rs`). Never deletes content that git did not
//! write; such content is reported.

use std::fs;
use std::path::{Path, PathBuf};

use super::debris::{CREATE, Debris, RepoPaths, is_empty_worktree};
use super::include;
use super::interrupted_merge::{self, FastForward, is_prefix_of_blob};
use super::log::LogEntry;
use super::nested_repos::split_nul;
use super::{OpenRegistry, Worktrees};
use crate::domain::text::{join_names, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    FolderState, GitOperation, RemovalMode, Worktree, WorktreeError, WorktreeName,
};
use crate::process::history;
use crate::store::git::locks;
use crate::store::git::{Git, busy_in, commit_of, is_hash};
use crate::store::{StoreError, regular_file};

/// Maximum number of files that are listed in a message.
const LISTED_MAX: usize = 5;
/// Maximum size in bytes of a file in which git keeps the state of a merge.
const STATE_MAX: u64 = 1024 * 1024;
/// The name of the temporary index file with which the files of an incomplete worktree are compared.
const COMPARE_INDEX: &str = "index.crewdeck";

impl Worktrees {
    /// Repairs the state that killed git processes have left: lock files that no process holds, incomplete worktrees,
    /// interrupted merges and removals. Returns one line for each repair, and one with the reason for each thing that
    /// was not repaired. Waits up to four seconds while git runs in the repository, and without a limit for the worktree
    /// lock. Runs no git if there is nothing to repair.
    ///
    /// # Errors
    /// When the registry cannot be read or written, or git fails.
    pub fn repair(&self, now: Timestamp) -> Result<Vec<String>, StoreError> {
        let Some(paths) = self.paths() else {
            return Ok(Vec::new());
        };
        let mut report = Vec::new();
        let removed_line = |lock: &PathBuf| format!("removed {}", Debris::Lock(paths.below(lock)));
        if !locks::lock_files(&paths.common).is_empty() {
            let interrupted = paths.interrupted_starts()?;
            let (removed, stay) = locks::clear(&paths.root, &paths.common, &interrupted);
            report.extend(removed.iter().map(removed_line));
            for (lock, holder) in stay {
                let lock = paths.below(&lock);
                report.push(format!("{} was kept: {holder}", lock.display()));
            }
        }
        let private = history::remove_stale_locks(&paths.own, &paths.common);
        report.extend(private.iter().map(removed_line));
        if paths.debris_except_locks()?.is_empty() {
            return Ok(report);
        }
        let removals = {
            let mut work = self.begin_change()?;
            work.repair(&paths, now, &mut report)?
        };
        for name in removals {
            match self.remove(&name, RemovalMode::OnlyIfSafe, now) {
                Ok(_) => report.push(format!("finished the removal of worktree {name}")),
                Err(StoreError::Worktree(why)) => {
                    let why = why.to_string();
                    let what = format!("worktree {name} was not removed");
                    let is_named = why.starts_with(&what);
                    report.push(if is_named {
                        why
                    } else {
                        format!("{what}: {why}")
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(report)
    }
}

impl OpenRegistry {
    /// Repairs everything except lock files and interrupted removals, and adds a line for each repair to `report`.
    /// Returns the worktrees whose removal was interrupted.
    fn repair(
        &mut self,
        paths: &RepoPaths,
        now: Timestamp,
        report: &mut Vec<String>,
    ) -> Result<Vec<WorktreeName>, StoreError> {
        for debris in paths.debris_except_locks()? {
            if let Debris::Incomplete(name) = debris {
                report.extend(self.remove_or_complete(paths, &name)?);
            }
        }
        // Searches again, because a completed worktree may still lack the work of its task's blockers, and a removed
        // worktree leaves a branch.
        let mut removals = Vec::new();
        for debris in paths.debris_except_locks()? {
            match debris {
                Debris::Lock(_)
                | Debris::InvisibleLock(_)
                | Debris::Incomplete(_)
                | Debris::MissingFiles(_) => {}
                Debris::Unlinked(name) => report.push(format!(
                    ".worktrees/{name} was kept: it is incomplete and holds files that git does not track. Move it away, then run crewdeck doctor --mend"
                )),
                Debris::MissingWork(name) => report.extend(self.undo_interrupted_start(&name, now)?),
                Debris::Merge(name) => report.extend(self.undo_interrupted_merge(&name, now)?),
                Debris::Landing => report.extend(self.recover_landing(now)?),
                Debris::Checkouts => {
                    let deleted = self.delete_stale_checkouts();
                    report.push(format!("deleted checkouts of interrupted checks: {deleted}"));
                }
                Debris::Removal(name) => removals.push(name),
                Debris::Branch(name) => report.extend(self.delete_unused_branch(&name, now)?),
            }
        }
        // Last, because an interrupted creation may have ended before the registry recorded that files are to be copied.
        self.copy_missing_files(now, report)?;
        Ok(removals)
    }

    /// Removes an incomplete worktree. If the worktree contains files that git did not write, completes it instead.
    /// Returns a line for the report that says what was done, or why nothing was done.
    fn remove_or_complete(
        &self,
        paths: &RepoPaths,
        name: &WorktreeName,
    ) -> Result<Option<String>, StoreError> {
        let dir = self.dir.join(name.as_str());
        if !dir.exists() || is_empty_worktree(&dir) {
            for left in [dir.join(".git"), dir.clone()] {
                let removed = if left.is_dir() {
                    fs::remove_dir(&left)
                } else {
                    fs::remove_file(&left)
                };
                if let Err(error) = removed
                    && error.kind() != std::io::ErrorKind::NotFound
                {
                    return Err(StoreError::at(left)(error));
                }
            }
            remove_git_entry(paths, name)?;
            return Ok(Some(format!("removed the incomplete worktree {name}")));
        }
        let Some((git, own)) = self.folder(name).git else {
            return Ok(Some(format!(
                ".worktrees/{name} was kept: it is incomplete, and its link to the repository is not valid. Move it away, then run crewdeck doctor --mend"
            )));
        };
        let files = user_files(&git, &dir, &own)?;
        if files.is_empty() {
            let path = dir.to_string_lossy();
            // `--force` is given twice, because git locks a worktree while it creates it, and removes a locked worktree
            // only then.
            self.repo
                .git
                .ok(&["worktree", "remove", "--force", "--force", "--", &path])?;
            return Ok(Some(format!("removed the incomplete worktree {name}")));
        }
        // Writes the missing files and keeps the existing ones.
        git.ok(&["read-tree", "HEAD"])?;
        // The exit code is ignored, because it only shows that some files exist already.
        git.run(&["checkout-index", "--all", "--quiet"])?;
        let path = dir.to_string_lossy();
        self.repo.git.ok(&["worktree", "unlock", "--", &path])?;
        Ok(Some(format!(
            "completed worktree {name}: git was killed while creating it. These files in it were kept: {}",
            short_list(&files)
        )))
    }

    /// Copies the files that `.worktreeinclude` lists into the worktrees whose creation was interrupted before that was
    /// done. Adds a line for each of them to `report`, and one for each problem.
    fn copy_missing_files(
        &mut self,
        now: Timestamp,
        report: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let trees = self.index.existing_worktrees();
        let pending = trees.into_iter().filter(|tree| tree.include_pending);
        let pending: Vec<WorktreeName> = pending.map(|tree| tree.name.clone()).collect();
        for name in pending {
            if self.folder(&name).on_disk != FolderState::Whole {
                // Without a log entry, which would hide an interrupted removal.
                self.index
                    .change(&name, |tree| tree.include_pending = false)?;
                self.save()?;
                continue;
            }
            let included = self.copy_included(&name, now)?;
            if let Some(summary) = included.summary() {
                report.push(format!("completed worktree {name}: {summary}"));
            }
            report.extend(included.warnings());
            let tree = self.entry_of(&name);
            self.log
                .record(LogEntry::of("worktree.create.after", &tree), now)?;
        }
        Ok(())
    }

    /// Undoes the interrupted merge of a blocker's branch into the new worktree `name`. The blockers' branches are
    /// merged again when the task starts. Returns a line for the report, or `None` if there was nothing to undo.
    fn undo_interrupted_start(
        &mut self,
        name: &WorktreeName,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let (git, own) = self.valid_folder(name)?;
        let dir = self.dir.join(name.as_str());
        let is_changed = || -> Result<bool, StoreError> {
            let status = ["status", "--porcelain=v1", "-z", "--ignore-submodules=all"];
            Ok(busy_in(&own) == Some(GitOperation::Merge) || !git.ok(&status)?.is_empty())
        };
        let was_changed = is_changed()?;
        let mut tips: Vec<String> = commit_of(&git, "MERGE_HEAD")?.into_iter().collect();
        if tips.is_empty() {
            for other in self.index.existing_worktrees() {
                tips.extend(self.repo.branch(&other.name.branch())?);
            }
        }
        for tip in tips {
            if !is_changed()? {
                break;
            }
            if !git.succeeds(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
                interrupted_merge::undo(&git, &dir, &own, &tip, FastForward::Possible)?;
            }
        }
        if busy_in(&own) == Some(GitOperation::Merge) {
            // The merge commit exists; only the state files of the merge are left.
            git.ok(&["merge", "--quit"])?;
        }
        let is_undone = was_changed && !is_changed()?;
        let mut tree = self.entry_of(name);
        let last = self.log.last_events()?.remove(name.as_str());
        // Git was killed before the worktree was registered with what is to be done in it.
        let was_created_now = last.is_some_and(|last| last.event == CREATE);
        tree.include_pending |= was_created_now && include::is_there(&self.repo.root);
        tree.setup_pending |= was_created_now;
        self.index.put(tree.clone());
        self.save()?;
        self.log
            .record(LogEntry::of("worktree.create.after", &tree), now)?;
        Ok(is_undone.then(|| format!("undid an interrupted merge in worktree {name}")))
    }

    /// Undoes an interrupted merge of a worktree's branch into its base branch, or records the merge if git had
    /// completed it. Keeps the user's changes, and any merge that the user has started since. Returns a line for the
    /// report, or `None` if there is nothing to report.
    ///
    /// What git wrote, and not the time, shows whether a merge in progress is crewdeck's or the user's: a hook may run
    /// for minutes, and the user may act within a second. The merge is crewdeck's if `HEAD` is still the commit at
    /// which crewdeck started the merge, and `MERGE_MSG` and `MERGE_MODE` match crewdeck's command.
    pub(super) fn undo_interrupted_merge(
        &mut self,
        name: &WorktreeName,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let tree = self.entry_of(name);
        let branch = name.branch();
        let tip = self.repo.branch(&branch)?;
        let git = self.repo.git.clone();
        let merging = commit_of(&git, "MERGE_HEAD")?;
        let is_other = self
            .repo
            .busy()
            .is_some_and(|busy| busy != GitOperation::Merge)
            || (merging.is_some() && merging != tip);
        let Some(tip) = tip.filter(|_| !is_other) else {
            // The operation in progress is the user's; the interrupted merge left nothing.
            return self
                .record_interrupted_merge(&tree, "git was killed", now)
                .map(|()| None);
        };
        let begun = self.log.last_events()?.remove(name.as_str());
        let head = commit_of(&git, "HEAD")?;
        let begun_at = begun.and_then(|last| last.head);
        let is_unmoved = head.is_some() && begun_at == head;
        if git.succeeds(&["merge-base", "--is-ancestor", &tip, "HEAD"])? {
            if merging.is_some() {
                git.ok(&["merge", "--quit"])?;
            }
            let by = head.filter(|h| is_hash(h)).unwrap_or_default();
            let tree = self.index.change(name, |tree| tree.mark_merged(&by, now))?;
            self.save()?;
            self.log
                .record(LogEntry::of("worktree.merge.after", &tree), now)?;
            return Ok(Some(format!("recorded that {branch} is merged")));
        }
        if merging.is_some() && !(is_unmoved && self.is_own_merge(&tree)) {
            self.record_interrupted_merge(&tree, "git was killed; the user's merge was kept", now)?;
            return Ok(Some(format!(
                "your merge of {branch} is in progress and was left as it is: run git merge --continue to finish it, or git merge --abort to undo it"
            )));
        }
        if !is_unmoved {
            self.record_interrupted_merge(
                &tree,
                "git was killed; the merge was not undone, and its files may remain",
                now,
            )?;
            let changed = git.ok(&["status", "--porcelain=v1", "--ignore-submodules=all"])?;
            let why = match begun_at {
                Some(_) => "another commit was checked out since then",
                None => {
                    "the version of crewdeck that started it did not record the starting commit, so the files of the merge cannot be distinguished from yours"
                }
            };
            return Ok((!changed.is_empty()).then(|| {
                format!(
                    "the merge of {branch} was interrupted, and {why}. Uncommitted files were kept: run git status to see them"
                )
            }));
        }
        let kept = interrupted_merge::undo(
            &git,
            &self.repo.root,
            self.repo.git_dir(),
            &tip,
            FastForward::Never,
        )?;
        self.record_interrupted_merge(&tree, "git was killed; the merge was undone", now)?;
        let mut line = format!("undid the interrupted merge of {branch}");
        if !kept.is_empty() {
            line.push_str(&format!("; your changes were kept: {}", short_list(&kept)));
        }
        Ok(Some(line))
    }

    /// Returns whether the merge in progress in the main worktree has the message and the mode of a merge by crewdeck.
    /// Git writes `MERGE_MODE` before `MERGE_MSG`. If git was killed while writing one of them, that file is truncated
    /// or empty, and what was not written yet is missing; such a merge is recognized too.
    fn is_own_merge(&self, tree: &Worktree) -> bool {
        let text = |file: &str| {
            regular_file::read_text(&self.repo.git_dir().join(file), STATE_MAX).unwrap_or_default()
        };
        let (own, message, mode) = (tree.message(), text("MERGE_MSG"), text("MERGE_MODE"));
        let is_own_message = match message.split_once('\n') {
            Some((first, _)) => first == own,
            None => own.starts_with(&message),
        };
        // For the option `--no-ff`, git writes `no-ff` into `MERGE_MODE`.
        let is_own_mode = mode == "no-ff" || (message.is_empty() && "no-ff".starts_with(&mode));
        is_own_message && is_own_mode
    }

    fn record_interrupted_merge(
        &self,
        tree: &Worktree,
        why: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let note = LogEntry::of("worktree.merge.failed", tree).error(why);
        self.log.record(note, now)
    }

    /// Deletes the branch of a worktree that was never created. Keeps the branch if it is checked out or has commits
    /// that are not merged. Returns a line for the report, or `None` if there is no such branch.
    fn delete_unused_branch(
        &self,
        name: &WorktreeName,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let branch = name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Ok(None);
        };
        let head = self.repo.head()?.commit;
        let git = &self.repo.git;
        let is_used = self
            .repo
            .list_worktrees()?
            .iter()
            .any(|r| r.branch.as_deref() == Some(&branch));
        let why = if is_used {
            "it is checked out"
        } else if !git.succeeds(&["merge-base", "--is-ancestor", &tip, &head])? {
            "it has commits that are not merged"
        } else {
            self.delete_branch(name, &tip)?;
            return Ok(Some(format!(
                "deleted branch {branch}: its worktree was not created"
            )));
        };
        // This event records that the creation has ended, so the branch is reported only once. From now on the branch
        // is the user's.
        let note = LogEntry::of("worktree.create.failed", &self.entry_of(name)).error(why);
        self.log.record(note, now)?;
        Ok(Some(format!(
            "the worktree of branch {branch} was not created, but the branch was kept, because {why}"
        )))
    }

    /// Returns the registry's entry for the worktree `name`, or a new entry if only git lists the worktree.
    pub(super) fn entry_of(&self, name: &WorktreeName) -> Worktree {
        self.index.get(name).cloned().unwrap_or_else(|| {
            let path = self.dir.join(name.as_str()).to_string_lossy().into_owned();
            Worktree::new(name.clone(), path, Timestamp::default())
        })
    }

    /// Undoes all interrupted merges before the next one starts; see [`OpenRegistry::undo_interrupted_merge`]. If there
    /// are any, first removes the lock files of killed git processes. Fails if a lock file has to stay.
    pub(super) fn undo_interrupted_merges(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let last = self.log.last_events()?;
        let is_interrupted = |name: &WorktreeName| {
            last.get(name.as_str())
                .is_some_and(|last| last.event == super::debris::MERGE)
        };
        let interrupted: Vec<WorktreeName> = self
            .index
            .existing_worktrees()
            .into_iter()
            .map(|tree| tree.name.clone())
            .filter(is_interrupted)
            .collect();
        if interrupted.is_empty() {
            return Ok(());
        }
        let steps = self.log.interrupted_starts()?;
        let (_, stay) = locks::clear(&self.repo.root, self.repo.common(), &steps);
        if let Some((lock, holder)) = stay.first() {
            let branch = interrupted[0].branch();
            let why = format!("the lock file {} exists: {holder}", lock.display());
            return Err(WorktreeError::NotMerged { branch, why }.into());
        }
        for name in interrupted {
            self.undo_interrupted_merge(&name, now)?;
        }
        Ok(())
    }
}

/// Removes git's entry for the worktree `name` if the entry is incomplete.
fn remove_git_entry(paths: &RepoPaths, name: &WorktreeName) -> Result<(), StoreError> {
    if paths.entries().get(name) != Some(&false) {
        return Ok(());
    }
    let home = paths.dir.join(name.as_str()).join(".git");
    for entry in fs::read_dir(paths.common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let link = fs::read_to_string(entry.path().join("gitdir")).unwrap_or_default();
        let is_it = if link.trim().is_empty() {
            entry.file_name() == name.as_str()
        } else {
            Path::new(link.trim()) == home
        };
        if is_it {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(StoreError::at(path))?;
        }
    }
    Ok(())
}

/// Returns the files in an incomplete worktree that git did not write. A file counts as written by git if it equals the
/// branch's file or the beginning of it.
fn user_files(git: &Git, dir: &Path, own: &Path) -> Result<Vec<String>, StoreError> {
    let index = own.join(COMPARE_INDEX);
    let compare = git.with_index(&index);
    compare.ok(&["read-tree", "HEAD"])?;
    let listed = compare.ok(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ]);
    // A leftover temporary index is harmless.
    let _ = fs::remove_file(&index);
    let mut work = Vec::new();
    for line in split_nul(&listed?) {
        let (Some(what), Some(path)) = (line.get(..2), line.get(3..)) else {
            continue;
        };
        let of_head = || git.ok(&["rev-parse", &format!("HEAD:{path}")]);
        let is_from_git = match what {
            // A name with invalid UTF-8 cannot be passed to git, so the file counts as the user's.
            _ if path.contains(char::REPLACEMENT_CHARACTER) => false,
            " D" => true,
            " M" => is_prefix_of_blob(git, &dir.join(path), path, &of_head()?)?,
            _ => false,
        };
        if !is_from_git {
            work.push(path.to_string());
        }
    }
    Ok(work)
}

fn short_list(files: &[String]) -> String {
    let shown: Vec<String> = files.iter().take(LISTED_MAX).map(|f| one_line(f)).collect();
    join_names(&shown, LISTED_MAX, files.len())
}
