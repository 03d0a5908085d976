//! Token usage and cost of each agent, including its subagents, most expensive first.

use std::collections::BTreeMap;

use crate::domain::ceiling::payer;
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::usage::Usage;
use crate::ui::state::UiState;

/// Token usage, calls and cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// The tokens, by kind.
    pub usage: Usage,
    /// The number of model calls; 0 if they were not counted.
    pub calls: u64,
    /// The cost in US dollars; `None` if no price is known.
    pub cost: Option<f64>,
}

impl Used {
    /// Adds another usage. The cost is the sum of the known costs.
    pub fn add(&mut self, other: Used) {
        self.usage.add(other.usage);
        self.calls = self.calls.saturating_add(other.calls);
        let costs = [self.cost, other.cost];
        self.cost = costs.into_iter().flatten().reduce(|a, b| a + b);
    }

    /// Returns the usage since `before`; negative differences count as 0.
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

    /// Returns the sort key for "most expensive": the cost, then the tokens.
    pub fn weight(&self) -> (f64, u64) {
        (self.cost.unwrap_or(0.0), self.usage.total())
    }
}

/// The usage of one agent and its subagents.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// The agent; `None` for the total of agents that left and were dropped from memory.
    pub name: Option<Name>,
    /// The number of known subagents of the agent; without a name, the number of dropped agents.
    pub others: usize,
    /// The usage of the agent and its subagents.
    pub used: Used,
    /// Whether the agent has left the team.
    pub is_gone: bool,
}

/// The usage of all agents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accounts {
    /// One account for each agent, most expensive first.
    pub all: Vec<Account>,
    /// The total.
    pub sum: Used,
}

impl Accounts {
    /// Whether the price of at least one call is known.
    pub fn is_priced(&self) -> bool {
        self.sum.cost.is_some()
    }

    /// Returns the share of `used` in the total, in thousandths: of the cost if known, otherwise of the tokens.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 1000
    pub fn share(&self, used: &Used) -> u64 {
        match (self.sum.cost, used.cost) {
            (Some(all), cost) if all > 0.0 => {
                (cost.unwrap_or(0.0) / all * 1000.0).clamp(0.0, 1000.0) as u64
            }
            (Some(_) | None, _) => {
                let part = used.usage.total().saturating_mul(1000);
                part / self.sum.usage.total().max(1)
            }
        }
    }
}

/// Returns the usage of the lead, the teammates and agents that left. A subagent's usage counts for its parent.
pub fn accounts(state: &UiState) -> Accounts {
    let mut all: BTreeMap<Name, (usize, Used)> = BTreeMap::new();
    for name in state.present() {
        all.entry(name).or_default();
    }
    for (name, agent) in state.agents.all() {
        let mut used = agent.used();
        used.add(agent.past_subagents);
        if name.is_user() || used.usage.total() == 0 {
            continue;
        }
        let account = all.entry(payer(name)).or_default();
        account.0 += usize::from(name.parent().is_some());
        account.1.add(used);
    }
    let gone = |name: &Name| state.activity(name) == Activity::Gone;
    let mut all: Vec<Account> = all
        .into_iter()
        .map(|(name, (others, used))| Account {
            is_gone: gone(&name),
            name: Some(name),
            others,
            used,
        })
        .collect();
    let (others, used) = state.agents.past();
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
        sum: state.agents.used(),
    }
}
