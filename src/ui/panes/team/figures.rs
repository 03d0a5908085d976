//! The figures in the rows of the team pane (context usage, tokens, cost, time) and the headings above them.

use ratatui::text::Span;

use crate::domain::ids::Name;
use crate::domain::screen::TeamSort;
use crate::domain::team::Activity;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::model::CrewModel;
use crate::ui::model::agents::AgentView;
use crate::ui::text::{age, count, fit, pad, width};
use crate::ui::theme::Theme;

/// Minimum width of a row, in columns, to show the cost and the long form of the activity bars.
pub const COST_FROM: usize = 100;
/// Minimum width of a row, in columns, to show the unit "tok" after the number of tokens.
const UNIT_FROM: usize = 76;
/// Minimum width of a row, in columns, to show the context usage.
pub const CONTEXT_FROM: usize = 46;
/// Minimum width of a row, in columns, to show the tokens and the time of the current activity.
const TOKENS_FROM: usize = 60;

/// Minimum width of a row, in columns, to show the agents' models.
const MODEL_FROM: usize = 70;
/// Maximum width of the column with the models, in columns.
const MODEL_MAX: usize = 18;

/// The heading of the name column. The blank at its end is the place of the arrow that is shown if the list is sorted
/// by name.
pub const NAME_HEADING: &str = "agent ";

/// Number of columns of the activity bars that stand for one minute.
const MINUTE: usize = 6;

/// Returns the heading above `bars` columns of activity bars, with the time that they cover.
fn activity_heading(bars: usize) -> String {
    format!("activity {}m", bars / MINUTE)
}

/// Returns the width of the column that shows an agent's state or current tool, in columns. A narrow row has room for
/// the tool name `task_update`, a wide row for the longest tool name.
pub fn words_width(columns: usize) -> usize {
    if columns < 90 { 11 } else { 14 }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureStyle {
    /// The figures are side by side, each with its unit.
    WithUnits,
    /// The figures are in columns below headings.
    InColumns {
        /// Whether the cost of any agent is known, so that there is a column for it.
        has_cost: bool,
        /// The width of the column with the models; 0 if all agents use the same model. There is no such column then.
        model: usize,
    },
}

impl FigureStyle {
    pub fn in_columns(model: &CrewModel) -> FigureStyle {
        FigureStyle::InColumns {
            has_cost: model.agents.cost().is_some(),
            model: models_width(model),
        }
    }
}

/// Returns the width of the column with the models, in columns: the width of the longest model name, but at least 5 and
/// at most [`MODEL_MAX`]. Returns 0 if no teammate is known to use another model than the lead.
fn models_width(model: &CrewModel) -> usize {
    let label = |name: &Name| {
        model
            .agents
            .get(name)
            .map_or("", |agent| agent.model.text())
    };
    let lead = label(&Name::lead());
    let labels = || {
        let members = model.team.present();
        members.map(|member| label(&member.name))
    };
    if labels().all(|text| text.is_empty() || text == lead) {
        return 0;
    }
    labels().map(width).max().unwrap_or(0).clamp(5, MODEL_MAX)
}

/// Returns the figures of an agent in one line, each aligned to the right of its column: context usage, tokens, cost
/// and the time of the current activity. Figures for which a row of `columns` columns has no room are omitted. Empty if
/// `agent` is `None`.
pub fn figures(
    app: &App,
    agent: Option<&AgentView>,
    activity: &Activity,
    style: FigureStyle,
    columns: usize,
) -> String {
    let Some(agent) = agent else {
        return String::new();
    };
    let context = agent.context_share().map_or_else(String::new, |share| {
        // Values with three digits and a percent sign could shift the other columns.
        let share = if share > 99 {
            "99+".into()
        } else {
            format!("{share}%")
        };
        let about = if agent.window_is_assumed { "~" } else { "" };
        // The mark `~` does not widen the cell, which is padded to at least four columns.
        format!("{about}{share}")
    });
    let tokens = match agent.usage.total() {
        0 => String::new(),
        tokens => count(tokens),
    };
    let cost = agent.cost.map_or_else(String::new, |cost| cost.to_string());
    let time = if activity.is_busy() && agent.since.0 > 0.0 {
        age(app.now.since(agent.since))
    } else {
        String::new()
    };
    if let FigureStyle::InColumns { .. } = style {
        let model = agent.model.text();
        return in_columns([model, &context, &tokens, &cost, &time], style, columns);
    }
    let mut parts = Vec::new();
    if !context.is_empty() && columns >= CONTEXT_FROM {
        parts.push(format!("ctx{context:>4}"));
    }
    if !tokens.is_empty() && columns >= TOKENS_FROM {
        let unit = if columns < UNIT_FROM { "" } else { " tok" };
        parts.push(format!("{tokens:>5}{unit}"));
    }
    if !cost.is_empty() && columns >= COST_FROM {
        parts.push(format!("{cost:>6}"));
    }
    if columns >= TOKENS_FROM && !(parts.is_empty() && time.is_empty()) {
        parts.push(format!("{time:>3}"));
    }
    parts.join("  ")
}

/// Returns model, context usage, tokens, cost and time in columns of fixed width. Omits figures for which a row of
/// `columns` columns has no room.
fn in_columns(cells: [&str; 5], style: FigureStyle, columns: usize) -> String {
    let [label, context, tokens, cost, time] = cells;
    let (has_cost, model) = match style {
        FigureStyle::InColumns { has_cost, model } => (has_cost, model),
        FigureStyle::WithUnits => (false, 0),
    };
    let mut parts = Vec::new();
    if model > 0 && columns >= MODEL_FROM {
        parts.push(pad(&fit(label, model), model));
    }
    if columns >= CONTEXT_FROM {
        parts.push(format!("{context:>5}"));
    }
    if columns >= TOKENS_FROM {
        parts.push(format!("{tokens:>7}"));
    }
    if has_cost && columns >= COST_FROM {
        parts.push(format!("{cost:>6}"));
    }
    if columns >= TOKENS_FROM {
        parts.push(format!("{time:>5}"));
    }
    parts.join(" ")
}

/// Returns the headings of the columns. The heading of the column by which the list is sorted has a mark. `bars` is the
/// width of the activity bars, 0 if they are not shown.
pub fn headings(
    sort: TeamSort,
    style: FigureStyle,
    (name_width, bars): (usize, usize),
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let marked = |by: TeamSort, title: &str| {
        let mark = if sort == by { "▾" } else { "" };
        format!("{mark}{title}")
    };
    let context = marked(TeamSort::Context, "ctx");
    let tokens = marked(TeamSort::Tokens, "tokens");
    let cost = marked(TeamSort::Cost, "cost");
    let right = in_columns(["model", &context, &tokens, &cost, "busy"], style, columns);
    let right = fit(&right, columns / 2);
    let right = match bars {
        0 => right,
        bars => format!("{} {right}", pad(&activity_heading(bars), bars)),
    };
    let left = format!(
        "  {} {} task or role",
        pad(marked(TeamSort::Name, NAME_HEADING).trim_end(), name_width),
        pad(&marked(TeamSort::State, "state"), words_width(columns)),
    );
    let room = columns.saturating_sub(width(&right) + 1);
    let [left, blanks] = frame::cell(&left, room, theme.dim);
    vec![left, blanks, Span::raw(" "), Span::styled(right, theme.dim)]
}
