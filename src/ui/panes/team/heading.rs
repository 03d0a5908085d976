//! Draws the heading of a host: its state, its agents and its load.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::domain::host::HostPresence;
use crate::domain::team::{Activity, MemberStatus};
use crate::domain::text::{count_noun, one_line};
use crate::ui::app::App;
use crate::ui::model::CrewModel;
use crate::ui::model::team_book::{HostGroup, KnownHost, held_tasks};
use crate::ui::panes::team::TeamRow;
use crate::ui::panes::team::hosts::{HostRow, LeftHostsRow, kind_word, state_word, tags};
use crate::ui::text::{fit, fit_name, width};
use crate::ui::theme::Theme;

/// Minimum width of a heading, in columns, to align its parts with those of the other headings.
const ALIGNED_FROM: usize = 70;
/// Maximum width of the column with the names of the hosts, in columns.
const NAME_MAX: usize = 20;
/// Maximum number of tasks that the heading of a lost host names. Further tasks are only counted.
const HELD_MAX: usize = 6;
/// Number of columns between two parts.
const GAP: usize = 2;

/// A part of a heading. If a row has too little room for all parts, those with the highest ranks are left out first.
struct HeadingPart {
    rank: u8,
    text: String,
    style: Style,
    /// Minimum width of the part in an aligned heading, in columns.
    wide: usize,
}

/// How many agents of a host are in a state that its heading names.
#[derive(Default)]
struct HostCounts {
    busy: usize,
    waiting: usize,
    stuck: usize,
    failed: usize,
}

impl HostCounts {
    fn new(model: &CrewModel, group: &HostGroup) -> HostCounts {
        let mut out = HostCounts::default();
        let members = group.members.iter();
        for member in members.filter_map(|at| model.team.members.get(*at)) {
            if member.status == MemberStatus::Shutdown {
                continue;
            }
            match model.activity(&member.name) {
                Activity::NeedsYou { .. } => out.waiting += 1,
                Activity::Stuck { .. } => out.stuck += 1,
                Activity::Failed { .. } => out.failed += 1,
                activity if activity.is_busy() => out.busy += 1,
                _ => {}
            }
        }
        out
    }
}

/// Returns the width of the column with the names of the hosts in `rows`, in columns.
pub(super) fn names_width(rows: &[TeamRow<'_>]) -> usize {
    let hosts = rows.iter().filter_map(TeamRow::host);
    let widths = hosts.map(|host| width(&one_line(&host.group.name)));
    widths.max().unwrap_or(0).min(NAME_MAX)
}

/// Renders the heading of a host in `columns` columns. `names` is the width of the column with the names, in columns.
pub(super) fn heading(
    app: &App,
    row: &HostRow,
    names: usize,
    columns: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let mark = if row.group.members.is_empty() {
        "  "
    } else {
        fold_mark(row.is_open)
    };
    let room = columns.saturating_sub(width(mark));
    let is_aligned = columns >= ALIGNED_FROM;
    let mut out = vec![Span::styled(mark, theme.dim)];
    let mut used = 0;
    for part in fitting(parts(app, row, names, theme), room, is_aligned) {
        let text = fit(&part.text, room);
        let missing = if is_aligned {
            part.wide.saturating_sub(width(&text))
        } else {
            0
        };
        if used > 0 {
            out.push(Span::raw(" ".repeat(GAP)));
        }
        used += width(&text) + missing;
        out.push(Span::styled(text, part.style));
        // Without a style, because an underline or a background would be visible.
        out.push(Span::raw(" ".repeat(missing)));
    }
    out
}

/// Renders the heading above the hosts that have left in `columns` columns.
pub(super) fn left_hosts(row: LeftHostsRow, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mark = fold_mark(row.is_open);
    let text = match row.count {
        1 => "1 host has left".into(),
        count => format!("{count} hosts have left"),
    };
    let text = fit(&text, columns.saturating_sub(width(mark)));
    vec![Span::styled(mark, theme.dim), Span::styled(text, theme.dim)]
}

fn fold_mark(is_open: bool) -> &'static str {
    if is_open { "▾ " } else { "▸ " }
}

