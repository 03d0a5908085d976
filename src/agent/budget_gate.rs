//! The interface through which an agent reports its usage and waits while a budget is used up. Declared here,
//! implemented by the crew.

use futures::future::BoxFuture;

use crate::domain::ids::Name;
use crate::domain::usage::Usage;

/// Counts the usage of agents, and delays or denies their model calls when a budget is used up.
pub trait BudgetGate: Send + Sync {
    /// Records that the agent starts a turn. In this turn, the agent may again request a higher budget that was denied in
    /// an earlier turn. Has no effect for a subagent, whose turn is part of its parent's turn.
    fn begin(&self, agent: &Name);

    /// Adds `usage` and `cost` to the totals of the agent. `cost` is in US dollars; `None` if the price is unknown.
    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>);

    /// Waits until the budgets allow the agent's next model call. If a higher budget is denied or the crew stops, returns
    /// the reason as an error.
    fn wait_for_budget<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;
}
