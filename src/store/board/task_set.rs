//! A set of tasks of one board: all of them, or the tasks with given numbers.

use std::collections::BTreeSet;

use crate::domain::ids::TaskId;

/// A set of tasks, such as the tasks that were changed or the tasks whose files are to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSet {
    All,
    These(BTreeSet<TaskId>),
}

impl TaskSet {
    pub(super) fn and(self, id: TaskId) -> TaskSet {
        match self {
            TaskSet::All => TaskSet::All,
            TaskSet::These(mut ids) => {
                ids.insert(id);
                TaskSet::These(ids)
            }
        }
    }
}
