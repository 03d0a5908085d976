//! The limits that apply to a crew.

use serde::{Deserialize, Serialize};

use super::budget::{RaisedBudget, UsageBudget, UsageBudgets};
use super::ids::Name;
use super::spending::PeriodUsage;

/// The maximum number of concurrent model calls of a crew, its budgets from the settings, and the budgets that the user
/// has raised.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum number of concurrent model calls of the whole team; 0 if unknown.
    pub calls: usize,
    /// The budgets from the settings.
    #[serde(rename = "ceilings", default)]
    pub budgets: UsageBudgets,
    /// What all crews of the user have used in the current day and month. `None` if no budget limits a day or a month.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub periods: Option<PeriodUsage>,
    /// The budgets that the user has raised, at most one entry per budget and agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<RaisedBudget>,
}

impl Limits {
    /// Returns the current limit of a budget in tokens or US dollars; `None` if there is no limit. `whose` is the agent
    /// that the budget limits, `None` for a budget that all agents share.
    pub fn current_limit(&self, budget: UsageBudget, whose: Option<&Name>) -> Option<f64> {
        let base = self.budgets.limit(budget)?;
        let is_it = |r: &&RaisedBudget| r.budget == budget && r.whose.as_ref() == whose;
        Some(self.raised.iter().find(is_it).map_or(base, |r| r.allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_budget_applies_to_its_agent_only() {
        let bob = Name::member("bob").unwrap();
        let limits = Limits {
            calls: 4,
            budgets: UsageBudgets {
                agent_tokens: Some(400),
                ..UsageBudgets::default()
            },
            periods: None,
            raised: vec![RaisedBudget {
                budget: UsageBudget::AgentTokens,
                whose: Some(bob.clone()),
                allowed: 800.0,
            }],
        };
        let cases = [
            (UsageBudget::AgentTokens, Some(bob), Some(800.0)),
            (UsageBudget::AgentTokens, Some(Name::lead()), Some(400.0)),
            (UsageBudget::TeamCost, None, None),
        ];
        for (budget, whose, expected) in cases {
            assert_eq!(limits.current_limit(budget, whose.as_ref()), expected);
        }
        let line = serde_json::to_string(&limits).unwrap();
        assert_eq!(serde_json::from_str::<Limits>(&line).unwrap(), limits);
    }
}
