//! Removes a worktree, if nothing is lost or the user has confirmed the losses.
//!
//! A file written between the check and the deletion would be lost. So the folder is checked, moved to a trash name,
//! checked again, and then deleted or moved back (`trash.rs`). Programs that use the folder's path no longer find it.
//! One gap remains: what a program writes between the second check and the deletion is lost if the folder is the
//! program's current directory or the program already had the file open.

use super::log::LogEntry;
use super::trash::{TrashCandidate, TrashedFolder, delete_unlocked, mark_cache_for_deletion};
use super::{OpenRegistry, WorktreeFolder, Worktrees, clone, commands};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    BranchOutcome, FolderState, Losses, RemovalMode, Worktree, WorktreeError, WorktreeName,
    WorktreeState, check_removal,
};
use crate::store::StoreError;

/// The losses that are acceptable when a worktree is removed.
#[derive(Debug, Clone, Copy)]
enum Allowed<'a> {
    By(RemovalMode),
    /// Exactly the losses that the user has confirmed.
    Confirmed(&'a Losses),
}

impl Allowed<'_> {
    fn check(self, tree: &Worktree, state: &WorktreeState) -> Result<(), WorktreeError> {
        let confirmed = match self {
            Allowed::By(removal) => return check_removal(tree, state, removal),
            Allowed::Confirmed(confirmed) => confirmed,
        };
        let losses = state.losses();
        if losses.is_empty() || confirmed.is_empty() {
            return match check_removal(tree, state, RemovalMode::OnlyIfSafe) {
                // The mark prevents only removals that the user has not confirmed.
                Err(WorktreeError::Kept(_)) if losses.is_empty() => {
                    check_removal(tree, state, RemovalMode::Confirmed)
                }
                Err(WorktreeError::Kept(name)) => Err(WorktreeError::Unsafe { name, losses }),
                checked => checked,
            };
        }
        if losses != *confirmed {
            return Err(WorktreeError::Changed {
                name: tree.name.clone(),
                losses: Box::new(losses),
            });
        }
        check_removal(tree, state, RemovalMode::Confirmed)
    }
}

impl Worktrees {
    /// Removes a worktree's folder, and its branch if the branch is merged. The name can be used again afterwards; the
    /// registry keeps the entry as a record. An unmerged branch is always kept, so only uncommitted files and nested
    /// repositories can be lost, and only with [`RemovalMode::Confirmed`]. Does not check whether a task is in progress in
    /// the worktree: call [`task_in_worktree`](crate::store::task_in_worktree) first.
    ///
    /// # Errors
    /// When something would be lost or the worktree cannot be removed; the worktree is then unchanged. Also when the
    /// worktree is removed but its folder cannot be deleted; every later access tries to delete it again.
    pub fn remove(
        &self,
        name: &WorktreeName,
        removal: RemovalMode,
        now: Timestamp,
    ) -> Result<BranchOutcome, StoreError> {
        self.remove_if(name, Allowed::By(removal), now)
    }

    /// As [`Worktrees::remove`], after the user has confirmed the losses in `confirmed`. If `confirmed` is empty, removes the
    /// worktree only if nothing would be lost and the worktree is not marked to be kept.
    ///
    /// # Errors
    /// As [`Worktrees::remove`]; also when something would be lost and the losses are not exactly the confirmed ones.
    pub fn remove_confirmed(
        &self,
        name: &WorktreeName,
        confirmed: &Losses,
        now: Timestamp,
    ) -> Result<BranchOutcome, StoreError> {
        self.remove_if(name, Allowed::Confirmed(confirmed), now)
    }

    /// Checks whether [`Worktrees::remove`] would remove the worktree now. Changes nothing.
    ///
    /// # Errors
    /// As [`Worktrees::remove`], if the worktree would not be removed.
    pub fn check_remove(
        &self,
        name: &WorktreeName,
        removal: RemovalMode,
    ) -> Result<(), StoreError> {
        self.check_if(name, Allowed::By(removal))
    }

    /// Checks whether [`Worktrees::remove_confirmed`] would remove the worktree now. Changes nothing.
    ///
    /// # Errors
    /// As [`Worktrees::remove_confirmed`], if the worktree would not be removed.
    pub fn check_remove_confirmed(
        &self,
        name: &WorktreeName,
        confirmed: &Losses,
    ) -> Result<(), StoreError> {
        self.check_if(name, Allowed::Confirmed(confirmed))
    }

    fn check_if(&self, name: &WorktreeName, allowed: Allowed<'_>) -> Result<(), StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        allowed.check(tree, &work.state(tree)?)?;
        work.check_not_locked(&tree.name)
    }

