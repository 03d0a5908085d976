//! Creates worktrees, including after an earlier attempt was interrupted.

use std::fs;
use std::path::PathBuf;

use super::fetched_refs::{FETCHED, have_diverged, short_name};
use super::log::LogEntry;
use super::merge::{MergeOutcome, check_clean, check_own_branch, try_merge};
use super::nested_repos::scanned_by_merge;
use super::{INITIALIZING, OpenRegistry, Worktrees, clone, commands, include, trash};
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    BranchMerges, Conflict, Created, FILES_MAX, FolderState, GitOperation, Origin, Worktree,
    WorktreeError, WorktreeName, WorktreePhase,
};
use crate::store::StoreError;
use crate::store::git::{Git, GitError, RegisteredWorktree, busy_in, commit_of, head};

/// The task for which a worktree is created, and the branches that the worktree starts from.
#[derive(Debug, Clone, Default)]
pub struct NewWorktree {
    pub task: TaskId,
    pub subject: String,
    pub owner: String,
    /// The branch to start from; `None` to start from what the main worktree has checked out.
    pub base: Option<String>,
    /// The commit to start from, if it is not the last one of a branch here; `None` for the last commit of `base`.
    pub start: Option<String>,
    /// The branches of the task's blockers, which are merged into the new worktree: names of branches, or the full names of
    /// refs that [`BranchExchange::find_needed`](super::BranchExchange::find_needed) has found.
    pub needs: Vec<String>,
    /// The folder of the worktree that a hook has already made for the task in this repository; `None` if no hook has
    /// made one.
    pub made: Option<PathBuf>,
    /// Whether the settings name what is to be done in the worktree after its creation; see [`Worktrees::run_setup`] and
    /// [`Worktrees::clone_folders`].
    pub has_setup: bool,
}

/// Whether a worktree name can be used.
enum NameStatus {
    /// No folder and no branch has this name.
    Free,
    /// The folder of the worktree was lost, but its branch exists and has unmerged work.
    LostFolder,
    /// The name is in use: the folder exists, the branch is checked out in another folder, or the branch has unmerged
    /// work and the registry has no entry for it.
    Taken,
}

impl Worktrees {
    /// Creates a worktree for a task: a new branch from the base, with the blockers' branches merged into it. If the task
    /// already has a worktree, the new name gets a number. If the folder of a worktree was lost and its branch exists,
    /// creates the folder again from the branch. Copies the untracked files that `.worktreeinclude` lists. If the task has a
    /// spare worktree, gives that to the owner instead.
    ///
    /// # Errors
    /// When the worktree cannot be created. The failed attempt then leaves nothing that prevents another one.
    pub fn create(&self, new: &NewWorktree, now: Timestamp) -> Result<Created, StoreError> {
        let mut work = self.begin_change()?;
        // What a hook has made is not replaced by a spare worktree.
        match work.spare_of(new.task).filter(|_| new.made.is_none()) {
            Some(spare) => work.take_spare(spare, new, now),
            None => work.create(new, false, now),
        }
    }

    /// Returns the name that the next worktree of a task gets if it starts from what the main worktree has checked out and
    /// builds on `needs`.
    /// As [`Worktrees::create`], first removes what interrupted creations left under the names that it tries, and the
    /// merged branches with these names.
    ///
    /// # Errors
    /// When no name is free, the registry cannot be read, or git fails.
    pub fn next_name(&self, task: TaskId, needs: &[String]) -> Result<WorktreeName, StoreError> {
        let work = self.begin_change()?;
        let new = NewWorktree {
            task,
            ..NewWorktree::default()
        };
        let (_, commit) = work.start_point(&new)?;
        Ok(work.name_for(task, &commit, needs)?.0)
    }

    /// Merges other branches into a clean worktree. Skips branches that the worktree already contains or that no longer
    /// exist. A branch that conflicts is not merged, and is returned with the files in conflict.
    ///
    /// # Errors
    /// When there is no such worktree, it has uncommitted files, another branch checked out or a git operation in progress,
    /// or git fails. Branches that were merged before the error stay merged.
    pub fn merge_branches(
        &self,
        name: &WorktreeName,
        branches: &[String],
        now: Timestamp,
    ) -> Result<BranchMerges, StoreError> {
        let work = self.begin_change()?;
        let name = work.index.find(name)?.name.clone();
        work.merge_into_worktree(&name, branches, now)
    }
}

