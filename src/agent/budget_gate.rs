//! The interface through which an agent reports its usage and waits while a budget is used up. Declared here,
//! implemented by the crew.

use futures::future::BoxFuture;

use crate::domain::ids::Name;
use crate::domain::usage::Usage;

/// Counts the usage of agents, and delays or denies their model calls when a budget is used up.
pub trait BudgetGate: Send + Sync {
    /// Records that the agent starts a turn. If the user denied a higher budget in an earlier turn, the agent may then
    /// request it again.
    fn begin(&self, agent: &Name);

    /// Adds to the agent's usage. `cost` is in US dollars, `None` if the price is unknown.
    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>);

    /// Waits until the budgets allow the agent's next model call. If the call is denied, returns the reason as an
    /// error.
    fn wait_for_budget<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;
}
