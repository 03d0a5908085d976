//! Counts an agent's usage and holds model calls back when a budget is used up. Declared here, implemented by the crew.

use futures::future::BoxFuture;

use crate::domain::ids::Name;
use crate::domain::usage::Usage;

/// The crew's budget for its agents.
pub trait BudgetGate: Send + Sync {
    /// Starts a turn of the agent: an increase that was denied in an earlier turn may be requested again.
    fn begin(&self, agent: &Name);

    /// Adds usage of the agent; `cost` is in US dollars, if the price is known.
    fn count(&self, agent: &Name, usage: Usage, cost: Option<f64>);

    /// Waits until the agent may call its model. The error says why it may not.
    fn wait_for_budget<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;
}