impl OpenRegistry {
    /// Creates a worktree, and then releases the worktree lock. `is_spare` says whether no agent has claimed the task yet.
    pub(super) fn create(
        mut self,
        new: &NewWorktree,
        is_spare: bool,
        now: Timestamp,
    ) -> Result<Created, StoreError> {
        let work = &mut self;
        let (base, mut commit) = work.start_point(new)?;
        let (name, origin) = work.name_for(new.task, &commit, &new.needs)?;
        let made = new.made.as_deref();
        let made = made.map(|dir| work.made_by_hook(dir)).transpose()?;
        // A branch with unmerged work is continued in what a hook has made.
        if let Some(made) = made.as_ref().filter(|_| origin == Origin::Base) {
            commit.clone_from(&made.commit);
        }
        let path = work.dir.join(name.as_str());
        let mut tree = match (origin, work.index.get(&name)) {
            (Origin::Branch, Some(lost)) => {
                let mut again = lost.clone();
                again.reopen(&new.owner);
                again
            }
            (Origin::Branch | Origin::Base, _) => Worktree {
                base: base.unwrap_or_default(),
                base_commit: commit.clone(),
                owner: new.owner.clone(),
                ..Worktree::new(name.clone(), String::new(), now)
            },
        };
        tree.task_id = Some(new.task);
        tree.subject.clone_from(&new.subject);
        tree.port = tree.port.or_else(|| work.free_ports());
        tree.include_pending = include::is_there(&work.repo.root);
        tree.setup_pending = new.has_setup;
        tree.phase = if is_spare {
            WorktreePhase::Spare
        } else {
            WorktreePhase::Used
        };
        tree.setup_error.clear();
        work.remove_excludes(&name);
        commands::remove_log(&work.dir, &name);
        clone::remove_scratch(&work.dir, &name);
        // Left if an earlier worktree of this name was removed by hand. A cache that cannot be renamed prevents nothing.
        let old_cache = trash::mark_cache_for_deletion(&work.dir, &name).unwrap_or_default();
        tree.path = path.to_string_lossy().into_owned();
        work.log
            .record(LogEntry::of(super::debris::CREATE, &tree), now)?;
        let added = match &made {
            Some(made) => work.take_over(&name, made, origin),
            None => work.add_worktree(&name, origin, &commit),
        };
        let made = added.and_then(|()| {
            // Registered before anything is merged into it, so that a later failure does not lose it.
            work.index.put(tree.clone());
            work.save()?;
            let brought = work.merge_into_worktree(&name, &new.needs, now);
            // Also after a failed merge, because the worktree stays. After the merges, because they may bring files of
            // the same names.
            let included = work.copy_included(&name, now)?;
            Ok((brought?, included))
        });
        let created = match made {
            Ok((branch_merges, included)) => {
                work.log
                    .record(LogEntry::of("worktree.create.after", &tree), now)?;
                tree.include_pending = false;
                Ok(Created {
                    worktree: tree,
                    origin,
                    was_spare: false,
                    branch_merges,
                    included,
                })
            }
            Err(error) => {
                work.remove_failed_attempt(&name, &commit);
                let note = LogEntry::of("worktree.create.failed", &tree).error(&error.to_string());
                work.log.record(note, now)?;
                Err(error)
            }
        };
        // What cannot be deleted is deleted by a later access.
        let (trees, trash) = (self.dir.clone(), old_cache.into_iter().collect());
        let _ = trash::delete_unlocked(&trees, trash, move || drop(self));
        created
    }

    /// Returns the branch and the commit from which the worktree starts. The branch is `None` if `HEAD` is detached.
    /// Fails if there is no commit, the branch `new.base` does not exist, or, without a base, a rebase, `git am` or bisect is in
    /// progress in the main worktree.
    pub(super) fn start_point(
        &self,
        new: &NewWorktree,
    ) -> Result<(Option<String>, String), StoreError> {
        if let Some(start) = &new.start {
            return Ok((None, start.clone()));
        }
        let head = self.repo.head()?;
        let Some(base) = &new.base else {
            // During a rebase or bisect a temporary commit is checked out, and a `git am` may be aborted.
            if let Some(what @ (GitOperation::Rebase | GitOperation::Am | GitOperation::Bisect)) =
                self.repo.busy()
            {
                let place = "the main worktree".into();
                return Err(WorktreeError::Busy { what, place }.into());
            }
            return Ok((head.branch, head.commit));
        };
        match self.repo.branch(base)? {
            Some(commit) => Ok((Some(base.clone()), commit)),
            None => Err(WorktreeError::NoBase(base.clone()).into()),
        }
    }

