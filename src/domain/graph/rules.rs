//! Rules for claiming, completing and releasing a task. The checks change nothing, so the UI can use them to show which
//! actions are possible.

use super::super::ids::{Name, TaskId};
use super::super::task::{Task, TaskStatus};
use super::super::text::clip;
use super::{Claimer, GraphError, TaskGraph, tags_match};

impl TaskGraph {
    /// Checks whether `claimer` may claim task `id` (guarantee 2 in docs/GUARANTEES.md). The task must exist, be
    /// pending, have neither an owner nor open blockers, and require only tags that `claimer` has; the user needs no
    /// tags. `claimer` must have no other open task.
    ///
    /// # Errors
    /// Returns the first of these rules that is broken.
    pub fn check_claim(&self, id: TaskId, claimer: &Claimer) -> Result<(), GraphError> {
        let task = self.require(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        if !task.owner.is_empty() {
            return Err(GraphError::Claimed(id, task.owner.clone()));
        }
        if task.status != TaskStatus::Pending {
            return Err(GraphError::Claimed(id, "an unknown owner".into()));
        }
        let open = self.open_blockers(task);
        if !open.is_empty() {
            return Err(GraphError::Blocked(id, join_ids(&open)));
        }
        if !tags_match(task, claimer) {
            return Err(GraphError::Tags(id, task.tags.join(", ")));
        }
        match self.open_task_of(&claimer.name) {
            Some(other) => Err(GraphError::Busy {
                who: claimer.name.clone(),
                open: other.id,
            }),
            None => Ok(()),
        }
    }

    /// Checks whether `who` may complete task `id`. The task must exist and not be completed, must have no open
    /// blockers, and must be owned by `who` or have no owner. If the user has taken the task from `who`, `who` must
    /// claim it again first.
    ///
    /// # Errors
    /// Returns the first of these rules that is broken.
    pub fn check_complete(&self, id: TaskId, who: &Name) -> Result<(), GraphError> {
        let task = self.require(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        Self::check_owner(task, who)?;
        if task.owner.is_empty() && task.was_taken_from(who.as_str()) {
            return Err(GraphError::TakenByUser(id));
        }
        let open = self.open_blockers(task);
        if !open.is_empty() {
            return Err(GraphError::Blocked(id, join_ids(&open)));
        }
        Ok(())
    }

    /// Checks whether `who` may release task `id`. The task must exist and not be completed, and must be owned by `who`
    /// or have no owner.
    ///
    /// # Errors
    /// Returns the first of these rules that is broken.
    pub fn check_release(&self, id: TaskId, who: &Name) -> Result<(), GraphError> {
        let task = self.require(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        Self::check_owner(task, who)
    }

    pub(super) fn check_owner(task: &Task, who: &Name) -> Result<(), GraphError> {
        if task.owner.is_empty() || task.owner.eq_ignore_ascii_case(who.as_str()) {
            Ok(())
        } else {
            Err(GraphError::OtherOwner(task.id, task.owner.clone()))
        }
    }
}

pub(super) fn join_ids(ids: &[TaskId]) -> String {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    clip(&texts.join(", "), 120)
}
