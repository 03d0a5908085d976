//! Spare worktrees: a worktree that is created for a ready task before an agent claims it, so that the claim need not wait
//! for its setup. Only the registry names it; the task's file does not. The claim takes it instead of creating one.

use super::create::NewWorktree;
use super::fetched_refs::short_name;
use super::log::LogEntry;
use super::merge::{MergeOutcome, check_clean, check_own_branch, try_merge};
use super::nested_repos::scanned_by_merge;
use super::{OpenRegistry, Worktrees, debris};
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    BranchMerges, Created, FolderState, IncludedFiles, Origin, Worktree, WorktreeName,
    WorktreePhase,
};
use crate::store::StoreError;
use crate::store::git::{Git, busy_in, head};

impl Worktrees {
    /// Creates a worktree for a task that no agent has claimed yet, as [`Worktrees::create`] does. Returns `None` if there
    /// is a spare worktree already, or if the task has a worktree.
    ///
    /// # Errors
    /// As [`Worktrees::create`].
    pub fn create_spare(
        &self,
        new: &NewWorktree,
        now: Timestamp,
    ) -> Result<Option<Created>, StoreError> {
        let work = self.begin_change()?;
        let has_spare = work
            .index
            .existing_worktrees()
            .iter()
            .any(|t| t.phase == WorktreePhase::Spare);
        if has_spare || work.index.of_task(new.task).is_some() {
            return Ok(None);
        }
        work.create(new, true, now).map(Some)
    }

    /// Returns the spare worktrees.
    ///
    /// # Errors
    /// When the root is not a repository, or the registry cannot be read.
    pub fn spares(&self) -> Result<Vec<Worktree>, StoreError> {
        let all = self.list()?.worktrees;
        Ok(all
            .into_iter()
            .filter(|tree| tree.phase == WorktreePhase::Spare)
            .collect())
    }

    /// Makes a spare worktree an ordinary one, which is never removed automatically.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be read or written.
    pub fn keep_spare(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let mut work = self.begin_change()?;
        work.index
            .change(name, |tree| tree.phase = WorktreePhase::Used)?;
        work.save()
    }
}

impl OpenRegistry {
    /// Returns the spare worktree of a task, if its folder is valid.
    pub(super) fn spare_of(&self, task: TaskId) -> Option<Worktree> {
        let all = self.index.existing_worktrees().into_iter();
        let mut spares =
            all.filter(|tree| tree.phase == WorktreePhase::Spare && tree.task_id == Some(task));
        let found = spares.find(|tree| self.folder(&tree.name).on_disk == FolderState::Whole);
        found.cloned()
    }

    /// Gives a spare worktree to the owner of its task. If the base branch has moved and the worktree has no commits and no
    /// files of its own, moves it to the new commit; its setup then runs again. Merges the branches of blockers that were
    /// completed since.
    pub(super) fn take_spare(
        &mut self,
        mut tree: Worktree,
        new: &NewWorktree,
        now: Timestamp,
    ) -> Result<Created, StoreError> {
        let name = tree.name.clone();
        tree.phase = WorktreePhase::Used;
        tree.owner.clone_from(&new.owner);
        tree.subject.clone_from(&new.subject);
        let (base, commit) = self.start_point(new)?;
        let is_moved = self.fast_forward(&tree, &commit, now)?;
        if is_moved {
            tree.base = base.unwrap_or_default();
            tree.base_commit = commit;
        }
        tree.setup_pending = new.has_setup && (tree.setup_pending || is_moved);
        self.index.put(tree.clone());
        self.save()?;
        let branch_merges = self.merge_into_worktree(&name, &new.needs, now)?;
        let brought = self.contained(&name, &new.needs)?;
        Ok(Created {
            worktree: tree,
            origin: Origin::Branch,
            was_spare: true,
            branch_merges: BranchMerges {
                merged: brought,
                ..branch_merges
            },
            included: IncludedFiles::default(),
        })
    }

    /// Moves the clean branch of a worktree to `commit`, if that is newer and the branch has no commits of its own. Returns
    /// whether it was moved.
    fn fast_forward(
        &self,
        tree: &Worktree,
        commit: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (git, own) = self.valid_folder(&tree.name)?;
        let is_usable = busy_in(&own).is_none()
            && check_own_branch(&tree.name, &git).is_ok()
            && check_clean(&tree.name, &git).is_ok();
        let Some(here) = head(&git)?.filter(|_| is_usable) else {
            return Ok(false);
        };
        let is_behind = here.commit != commit
            && git.succeeds(&["merge-base", "--is-ancestor", &here.commit, commit])?;
        let dir = self.folder(&tree.name).dir;
        if !is_behind || !scanned_by_merge(&git, &dir, None, commit)?.is_empty() {
            return Ok(false);
        }
        self.log.record(LogEntry::of(debris::BRING, tree), now)?;
        let flags = ["--ff-only", "--no-gpg-sign"];
        let merged = try_merge(
            &git.committer()?,
            &own,
            commit,
            "Start from the base",
            &flags,
        )?;
        self.log
            .record(LogEntry::of("worktree.bring.after", tree), now)?;
        Ok(matches!(merged, MergeOutcome::Merged))
    }

    /// Returns those of `branches` whose commits a worktree has.
    fn contained(
        &self,
        name: &WorktreeName,
        branches: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let (git, _): (Git, _) = self.valid_folder(name)?;
        let mut found = Vec::new();
        for branch in branches {
            if let Some(tip) = self.commit_of_needed(branch)?
                && git.succeeds(&["merge-base", "--is-ancestor", &tip, "HEAD"])?
            {
                found.push(short_name(branch));
            }
        }
        Ok(found)
    }
}