    fn name_for(
        &self,
        task: TaskId,
        base: &str,
        needs: &[String],
    ) -> Result<(WorktreeName, Origin), StoreError> {
        let registered = self.repo.list_worktrees()?;
        for name in WorktreeName::candidates(task) {
            match self.name_status(&name, &registered, base)? {
                NameStatus::Free => return Ok((name, Origin::Base)),
                NameStatus::LostFolder if !self.has_diverged(&name, needs)? => {
                    return Ok((name, Origin::Branch));
                }
                NameStatus::LostFolder | NameStatus::Taken => {}
            }
        }
        Err(WorktreeError::TooMany(task).into())
    }

    /// Returns whether the branch of a worktree here and the fetched one of the same name in `needs` each have commits that the
    /// other lacks. The branch here then stays as it is, and the work continues from the fetched one.
    fn has_diverged(&self, name: &WorktreeName, needs: &[String]) -> Result<bool, StoreError> {
        let branch = name.branch();
        let mut fetched = needs.iter();
        let fetched = fetched.find(|needed| **needed != branch && short_name(needed) == branch);
        let git = &self.repo.git;
        match (self.repo.branch(&branch)?, fetched) {
            (Some(here), Some(fetched)) => match self.commit_of_needed(fetched)? {
                Some(there) => have_diverged(git, &here, &there),
                None => Ok(false),
            },
            (Some(_) | None, _) => Ok(false),
        }
    }

    /// Returns the last commit of a branch in [`NewWorktree::needs`]; `None` if there is none.
    pub(super) fn commit_of_needed(&self, needed: &str) -> Result<Option<String>, GitError> {
        if needed.starts_with(FETCHED) {
            commit_of(&self.repo.git, needed)
        } else {
            self.repo.branch(needed)
        }
    }

