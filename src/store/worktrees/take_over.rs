//! Moves the branch of a worktree to the commits that another host has published, without loss of commits or files here.

use super::fetched_refs::is_ancestor;
use super::log::LogEntry;
use super::merge::{MergeOutcome, check_clean, check_own_branch, short_list, try_merge};
use super::nested_repos::scanned_by_merge;
use super::{OpenRegistry, debris, interrupted_merge};
use crate::domain::ids::TaskId;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{FolderState, Worktree, WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{RegisteredWorktree, busy_in};

/// The message of git's reflog for a branch that was created or moved.
const REFLOG: &str = "crewdeck: from another host";
/// Number of characters of a commit's hash in a message.
const HASH_SHOWN: usize = 12;

impl OpenRegistry {
    /// Creates the branch of a worktree at the commit `fetched`, or fast-forwards it to that commit, and enters the worktree
    /// into the registry. Returns the last commit of the branch here. Fails as [`super::BranchExchange::take_over`] does.
    pub(super) fn take_over_branch(
        &mut self,
        worktree: &WorktreeName,
        fetched: String,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        let git = self.repo.git.clone();
        let branch = worktree.branch();
        let local = self.repo.branch(&branch)?;
        let commit = match local {
            Some(local) if is_ancestor(&git, &fetched, &local)? => local,
            Some(local) if is_ancestor(&git, &local, &fetched)? => {
                self.advance_branch(worktree, &local, &fetched, now)?;
                fetched
            }
            Some(local) => {
                return Err(WorktreeError::Diverged {
                    branch,
                    here: abbreviated(&local),
                    there: abbreviated(&fetched),
                }
                .into());
            }
            None => {
                self.move_to(&branch, &fetched, None)?;
                fetched
            }
        };
        self.register(worktree, now)?;
        Ok(commit)
    }

    /// Moves the branch of a worktree from the commit `from` to `to`, which has `from` in its history.
    fn advance_branch(
        &self,
        name: &WorktreeName,
        from: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let branch = name.branch();
        if let Some(dir) = self.repo.in_use_by_operation(&branch) {
            return Err(refused(format!(
                "a rebase or bisect of {branch} is in progress, so it was not moved: finish it first (git folder {})",
                dir.display()
            )));
        }
        let own = self.dir.join(name.as_str());
        let registered = self.repo.list_worktrees()?;
        let using = |r: &&RegisteredWorktree| r.branch.as_deref() == Some(branch.as_str());
        let mut is_checked_out = false;
        for known in registered.iter().filter(using) {
            if known.path != own {
                return Err(refused(format!(
                    "{branch} is checked out in {}, so it was not moved: switch to another branch there",
                    known.path.display()
                )));
            }
            is_checked_out = true;
        }
        if is_checked_out && self.folder(name).on_disk != FolderState::Missing {
            self.fast_forward_folder(name, to, now)
        } else {
            self.move_to(&branch, to, Some(from))
        }
    }

    /// Fast-forwards the branch of a worktree in its folder, which must be clean. First undoes what an earlier attempt has
    /// left that was killed.
    fn fast_forward_folder(
        &self,
        name: &WorktreeName,
        to: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (git, own) = self.valid_folder(name)?;
        let dir = self.folder(name).dir;
        if let Some(what) = busy_in(&own) {
            let place = format!("worktree {name}");
            return Err(WorktreeError::Busy { what, place }.into());
        }
        check_own_branch(name, &git)?;
        let nested = scanned_by_merge(&git, &dir, None, to)?;
        if !nested.is_empty() {
            return Err(refused(format!(
                "{} was not moved: git would run in these submodules, whose settings agents can write: {}. Run git merge {} in the worktree",
                name.branch(),
                short_list(&nested, nested.len()),
                abbreviated(to)
            )));
        }
        let last = self.log.last_events()?.remove(name.as_str());
        if last.is_some_and(|last| last.event == debris::BRING) {
            let kind = interrupted_merge::FastForward::Possible;
            interrupted_merge::undo(&git, &dir, &own, to, kind)?;
        }
        check_clean(name, &git)?;
        let tree = self.entry_of(name);
        self.log.record(LogEntry::of(debris::BRING, &tree), now)?;
        let flags = ["--ff-only", "--no-gpg-sign"];
        let outcome = try_merge(&git, &own, to, REFLOG, &flags)?;
        let why = match outcome {
            MergeOutcome::Merged => None,
            MergeOutcome::Conflict(files) => Some(short_list(&files, files.len())),
            MergeOutcome::Failed(why) => Some(why),
            // The log keeps the start, so that the next attempt undoes what git has written.
            MergeOutcome::Killed(why) => return Err(unmoved(name, &why)),
        };
        self.log
            .record(LogEntry::of("worktree.bring.after", &tree), now)?;
        match why {
            None => Ok(()),
            Some(why) => Err(unmoved(name, &why)),
        }
    }

    /// Creates a branch at the commit `to`, or moves it there from the commit `from`. Git compares its old value, so that a
    /// commit of another program is never lost.
    fn move_to(&self, branch: &str, to: &str, from: Option<&str>) -> Result<(), StoreError> {
        let full = format!("refs/heads/{branch}");
        // An empty old value says that the ref must not exist.
        let from = from.unwrap_or("");
        self.repo
            .git
            .ok(&["update-ref", "-m", REFLOG, &full, to, from])?;
        Ok(())
    }

    /// Enters a worktree of another host into the registry, unless it is there.
    fn register(&mut self, name: &WorktreeName, now: Timestamp) -> Result<(), StoreError> {
        if self.index.get(name).is_some() {
            return Ok(());
        }
        let path = self.dir.join(name.as_str()).to_string_lossy().into_owned();
        let mut tree = Worktree::new(name.clone(), path, now);
        tree.task_id = task_of(name);
        self.index.put(tree);
        self.save()
    }
}

/// Returns the task of a worktree: also of one that was published beside other work, whose name begins with that of the
/// worktree.
fn task_of(name: &WorktreeName) -> Option<TaskId> {
    let mut parts = name.as_str().splitn(3, '-');
    let first = format!("{}-{}", parts.next()?, parts.next()?);
    WorktreeName::new(&first).ok()?.task()
}

fn abbreviated(commit: &str) -> String {
    commit.chars().take(HASH_SHOWN).collect()
}

fn unmoved(name: &WorktreeName, why: &str) -> StoreError {
    refused(format!("{} was not moved: {why}", name.branch()))
}

fn refused(why: String) -> StoreError {
    WorktreeError::NotTakenOver(why).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn task_of_a_branch_beside_other_work_is_found() {
        for (name, task) in [
            ("task-7", Some(7)),
            ("task-7-2", Some(7)),
            ("task-7-gpu-box-1a2b3c4d", Some(7)),
            ("task-x-1a2b3c4d", None),
            ("other", None),
        ] {
            let name = WorktreeName::new(name).unwrap();
            assert_eq!(task_of(&name), task.map(TaskId), "{name}");
        }
    }
}
