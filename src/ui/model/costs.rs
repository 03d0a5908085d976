//! Which task tokens were spent on: the one that the agent had open when its model answered.

use std::collections::BTreeMap;

use crate::domain::ceiling::payer;
use crate::domain::ids::{Name, TaskId};
use crate::ui::app::UiState;
use crate::ui::panes::board;
use crate::ui::popups::costs::Used;

/// Most tasks of which it is known; beyond, the one with the lowest number joins what belongs to no task.
const TASKS_MAX: usize = 1000;

/// What was spent on each task.
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

    /// What was spent on tasks, the dearest first.
    pub fn dearest(&self) -> Vec<(TaskId, Used)> {
        let mut all: Vec<(TaskId, Used)> =
            self.tasks.iter().map(|(id, used)| (*id, *used)).collect();
        all.sort_by(|(_, a), (_, b)| {
            let ((a_cost, a_tokens), (b_cost, b_tokens)) = (a.weight(), b.weight());
            b_cost.total_cmp(&a_cost).then(b_tokens.cmp(&a_tokens))
        });
        all
    }

    /// What was spent on `task`, if anything is known.
    pub fn of(&self, task: TaskId) -> Option<Used> {
        self.tasks.get(&task).copied()
    }
}

/// `agent` has used more. What a subagent uses is spent on its parent's task. More than one call at once was made before
/// this screen looked on: for what is not known.
pub fn spent(state: &mut UiState, agent: &Name, more: Used) {
    if more.usage.total() == 0 || more.calls > 1 {
        return;
    }
    let task = board::open_task(state, &payer(agent)).map(|task| task.id);
    if let Some(task) = task {
        state.costs.count(task, more);
    }
}
