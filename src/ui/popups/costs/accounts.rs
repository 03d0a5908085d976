//! Token usage and cost of each agent, most expensive agent first. The usage of subagents counts for the agent that
//! started them.

use std::collections::BTreeMap;

use crate::domain::budget::charged_agent;
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::ui::model::CrewModel;
use crate::ui::model::costs::Used;

/// The usage of one agent and its subagents.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// The agent. `None` for the row that sums up all agents that have left the team and are no longer in memory; there
    /// is at most one such row.
    pub name: Option<Name>,
    /// The number of subagents in memory whose usage is included. If `name` is `None`, the number of agents that the
    /// row sums up.
    pub others: usize,
    pub used: Used,
    /// Whether the agent has left the team.
    pub is_gone: bool,
}

/// The usage of each agent, and the total.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accounts {
    /// One account for each agent, and possibly one for former agents. [`accounts`] returns them most expensive first.
    pub all: Vec<Account>,
    pub sum: Used,
}

impl Accounts {
    /// Returns whether the price of at least one call is known.
    pub fn is_priced(&self) -> bool {
        self.sum.cost.is_some()
    }

    /// Returns the share of `used` in the total, in thousandths. It is the share of the cost if the total cost is known and
    /// not 0, otherwise the share of the tokens.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 1000
    pub fn share(&self, used: &Used) -> u64 {
        let all = self.sum.dollars();
        if all > 0.0 {
            return (used.dollars() / all * 1000.0).clamp(0.0, 1000.0) as u64;
        }
        let part = used.usage.total().saturating_mul(1000);
        part / self.sum.usage.total().max(1)
    }
}

/// Returns the usage of the lead, of the teammates and of agents that have left the team. The usage of a subagent
/// counts for its parent.
pub fn accounts(model: &CrewModel) -> Accounts {
    let mut all: BTreeMap<Name, (usize, Used)> = BTreeMap::new();
    for name in model.present() {
        all.entry(name).or_default();
    }
    for (name, agent) in model.agents.all() {
        let mut used = agent.own_usage();
        used.add(agent.past_subagents);
        if name.is_user() || used.usage.total() == 0 {
            continue;
        }
        let account = all.entry(charged_agent(name)).or_default();
        account.0 += usize::from(name.parent().is_some());
        account.1.add(used);
    }
    let gone = |name: &Name| model.activity(name) == Activity::Gone;
    let mut all: Vec<Account> = all
        .into_iter()
        .map(|(name, (others, used))| Account {
            is_gone: gone(&name),
            name: Some(name),
            others,
            used,
        })
        .collect();
    let (others, used) = model.agents.past();
    if others > 0 {
        all.push(Account {
            name: None,
            others,
            used,
            is_gone: true,
        });
    }
    all.sort_by(|a, b| {
        let ((a_cost, a_tokens), (b_cost, b_tokens)) = (a.used.weight(), b.used.weight());
        b_cost.total_cmp(&a_cost).then(b_tokens.cmp(&a_tokens))
    });
    Accounts {
        all,
        sum: model.agents.total_usage(),
    }
}
