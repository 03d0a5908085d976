//! What holds the agents up, in words: the team's ceilings, those of each agent, the calls in flight, the back-off.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::ceiling::Ceiling;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::costs::Used;
use crate::ui::model::{Model, style};
use crate::ui::popups::costs::CostLine;
use crate::ui::popups::costs::accounts::{Account, Accounts};
use crate::ui::text::{pad, wrap};
use crate::ui::theme::Theme;

/// From this share on, in percent, a ceiling is near.
const NEAR: u64 = 80;
/// The columns of what a line is about.
const HEADS: usize = 12;

/// The lines.
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
        if share >= NEAR {
            theme.warn
        } else {
            theme.text
        }
    };
    let mut is_any = false;
    for ceiling in Ceiling::ALL {
        let told = if ceiling.is_of_team() {
            of_team(app, &accounts.sum, ceiling).map(|(words, share)| ("team", words, share))
        } else {
            of_agents(app, accounts, ceiling).map(|(words, share)| ("each agent", words, share))
        };
        if let Some((head, words, share)) = told {
            put(head, &words, style(share));
            is_any = true;
        }
    }
    if !is_any {
        let words = "none. Set ceilings.team_cost or ceilings.agent_tokens: who reaches one pauses, and you are asked";
        put("ceilings", words, theme.dim);
    }
    if !accounts.is_priced()
        && let Some(setup) = app.model.setup.as_ref()
    {
        let words = if setup.scripted {
            "none: the model is scripted".into()
        } else {
            let model = one_line(&setup.model);
            format!(
                "of {model} not known. Set it, in dollars for a million tokens: [prices.\"{model}\"] with input = … and output = …"
            )
        };
        put("price", &words, theme.dim);
    }
    out
}

/// How many calls are in flight, and how many wait for a place.
fn calls(model: &Model) -> String {
    let heard = model.agents.all().map(|(name, _)| model.activity(name));
    let (mut flying, mut waiting) = (0, 0);
    for activity in heard {
        match activity {
            Activity::Thinking | Activity::Compacting => flying += 1,
            Activity::Queued { .. } => waiting += 1,
            Activity::Idle
            | Activity::Tool { .. }
            | Activity::Backoff { .. }
            | Activity::NeedsYou { .. }
            | Activity::Stuck { .. }
            | Activity::Failed { .. }
            | Activity::Gone => {}
        }
    }
    let of = match model.limits.calls {
        0 => String::new(),
        most => format!(" of {most}"),
    };
    match waiting {
        0 => format!("{flying}{of} in flight, none waits in line"),
        1 => format!("{flying}{of} in flight, 1 waits in line"),
        n => format!("{flying}{of} in flight, {n} wait in line"),
    }
}

/// How long the server holds everybody up, and why.
fn backoff(app: &App) -> Option<String> {
    let (until, cause) = style::backoff(app)?;
    let left = style::seconds(until, app.now);
    Some(format!("{cause}, {left} s left"))
}

/// What `used` is of `allowed`, in percent.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // cut to 999
fn percent(used: f64, allowed: f64) -> u64 {
    (used / allowed.max(f64::MIN_POSITIVE) * 100.0).clamp(0.0, 999.0) as u64
}

/// An amount without its unit: another one with it follows.
fn bare(ceiling: Ceiling, amount: f64) -> String {
    let shown = ceiling.shown(amount);
    shown.trim_end_matches(" tokens").to_string()
}

fn of_team(model: &Model, sum: &Used, ceiling: Ceiling) -> Option<(String, u64)> {
    let allowed = model.limits.allowed(ceiling, None)?;
    let used = amount(sum, ceiling);
    let share = percent(used, allowed);
    let raised = match model.limits.ceilings.of(ceiling) {
        Some(base) if base < allowed => format!(", raised from {}", ceiling.shown(base)),
        Some(_) | None => String::new(),
    };
    let words = format!(
        "{} of {}, {share}%{raised}",
        bare(ceiling, used),
        ceiling.shown(allowed)
    );
    Some((words, share))
}

/// The ceiling of each agent, and who is the nearest to it.
fn of_agents(model: &Model, accounts: &Accounts, ceiling: Ceiling) -> Option<(String, u64)> {
    let base = model.limits.ceilings.of(ceiling)?;
    let shares = accounts
        .all
        .iter()
        .filter_map(|a| Some((a, of_agent(model, a, ceiling)?)));
    let nearest = shares.max_by_key(|(_, share)| *share);
    let (words, share) = match nearest {
        Some((account, share)) => {
            let name = account.name.as_ref().map_or("", |n| n.as_str());
            let used = bare(ceiling, amount(&account.used, ceiling));
            let whose = account.name.as_ref();
            let allowed = model.limits.allowed(ceiling, whose).unwrap_or(base);
            let of = if allowed > base {
                format!(" of {}", ceiling.shown(allowed))
            } else {
                String::new()
            };
            (
                format!("; nearest is {name} with {used}{of}, {share}%"),
                share,
            )
        }
        None => (String::new(), 0),
    };
    Some((format!("at most {}{words}", ceiling.shown(base)), share))
}

/// How much of its own ceiling an agent has used, in percent; `None`: it has none.
pub fn of_agent(model: &Model, account: &Account, ceiling: Ceiling) -> Option<u64> {
    if ceiling.is_of_team() {
        return None;
    }
    let name = account.name.as_ref()?;
    let allowed = model.limits.allowed(ceiling, Some(name))?;
    Some(percent(amount(&account.used, ceiling), allowed))
}

#[allow(clippy::cast_precision_loss)] // token counts stay far below 2^52
fn amount(used: &Used, ceiling: Ceiling) -> f64 {
    match ceiling {
        Ceiling::TeamTokens | Ceiling::AgentTokens => used.usage.total() as f64,
        Ceiling::TeamCost | Ceiling::AgentCost => used.cost.unwrap_or(0.0),
    }
}