/// Returns the parts that fit into `room` columns, in their order. The part with the lowest rank is always among them.
fn fitting(parts: Vec<HeadingPart>, room: usize, is_aligned: bool) -> Vec<HeadingPart> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|at| parts.get(*at).map(|part| part.rank));
    let mut kept = vec![false; parts.len()];
    let mut used = 0;
    for at in order {
        let Some(part) = parts.get(at) else { continue };
        let own = width(&part.text);
        let own = if is_aligned { own.max(part.wide) } else { own };
        let gap = if used > 0 { GAP } else { 0 };
        if used == 0 || used + gap + own <= room {
            used += gap + own;
            kept[at] = true;
        }
    }
    let kept = parts.into_iter().zip(kept);
    kept.filter_map(|(part, is_kept)| is_kept.then_some(part))
        .collect()
}

/// Returns all parts of a heading in the order of the row.
fn parts(app: &App, row: &HostRow, names: usize, theme: &Theme) -> Vec<HeadingPart> {
    let group = &*row.group;
    let part = |rank, text: String, style, wide| HeadingPart {
        rank,
        text,
        style,
        wide,
    };
    let presence = group.host.as_ref().map(|host| host.state.presence);
    let name_style = match presence {
        Some(HostPresence::Present) => theme.title,
        Some(HostPresence::Lost) => theme.warn,
        Some(HostPresence::Left) | None => theme.dim,
    };
    let mut out = vec![part(
        0,
        fit_name(&one_line(&group.name), NAME_MAX),
        name_style,
        names,
    )];
    let kind = kind_word(group);
    if !kind.is_empty() {
        out.push(part(6, kind.into(), theme.dim, 6));
    }
    let state = state_word(group);
    out.push(match presence {
        Some(HostPresence::Lost) => part(1, format!("▲ {state}"), theme.warn, 8),
        Some(HostPresence::Present) if state == "present" => part(7, state.into(), theme.dim, 8),
        Some(HostPresence::Present | HostPresence::Left) | None => {
            part(2, state.into(), theme.text, 8)
        }
    });
    let counts = HostCounts::new(app, group);
    if let Some(host) = &group.host {
        match host.state.presence {
            HostPresence::Present => out.push(part(3, busy(host, &counts), theme.text, 10)),
            HostPresence::Lost => out.push(part(2, held(app, host), theme.warn, 0)),
            HostPresence::Left => {}
        }
    }
    if !row.is_open {
        if group.present > 0 {
            let agents = count_noun(group.present, "agent");
            out.push(part(5, agents, theme.dim, 9));
        }
        // The rows of an expanded host show the same.
        let HostCounts {
            waiting,
            stuck,
            failed,
            ..
        } = counts;
        let needs = if waiting == 1 { "needs" } else { "need" };
        for (count, text, style) in [
            (waiting, format!("◆ {waiting} {needs} you"), theme.waiting),
            (stuck, format!("▲ {stuck} stuck"), theme.warn),
            (failed, format!("✗ {failed} failed"), theme.error),
        ] {
            if count > 0 {
                out.push(part(2, text, style, 0));
            }
        }
    }
    let Some(host) = &group.host else {
        return out;
    };
    let age = host.report_age().and_then(|age| age.text(app.now));
    if let Some(age) = age {
        let text = format!("last report {age} ago");
        out.push(part(4, text, theme.warn, 0));
    }
    if host.state.presence == HostPresence::Present {
        out.push(part(4, load(host), theme.dim, 13));
    }
    let tags = tags(group);
    if !tags.is_empty() {
        out.push(part(8, tags, theme.dim, 0));
    }
    out
}

/// Returns how many agents of a host are busy, and how many it can run. The host of the lead has no such limit.
fn busy(host: &KnownHost, counts: &HostCounts) -> String {
    let busy = counts.busy;
    match host.state.info.slots {
        0 => format!("busy {busy}"),
        slots => format!("busy {busy}/{slots}"),
    }
}

/// Returns the load of a host, and its number of cores if that is known.
fn load(host: &KnownHost) -> String {
    let load = host.state.info.load;
    match host.state.info.cores {
        0 => format!("load {load:.1}"),
        cores => format!("load {load:.1}/{cores}"),
    }
}

/// Returns which tasks a lost host held, and whether other agents can claim them again.
fn held(model: &CrewModel, host: &KnownHost) -> String {
    if host.held.is_empty() {
        return "held no task".into();
    }
    let shown = host.held.iter().take(HELD_MAX).map(ToString::to_string);
    let mut tasks = shown.collect::<Vec<_>>().join(" ");
    if host.held.len() > HELD_MAX {
        tasks = format!("{tasks} +{}", host.held.len() - HELD_MAX);
    }
    // The claims of the lost session are removed one after the other.
    if held_tasks(&model.board, &host.state).is_empty() {
        format!("held {tasks}: offered again")
    } else {
        format!("held {tasks}: not offered again yet")
    }
}