    /// Returns whether `name` can be used for a new worktree that starts at the commit `base`. First removes what an
    /// interrupted creation left under that name, and a branch of that name whose content is already in `base`. No work
    /// is lost.
    fn name_status(
        &self,
        name: &WorktreeName,
        registered: &[RegisteredWorktree],
        base: &str,
    ) -> Result<NameStatus, StoreError> {
        let dir = self.dir.join(name.as_str());
        let known = registered.iter().find(|r| r.path == dir);
        if known.is_some_and(|r| r.locked.as_deref() == Some(INITIALIZING)) {
            self.remove_incomplete(name)?;
        }
        if self.folder(name).on_disk != FolderState::Missing {
            return Ok(NameStatus::Taken);
        }
        if known.is_some() {
            self.unregister(name)?;
        }
        let branch = name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Ok(NameStatus::Free);
        };
        let is_used = registered
            .iter()
            .any(|r| r.path != dir && r.branch.as_deref() == Some(&branch));
        if is_used {
            return Ok(NameStatus::Taken);
        }
        if self.repo.contains(base, &tip)? {
            self.delete_branch(name, &tip)?;
            return Ok(NameStatus::Free);
        }
        // Without a registry entry the work's origin is unknown, so the branch is left alone. A worktree that was removed
        // on purpose has no entry either.
        Ok(match self.index.get(name) {
            Some(_) => NameStatus::LostFolder,
            None => NameStatus::Taken,
        })
    }

    /// Removes what a failed creation left: the branch, and the folder if it is incomplete. Does nothing if the registry
    /// already lists the worktree. Errors are ignored, because the next creation for the task tries again.
    fn remove_failed_attempt(&self, name: &WorktreeName, commit: &str) {
        if self.index.get(name).is_none()
            && let Ok(registered) = self.repo.list_worktrees()
        {
            let _ = self.name_status(name, &registered, commit);
        }
    }

    /// Removes a worktree that `git worktree add` did not complete.
    fn remove_incomplete(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let tree = self.folder(name);
        if tree.on_disk == FolderState::Missing && tree.dir.exists() {
            fs::remove_dir(&tree.dir).map_err(StoreError::at(&tree.dir))?;
        }
        let path = tree.dir.to_string_lossy();
        // `--force` twice, because git locks a worktree while it creates it.
        self.repo
            .git
            .ok(&["worktree", "remove", "--force", "--force", "--", &path])?;
        Ok(())
    }

    /// Removes git's entry for the worktree `name`, whose folder must be missing or empty. Also removes the empty
    /// folder. Fails if the folder has content. `git worktree prune` is not used: it would also remove worktrees on a
    /// disk that is not mounted.
    pub(super) fn unregister(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        if dir.exists() {
            fs::remove_dir(&dir).map_err(StoreError::at(&dir))?;
        }
        let is_known = self.repo.list_worktrees()?.iter().any(|r| r.path == dir);
        if is_known {
            let path = dir.to_string_lossy();
            self.repo
                .git
                .ok(&["worktree", "remove", "--force", "--", &path])?;
        }
        Ok(())
    }

    fn add_worktree(
        &self,
        name: &WorktreeName,
        origin: Origin,
        commit: &str,
    ) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let (path, branch) = (dir.to_string_lossy(), name.branch());
        let git = self.repo.git.without_lfs_downloads();
        match origin {
            Origin::Base => git.ok(&[
                "worktree",
                "add",
                "--quiet",
                "--no-track",
                "-b",
                &branch,
                "--",
                &path,
                commit,
            ])?,
            Origin::Branch => git.ok(&["worktree", "add", "--quiet", "--", &path, &branch])?,
        };
        Ok(())
    }

    /// Returns those of `branches` that exist and that the worktree `name` does not contain yet, each with its last
    /// commit. `git` runs in that worktree.
    fn missing_branches<'b>(
        &self,
        name: &WorktreeName,
        git: &Git,
        branches: &'b [String],
    ) -> Result<Vec<(&'b String, String)>, StoreError> {
        let mut missing = Vec::new();
        let Some(here) = head(git)? else {
            return Ok(missing);
        };
        for branch in branches.iter().filter(|b| **b != name.branch()) {
            if let Some(tip) = self.commit_of_needed(branch)?
                && !self.repo.contains(&here.commit, &tip)?
            {
                missing.push((branch, tip));
            }
        }
        Ok(missing)
    }

    pub(super) fn merge_into_worktree(
        &self,
        name: &WorktreeName,
        branches: &[String],
        now: Timestamp,
    ) -> Result<BranchMerges, StoreError> {
        let mut brought = BranchMerges::default();
        if branches.is_empty() {
            return Ok(brought);
        }
        let (git, own) = self.valid_folder(name)?;
        let branches = self.missing_branches(name, &git, branches)?;
        if branches.is_empty() {
            return Ok(brought);
        }
        let place = || format!("worktree {name}");
        if let Some(what) = busy_in(&own) {
            let place = place();
            return Err(WorktreeError::Busy { what, place }.into());
        }
        check_own_branch(name, &git)?;
        check_clean(name, &git)?;
        let (tree, mut is_noted) = (self.entry_of(name), false);
        for (branch, tip) in branches {
            // A branch that was merged before may have contained this one.
            if !brought.merged.is_empty()
                && let Some(here) = head(&git)?
                && self.repo.contains(&here.commit, &tip)?
            {
                continue;
            }
            let open = scanned_by_merge(&git, &self.folder(name).dir, None, &tip)?;
            if !open.is_empty() {
                // This merge would run git inside nested repositories. The agent merges the branch itself, in its
                // sandbox.
                brought.conflicts.push(Conflict {
                    branch: branch.clone(),
                    files: open.into_iter().take(FILES_MAX).collect(),
                });
                continue;
            }
            let message = format!("Start from {}", short_name(branch));
            let flags = ["--ff", "--no-gpg-sign"];
            if !is_noted {
                is_noted = true;
                self.log
                    .record(LogEntry::of(super::debris::BRING, &tree), now)?;
            }
            match try_merge(&git.committer()?, &own, &tip, &message, &flags)? {
                MergeOutcome::Merged => brought.merged.push(short_name(branch)),
                MergeOutcome::Conflict(files) => brought.conflicts.push(Conflict {
                    branch: branch.clone(),
                    files,
                }),
                MergeOutcome::Failed(why) | MergeOutcome::Killed(why) => {
                    let branch = branch.clone();
                    return Err(WorktreeError::NotMerged { branch, why }.into());
                }
            }
        }
        if is_noted {
            self.log
                .record(LogEntry::of("worktree.bring.after", &tree), now)?;
        }
        Ok(brought)
    }
}
