//! Who may claim, complete and release a task: the rules alone, for who decides and for who shows what can be done.

use super::super::ids::{Name, TaskId};
use super::super::task::{Task, TaskStatus};
use super::super::text::clip;
use super::{Claimer, GraphError, TaskGraph, tags_fit};

impl TaskGraph {
    /// Whether `claimer` may claim task `id`, as all of promise 2 says.
    pub fn may_claim(&self, id: TaskId, claimer: &Claimer) -> Result<(), GraphError> {
        let task = self.known(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Finished(id));
        }
        if !task.owner.is_empty() {
            return Err(GraphError::Claimed(id, task.owner.clone()));
        }
        if task.status != TaskStatus::Pending {
            return Err(GraphError::Claimed(id, "somebody who left no name".into()));
        }
        let open = self.open_blockers(task);
        if !open.is_empty() {
            return Err(GraphError::Blocked(id, list(&open)));
        }
        if !tags_fit(task, claimer) {
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

    /// Whether `who` may complete task `id`.
    pub fn may_complete(&self, id: TaskId, who: &Name) -> Result<(), GraphError> {
        let task = self.known(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Finished(id));
        }
        Self::own(task, who)?;
        if task.owner.is_empty() && task.was_taken_from(who.as_str()) {
            return Err(GraphError::Taken(id));
        }
        let open = self.open_blockers(task);
        if !open.is_empty() {
            return Err(GraphError::Blocked(id, list(&open)));
        }
        Ok(())
    }

    /// Whether `who` may put task `id` back on the board.
    pub fn may_release(&self, id: TaskId, who: &Name) -> Result<(), GraphError> {
        let task = self.known(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Finished(id));
        }
        Self::own(task, who)
    }

    pub(super) fn own(task: &Task, who: &Name) -> Result<(), GraphError> {
        if task.owner.is_empty() || task.owner.eq_ignore_ascii_case(who.as_str()) {
            Ok(())
        } else {
            Err(GraphError::Foreign(task.id, task.owner.clone()))
        }
    }
}

pub(super) fn list(ids: &[TaskId]) -> String {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    clip(&texts.join(", "), 120)
}
