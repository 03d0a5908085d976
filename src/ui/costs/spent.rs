//! Usage by task. The usage of a model call counts for the task that the agent had open when the call returned.

use std::collections::BTreeMap;

use super::Used;
use crate::domain::ceiling::payer;
use crate::domain::ids::{Name, TaskId};
use crate::ui::board;
use crate::ui::state::UiState;

/// Maximum number of tasks that are tracked. Beyond it, the task with the lowest number is dropped; its usage then counts
/// as usage outside tasks.
const TASKS_MAX: usize = 1000;

/// The usage of each task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskBook {
    tasks: BTreeMap<TaskId, Used>,
}

impl TaskBook {
    fn count(&mut self, task: TaskId, used: Used) {
        self.tasks.entry(task).or_default().add(used);
        if self.tasks.len() > TASKS_MAX {
            self.tasks.pop_first();
        }
    }

    /// Returns the usage of each task, most expensive first.
    pub fn dearest(&self) -> Vec<(TaskId, Used)> {
        let mut all: Vec<(TaskId, Used)> =
            self.tasks.iter().map(|(id, used)| (*id, *used)).collect();
        all.sort_by(|(_, a), (_, b)| {
            let ((a_cost, a_tokens), (b_cost, b_tokens)) = (a.weight(), b.weight());
            b_cost.total_cmp(&a_cost).then(b_tokens.cmp(&a_tokens))
        });
        all
    }

    /// Returns the usage of `task`, if any is known.
    pub fn of(&self, task: TaskId) -> Option<Used> {
        self.tasks.get(&task).copied()
    }
}

/// Records additional usage of `agent`. A subagent's usage counts for its parent's task. An increase by more than one call
/// happened before this screen was attached: its task is unknown, and it is ignored.
pub fn spent(state: &mut UiState, agent: &Name, more: Used) {
    if more.usage.total() == 0 || more.calls > 1 {
        return;
    }
    let task = board::open_task(state, &payer(agent)).map(|task| task.id);
    if let Some(task) = task {
        state.costs.count(task, more);
    }
}
