//! Budgets: limits on tokens and cost per agent and per team, and the usage counted against them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::usage::{Usage, count, dollars};

/// The configured budgets. `None` means no limit; the settings reject a limit that is not above 0. Input tokens, cached
/// or not, and output tokens count.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UsageBudgets {
    /// Maximum number of tokens that all agents together may use.
    pub team_tokens: Option<u64>,
    /// Maximum number of tokens that one agent and its subagents may use.
    pub agent_tokens: Option<u64>,
    /// Maximum cost of all agents together, in US dollars.
    pub team_cost: Option<f64>,
    /// Maximum cost of one agent and its subagents, in US dollars.
    pub agent_cost: Option<f64>,
}

/// A kind of budget: what it limits, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBudget {
    TeamTokens,
    TeamCost,
    /// Limits the tokens of one agent and its subagents.
    AgentTokens,
    /// Limits the cost of one agent and its subagents, in US dollars.
    AgentCost,
}

impl UsageBudgets {
    /// Returns the configured limit for this kind of budget, in tokens or US dollars; `None` means no limit.
    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    pub fn limit(&self, budget: UsageBudget) -> Option<f64> {
        match budget {
            UsageBudget::TeamTokens => self.team_tokens.map(|t| t as f64),
            UsageBudget::TeamCost => self.team_cost,
            UsageBudget::AgentTokens => self.agent_tokens.map(|t| t as f64),
            UsageBudget::AgentCost => self.agent_cost,
        }
    }

    /// Returns the limits of `later`. Takes each limit that is `None` in `later` from `self`.
    #[must_use]
    pub fn merged_with(self, later: UsageBudgets) -> UsageBudgets {
        UsageBudgets {
            team_tokens: later.team_tokens.or(self.team_tokens),
            agent_tokens: later.agent_tokens.or(self.agent_tokens),
            team_cost: later.team_cost.or(self.team_cost),
            agent_cost: later.agent_cost.or(self.agent_cost),
        }
    }
}

impl UsageBudget {
    /// All kinds of budgets in the order in which they are checked: those of the team first.
    pub const ALL: [UsageBudget; 4] = [
        UsageBudget::TeamTokens,
        UsageBudget::TeamCost,
        UsageBudget::AgentTokens,
        UsageBudget::AgentCost,
    ];

    /// Returns the name of the setting that configures the budget, such as `budget.team_tokens`.
    pub fn setting(self) -> &'static str {
        match self {
            UsageBudget::TeamTokens => "budget.team_tokens",
            UsageBudget::TeamCost => "budget.team_cost",
            UsageBudget::AgentTokens => "budget.agent_tokens",
            UsageBudget::AgentCost => "budget.agent_cost",
        }
    }

    /// Returns whether all agents share the budget. If not, it limits each agent, together with its subagents,
    /// separately.
    pub fn is_of_team(self) -> bool {
        match self {
            UsageBudget::TeamTokens | UsageBudget::TeamCost => true,
            UsageBudget::AgentTokens | UsageBudget::AgentCost => false,
        }
    }

    /// Formats an amount in the unit of this budget: `12.4k tokens` or `$1.50`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the amount is a count of tokens
    pub fn format_amount(self, amount: f64) -> String {
        match self {
            UsageBudget::TeamTokens | UsageBudget::AgentTokens => {
                format!("{} tokens", count(amount.max(0.0) as u64))
            }
            UsageBudget::TeamCost | UsageBudget::AgentCost => dollars(amount),
        }
    }
}

/// Usage of one agent, including its subagents, or of the team.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct UsageTotal {
    tokens: u64,
    /// Cost in US dollars, without calls whose price is unknown.
    cost: f64,
}

impl UsageTotal {
    fn add(&mut self, usage: Usage, cost: Option<f64>) {
        self.tokens = self.tokens.saturating_add(usage.total());
        self.cost += cost.unwrap_or(0.0);
    }

    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    fn of(self, budget: UsageBudget) -> f64 {
        match budget {
            UsageBudget::TeamTokens | UsageBudget::AgentTokens => self.tokens as f64,
            UsageBudget::TeamCost | UsageBudget::AgentCost => self.cost,
        }
    }
}

/// Identifies a budget by its kind and the agent that it limits. The agent is `None` if the budget limits the whole
/// team.
pub type BudgetKey = (UsageBudget, Option<Name>);

/// A used-up budget: the amount used has reached the limit. It blocks model calls until the user raises it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReachedBudget {
    pub key: BudgetKey,
    /// The amount used, in tokens or US dollars.
    pub used: f64,
    /// The limit that was reached, in tokens or US dollars.
    pub allowed: f64,
    /// The limit that applies if the user approves an increase: the lowest multiple of the configured budget that is
    /// above `used`.
    pub raised: f64,
}