    fn remove_if(
        &self,
        name: &WorktreeName,
        allowed: Allowed<'_>,
        now: Timestamp,
    ) -> Result<BranchOutcome, StoreError> {
        let mut work = self.begin_change()?;
        let tree = work.index.find(name)?.clone();
        let found = work.folder(name);
        let state = work.state_in(&tree, &found)?;
        allowed.check(&tree, &state)?;
        work.check_not_locked(name)?;
        work.log
            .record(LogEntry::of(super::debris::REMOVE, &tree), now)?;
        match work.remove(&tree, found, allowed, now) {
            Ok((fate, trash)) => {
                work.log
                    .record(LogEntry::of("worktree.remove.after", &tree), now)?;
                let trees = work.dir.clone();
                delete_unlocked(&trees, trash, move || drop(work))?;
                Ok(fate)
            }
            Err(error) => {
                let note = LogEntry::of("worktree.remove.failed", &tree).error(&error.to_string());
                work.log.record(note, now)?;
                Err(error)
            }
        }
    }
}

impl OpenRegistry {
    /// Fails if the user has locked the worktree (`git worktree lock`).
    fn check_not_locked(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let known = self.repo.list_worktrees()?;
        match known
            .into_iter()
            .find(|r| r.path == dir)
            .and_then(|r| r.locked)
        {
            Some(why) => Err(WorktreeError::Locked {
                name: name.clone(),
                why,
            }
            .into()),
            None => Ok(()),
        }
    }

    fn remove(
        &mut self,
        tree: &Worktree,
        found: WorktreeFolder,
        allowed: Allowed<'_>,
        now: Timestamp,
    ) -> Result<(BranchOutcome, Vec<TrashedFolder>), StoreError> {
        let name = &tree.name;
        let folder = match found.on_disk {
            FolderState::Missing | FolderState::Foreign => None,
            FolderState::Whole => {
                let candidate = TrashCandidate::move_away(&self.dir, name)?;
                let checked = self.check_again(tree, found, &candidate, allowed);
                match checked.and_then(|()| candidate.mark_for_deletion()) {
                    Ok(trash) => Some(trash),
                    Err(why) => {
                        candidate.put_back()?;
                        return Err(why);
                    }
                }
            }
        };
        let tip = self.repo.branch(&name.branch())?;
        self.unregister(name)?;
        let fate = match tip {
            Some(tip) => self.remove_branch(tree, &tip)?,
            None => BranchOutcome::Deleted,
        };
        // Before the registry is saved: if this process is killed in between, the next one deletes the cache and finishes
        // the removal. A cache that cannot be renamed stays, and `crewdeck doctor` lists it as an orphan.
        let cache = mark_cache_for_deletion(&self.dir, name).unwrap_or_default();
        self.index.change(name, |tree| tree.mark_removed(now))?;
        self.save()?;
        self.remove_excludes(name);
        commands::remove_log(&self.dir, name);
        clone::remove_scratch(&self.dir, name);
        Ok((fate, folder.into_iter().chain(cache).collect()))
    }

    /// Checks again, after the folder was renamed, that the removal loses only what `allowed` permits, and fails
    /// otherwise. Since the folder was renamed, programs can no longer write to it by its old path.
    fn check_again(
        &self,
        tree: &Worktree,
        found: WorktreeFolder,
        candidate: &TrashCandidate,
        allowed: Allowed<'_>,
    ) -> Result<(), StoreError> {
        let dir = candidate.dir.clone();
        let git = found
            .git
            .map(|(_, own)| (self.git_of(&tree.name, &dir, &own), own));
        let on_disk = found.on_disk;
        let state = self.state_in(tree, &WorktreeFolder { on_disk, dir, git })?;
        Ok(allowed.check(tree, &state)?)
    }

    fn remove_branch(&self, tree: &Worktree, tip: &str) -> Result<BranchOutcome, StoreError> {
        let branch = tree.name.branch();
        let is_used = self
            .repo
            .list_worktrees()?
            .iter()
            .any(|r| r.branch.as_deref() == Some(&branch));
        // The branch is checked again, so that exactly the checked commit is deleted.
        let is_merged = self.repo.contains(&self.base_of(tree)?.1, tip)?;
        if is_used || !is_merged {
            return Ok(BranchOutcome::Kept(branch));
        }
        Ok(match self.delete_branch(&tree.name, tip) {
            Ok(()) => BranchOutcome::Deleted,
            // A new commit was added to the branch in the meantime.
            Err(_) => BranchOutcome::Kept(branch),
        })
    }

    /// Deletes a worktree's branch. Fails if the last commit of the branch is no longer `tip`.
    pub(super) fn delete_branch(&self, name: &WorktreeName, tip: &str) -> Result<(), StoreError> {
        let full = format!("refs/heads/{}", name.branch());
        self.repo.git.ok(&["update-ref", "-d", &full, tip])?;
        Ok(())
    }
}
