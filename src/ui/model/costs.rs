//! The usage of each task. The usage of a model call is counted for the open task that the agent owned when the call
//! returned.

use std::collections::BTreeMap;

use crate::domain::budget::charged_agent;
use crate::domain::ids::{Name, TaskId};
use crate::domain::usage::{Cost, Usage};
use crate::ui::model::{CrewModel, board as model_board};

/// Maximum number of tasks whose usage is recorded. If there are more, the task with the lowest number is dropped, and
/// its usage counts as usage outside tasks.
const TASKS_MAX: usize = 1000;

/// The token usage and cost of each task.
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
    pub fn by_cost(&self) -> Vec<(TaskId, Used)> {
        let mut all: Vec<(TaskId, Used)> =
            self.tasks.iter().map(|(id, used)| (*id, *used)).collect();
        all.sort_by(|(_, a), (_, b)| {
            let ((a_cost, a_tokens), (b_cost, b_tokens)) = (a.weight(), b.weight());
            b_cost.total_cmp(&a_cost).then(b_tokens.cmp(&a_tokens))
        });
        all
    }

    /// Returns the usage of `task`; `None` if no usage was recorded.
    pub fn of(&self, task: TaskId) -> Option<Used> {
        self.tasks.get(&task).copied()
    }
}

/// Adds `more`, the usage of `agent` since its last report, to the agent's open task. The usage of a subagent is added
/// to the open task of its parent. Does nothing if there is no open task or `more` has no tokens.
///
/// Also does nothing if `more` has more than one call. The crew has made these calls before this screen received
/// events, so their task is unknown.
pub fn record_usage(model: &mut CrewModel, agent: &Name, more: Used) {
    if more.usage.total() == 0 || more.calls > 1 {
        return;
    }
    let task = model_board::open_task(model, &charged_agent(agent)).map(|task| task.id);
    if let Some(task) = task {
        model.costs.count(task, more);
    }
}

/// What model calls have used: tokens, number of calls and cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// The tokens of each kind, such as input and output.
    pub usage: Usage,
    /// The number of model calls; 0 if they were not counted.
    pub calls: u64,
    /// The cost; `None` if no price is known.
    pub cost: Option<Cost>,
}

impl Used {
    /// Adds another usage. The sum of the costs leaves out unknown ones.
    pub fn add(&mut self, other: Used) {
        self.usage.add(other.usage);
        self.calls = self.calls.saturating_add(other.calls);
        let costs = [self.cost, other.cost];
        self.cost = costs.into_iter().flatten().reduce(Cost::plus);
    }

    /// Returns the increase from the earlier usage `before` to this one. A negative difference counts as 0.
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
            cost: self.cost.map(|cost| Cost {
                dollars: (cost.dollars - before.dollars()).max(0.0),
                ..cost
            }),
        }
    }

    /// Returns the cost in US dollars; 0 if it is unknown.
    pub fn dollars(&self) -> f64 {
        self.cost.map_or(0.0, |cost| cost.dollars)
    }

    /// Returns the key for sorting by expense: the cost in US dollars, which is 0 if it is unknown, then the number of
    /// tokens.
    pub fn weight(&self) -> (f64, u64) {
        (self.dollars(), self.usage.total())
    }
}
