//! Which task tokens were spent on: the one that the agent had open when its model answered.

use std::collections::BTreeMap;

use crate::domain::ceiling::payer;
use crate::domain::ids::{Name, TaskId};
use crate::domain::usage::Usage;
use crate::ui::model::{Model, board as model_board};

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
pub fn spent(model: &mut Model, agent: &Name, more: Used) {
    if more.usage.total() == 0 || more.calls > 1 {
        return;
    }
    let task = model_board::open_task(model, &payer(agent)).map(|task| task.id);
    if let Some(task) = task {
        model.costs.count(task, more);
    }
}

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// The tokens.
    pub usage: Usage,
    /// The calls of the model; 0 where they were not counted.
    pub calls: u64,
    /// US dollars, where the price of any call is known.
    pub cost: Option<f64>,
}

impl Used {
    /// Adds what was used besides.
    pub fn add(&mut self, other: Used) {
        self.usage.add(other.usage);
        self.calls = self.calls.saturating_add(other.calls);
        let costs = [self.cost, other.cost];
        self.cost = costs.into_iter().flatten().reduce(|a, b| a + b);
    }

    /// What was used since it was `before`.
    #[must_use]
    pub fn since(self, before: Used) -> Used {
        let usage = Usage {
            input: self.usage.input.saturating_sub(before.usage.input),
            output: self.usage.output.saturating_sub(before.usage.output),
            cache_read: self
                .usage
                .cache_read
                .saturating_sub(before.usage.cache_read),
            cache_write: self
                .usage
                .cache_write
                .saturating_sub(before.usage.cache_write),
        };
        Used {
            usage,
            calls: self.calls.saturating_sub(before.calls),
            cost: self
                .cost
                .map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
        }
    }

    /// What the dearest is sorted by: its cost, then its tokens.
    pub fn weight(&self) -> (f64, u64) {
        (self.cost.unwrap_or(0.0), self.usage.total())
    }
}
