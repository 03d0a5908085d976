//! Removing a worktree, when nothing is lost or a person knows what is.
//!
//! To look and then to delete would lose what is written in between. So the folder is moved aside in between: it is
//! judged, gets a name that nobody uses, is judged once more, and is put back or deleted (`aside.rs`). Who writes by the
//! name of the folder finds none. What is left is a program that works inside it, in its current directory or in a file
//! that it has open: what that one writes in the moment between the second look and the deletion is lost.

use super::aside::{Aside, Doomed};
use super::log::Note;
use super::{Tree, Work, Worktrees};
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{
    BranchFate, Losses, OnDisk, Removal, Worktree, WorktreeError, WorktreeName, WorktreeState,
    may_remove,
};
use crate::store::StoreError;

/// What may be lost.
#[derive(Debug, Clone, Copy)]
enum Allowed<'a> {
    By(Removal),
    /// What the person was told of, and nothing else.
    Told(&'a Losses),
}

impl Allowed<'_> {
    /// Whether it may go as it is found.
    fn judge(self, tree: &Worktree, state: &WorktreeState) -> Result<(), WorktreeError> {
        let told = match self {
            Allowed::By(removal) => return may_remove(tree, state, removal),
            Allowed::Told(told) => told,
        };
        let losses = state.losses();
        if losses.is_empty() || told.is_empty() {
            return may_remove(tree, state, Removal::OnlyIfSafe);
        }
        if losses != *told {
            return Err(WorktreeError::Changed {
                name: tree.name.clone(),
                losses: Box::new(losses),
            });
        }
        may_remove(tree, state, Removal::WhatIsLostIsKnown)
    }
}

impl Worktrees {
    /// Removes a worktree's folder, and its branch when that is merged. The name is free afterwards; the
    /// entry stays as a record. Unmerged commits stay on the branch in any case: only uncommitted
    /// files can be lost, and only with [`Removal::WhatIsLostIsKnown`].
    ///
    /// # Errors
    /// What would be lost, or why it can not be removed; the worktree stands then. Also when it is removed and its folder
    /// can not be deleted: that is tried again with each look.
    pub fn remove(
        &self,
        name: &WorktreeName,
        removal: Removal,
        now: Stamp,
    ) -> Result<BranchFate, StoreError> {
        self.remove_if(name, Allowed::By(removal), now)
    }

    /// The same for a person who was told what would be lost: no more than that is.
    ///
    /// # Errors
    /// As [`Worktrees::remove`]; also when something else would be lost by now.
    pub fn remove_as_told(
        &self,
        name: &WorktreeName,
        told: &Losses,
        now: Stamp,
    ) -> Result<BranchFate, StoreError> {
        self.remove_if(name, Allowed::Told(told), now)
    }

    fn remove_if(
        &self,
        name: &WorktreeName,
        allowed: Allowed<'_>,
        now: Stamp,
    ) -> Result<BranchFate, StoreError> {
        let mut work = self.work()?;
        let tree = work.index.find(name)?.clone();
        let found = work.tree(name);
        let state = work.state_in(&tree, &found)?;
        allowed.judge(&tree, &state)?;
        work.not_locked(name)?;
        work.log.note(Note::of(super::debris::REMOVE, &tree), now)?;
        match work.remove(&tree, found, allowed, now) {
            Ok((fate, doomed)) => {
                work.log
                    .note(Note::of("worktree.remove.after", &tree), now)?;
                doomed.map_or(Ok(()), Doomed::delete)?;
                Ok(fate)
            }
            Err(error) => {
                let note = Note::of("worktree.remove.failed", &tree).error(&error.to_string());
                work.log.note(note, now)?;
                Err(error)
            }
        }
    }
}

impl Work {
    /// The person may have forbidden git to remove it.
    fn not_locked(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let known = self.repo.registered()?;
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
        found: Tree,
        allowed: Allowed<'_>,
        now: Stamp,
    ) -> Result<(BranchFate, Option<Doomed>), StoreError> {
        let name = &tree.name;
        let doomed = match found.on_disk {
            OnDisk::Missing | OnDisk::Foreign => None,
            OnDisk::Whole => {
                let aside = Aside::of(&self.dir, name)?;
                let judged = self.judge_aside(tree, found, &aside, allowed);
                match judged.and_then(|()| aside.doom()) {
                    Ok(doomed) => Some(doomed),
                    Err(why) => {
                        aside.put_back()?;
                        return Err(why);
                    }
                }
            }
        };
        let tip = self.repo.branch(&name.branch())?;
        self.unregister(name)?;
        let fate = match tip {
            Some(tip) => self.remove_branch(tree, &tip)?,
            None => BranchFate::Deleted,
        };
        self.index.change(name, |tree| tree.removed(now))?;
        self.save()?;
        Ok((fate, doomed))
    }

    /// The second look, where nobody who uses its name can write any more.
    fn judge_aside(
        &self,
        tree: &Worktree,
        found: Tree,
        aside: &Aside,
        allowed: Allowed<'_>,
    ) -> Result<(), StoreError> {
        let dir = aside.dir.clone();
        let git = found.git.map(|(_, own)| {
            let git = self
                .repo
                .git
                .in_worktree(&self.dir, &dir, &own, self.repo.common());
            (git, own)
        });
        let on_disk = found.on_disk;
        let state = self.state_in(tree, &Tree { on_disk, dir, git })?;
        Ok(allowed.judge(tree, &state)?)
    }

    fn remove_branch(&self, tree: &Worktree, tip: &str) -> Result<BranchFate, StoreError> {
        let branch = tree.name.branch();
        let is_used = self
            .repo
            .registered()?
            .iter()
            .any(|r| r.branch.as_deref() == Some(&branch));
        // Judged anew: the commit that is deleted is the one that was looked at.
        let is_merged = self.repo.contains(&self.base_of(tree)?.1, tip)?;
        if is_used || !is_merged {
            return Ok(BranchFate::Stays(branch));
        }
        Ok(match self.delete_branch(&tree.name, tip) {
            Ok(()) => BranchFate::Deleted,
            // Somebody committed to it at this very moment.
            Err(_) => BranchFate::Stays(branch),
        })
    }

    /// Deletes a branch that still is at `tip`.
    pub(super) fn delete_branch(&self, name: &WorktreeName, tip: &str) -> Result<(), StoreError> {
        let full = format!("refs/heads/{}", name.branch());
        self.repo.git.ok(&["update-ref", "-d", &full, tip])?;
        Ok(())
    }
}
