//! Draws the team: activity, task and context usage of each agent.

use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::ids::Name;
use crate::domain::team::{Activity, Member, MemberStatus};
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::{RowHighlight, Titles, layout as frame_layout};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::agents::AgentView;
use crate::ui::model::{CrewModel, board as model_board, style};
use crate::ui::panes::feature::PaneCanvas;
use crate::ui::panes::team::figures::{
    CONTEXT_FROM, COST_FROM, FigureStyle, NAME_HEADING, figures, headings, words_width,
};
use crate::ui::panes::team::{TeamLine, TeamPane, TeamRow, heading, last_action};
use crate::ui::text::{fit, pad, pad_name, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum width of a row, in columns, to show the activity bars. In a narrower row, the task needs their columns.
const ACTIVITY_BARS_FROM: usize = 70;
/// Minimum width of a tool's argument or of the reason why an agent waits, in columns, including the blanks before it.
/// If there is less room, the argument or reason is omitted.
const ARGUMENT_MIN: usize = 10;

const PLACEHOLDER: &str =
    "No teammates yet. The lead spawns them: ask it for as many as the work needs.";

pub fn draw(pane: &TeamPane, app: &App, area: Rect, canvas: PaneCanvas<'_>) {
    let PaneCanvas {
        theme,
        buffer,
        is_named_above,
        ..
    } = canvas;
    let members = pane.rows(app);
    let selected = pane.selected_row(&members);
    let places = pane.places_of(app, &members, frame_layout::inside(area));
    let list = places.list;
    let height = list.height;
    let first = list::first_row(members.len(), selected.unwrap_or(0), height);
    let agents = members.iter().filter(|row| row.agent().is_some()).count();
    let all = match pane.filter.words() {
        "" => agents,
        _ => TeamPane::agent_count(app),
    };
    let titles = Titles {
        name: frame::title_with_counts(Pane::Team, &pane.filter, agents, all),
        aside: team_size(app, theme),
        below: frame::position(selected, members.len(), height, theme),
        bar: Scrollbar::of_list(area, list, first, members.len()),
        placeholder: (members.is_empty() && places.filter.is_none()).then(|| PLACEHOLDER.into()),
        is_named_above,
        ..Titles::default()
    };
    let inner = frame::pane(app, Pane::Team, titles, theme, area, buffer);
    if let Some(row) = places.filter {
        pane.filter.draw(theme, row, buffer);
    }
    if members.is_empty() && places.filter.is_some() {
        let words = if pane.filter.words().is_empty() {
            PLACEHOLDER.to_string()
        } else {
            frame::no_match(&app.prefs, "teammate")
        };
        frame::empty(&words, theme, list, buffer);
        return;
    }
    let figure_style = match places.headings {
        Some(_) => FigureStyle::in_columns(app),
        None => FigureStyle::WithUnits,
    };
    let name_width = match app.model.team.hosts() {
        [] => name_width(app, &members, usize::from(inner.width), figure_style),
        _ => capped_name_width(&members, usize::from(inner.width)),
    };
    let name_width = match places.headings {
        Some(_) => name_width.max(width(NAME_HEADING)),
        None => name_width,
    };
    let host_names = heading::names_width(&members);
    let columns = usize::from(list.width).saturating_sub(3);
    let bars = pulse_width(app, columns);
    if let Some(row) = places.headings {
        let spans = headings(pane.sort, figure_style, (name_width, bars), columns, theme);
        frame::row(RowHighlight::Plain, spans, theme, row, buffer);
    }
    let lines = pane.lines_of(app, &members, places);
    for (line, area) in lines.into_iter().zip(list.rows()) {
        let (TeamLine::Agent(at) | TeamLine::Action(at)) = line;
        let Some(listed) = members.get(at) else {
            continue;
        };
        if line == TeamLine::Action(at) {
            let action = last_action(app, listed).unwrap_or_default();
            // The text begins in the column of the name.
            let action = format!("  {}", fit(&action, columns.saturating_sub(2)));
            let spans = vec![Span::styled(action, theme.dim)];
            frame::row(RowHighlight::Plain, spans, theme, area, buffer);
            continue;
        }
        let spans = match listed {
            TeamRow::Member(member) => {
                let action = last_action(app, listed).filter(|_| places.shows_actions);
                let has_action = action.is_some();
                let widths = RowWidths {
                    name: name_width,
                    bars,
                    columns,
                };
                row(app, member, widths, figure_style, has_action, theme)
            }
            TeamRow::Subagent(name) => {
                subagent(app, name, name_width, figure_style, columns, theme)
            }
            TeamRow::Host(host) => heading::heading(app, host, host_names, columns, theme),
            TeamRow::LeftHosts(left) => heading::left_hosts(*left, columns, theme),
        };
        let row = RowHighlight::of(app, Pane::Team, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
}

/// Returns the number of teammates, for a crew on several hosts also of the hosts, and of the hosts that are lost.
fn team_size(app: &App, theme: &Theme) -> Vec<Span<'static>> {
    let present = app.model.team.present().count();
    let mut words = match present {
        0 => String::new(),
        n => count_noun(n, "teammate"),
    };
    let (hosts, lost) = app.model.team.host_counts();
    if hosts > 0 {
        let on = if words.is_empty() { "" } else { " on " };
        words = format!("{words}{on}{}", count_noun(hosts, "host"));
    }
    if words.is_empty() {
        return Vec::new();
    }
    let mut out = vec![Span::styled(words, theme.dim)];
    if lost > 0 {
        out.push(Span::styled(format!(" ▲ {lost} lost"), theme.warn));
    }
    out
}

/// The widths of the cells in the row of a teammate, in terminal columns.
#[derive(Clone, Copy)]
struct RowWidths {
    name: usize,
    /// The activity bars; 0 if they are not shown.
    bars: usize,
    /// The whole row.
    columns: usize,
}

/// The widths in one row of the list, in terminal columns. `columns` is the width that the name and the task share;
/// `name` and `task` are the widths of their whole texts.
#[derive(Clone, Copy)]
struct SharedColumns {
    columns: usize,
    name: usize,
    task: usize,
}

/// Returns the width of the name column, in terminal columns. It is the same for all rows and chosen so that as little
/// text as possible is truncated.
fn name_width(app: &App, members: &[TeamRow<'_>], inside: usize, style: FigureStyle) -> usize {
    let least = match inside {
        0..CONTEXT_FROM => 8,
        CONTEXT_FROM..COST_FROM => 12,
        COST_FROM.. => 20,
    };
    let columns = inside.saturating_sub(3);
    let bars = pulse_width(app, columns);
    let shared = |row: &TeamRow<'_>| {
        let name = row.agent()?;
        let agent = app.model.agents.get(name);
        let right = figures(app, agent, &app.activity(name), style, columns);
        let right = width(&right).min(columns / 2);
        let (task, pulse) = match row {
            TeamRow::Member(member) => (task(app, member), pulse(app, agent, bars)),
            TeamRow::Subagent(_) | TeamRow::Host(_) | TeamRow::LeftHosts(_) => {
                let prompt = agent.map_or_else(String::new, |a| a.subagent.prompt.clone());
                (prompt, String::new())
            }
        };
        // The fixed parts of the row: the symbol, and a blank after each cell.
        let used = 5 + words_width(columns) + width(&pulse) + right;
        Some(SharedColumns {
            columns: columns.saturating_sub(used),
            name: width(name.as_str()),
            task: width(&task),
        })
    };
    let rows: Vec<SharedColumns> = members.iter().filter_map(shared).collect();
    least_truncating_width(&rows, least)
}

/// Returns the width of the name column of a crew on several hosts, in terminal columns: that of the longest name, but
/// at most a quarter of the row. It needs only the names, so that the rows outside of the visible part of a long list are
/// not rendered.
fn capped_name_width(members: &[TeamRow<'_>], inside: usize) -> usize {
    let names = members.iter().filter_map(TeamRow::agent);
    let longest = names.map(|name| width(name.as_str())).max().unwrap_or(0);
    longest.min((inside / 4).max(8))
}

/// Returns the width of the name column, in terminal columns, that truncates the least text in all rows together. A cut
/// column of a name counts as much as two cut columns of a task. The result is at least `least`, unless all names are
/// shorter. In each row, the name gets at most half of the shared columns, or more if the task of that row still fits.
fn least_truncating_width(rows: &[SharedColumns], least: usize) -> usize {
    let longest = rows.iter().map(|r| r.name).max().unwrap_or(0);
    let allowed = |r: &SharedColumns| r.columns.saturating_sub(r.task).max(r.columns / 2);
    let most = rows.iter().map(allowed).min().unwrap_or(0);
    let cut = |names: usize| -> usize {
        let of = |r: &SharedColumns| {
            let task = r.task.saturating_sub(r.columns.saturating_sub(names));
            2 * r.name.saturating_sub(names) + task
        };
        rows.iter().map(of).sum()
    };
    let least = least.min(longest);
    (least..=longest.min(most))
        .min_by_key(|names| cut(*names))
        .unwrap_or(least)
}

/// Renders the row of a teammate in `columns` columns. If `has_action` is true, the row below it shows its last tool
/// call, so this row does not repeat what the call acts on.
fn row(
    app: &App,
    member: &Member,
    widths: RowWidths,
    figure_style: FigureStyle,
    has_action: bool,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let RowWidths {
        name: name_width,
        bars,
        columns,
    } = widths;
    let activity = match member.status {
        MemberStatus::Shutdown => Activity::Gone,
        MemberStatus::Working | MemberStatus::Idle => app.activity(&member.name),
    };
    let (shape, words, style) = style::agent_activity(app, &member.name, &activity, app.now, theme);
    let agent = app.model.agents.get(&member.name);
    let right = fit(
        &figures(app, agent, &activity, figure_style, columns),
        columns / 2,
    );
    let pulse = pulse(app, agent, bars);
    let head = format!("{shape} {} ", pad_name(member.name.as_str(), name_width));
    let gap = usize::from(!right.is_empty());
    let used = width(&head) + width(&pulse) + width(&right) + gap;
    let room = columns.saturating_sub(used);
    let state_width = words_width(columns).min(room);
    let subject_room = room.saturating_sub(state_width + 1);
    let named = match activity {
        Activity::Gone => theme.dim,
        _ => style::agent_name(app, &member.name, theme.text, theme),
    };
    let (text, text_style) = match activity {
        Activity::Tool { .. } if has_action => (task(app, member), theme.text),
        _ => about(app, member, &activity, subject_room, theme),
    };
    let [words, blanks] = frame::cell(short_state(&words, state_width), state_width, style);
    vec![
        Span::styled(shape, style),
        Span::raw(" "),
        Span::styled(
            format!("{} ", pad_name(member.name.as_str(), name_width)),
            named,
        ),
        words,
        blanks,
        Span::raw(" "),
        Span::styled(pad(&text, subject_room), text_style),
        Span::styled(pulse, theme.working),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.dim),
    ]
}

/// Returns the width of the activity bars in a row of `columns` columns: two or three minutes. Returns 0 if the row is
/// too narrow, or if no teammate has been active yet.
fn pulse_width(app: &App, columns: usize) -> usize {
    let slices = match columns {
        0..ACTIVITY_BARS_FROM => return 0,
        ACTIVITY_BARS_FROM..COST_FROM => 12,
        COST_FROM.. => 18,
    };
    let is_heard = |name: &Name| {
        let agent = app.model.agents.get(name);
        agent.is_some_and(|a| !a.pulse.is_empty())
    };
    if app.model.team.present().any(|m| is_heard(&m.name)) {
        slices
    } else {
        0
    }
}

/// Returns a space followed by `slices` columns of activity bars of an agent; empty if `slices` is 0.
fn pulse(app: &App, agent: Option<&AgentView>, slices: usize) -> String {
    if slices == 0 {
        return String::new();
    }
    let bars = agent.map_or_else(|| " ".repeat(slices), |a| a.pulse.bars(app.now, slices));
    format!(" {bars}")
}

/// Returns the words for an agent's state, such as `idle, interrupted`, or only the last of them if not all fit in
/// `columns` columns.
fn short_state(words: &str, columns: usize) -> &str {
    match words.rsplit_once(", ") {
        Some((_, last)) if width(words) > columns => last,
        _ => words,
    }
}

/// Renders the row of a subagent, which begins with `└`.
fn subagent(
    app: &App,
    name: &Name,
    name_width: usize,
    figure_style: FigureStyle,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let activity = app.activity(name);
    let (_, words, style) = style::agent_activity(app, name, &activity, app.now, theme);
    let agent = app.model.agents.get(name);
    let right = fit(
        &figures(app, agent, &activity, figure_style, columns),
        columns / 2,
    );
    let head = format!("{} ", pad_name(name.as_str(), name_width));
    let gap = usize::from(!right.is_empty());
    let room = columns.saturating_sub(2 + width(&head) + width(&right) + gap);
    let state_width = words_width(columns).min(room);
    let about = match &activity {
        Activity::Tool { on, .. } => one_line(on),
        _ => agent.map_or_else(String::new, |a| a.subagent.prompt.clone()),
    };
    vec![
        Span::styled("└ ", theme.dim),
        Span::styled(head, style::agent_name(app, name, theme.dim, theme)),
        Span::styled(
            format!("{} ", pad(short_state(&words, state_width), state_width)),
            style,
        ),
        Span::styled(pad(&about, room.saturating_sub(state_width + 1)), theme.dim),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.dim),
    ]
}

/// Returns the member's current task, or its role if it has no task.
fn task(model: &CrewModel, member: &Member) -> String {
    model_board::open_task(model, &member.name).map_or_else(
        || one_line(&member.role),
        |t| format!("{} {}", t.id, one_line(&t.subject)),
    )
}

/// Returns the text and style of the task column. If the agent is stuck or has failed, the text is the reason.
/// Otherwise it is the task, followed by details of the activity if there is room.
fn about(
    model: &CrewModel,
    member: &Member,
    activity: &Activity,
    room: usize,
    theme: &Theme,
) -> (String, ratatui::style::Style) {
    let task = task(model, member);
    match activity {
        // The task leaves too few columns for the details of the activity.
        Activity::Tool { .. } | Activity::Backoff { .. } | Activity::Queued { .. }
            if width(&task) + ARGUMENT_MIN > room =>
        {
            (task, theme.text)
        }
        Activity::Tool { on, .. } => (format!("{task}  {}", one_line(on)), theme.text),
        Activity::Stuck { why } => (one_line(why), theme.warn),
        Activity::Failed { why } => (one_line(why), theme.error),
        Activity::Backoff { cause, .. } => (format!("{task}  {}", one_line(cause)), theme.text),
        Activity::Queued { .. } => (format!("{task}  in call queue"), theme.text),
        Activity::Thinking | Activity::Compacting | Activity::NeedsYou { .. } => (task, theme.text),
        Activity::Idle | Activity::Gone => (task, theme.dim),
    }
}

#[cfg(test)]
mod tests;
