//! The merge train: combines several worktrees' branches with their base branch, without touching a checkout, and lands
//! them together. What is to be combined and when it lands is decided in `domain/merge_train`.
//!
//! - `combination.rs` creates the combined commit, to which no branch refers yet.
//! - `checkout.rs` checks it out in a folder of its own, in which a check runs.
//! - `landing.rs` moves the base branch to it, if the base branch is still the commit that was combined.
//! - `landing_record.rs` remembers a landing while it is in progress. After `kill -9`, it is recorded or undone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::merge::check_state_untouched;
use super::{OpenRegistry, Worktrees, lock_path};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{Worktree, WorktreeError, WorktreeName, WorktreePhase};
use crate::store::StoreError;
use crate::store::atomic::Lock;

/// The name of trains in the log. Worktrees of tasks have other names.
const TRAIN: &str = "merge-train";

/// A branch that is to land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainBranch {
    pub name: WorktreeName,
    /// The last commit of the branch. Later commits do not land.
    pub tip: String,
    /// The git tree of `tip`.
    pub tree: String,
    /// The message of the merge commit.
    pub message: String,
}

/// Branches with the same base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainPlan {
    /// The base branch.
    pub into: String,
    /// The last commit of the base branch.
    pub base: String,
    pub branches: Vec<TrainBranch>,
}

/// What can be combined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrainPlans {
    /// One for each base branch, with the branches in the given order.
    pub plans: Vec<TrainPlan>,
    /// The worktrees whose branch the base branch contains already, each with the base branch.
    pub merged: Vec<(WorktreeName, String)>,
    /// The worktrees whose branch cannot be merged now, each with the reason.
    pub refused: Vec<(WorktreeName, String)>,
}

/// The right to run a train. While it exists, no other train of the project runs, in this process or another one.
#[derive(Debug)]
pub struct TrainLock {
    _lock: Lock,
}

impl Worktrees {
    /// Returns the right to run a train; `None` if another train runs.
    ///
    /// # Errors
    /// When the root is not a repository, or the lock file cannot be used.
    pub fn lock_train(&self) -> Result<Option<TrainLock>, StoreError> {
        let (_, dir) = self.open_repo()?;
        let lock = Lock::take_within(&train_lock_path(&dir), Duration::ZERO)?;
        Ok(lock.map(|lock| TrainLock { _lock: lock }))
    }

    /// Checks which branches can be combined: the same conditions as for [`Worktrees::merge`], except those on the main
    /// worktree, which [`Worktrees::check_landing`] checks. First records or undoes a landing that was interrupted, and
    /// deletes the checkouts that killed processes have left. Records branches that are merged already.
    ///
    /// # Errors
    /// [`WorktreeError::OldGit`] if the installed git cannot combine branches without a checkout. Also when the registry
    /// cannot be read or written, or git fails.
    pub fn plan_trains(
        &self,
        names: &[WorktreeName],
        now: Timestamp,
    ) -> Result<TrainPlans, StoreError> {
        let mut work = self.begin_change()?;
        work.recover_landing_first(now)?;
        work.undo_interrupted_merges(now)?;
        work.delete_stale_checkouts();
        work.check_git_can_combine()?;
        let mut found = TrainPlans::default();
        for name in names {
            match work.plan_branch(name, now) {
                Ok(PlannedBranch::Merged { into }) => found.merged.push((name.clone(), into)),
                Ok(PlannedBranch::Open { into, base, branch }) => {
                    let known = found.plans.iter_mut().find(|plan| plan.into == into);
                    match known {
                        Some(plan) => plan.branches.push(branch),
                        None => found.plans.push(TrainPlan {
                            into,
                            base,
                            branches: vec![branch],
                        }),
                    }
                }
                Err(StoreError::Worktree(why)) => {
                    found.refused.push((name.clone(), why.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

enum PlannedBranch {
    Merged {
        into: String,
    },
    Open {
        into: String,
        base: String,
        branch: TrainBranch,
    },
}

impl OpenRegistry {
    fn plan_branch(
        &mut self,
        name: &WorktreeName,
        now: Timestamp,
    ) -> Result<PlannedBranch, StoreError> {
        let tree = self.index.find(name)?.clone();
        let branch = tree.name.branch();
        let Some(tip) = self.repo.branch(&branch)? else {
            return Err(WorktreeError::NoBranch(branch).into());
        };
        self.check_finished(&tree.name)?;
        let (base, commit) = self.base_of(&tree)?;
        // What was merged unchecked is checked on the base branch, which has it.
        let is_unchecked = tree.phase == WorktreePhase::MergedUnchecked && base.is_some();
        if !is_unchecked && self.repo.contains(&commit, &tip)? {
            self.record_merged(&tree, &commit, now)?;
            let into = base.unwrap_or(commit);
            return Ok(PlannedBranch::Merged { into });
        }
        let Some(into) = base else {
            return Err(WorktreeError::MainDetached.into());
        };
        check_state_untouched(&self.repo.git, &branch, &commit, &tip)?;
        let content = format!("{tip}^{{tree}}");
        Ok(PlannedBranch::Open {
            into,
            base: commit,
            branch: TrainBranch {
                message: tree.message(),
                name: tree.name,
                tree: self.repo.git.ok(&["rev-parse", "--verify", &content])?,
                tip,
            },
        })
    }

    /// Returns an entry for the log about a train.
    pub(super) fn train_entry(&self) -> Result<Worktree, StoreError> {
        Ok(self.entry_of(&WorktreeName::new(TRAIN)?))
    }
}

/// Returns the path of the lock that a train holds while it runs. `dir` is the worktrees folder.
pub(super) fn train_lock_path(dir: &Path) -> PathBuf {
    lock_path(dir).with_file_name(".merge-train.lock")
}
