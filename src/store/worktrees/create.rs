//! Making a worktree, also where an earlier attempt was cut off.

use std::fs;

use super::inside::looked_into;
use super::log::Note;
use super::merge::{Attempt, clean, on_own_branch, try_merge};
use super::{INITIALIZING, Work, Worktrees};
use crate::domain::ids::TaskId;
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{
    Brought, Busy, Conflict, Created, FILES_MAX, OnDisk, Origin, Worktree, WorktreeError,
    WorktreeName,
};
use crate::store::StoreError;
use crate::store::git::{RegisteredWorktree, busy_in, head};

/// What a worktree is made for.
#[derive(Debug, Clone, Default)]
pub struct NewWorktree {
    /// The task.
    pub task: TaskId,
    /// Its subject.
    pub subject: String,
    /// Who works in it.
    pub owner: String,
    /// The branch to start from; `None`: what the main work tree has checked out.
    pub base: Option<String>,
    /// Branches whose work it needs: those of the task's blockers.
    pub needs: Vec<String>,
}

/// What stands under a name.
enum Spot {
    /// Nothing (any more).
    Free,
    /// Only the branch, with work that nobody else has, of a worktree that was never removed.
    Branch,
    /// Something that must stay.
    Taken,
}

impl Worktrees {
    /// Makes a worktree for a task: a new branch from the base, with what the task needs merged in. Where one
    /// of the task still stands, the new one has a number in its name; where its folder was lost but not
    /// its branch, the folder is made again.
    ///
    /// # Errors
    /// Why it can not be made; nothing of it is left then that would be in the way of another try.
    pub fn create(&self, new: &NewWorktree, now: Stamp) -> Result<Created, StoreError> {
        let mut work = self.work()?;
        let (base, commit) = work.start_of(new)?;
        let (name, origin) = work.name_for(new.task, &commit)?;
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
        tree.path = path.to_string_lossy().into_owned();
        work.log.note(Note::of(super::debris::CREATE, &tree), now)?;
        let made = work.add(&name, origin, &commit).and_then(|()| {
            // Entered before anything is merged into it: from here on it stands, whatever happens.
            work.index.put(tree.clone());
            work.save()?;
            work.bring(&name, &new.needs, now)
        });
        match made {
            Ok(brought) => {
                work.log
                    .note(Note::of("worktree.create.after", &tree), now)?;
                Ok(Created {
                    worktree: tree,
                    origin,
                    brought,
                })
            }
            Err(error) => {
                let note = Note::of("worktree.create.failed", &tree).error(&error.to_string());
                work.log.note(note, now)?;
                Err(error)
            }
        }
    }

    /// Merges other branches into a worktree that has nothing uncommitted: what it has already is passed
    /// over, and so is a branch that is gone. A branch that conflicts is left out and named.
    ///
    /// # Errors
    /// When there is no such worktree, it is not clean, or git fails.
    pub fn bring(
        &self,
        name: &WorktreeName,
        branches: &[String],
        now: Stamp,
    ) -> Result<Brought, StoreError> {
        let work = self.work()?;
        let name = work.index.find(name)?.name.clone();
        work.bring(&name, branches, now)
    }
}

impl Work {
    /// The branch and the commit to start from.
    fn start_of(&self, new: &NewWorktree) -> Result<(Option<String>, String), StoreError> {
        let head = self.repo.head()?;
        let Some(base) = &new.base else {
            // In the middle of a rebase a commit is checked out that is no place to start from.
            if let Some(what @ (Busy::Rebase | Busy::Bisect)) = self.repo.busy() {
                let place = "the main work tree".into();
                return Err(WorktreeError::Busy { what, place }.into());
            }
            return Ok((head.branch, head.commit));
        };
        match self.repo.branch(base)? {
            Some(commit) => Ok((Some(base.clone()), commit)),
            None => Err(WorktreeError::NoBase(base.clone()).into()),
        }
    }

    fn name_for(&self, task: TaskId, base: &str) -> Result<(WorktreeName, Origin), StoreError> {
        let registered = self.repo.registered()?;
        for name in WorktreeName::candidates(task) {
            match self.spot(&name, &registered, base)? {
                Spot::Free => return Ok((name, Origin::Base)),
                Spot::Branch => return Ok((name, Origin::Branch)),
                Spot::Taken => {}
            }
        }
        Err(WorktreeError::TooMany(task).into())
    }

