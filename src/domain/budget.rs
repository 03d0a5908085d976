//! Budgets: limits on tokens and cost per agent, per team, and per day and month of the user, and the usage counted
//! against them.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::spending::{Day, PeriodUsage, UsageTotal};
use super::usage::{Cost, Usage, count};

/// The user is warned when at least this share of a budget is used, in percent.
pub const WARN_AT: u64 = 80;

/// The configured budgets. `None` means no limit; the settings accept only limits above 0. Input tokens, cached or not,
/// and output tokens count.
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
    /// Maximum number of tokens in a day, in all projects of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_tokens: Option<u64>,
    /// Maximum cost in a day, in all projects of the user, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_cost: Option<f64>,
    /// Maximum number of tokens in a calendar month, in all projects of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month_tokens: Option<u64>,
    /// Maximum cost in a calendar month, in all projects of the user, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month_cost: Option<f64>,
}

/// Whose usage a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetScope {
    /// All agents of the crew together.
    Team,
    /// Each agent with its subagents.
    Agent,
    /// All crews of the user in one day.
    Day,
    /// All crews of the user in one calendar month.
    Month,
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
    DayTokens,
    DayCost,
    MonthTokens,
    MonthCost,
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
            UsageBudget::DayTokens => self.day_tokens.map(|t| t as f64),
            UsageBudget::DayCost => self.day_cost,
            UsageBudget::MonthTokens => self.month_tokens.map(|t| t as f64),
            UsageBudget::MonthCost => self.month_cost,
        }
    }

    /// Returns whether there is a budget for a day or a month, so that the usage of all crews must be recorded.
    pub fn has_period(&self) -> bool {
        UsageBudget::ALL
            .into_iter()
            .any(|budget| budget.is_of_period() && self.limit(budget).is_some())
    }

    /// Merges two sets of budgets. Each limit that `later` sets applies; where `later` has `None`, the limit of `self`
    /// applies.
    #[must_use]
    pub fn merged_with(self, later: UsageBudgets) -> UsageBudgets {
        UsageBudgets {
            team_tokens: later.team_tokens.or(self.team_tokens),
            agent_tokens: later.agent_tokens.or(self.agent_tokens),
            team_cost: later.team_cost.or(self.team_cost),
            agent_cost: later.agent_cost.or(self.agent_cost),
            day_tokens: later.day_tokens.or(self.day_tokens),
            day_cost: later.day_cost.or(self.day_cost),
            month_tokens: later.month_tokens.or(self.month_tokens),
            month_cost: later.month_cost.or(self.month_cost),
        }
    }
}

impl UsageBudget {
    /// All kinds of budgets, in the order in which they are checked. The budgets of single agents are last.
    pub const ALL: [UsageBudget; 8] = [
        UsageBudget::TeamTokens,
        UsageBudget::TeamCost,
        UsageBudget::DayTokens,
        UsageBudget::DayCost,
        UsageBudget::MonthTokens,
        UsageBudget::MonthCost,
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
            UsageBudget::DayTokens => "budget.day_tokens",
            UsageBudget::DayCost => "budget.day_cost",
            UsageBudget::MonthTokens => "budget.month_tokens",
            UsageBudget::MonthCost => "budget.month_cost",
        }
    }

    pub fn scope(self) -> BudgetScope {
        match self {
            UsageBudget::TeamTokens | UsageBudget::TeamCost => BudgetScope::Team,
            UsageBudget::AgentTokens | UsageBudget::AgentCost => BudgetScope::Agent,
            UsageBudget::DayTokens | UsageBudget::DayCost => BudgetScope::Day,
            UsageBudget::MonthTokens | UsageBudget::MonthCost => BudgetScope::Month,
        }
    }

    /// Returns whether the budget limits a day or a month.
    pub fn is_of_period(self) -> bool {
        matches!(self.scope(), BudgetScope::Day | BudgetScope::Month)
    }

    /// Returns whether the budget is in US dollars; otherwise it is in tokens.
    pub fn is_cost(self) -> bool {
        match self {
            UsageBudget::TeamCost
            | UsageBudget::AgentCost
            | UsageBudget::DayCost
            | UsageBudget::MonthCost => true,
            UsageBudget::TeamTokens
            | UsageBudget::AgentTokens
            | UsageBudget::DayTokens
            | UsageBudget::MonthTokens => false,
        }
    }

    /// Formats a limit in the unit of this budget: `12.4k tokens` or `$1.50`.
    pub fn format_amount(self, amount: f64) -> String {
        self.format_used(amount, false)
    }

    /// Formats an amount in the unit of this budget: `12.4k tokens` or `$1.50`. If `is_estimate` is true, a cost gets
    /// the mark `~`: `~$1.50`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the amount is a count of tokens
    pub fn format_used(self, amount: f64, is_estimate: bool) -> String {
        if !self.is_cost() {
            return format!("{} tokens", count(amount.max(0.0) as u64));
        }
        let cost = Cost {
            dollars: amount,
            is_estimate,
        };
        cost.to_string()
    }
}

