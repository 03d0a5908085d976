//! The teammates: what each of them does, on which task, how full its window is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::domain::ids::Name;
use crate::domain::team::{Activity, Member, MemberStatus};
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::frame;
use crate::ui::frame::{Row, Titles, layout as frame_layout};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::agents::AgentView;
use crate::ui::model::{Model, board as model_board, style};
use crate::ui::panes::team::TeamRow;
use crate::ui::panes::{rows as rows_pane, team};
use crate::ui::text::{age, count, dollars, fit, pad, width};
use crate::ui::theme::Theme;
use crate::ui::widgets::list;
use crate::ui::widgets::scrollbar::Scrollbar;

/// From this width on a row shows how busy its agent was: below, its task needs the columns.
const PULSE_FROM: usize = 70;
/// From this width on it shows that at length, and what the agent cost.
const WIDE: usize = 100;
/// From this width on the figures say that they are of tokens, as the sum below them does.
const UNIT_FROM: usize = 76;

/// From this width on a row says how full the agent's window is: below, its task needs the columns.
const CONTEXT_FROM: usize = 46;
/// From this width on a row has tokens and time too.
const ROOMY: usize = 60;
/// Fewest columns, with the blanks before them, in which it helps to tell what a tool works on, or why an agent waits.
const SCRAP: usize = 10;

