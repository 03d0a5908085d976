//! The interface through which an agent reports its usage, and waits while a budget is used up or after it has made no
//! progress. Declared here, implemented by the crew.

use futures::future::BoxFuture;

use crate::domain::ids::Name;
use crate::domain::usage::{Cost, Usage};

/// Counts the usage of agents, and delays or denies their model calls when a budget is used up or an agent makes no
/// progress.
pub trait BudgetGate: Send + Sync {
    /// Records that the agent starts a turn. In this turn, the agent may again request a higher budget that was denied
    /// in an earlier turn. Has no effect for a subagent, whose turn is part of its parent's turn.
    fn begin(&self, agent: &Name);

    /// Adds the usage of an earlier run of the agent to the totals of the agent and the team.
    fn restore(&self, agent: &Name, usage: Usage, cost: Option<Cost>);

    /// Adds a model call to the totals of the agent, the team, the day and the month, and warns the user if a budget is
    /// nearly used up. The cost is `None` if the price is unknown.
    fn count<'a>(&'a self, agent: &'a Name, usage: Usage, cost: Option<Cost>) -> BoxFuture<'a, ()>;

    /// Warns the user, once for each model, that the calls of `model` do not count towards the budgets in US dollars,
    /// because its price is unknown. Does nothing if there is no such budget.
    fn warn_without_price<'a>(&'a self, model: &'a str) -> BoxFuture<'a, ()>;

    /// Waits until the budgets allow the agent's next model call. If a higher budget is denied or the crew stops,
    /// returns the reason as an error.
    fn wait_for_budget<'a>(&'a self, agent: &'a Name) -> BoxFuture<'a, Result<(), String>>;

    /// Asks the user whether the agent may go on although it makes no progress, and waits for the answer. `reason` says
    /// what the agent did last. Returns the user's advice for the agent, which may be empty. If the user says no, no
    /// user is present, or the crew stops, returns the reason as an error.
    fn ask_to_go_on<'a>(
        &'a self,
        agent: &'a Name,
        reason: String,
    ) -> BoxFuture<'a, Result<String, String>>;
}
