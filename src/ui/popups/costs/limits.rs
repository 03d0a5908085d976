//! The section of the cost panel about limits: running and queued calls, back-off, the budgets of the team and of each
//! agent, and a note if prices are unknown.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::budget::{BudgetScope, UsageBudget, WARN_AT, percent};
use crate::domain::spending::UsageTotal;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::costs::Used;
use crate::ui::model::{CrewModel, style};
use crate::ui::popups::costs::CostLine;
use crate::ui::popups::costs::accounts::{Account, Accounts};
use crate::ui::text::{pad, wrap};
use crate::ui::theme::Theme;

/// The explanation of the mark `~`, which estimated costs have.
const ESTIMATE: &str = "an estimate: the price of the model is from the built-in table. Set the price in [prices] of config.toml";
/// The width of the label at the start of each line, in columns.
const HEADS: usize = 12;

pub fn lines(app: &App, accounts: &Accounts, columns: usize, theme: &Theme) -> Vec<CostLine> {
    let mut out = Vec::new();
    let mut put = |head: &str, words: &str, style: Style| {
        let room = columns.saturating_sub(HEADS).max(1);
        for (at, line) in wrap(words, room).into_iter().enumerate() {
            let head = if at == 0 { head } else { "" };
            out.push(CostLine::plain(vec![
                Span::styled(pad(head, HEADS), theme.dim),
                Span::styled(line, style),
            ]));
        }
    };
    put("calls", &calls(app), theme.text);
    if let Some(words) = backoff(app) {
        put("back-off", &words, theme.warn);
    }
    let style = |share: u64| {
        if share >= WARN_AT {
            theme.warn
        } else {
            theme.text
        }
    };
    let mut is_any = false;
    for budget in UsageBudget::ALL {
        let periods = app.model.limits.periods.as_ref();
        let (head, row) = match budget.scope() {
            BudgetScope::Team => ("team", shared(app, total(&accounts.sum), budget)),
            BudgetScope::Day => ("today", periods.and_then(|p| shared(app, p.day, budget))),
            BudgetScope::Month => (
                "this month",
                periods.and_then(|p| shared(app, p.month, budget)),
            ),
            BudgetScope::Agent => ("each agent", of_agents(app, accounts, budget)),
        };
        if let Some((words, share)) = row {
            put(head, &words, style(share));
            is_any = true;
        }
    }
    if !is_any {
        let words = "none. Set team_cost or agent_tokens in [budget] of config.toml; an agent that hits one pauses and asks you";
        put("budgets", words, theme.dim);
    }
    if !accounts.is_priced()
        && let Some(setup) = app.model.setup.as_ref()
    {
        let words = if setup.scripted {
            "none: the model is scripted".into()
        } else {
            let model = one_line(&setup.model);
            format!(
                "unknown for {model}. Add input = … and output = …, in dollars per million tokens, to [prices.\"{model}\"] in config.toml"
            )
        };
        put("price", &words, theme.dim);
    } else if accounts.sum.cost.is_some_and(|cost| cost.is_estimate) {
        put("~", ESTIMATE, theme.dim);
    }
    out
}

/// Describes how many model calls run and how many are queued.
fn calls(model: &CrewModel) -> String {
    let heard = model.agents.all().map(|(name, _)| model.activity(name));
    let (mut flying, mut waiting) = (0, 0);
    for activity in heard {
        match activity {
            Activity::Thinking | Activity::Compacting => flying += 1,
            Activity::Queued { .. } => waiting += 1,
            _ => {}
        }
    }
    let of = match model.limits.calls {
        0 => String::new(),
        most => format!(" of {most}"),
    };
    format!("{flying}{of} running, {waiting} queued")
}

/// Describes the cause of the team's back-off and the remaining seconds; `None` if there is no back-off.
fn backoff(app: &App) -> Option<String> {
    let (until, cause) = style::backoff(app)?;
    let left = style::seconds(until, app.now);
    Some(format!("{cause}, {left} s left"))
}

/// Formats an amount of tokens or dollars without the word "tokens", for a text such as "16.1M of 2.0M tokens".
fn bare(budget: UsageBudget, used: UsageTotal) -> String {
    let shown = budget.format_used(used.of(budget), used.estimated);
    shown.trim_end_matches(" tokens").to_string()
}

/// Describes a budget that all agents share, of which `total` is used. Returns the text and the used share in percent.
/// Returns `None` if the settings contain no such budget.
fn shared(model: &CrewModel, total: UsageTotal, budget: UsageBudget) -> Option<(String, u64)> {
    let allowed = model.limits.current_limit(budget, None)?;
    let used = total.of(budget);
    let share = percent(used, allowed);
    let raised = match model.limits.budgets.limit(budget) {
        Some(base) if base < allowed => format!(", raised from {}", budget.format_amount(base)),
        Some(_) | None => String::new(),
    };
    let words = format!(
        "{} of {}, {share}%{raised}",
        bare(budget, total),
        budget.format_amount(allowed)
    );
    Some((words, share))
}

/// Describes the budget that every agent has, and names the agent that has used the largest share of its budget.
/// Returns the text and this share in percent; `None` if the settings contain no such budget.
fn of_agents(model: &CrewModel, accounts: &Accounts, budget: UsageBudget) -> Option<(String, u64)> {
    let base = model.limits.budgets.limit(budget)?;
    let shares = accounts
        .all
        .iter()
        .filter_map(|a| Some((a, of_agent(model, a, budget)?)));
    let nearest = shares.max_by_key(|(_, share)| *share);
    let (words, share) = match nearest {
        Some((account, share)) => {
            let name = account.name.as_ref().map_or("", |n| n.as_str());
            let used = bare(budget, total(&account.used));
            let whose = account.name.as_ref();
            let allowed = model.limits.current_limit(budget, whose).unwrap_or(base);
            let of = if allowed > base {
                format!(" of {}", budget.format_amount(allowed))
            } else {
                String::new()
            };
            (
                format!("; closest is {name} with {used}{of}, {share}%"),
                share,
            )
        }
        None => (String::new(), 0),
    };
    Some((
        format!("limit {}{words}", budget.format_amount(base)),
        share,
    ))
}

/// Returns how much of its budget an agent has used, in percent, at most 999. Returns `None` if `budget` is not a
/// budget of single agents, if the agent has no such budget, or if `account` is the sum of former agents.
pub fn of_agent(model: &CrewModel, account: &Account, budget: UsageBudget) -> Option<u64> {
    if budget.scope() != BudgetScope::Agent {
        return None;
    }
    let name = account.name.as_ref()?;
    let allowed = model.limits.current_limit(budget, Some(name))?;
    Some(percent(total(&account.used).of(budget), allowed))
}

fn total(used: &Used) -> UsageTotal {
    let mut total = UsageTotal::default();
    total.add(used.usage, used.cost);
    total
}