/// Draws them.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let members = team::team(app);
    let selected = team::selected_member(app).map(|(at, _)| at);
    let (filter, list) = rows_pane::places(app, Pane::Team, frame_layout::inside(area));
    let height = list.height;
    let first = list::first_row(members.len(), selected.unwrap_or(0), height);
    let present = app.model.team.present().count();
    let titles = Titles {
        name: frame::filtered(app, Pane::Team, members.len(), team::everybody(app).len()),
        aside: match present {
            0 => Vec::new(),
            n => vec![Span::styled(format!("{n} here"), theme.dim)],
        },
        foot: sum(app, theme),
        below: frame::position(selected, members.len(), height, theme),
        bar: Scrollbar::of_list(area, list, first, members.len()),
    };
    let inner = frame::pane(app, Pane::Team, titles, theme, area, buffer);
    if let (Some(filter), Some(row)) = (app.filters.of(Pane::Team), filter) {
        frame::filter(filter, Pane::Team, theme, row, buffer);
    }
    if members.is_empty() && !app.filters.words(Pane::Team).is_empty() {
        frame::empty(&frame::none_fits(app, "teammate"), theme, list, buffer);
        return;
    }
    if members.is_empty() {
        let words = "No teammates yet. The lead spawns them: ask it for as many as the work needs.";
        frame::empty(words, theme, inner, buffer);
        return;
    }
    let name_width = name_width(app, &members, usize::from(inner.width));
    for ((at, member), area) in members.iter().enumerate().skip(first).zip(list.rows()) {
        let columns = usize::from(area.width).saturating_sub(2);
        let spans = match member {
            TeamRow::Member(member) => row(app, member, name_width, columns, theme),
            TeamRow::Subagent(name) => subagent(app, name, name_width, columns, theme),
        };
        let row = Row::of(app, Pane::Team, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
}

/// What the name and the task of a row share, and how many columns each of them would take.
#[derive(Clone, Copy)]
struct Shared {
    columns: usize,
    name: usize,
    task: usize,
}

/// The columns for the names.
fn name_width(app: &App, members: &[TeamRow<'_>], inside: usize) -> usize {
    let least = match inside {
        0..CONTEXT_FROM => 8,
        CONTEXT_FROM..WIDE => 12,
        WIDE.. => 20,
    };
    let columns = inside.saturating_sub(2);
    let shared = |row: &TeamRow<'_>| {
        let agent = app.model.agents.get(row.name());
        let right = figures(app, agent, &app.activity(row.name()), columns);
        let right = width(&right).min(columns / 2);
        let (task, pulse) = match row {
            TeamRow::Member(member) => (task(app, member), pulse(app, agent, columns)),
            TeamRow::Subagent(_) => {
                let errand = agent.map_or_else(String::new, |a| a.errand.clone());
                (errand, String::new())
            }
        };
        // The shape, and a blank behind each of the cells.
        let used = 5 + words_width(columns) + width(&pulse) + right;
        Shared {
            columns: columns.saturating_sub(used),
            name: width(row.name().as_str()),
            task: width(&task),
        }
    };
    let rows: Vec<Shared> = members.iter().map(shared).collect();
    least_cut(&rows, least)
}

/// The columns for the names with which the least is cut of all rows: a column of a name counts for two of a task. Never
/// fewer than `least`, where there are such long names, and never more than half of what any row shares unless its task
/// is whole all the same.
fn least_cut(rows: &[Shared], least: usize) -> usize {
    let longest = rows.iter().map(|r| r.name).max().unwrap_or(0);
    let allowed = |r: &Shared| r.columns.saturating_sub(r.task).max(r.columns / 2);
    let most = rows.iter().map(allowed).min().unwrap_or(0);
    let cut = |names: usize| -> usize {
        let of = |r: &Shared| {
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

fn row(
    app: &App,
    member: &Member,
    name_width: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let activity = match member.status {
        MemberStatus::Shutdown => Activity::Gone,
        MemberStatus::Working | MemberStatus::Idle => app.activity(&member.name),
    };
    let (shape, words, style) = style::activity(&activity, app.now, theme);
    let agent = app.model.agents.get(&member.name);
    let right = fit(&figures(app, agent, &activity, columns), columns / 2);
    let pulse = pulse(app, agent, columns);
    let head = format!("{shape} {} ", pad(member.name.as_str(), name_width));
    let gap = usize::from(!right.is_empty());
    let used = width(&head) + width(&pulse) + width(&right) + gap;
    let room = columns.saturating_sub(used);
    let state_width = words_width(columns).min(room);
    let subject_room = room.saturating_sub(state_width + 1);
    let named = match activity {
        Activity::Gone => theme.dim,
        Activity::Idle
        | Activity::Thinking
        | Activity::Compacting
        | Activity::Tool { .. }
        | Activity::Backoff { .. }
        | Activity::Queued { .. }
        | Activity::NeedsYou { .. }
        | Activity::Stuck { .. }
        | Activity::Failed { .. } => theme.text,
    };
    let (text, text_style) = about(app, member, &activity, subject_room, theme);
    let [words, blanks] = frame::cell(&words, state_width, style);
    vec![
        Span::styled(shape, style),
        Span::raw(" "),
        Span::styled(format!("{} ", pad(member.name.as_str(), name_width)), named),
        words,
        blanks,
        Span::raw(" "),
        Span::styled(pad(&text, subject_room), text_style),
        Span::styled(pulse, theme.working),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.dim),
    ]
}

/// How busy an agent was lately, with a blank before it; nothing on a narrow row, nor before anybody did anything.
fn pulse(app: &App, agent: Option<&AgentView>, columns: usize) -> String {
    let slices = match columns {
        0..PULSE_FROM => return String::new(),
        PULSE_FROM..WIDE => 6,
        WIDE.. => 18,
    };
    let is_heard = |name: &Name| {
        let agent = app.model.agents.get(name);
        agent.is_some_and(|a| !a.pulse.is_empty())
    };
    if !app.model.team.present().any(|m| is_heard(&m.name)) {
        return String::new();
    }
    let bars = agent.map_or_else(|| " ".repeat(slices), |a| a.pulse.bars(app.now, slices));
    format!(" {bars}")
}

/// The tokens and the cost of all agents together, the lead and those who are gone included.
fn sum(model: &Model, theme: &Theme) -> Vec<Span<'static>> {
    let tokens = model.agents.tokens();
    if tokens == 0 {
        return Vec::new();
    }
    let cost = model
        .agents
        .cost()
        .map(|cost| format!("  {}", dollars(cost)));
    let text = format!("all {} tok{}", count(tokens), cost.unwrap_or_default());
    vec![Span::styled(text, theme.dim)]
}

/// A subagent under the one who sent it out.
fn subagent(
    app: &App,
    name: &Name,
    name_width: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let activity = app.activity(name);
    let (_, words, style) = style::activity(&activity, app.now, theme);
    let agent = app.model.agents.get(name);
    let right = fit(&figures(app, agent, &activity, columns), columns / 2);
    let head = format!("└ {} ", pad(name.as_str(), name_width));
    let gap = usize::from(!right.is_empty());
    let room = columns.saturating_sub(width(&head) + width(&right) + gap);
    let state_width = words_width(columns).min(room);
    let about = match &activity {
        Activity::Tool { on, .. } => one_line(on),
        Activity::Idle
        | Activity::Thinking
        | Activity::Compacting
        | Activity::Backoff { .. }
        | Activity::Queued { .. }
        | Activity::NeedsYou { .. }
        | Activity::Stuck { .. }
        | Activity::Failed { .. }
        | Activity::Gone => agent.map_or_else(String::new, |a| a.errand.clone()),
    };
    vec![
        Span::styled(head, theme.dim),
        Span::styled(format!("{} ", pad(&words, state_width)), style),
        Span::styled(pad(&about, room.saturating_sub(state_width + 1)), theme.dim),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.dim),
    ]
}

/// The columns for what an agent does: enough for `task_update` on a narrow row, for the longest name of a
/// tool on a wide one.
fn words_width(columns: usize) -> usize {
    if columns < 90 { 11 } else { 14 }
}

/// What a member is there for: the task that it is at, else its role.
fn task(model: &Model, member: &Member) -> String {
    model_board::open_task(model, &member.name).map_or_else(
        || one_line(&member.role),
        |t| format!("{} {}", t.id, one_line(&t.subject)),
    )
}

/// What a row says of its task: what the agent is at, or what is wrong.
fn about(
    model: &Model,
    member: &Member,
    activity: &Activity,
    room: usize,
    theme: &Theme,
) -> (String, ratatui::style::Style) {
    let task = task(model, member);
    match activity {
        // A scrap of what the tool works on, or of why it waits, tells nothing.
        Activity::Tool { .. } | Activity::Backoff { .. } | Activity::Queued { .. }
            if width(&task) + SCRAP > room =>
        {
            (task, theme.text)
        }
        Activity::Tool { on, .. } => (format!("{task}  {}", one_line(on)), theme.text),
        Activity::Stuck { why } => (one_line(why), theme.warn),
        Activity::Failed { why } => (one_line(why), theme.error),
        Activity::Backoff { cause, .. } => (format!("{task}  {}", one_line(cause)), theme.text),
        Activity::Queued { .. } => (format!("{task}  waits for a free call"), theme.text),
        Activity::Thinking | Activity::Compacting | Activity::NeedsYou { .. } => (task, theme.text),
        Activity::Idle | Activity::Gone => (task, theme.dim),
    }
}

fn figures(app: &App, agent: Option<&AgentView>, activity: &Activity, columns: usize) -> String {
    let Some(agent) = agent else {
        return String::new();
    };
    let mut parts = Vec::new();
    if let Some(share) = agent.context_share().filter(|_| columns >= CONTEXT_FROM) {
        // Three figures would push the others out of their columns.
        let share = if share > 99 {
            "99+".into()
        } else {
            format!("{share}%")
        };
        let about = if agent.window_is_assumed { "~" } else { "" };
        // As wide with the mark as without it.
        let share = format!("{about}{share}");
        parts.push(format!("ctx{share:>4}"));
    }
    let tokens = agent.usage.total();
    if tokens > 0 && columns >= ROOMY {
        let unit = if columns < UNIT_FROM { "" } else { " tok" };
        parts.push(format!("{:>5}{unit}", count(tokens)));
    }
    if let Some(cost) = agent.cost.filter(|_| columns >= WIDE) {
        parts.push(format!("{:>6}", dollars(cost)));
    }
    if activity.is_busy() && agent.since.0 > 0.0 && columns >= ROOMY {
        parts.push(format!("{:>3}", age(app.now.since(agent.since))));
    } else if columns >= ROOMY && !parts.is_empty() {
        parts.push("   ".into());
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_columns_with_which_the_least_is_cut() {
        let rows = |all: &[(usize, usize)]| -> Vec<Shared> {
            let row = |(name, task): &(usize, usize)| Shared {
                columns: 40,
                name: *name,
                task: *task,
            };
            all.iter().map(row).collect()
        };
        for (all, expected) in [
            // Nothing has to be cut.
            (&[(5, 10), (7, 33)][..], 7),
            (&[(30, 10), (5, 9)], 30),
            // Half of the row, for a name at least as long beside a task that is long too.
            (&[(30, 60)], 20),
            // One long name takes no columns of many tasks.
            (&[(30, 3), (5, 40), (5, 40), (5, 40)], 12),
            // Of one task it does, but those of another only as far as they are free.
            (&[(30, 3), (28, 3), (5, 40)], 20),
            (&[], 0),
        ] {
            assert_eq!(least_cut(&rows(all), 12), expected, "{all:?}");
        }
    }
}