impl ReachedBudget {
    /// Returns one line for the user: the agent or team, the amount that it has used, the limit, and the name of the
    /// setting.
    pub fn summary(&self) -> String {
        let (budget, whose) = &self.key;
        let who = whose
            .as_ref()
            .map_or_else(|| "the team".to_string(), Name::to_string);
        format!(
            "{who} has used {}, but the budget is {} (setting {})",
            budget.format_amount(self.used),
            budget.format_amount(self.allowed),
            budget.setting()
        )
    }

    /// Returns the text of the approval request in which `agent` asks the user to raise the budget: the summary, which
    /// agents pause, and what each decision does.
    pub fn question(&self, agent: &Name) -> String {
        let (whose, ends) = if self.key.0.is_of_team() {
            let all = "All agents pause before their next model call.";
            (all.to_string(), "the turns of all paused agents")
        } else {
            (
                format!("{agent} pauses before its next model call."),
                "its turn",
            )
        };
        format!(
            "{}.\n{whose}\nApprove raises the budget to {} until crewdeck ends. Reject ends {ends}.",
            capitalize_the(&self.summary()),
            self.key.0.format_amount(self.raised)
        )
    }
}

/// Changes a first word "the" to "The". Other texts begin with the name of an agent and stay unchanged.
fn capitalize_the(text: &str) -> String {
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text.to_string(),
    }
}

/// The usage of all agents, counted against the budgets.
#[derive(Debug, Default)]
pub struct Ledger {
    budgets: UsageBudgets,
    team: UsageTotal,
    agents: BTreeMap<Name, UsageTotal>,
    /// The current limits of the budgets that the user has raised, in tokens or US dollars.
    raised: BTreeMap<BudgetKey, f64>,
}

impl Ledger {
    pub fn new(budgets: UsageBudgets) -> Ledger {
        Ledger {
            budgets,
            ..Ledger::default()
        }
    }

    pub fn budgets(&self) -> UsageBudgets {
        self.budgets
    }

    /// Adds usage to the totals of the team and of `agent`, or of its parent if `agent` is a subagent. `cost` is in US
    /// dollars; `None` if the price is unknown, which counts as no cost.
    pub fn add_usage(&mut self, agent: &Name, usage: Usage, cost: Option<f64>) {
        self.team.add(usage, cost);
        self.agents
            .entry(charged_agent(agent))
            .or_default()
            .add(usage, cost);
    }

    /// Returns the first used-up budget, in the order of [`UsageBudget::ALL`], that blocks model calls of `agent`;
    /// `None` if there is none. Budgets of an agent are those of its parent if `agent` is a subagent.
    pub fn reached_budget(&self, agent: &Name) -> Option<ReachedBudget> {
        let payer = charged_agent(agent);
        let own = self.agents.get(&payer).copied().unwrap_or_default();
        UsageBudget::ALL.into_iter().find_map(|budget| {
            let base = self.budgets.limit(budget)?;
            let (account, whose) = if budget.is_of_team() {
                (self.team, None)
            } else {
                (own, Some(payer.clone()))
            };
            let key = (budget, whose);
            let allowed = self.raised.get(&key).copied().unwrap_or(base);
            let used = account.of(budget);
            (used >= allowed).then(|| ReachedBudget {
                key,
                used,
                allowed,
                raised: raise_limit(base, used),
            })
        })
    }

    pub fn raised_budgets(&self) -> Vec<RaisedBudget> {
        let all = self.raised.iter();
        all.map(|((budget, whose), allowed)| RaisedBudget {
            budget: *budget,
            whose: whose.clone(),
            allowed: *allowed,
        })
        .collect()
    }

    /// Raises a used-up budget to [`ReachedBudget::raised`]. The new limit replaces an earlier raise of the same budget.
    pub fn raise(&mut self, reached: &ReachedBudget) {
        self.raised.insert(reached.key.clone(), reached.raised);
    }
}

/// Returns the agent that usage of `agent` is charged to: the parent for a subagent, otherwise itself.
pub fn charged_agent(agent: &Name) -> Name {
    agent.parent().unwrap_or_else(|| agent.clone())
}

/// Returns the lowest whole multiple of `base`, which must be above 0, that is above `used`.
fn raise_limit(base: f64, used: f64) -> f64 {
    // The quotient of a multiple of `base` can be rounded to just below the whole number.
    let times = used / base * (1.0 + f64::EPSILON);
    base * (times.floor() + 1.0)
}