    /// What stands under a name. What an attempt that was cut off left behind is cleared away: nobody has
    /// worked in it.
    fn spot(
        &self,
        name: &WorktreeName,
        registered: &[RegisteredWorktree],
        base: &str,
    ) -> Result<Spot, StoreError> {
        let dir = self.dir.join(name.as_str());
        let known = registered.iter().find(|r| r.path == dir);
        if known.is_some_and(|r| r.locked.as_deref() == Some(INITIALIZING)) {
            self.clear(name)?;
        }
        if self.tree(name).on_disk != OnDisk::Missing {
            return Ok(Spot::Taken);
        }
        if known.is_some() {
            self.unregister(name)?;
        }
        let branch = name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Ok(Spot::Free);
        };
        let is_used = registered
            .iter()
            .any(|r| r.path != dir && r.branch.as_deref() == Some(&branch));
        if is_used {
            return Ok(Spot::Taken);
        }
        if self.repo.contains(base, &tip)? {
            self.delete_branch(name, &tip)?;
            return Ok(Spot::Free);
        }
        // Without an entry nobody knows whose work it is, and what was removed was removed on purpose.
        Ok(match self.index.get(name) {
            Some(_) => Spot::Branch,
            None => Spot::Taken,
        })
    }

    /// Clears away a worktree that `git worktree add` did not finish.
    fn clear(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let tree = self.tree(name);
        if tree.on_disk == OnDisk::Missing && tree.dir.exists() {
            fs::remove_dir(&tree.dir).map_err(StoreError::at(&tree.dir))?;
        }
        let path = tree.dir.to_string_lossy();
        // Twice: git locks it while it makes it.
        self.repo
            .git
            .ok(&["worktree", "remove", "--force", "--force", "--", &path])?;
        Ok(())
    }

    /// Lets git forget a worktree whose folder is gone; other such worktrees may be on a disk that is
    /// only not mounted, so there is no `prune`.
    pub(super) fn unregister(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        if dir.exists() {
            fs::remove_dir(&dir).map_err(StoreError::at(&dir))?;
        }
        let is_known = self.repo.registered()?.iter().any(|r| r.path == dir);
        if is_known {
            let path = dir.to_string_lossy();
            self.repo
                .git
                .ok(&["worktree", "remove", "--force", "--", &path])?;
        }
        Ok(())
    }

    fn add(&self, name: &WorktreeName, origin: Origin, commit: &str) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let (path, branch) = (dir.to_string_lossy(), name.branch());
        let git = &self.repo.git;
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

    fn bring(
        &self,
        name: &WorktreeName,
        branches: &[String],
        now: Stamp,
    ) -> Result<Brought, StoreError> {
        let mut brought = Brought::default();
        if branches.is_empty() {
            return Ok(brought);
        }
        let (git, own) = self.whole(name)?;
        let place = || format!("worktree {name}");
        if let Some(what) = busy_in(&own) {
            let place = place();
            return Err(WorktreeError::Busy { what, place }.into());
        }
        on_own_branch(name, &git)?;
        clean(name, &git)?;
        let (tree, mut is_noted) = (self.entered(name), false);
        for branch in branches.iter().filter(|b| **b != name.branch()) {
            let (Some(tip), Some(here)) = (self.repo.branch(branch)?, head(&git)?) else {
                continue;
            };
            if self.repo.contains(&here.commit, &tip)? {
                continue;
            }
            let open = looked_into(&git, &self.tree(name).dir, None, &tip)?;
            if !open.is_empty() {
                // Its agent merges it, confined as all that it does.
                brought.conflicts.push(Conflict {
                    branch: branch.clone(),
                    files: open.into_iter().take(FILES_MAX).collect(),
                });
                continue;
            }
            let message = format!("Start from {branch}");
            let flags = ["--ff", "--no-gpg-sign"];
            if !is_noted {
                is_noted = true;
                self.log.note(Note::of(super::debris::BRING, &tree), now)?;
            }
            match try_merge(&git.committer()?, &own, &tip, &message, &flags)? {
                Attempt::Done => brought.merged.push(branch.clone()),
                Attempt::Conflict(files) => brought.conflicts.push(Conflict {
                    branch: branch.clone(),
                    files,
                }),
                Attempt::Refused(why) => {
                    let branch = branch.clone();
                    return Err(WorktreeError::NotMerged { branch, why }.into());
                }
            }
        }
        if is_noted {
            self.log
                .note(Note::of("worktree.bring.after", &tree), now)?;
        }
        Ok(brought)
    }
}
