//! What has become of the branches of merge trains.

use std::collections::BTreeSet;

use crate::domain::ids::TaskId;
use crate::domain::merge_train::{HeldBack, ThrownOut, TrainEnd};
use crate::domain::worktree::WorktreeName;
use crate::store::LandedCommit;

/// A task that was thrown out.
#[derive(Debug)]
pub struct TrainFailure {
    pub out: ThrownOut,
    pub name: WorktreeName,
    /// The failing part of the output; empty for a conflict.
    pub output: String,
    /// The commit of the base branch with which the branch breaks, if it is not the branch of another task.
    pub commit: Option<LandedCommit>,
}

/// What has become of the branches with the same base branch.
#[derive(Debug)]
pub struct TrainReport {
    /// The base branch.
    pub into: String,
    pub landed: Vec<TaskId>,
    /// The commit of the base branch after the last landing; `None` if nothing has landed.
    pub commit: Option<String>,
    /// The commit to which `git reset --keep` takes all back; `None` if nothing has landed in the user's checkout.
    pub undo: Option<String>,
    pub thrown_out: Vec<TrainFailure>,
    /// The tasks that had landed before this train and with which one that was thrown out breaks.
    pub landed_before: BTreeSet<TaskId>,
    pub held_back: Vec<HeldBack>,
    /// The tasks that are still to land because the train has ended early.
    pub waiting: Vec<TaskId>,
    pub end: TrainEnd,
    /// The failing part of the output if the base branch itself is red.
    pub base_output: String,
}

/// What has become of all branches.
#[derive(Debug, Default)]
pub struct TrainReports {
    /// At least one for each base branch.
    pub trains: Vec<TrainReport>,
    /// The tasks whose branch was merged before, each with the base branch.
    pub merged: Vec<(TaskId, String)>,
    /// The tasks whose branch cannot be merged now, each with the reason.
    pub refused: Vec<(TaskId, String)>,
    /// The tasks that were not tried because they build on a task that an earlier train has thrown out.
    pub held_back: Vec<HeldBack>,
    /// Those of `refused` that had no room in a train that has ended early.
    pub not_tried: Vec<TaskId>,
}

impl TrainReports {
    /// Returns the task that was thrown out and on which one with these `needs` builds, directly or through other tasks
    /// that were held back.
    pub(super) fn thrown_out_below(&self, needs: &BTreeSet<TaskId>) -> Option<TaskId> {
        let thrown_out = self.trains.iter().flat_map(|train| &train.thrown_out);
        let thrown_out = thrown_out.map(|failure| (failure.out.task, failure.out.task));
        let held_back = self.trains.iter().flat_map(|train| &train.held_back);
        let held_back = held_back
            .chain(&self.held_back)
            .map(|held| (held.task, held.by));
        let mut all = thrown_out.chain(held_back);
        all.find(|(task, _)| needs.contains(task)).map(|(_, by)| by)
    }
}