/// A budget that the user has raised until crewdeck ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaisedBudget {
    #[serde(rename = "ceiling")]
    pub budget: UsageBudget,
    /// The agent that the budget limits; `None` for the team's budget.
    pub whose: Option<Name>,
    /// The current limit, in tokens or US dollars.
    pub allowed: f64,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn name(text: &str) -> Name {
        match text.split_once('.') {
            Some((parent, n)) => Name::subagent(&name(parent), n.parse().unwrap()),
            None => Name::party(text).unwrap(),
        }
    }

    fn tokens(total: u64) -> Usage {
        Usage {
            input: total / 2,
            output: total - total / 2,
            ..Usage::default()
        }
    }

    const ALL: UsageBudgets = UsageBudgets {
        team_tokens: Some(1000),
        agent_tokens: Some(400),
        team_cost: Some(5.0),
        agent_cost: Some(2.0),
    };

    #[test]
    fn reached_budget_is_found_for_agent_and_team() {
        type Spent<'a> = &'a [(&'a str, u64, f64)];
        let cases: &[(Spent, &str, Option<&str>)] = &[
            (&[], "bob", None),
            (&[("bob", 399, 1.99)], "bob", None),
            (&[("bob", 400, 0.0)], "bob", Some("budget.agent_tokens")),
            (&[("bob", 400, 0.0)], "ann", None),
            (&[("bob", 0, 2.5)], "bob", Some("budget.agent_cost")),
            // Usage of subagents is charged to their parent. When the parent's budget is used up, its subagents are
            // blocked too.
            (
                &[("bob.1", 200, 0.0), ("bob.2", 200, 0.0)],
                "bob",
                Some("budget.agent_tokens"),
            ),
            (&[("bob", 400, 0.0)], "bob.3", Some("budget.agent_tokens")),
            // The team's budgets are checked first and block all agents.
            (
                &[("bob", 399, 0.0), ("ann", 399, 0.0), ("cid.1", 202, 0.0)],
                "lead",
                Some("budget.team_tokens"),
            ),
            (
                &[("bob", 399, 1.9), ("ann", 399, 1.9), ("cid", 0, 1.9)],
                "bob",
                Some("budget.team_cost"),
            ),
        ];
        for (spent, who, expected) in cases {
            let mut ledger = Ledger::new(ALL);
            for (agent, used, cost) in *spent {
                ledger.add_usage(&name(agent), tokens(*used), Some(*cost));
            }
            let reached = ledger.reached_budget(&name(who));
            let setting = reached.map(|r| r.key.0.setting());
            assert_eq!(setting, *expected, "{who} after {spent:?}");
        }
        let mut free = Ledger::new(UsageBudgets::default());
        free.add_usage(&name("bob"), tokens(u64::MAX), None);
        free.add_usage(&name("bob"), tokens(u64::MAX), Some(1e9));
        assert_eq!(free.reached_budget(&name("bob")), None);
    }

    #[test]
    fn approval_raises_limit_above_the_amount_used() {
        let mut ledger = Ledger::new(UsageBudgets {
            agent_tokens: Some(400),
            ..UsageBudgets::default()
        });
        for (more, used, allowed, raised) in [
            (400, 400.0, 400.0, 800.0),
            (400, 800.0, 800.0, 1200.0),
            (1700, 2500.0, 1200.0, 2800.0),
        ] {
            ledger.add_usage(&name("bob"), tokens(more), None);
            let reached = ledger.reached_budget(&name("bob")).unwrap();
            let expected = ReachedBudget {
                key: (UsageBudget::AgentTokens, Some(name("bob"))),
                used,
                allowed,
                raised,
            };
            assert_eq!(reached, expected);
            ledger.raise(&reached);
            assert_eq!(ledger.reached_budget(&name("bob")), None);
        }
    }

    #[test]
    fn raised_limit_is_above_a_multiple_that_is_rounded() {
        assert!(raise_limit(0.39, 1.17) > 1.5);
        for (cents, times) in (1..100).flat_map(|c| (1..40).map(move |t| (c, t))) {
            let base = f64::from(cents) / 100.0;
            for used in [base * f64::from(times), f64::from(cents * times) / 100.0] {
                let more = raise_limit(base, used) - used;
                assert!(more > base / 2.0 && more < base * 1.5, "{base} {used}");
            }
        }
    }

    #[test]
    fn question_states_usage_budget_and_consequences() {
        let mut ledger = Ledger::new(ALL);
        ledger.add_usage(&name("bob"), tokens(100), Some(2.5));
        let own = ledger.reached_budget(&name("bob")).unwrap();
        assert_eq!(
            own.question(&name("bob")),
            "bob has used $2.50, but the budget is $2.00 (setting budget.agent_cost).\n\
             bob pauses before its next model call.\n\
             Approve raises the budget to $4.00 until crewdeck ends. Reject ends its turn."
        );
        ledger.add_usage(&name("ann"), tokens(12_345), None);
        let team = ledger.reached_budget(&name("bob")).unwrap();
        assert_eq!(
            team.question(&name("bob")),
            "The team has used 12.4k tokens, but the budget is 1.0k tokens (setting budget.team_tokens).\n\
             All agents pause before their next model call.\n\
             Approve raises the budget to 13.0k tokens until crewdeck ends. Reject ends the turns of all paused agents."
        );
    }
}
