//! Checks the budgets of the day and the month: how much of them is used, and whether the file with the usage can be read.

use std::path::PathBuf;

use crate::doctor::{DoctorContext, Finding};
use crate::domain::budget::{BudgetScope, UsageBudget, UsageBudgets, WARN_AT, percent};
use crate::domain::spending::PeriodUsage;
use crate::store::{SpendingFile, StoreError, local_day, local_time_zone};

const CHECK: &str = "budgets";

/// What the caller of [`crate::doctor::examine`] found out about the budgets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BudgetFacts {
    pub budgets: UsageBudgets,
    /// The folder of the user's state; `None` without a home directory.
    pub state_folder: Option<PathBuf>,
}

/// Reports how much of the budgets of the day and the month is used. Reports nothing if no budget limits a day or a
/// month.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let BudgetFacts {
        budgets,
        state_folder,
    } = &context.budgets;
    if !budgets.has_period() {
        return Vec::new();
    }
    let Some(folder) = state_folder else {
        return vec![Finding::warn(
            CHECK,
            "the budgets of the day and the month have no effect: no home directory was found",
            "set HOME",
        )];
    };
    let file = SpendingFile::new(folder);
    let day = local_day(context.now, &local_time_zone());
    vec![evaluate(
        budgets,
        file.read(&day),
        &file.path().display().to_string(),
    )]
}

fn evaluate(
    budgets: &UsageBudgets,
    read: Result<Option<PeriodUsage>, StoreError>,
    path: &str,
) -> Finding {
    let periods = match read {
        Ok(Some(periods)) => periods,
        Ok(None) => {
            return Finding::warn(
                CHECK,
                format!("{path} is damaged"),
                "nothing to do: the next model call renames it, and the budgets of the day and the month count from 0",
            );
        }
        Err(error) => {
            return Finding::warn(
                CHECK,
                format!("the usage of the day and the month cannot be read: {error}"),
                "fix the cause that the message names; until then other crews are not counted",
            );
        }
    };
    let mut highest = 0;
    let parts = UsageBudget::ALL.into_iter().filter_map(|budget| {
        let (when, used) = match budget.scope() {
            BudgetScope::Day => ("today", periods.day),
            BudgetScope::Month => ("this month", periods.month),
            BudgetScope::Team | BudgetScope::Agent => return None,
        };
        let limit = budgets.limit(budget)?;
        let share = percent(used.of(budget), limit);
        highest = highest.max(share);
        Some(format!(
            "{when} {} of {} ({share}%)",
            budget.format_used(used.of(budget), used.estimated),
            budget.format_amount(limit)
        ))
    });
    let parts: Vec<String> = parts.collect();
    let text = format!("{}, recorded in {path}", parts.join(", "));
    match highest {
        100.. => Finding::warn(
            CHECK,
            text,
            "wait, or set a higher limit in [budget]; agents ask before their next model call",
        ),
        WARN_AT.. => Finding::warn(
            CHECK,
            text,
            "set a higher limit in [budget] if it is too low",
        ),
        _ => Finding::ok(CHECK, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::spending::{Day, UsageTotal};
    use pretty_assertions::assert_eq;

    #[test]
    fn used_shares_and_a_damaged_file_are_reported() {
        let budgets = UsageBudgets {
            team_cost: Some(1.0),
            day_cost: Some(10.0),
            month_tokens: Some(50_000),
            ..UsageBudgets::default()
        };
        let found = |cost| {
            let day = UsageTotal {
                tokens: 1000,
                cost,
                estimated: true,
            };
            let month = UsageTotal {
                tokens: 20_000,
                ..day
            };
            let date = Day("2026-11-29".into());
            let periods = PeriodUsage { date, day, month };
            evaluate(&budgets, Ok(Some(periods)), "/s.json")
        };
        let ok = found(2.5);
        assert_eq!(
            (ok.level, ok.text.as_str()),
            (
                Level::Ok,
                "today ~$2.50 of $10.00 (25%), this month 20.0k tokens of 50.0k tokens (40%), recorded in /s.json"
            )
        );
        assert_eq!(found(8.0).level, Level::Warn);
        let over = found(12.0);
        assert_eq!(over.level, Level::Warn);
        assert!(over.text.contains("(120%)") && over.remedy.is_some());
        let damaged = evaluate(&budgets, Ok(None), "/s.json");
        assert_eq!(damaged.text, "/s.json is damaged");
    }
}