impl UsageTotal {
    /// Returns the amount that counts against `budget`: the cost in US dollars if the budget limits the cost, otherwise
    /// the number of tokens.
    #[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
    pub fn of(self, budget: UsageBudget) -> f64 {
        if budget.is_cost() {
            self.cost
        } else {
            self.tokens as f64
        }
    }
}

/// Returns `used` in percent of `allowed`, rounded down, at most 999.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // cut to 999
pub fn percent(used: f64, allowed: f64) -> u64 {
    (used / allowed.max(f64::MIN_POSITIVE) * 100.0).clamp(0.0, 999.0) as u64
}

/// Identifies a budget by its kind and the agent that it limits. The agent is `None` for a budget that all agents
/// share.
pub type BudgetKey = (UsageBudget, Option<Name>);

/// A used-up budget: the amount used has reached the limit. It blocks model calls until the user raises it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReachedBudget {
    pub key: BudgetKey,
    /// The amount used, in tokens or US dollars.
    pub used: f64,
    /// Whether a part of `used` is an estimate.
    pub is_estimate: bool,
    /// The limit that was reached, in tokens or US dollars.
    pub allowed: f64,
    /// The limit that applies if the user approves an increase: the lowest multiple of the configured budget that is
    /// above `used`.
    pub raised: f64,
    /// The day on which the budget was reached; empty if no budget limits a day or a month.
    pub date: Day,
}

impl ReachedBudget {
    /// Returns one line for the user that says who has used up the budget, the amount used, the limit, and the name of
    /// the setting.
    pub fn summary(&self) -> String {
        let budget = self.key.0;
        format!(
            "{} used {}, but the budget is {} (setting {})",
            subject(&self.key),
            budget.format_used(self.used, self.is_estimate),
            budget.format_amount(self.allowed),
            budget.setting()
        )
    }

    /// Returns the text of the approval request in which `agent` asks the user to raise the budget: the summary, which
    /// agents pause, and what each decision does.
    pub fn question(&self, agent: &Name) -> String {
        let scope = self.key.0.scope();
        let (whose, ends) = if scope == BudgetScope::Agent {
            (
                format!("{agent} pauses before its next model call."),
                "its turn",
            )
        } else {
            let all = "All agents pause before their next model call.";
            (all.to_string(), "the turns of all paused agents")
        };
        let until = match scope {
            BudgetScope::Team | BudgetScope::Agent => "until crewdeck ends",
            BudgetScope::Day => "in this session until the day or crewdeck ends",
            BudgetScope::Month => "in this session until the month or crewdeck ends",
        };
        format!(
            "{}.\n{whose}\nApprove raises the budget to {} {until}. Reject ends {ends}.",
            capitalize_the(&self.summary()),
            self.key.0.format_amount(self.raised)
        )
    }
}

/// Returns the beginning of a sentence about the usage of a budget, such as `the team has`.
fn subject((budget, whose): &BudgetKey) -> String {
    match (budget.scope(), whose) {
        (BudgetScope::Day, _) => "today all crews have".into(),
        (BudgetScope::Month, _) => "this month all crews have".into(),
        (BudgetScope::Agent | BudgetScope::Team, Some(agent)) => format!("{agent} has"),
        (BudgetScope::Agent | BudgetScope::Team, None) => "the team has".into(),
    }
}

/// Capitalizes a first word "the", "this" or "today". Other texts begin with the name of an agent and stay unchanged.
fn capitalize_the(text: &str) -> String {
    let words = [("the ", "The "), ("this ", "This "), ("today ", "Today ")];
    let capitalized = words.into_iter().find_map(|(lower, upper)| {
        let rest = text.strip_prefix(lower)?;
        Some(format!("{upper}{rest}"))
    });
    capitalized.unwrap_or_else(|| text.to_string())
}

/// The usage of all agents, counted against the budgets.
#[derive(Debug, Default)]
pub struct Ledger {
    budgets: UsageBudgets,
    team: UsageTotal,
    agents: BTreeMap<Name, UsageTotal>,
    /// What all crews of the user have used in the current day and month. Empty if no budget limits a day or a month.
    periods: PeriodUsage,
    /// The current limits of the budgets that the user has raised, in tokens or US dollars.
    raised: BTreeMap<BudgetKey, f64>,
    /// The budgets about which the user was warned. A budget is removed from this set when it is raised. A budget of a
    /// day or a month is also removed when the next day or month begins.
    warned: BTreeSet<BudgetKey>,
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

    /// Adds usage to the totals of the team and of `agent`, or of its parent if `agent` is a subagent. The cost is
    /// `None` if the price is unknown, which counts as no cost. Does not change the usage of the day and the month,
    /// which [`Ledger::set_periods`] replaces.
    pub fn add_usage(&mut self, agent: &Name, usage: Usage, cost: Option<Cost>) {
        self.team.add(usage, cost);
        self.agents
            .entry(charged_agent(agent))
            .or_default()
            .add(usage, cost);
    }

    pub fn periods(&self) -> &PeriodUsage {
        &self.periods
    }

    /// Replaces the usage of the day and the month. When a new day or month has begun, its budgets get their configured
    /// limits again, and the user can be warned about them again.
    pub fn set_periods(&mut self, periods: PeriodUsage) {
        let is_new_day = periods.date != self.periods.date;
        let is_new_month = periods.date.month() != self.periods.date.month();
        let is_over = |(budget, _): &BudgetKey| match budget.scope() {
            BudgetScope::Day => is_new_day,
            BudgetScope::Month => is_new_month,
            BudgetScope::Team | BudgetScope::Agent => false,
        };
        self.raised.retain(|key, _| !is_over(key));
        self.warned.retain(|key| !is_over(key));
        self.periods = periods;
    }

    /// Returns each budget that limits `agent`: its key, the usage counted against it, and its current limit. The usage
    /// of a subagent counts against the budgets of its parent.
    fn accounts(&self, agent: &Name) -> impl Iterator<Item = (BudgetKey, UsageTotal, f64)> {
        let payer = charged_agent(agent);
        let own = self.agents.get(&payer).copied().unwrap_or_default();
        UsageBudget::ALL.into_iter().filter_map(move |budget| {
            let base = self.budgets.limit(budget)?;
            let (account, whose) = match budget.scope() {
                BudgetScope::Team => (self.team, None),
                BudgetScope::Day => (self.periods.day, None),
                BudgetScope::Month => (self.periods.month, None),
                BudgetScope::Agent => (own, Some(payer.clone())),
            };
            let key = (budget, whose);
            let allowed = self.raised.get(&key).copied().unwrap_or(base);
            Some((key, account, allowed))
        })
    }

    /// Returns the first used-up budget, in the order of [`UsageBudget::ALL`], that blocks model calls of `agent`;
    /// `None` if there is none.
    pub fn reached_budget(&self, agent: &Name) -> Option<ReachedBudget> {
        self.accounts(agent).find_map(|(key, account, allowed)| {
            let used = account.of(key.0);
            let base = self.budgets.limit(key.0)?;
            (used >= allowed).then(|| ReachedBudget {
                key,
                used,
                is_estimate: account.estimated,
                allowed,
                raised: raise_limit(base, used),
                date: self.periods.date.clone(),
            })
        })
    }

    /// Returns a warning of one line for each budget that limits `agent` and is almost used up: at least [`WARN_AT`]
    /// percent are used, but less than the limit. Each budget is reported only once, and again after it is raised or
    /// after its next day or month begins.
    pub fn take_warnings(&mut self, agent: &Name) -> Vec<String> {
        let near: Vec<_> = self
            .accounts(agent)
            .filter(|(key, account, allowed)| {
                let share = percent(account.of(key.0), *allowed);
                (WARN_AT..100).contains(&share) && !self.warned.contains(key)
            })
            .collect();
        near.into_iter()
            .map(|(key, account, allowed)| {
                let budget = key.0;
                let used = account.of(budget);
                let text = format!(
                    "{} used {}% of the budget: {} of {} (setting {}).",
                    capitalize_the(&subject(&key)),
                    percent(used, allowed),
                    budget.format_used(used, account.estimated),
                    budget.format_amount(allowed),
                    budget.setting()
                );
                self.warned.insert(key);
                text
            })
            .collect()
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

    /// Raises a used-up budget to [`ReachedBudget::raised`]. The new limit replaces an earlier raise of the same
    /// budget. Does nothing if the day or month of the budget has ended, because the budget of the new day or month is
    /// still unused.
    pub fn raise(&mut self, reached: &ReachedBudget) {
        let is_over = match reached.key.0.scope() {
            BudgetScope::Day => reached.date != self.periods.date,
            BudgetScope::Month => reached.date.month() != self.periods.date.month(),
            BudgetScope::Team | BudgetScope::Agent => false,
        };
        if is_over {
            return;
        }
        self.raised.insert(reached.key.clone(), reached.raised);
        self.warned.remove(&reached.key);
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
    /// The agent that the budget limits; `None` for a budget that all agents share.
    pub whose: Option<Name>,
    /// The current limit, in tokens or US dollars.
    pub allowed: f64,
}
