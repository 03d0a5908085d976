//! The symbols, labels and styles of all kinds of status. All views use them.

use std::time::Duration;

use ratatui::style::Style;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::mcp::shown_name;
use crate::domain::task::Task;
use crate::domain::team::{Activity, Member};
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoStatus;
use crate::protocol::event::{DeliveryState, NoticeLevel};
use crate::ui::model::CrewModel;
use crate::ui::model::agents::TurnStatus;
use crate::ui::model::board::branches;
use crate::ui::model::board::index;
use crate::ui::model::board::index::BoardStatus;
use crate::ui::model::messages::MessageStatus;
use crate::ui::text::{display_name, fit};
use crate::ui::theme::Theme;

/// The symbol, label and style of a status.
pub type StatusDisplay = (&'static str, String, Style);

/// The symbols on the screen, each with its meaning, which the help shows.
pub const LEGEND: &[(&str, &str)] = &[
    ("●", "in progress: a task, an agent's turn, a todo item"),
    (
        "○",
        "a task that is ready, an idle agent, a pending todo item",
    ),
    ("◐", "a tool call that runs; a server that starts"),
    (
        "◌",
        "a task that is blocked by another task; a tool call that was not finished",
    ),
    (
        "✓",
        "a completed task, todo item or tool call; a delivered message",
    ),
    ("✓✓", "a message that its recipient has acted on"),
    (
        branches::UNMERGED,
        "a completed task whose branch is not merged",
    ),
    (
        "◆ ◇",
        "the selected request that waits for you; other requests",
    ),
    (
        "◔",
        "an agent that waits to retry a failed model call, or in the call queue",
    ),
    ("∴", "what the model thought before its answer"),
    ("✉", "a message that the agent received"),
    ("⚑", "a task that the agent claimed"),
    ("›", "what you wrote; the selected row of a list"),
    ("▲", "an agent that is stuck; a warning"),
    (
        "✗",
        "an agent or a tool call that failed; a message that was not read or that a hook blocked; an error",
    ),
    (
        "·",
        "an agent that has left; a message that is not delivered yet",
    ),
    (
        "⋯",
        "a message of yours that waits until the agent's turn ends",
    ),
    (
        "▁▃▆",
        "an agent's answers and tool calls; each bar is 10 seconds",
    ),
    (
        "┃",
        "a heavy line between tasks: the critical path, the longest chain of open tasks",
    ),
    (
        "━ ═ ╍ ─ ┄",
        "below the board: completed, unmerged, in progress, ready and blocked tasks",
    ),
    (
        "# → ├ ⊙ $",
        "in the event log: a task, a message, a worktree, a teammate, a background job",
    ),
    ("▶ ‖", "a replay that plays or is paused"),
];

/// Returns the symbol and style of a task status.
pub fn status_symbol(standing: BoardStatus, theme: &Theme) -> (&'static str, Style) {
    match standing {
        BoardStatus::InProgress => ("●", theme.working),
        BoardStatus::Ready | BoardStatus::Assigned => ("○", theme.accent),
        BoardStatus::Blocked => ("◌", theme.dim),
        BoardStatus::Done => ("✓", theme.ok),
    }
}

pub fn task(graph: &TaskGraph, task: &Task, theme: &Theme) -> StatusDisplay {
    let owner = display_name(&task.owner);
    let on = on_host(task);
    let here = index::board_status(graph, task);
    let words = match here {
        BoardStatus::InProgress if owner.is_empty() => "in progress".into(),
        BoardStatus::InProgress => format!("in progress @{owner}{on}"),
        BoardStatus::Assigned => format!("assigned @{owner}{on}"),
        BoardStatus::Blocked => {
            let ids: Vec<String> = graph
                .open_blockers(task)
                .iter()
                .map(ToString::to_string)
                .collect();
            format!("blocked by {}", ids.join(" "))
        }
        BoardStatus::Ready | BoardStatus::Done => here.word().into(),
    };
    let (shape, style) = status_symbol(here, theme);
    (shape, words, style)
}

/// Returns the words that follow the owner of a task that was claimed for a host, such as ` on gpu-box`; empty for other
/// tasks.
pub fn on_host(task: &Task) -> String {
    let claim = task.claim.as_ref();
    claim.map_or_else(String::new, |claim| format!(" on {}", claim.host))
}

pub fn activity(activity: &Activity, now: Timestamp, theme: &Theme) -> StatusDisplay {
    match activity {
        Activity::Idle => ("○", "idle".into(), theme.dim),
        Activity::Thinking => ("●", "thinking".into(), theme.working),
        Activity::Compacting => ("●", "compacting".into(), theme.working),
        Activity::Tool { tool, .. } => ("●", shown_name(&one_line(tool)), theme.working),
        Activity::Backoff { until, .. } => {
            ("◔", format!("retry {} s", seconds(*until, now)), theme.warn)
        }
        Activity::Queued { place } => ("◔", format!("queued {place}"), theme.dim),
        Activity::NeedsYou { .. } => ("◆", "needs you".into(), theme.waiting),
        Activity::Stuck { .. } => ("▲", "stuck".into(), theme.warn),
        Activity::Failed { .. } => ("✗", "failed".into(), theme.error),
        Activity::Gone => ("·", "shut down".into(), theme.dim),
    }
}

/// Like [`activity`], but also says `interrupted` for an idle agent whose last turn the user has interrupted.
pub fn agent_activity(
    model: &CrewModel,
    name: &Name,
    doing: &Activity,
    now: Timestamp,
    theme: &Theme,
) -> StatusDisplay {
    let turn = model.agents.get(name).map(|agent| agent.turn);
    let (shape, words, style) = activity(doing, now, theme);
    match (doing, turn) {
        (Activity::Idle, Some(TurnStatus::Interrupted)) => {
            (shape, format!("{words}, interrupted"), theme.warn)
        }
        _ => (shape, words, style),
    }
}

/// Returns the style of an agent's name: the style `usual`, with the colour of the agent's role if the role sets one.
pub fn agent_name(model: &CrewModel, name: &Name, usual: Style, theme: &Theme) -> Style {
    let member = model.team.find(name).and_then(Member::color);
    let color = member.or_else(|| model.agents.get(name)?.subagent.color);
    color.map_or(usual, |color| theme.in_role_color(usual, color))
}

/// Returns the number of seconds from `now` to `until`, rounded up; 0 if `until` has passed.
pub fn seconds(until: Timestamp, now: Timestamp) -> u64 {
    let left = until.since(now);
    left.as_secs() + u64::from(left.subsec_nanos() > 0)
}

pub fn todo(status: TodoStatus, theme: &Theme) -> (&'static str, Style) {
    match status {
        TodoStatus::Pending => ("○", theme.text),
        TodoStatus::InProgress => ("●", theme.working),
        TodoStatus::Completed => ("✓", theme.dim),
    }
}

/// Returns the symbol and style of a message's delivery status.
pub fn progress(progress: MessageStatus, theme: &Theme) -> (&'static str, Style) {
    match progress {
        MessageStatus::At(DeliveryState::Sent) => ("·", theme.warn),
        MessageStatus::At(DeliveryState::Delivered) => ("✓", theme.dim),
        MessageStatus::At(DeliveryState::ActedOn) => ("✓✓", theme.ok),
        MessageStatus::Unread | MessageStatus::At(DeliveryState::Blocked) => ("✗", theme.warn),
    }
}

pub fn level(level: NoticeLevel, theme: &Theme) -> (&'static str, Style) {
    match level {
        NoticeLevel::Info => ("·", theme.text),
        NoticeLevel::Warn => ("▲", theme.warn),
        NoticeLevel::Error => ("✗", theme.error),
    }
}

/// Time for which the spinner shows one symbol: it shows 8 symbols per second.
pub const SPINNER_INTERVAL: Duration = Duration::from_millis(125);

pub fn spinner(now: Timestamp) -> &'static str {
    const TURN: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];
    let steps = now.since(Timestamp(0.0)).as_millis() / SPINNER_INTERVAL.as_millis() % 8;
    let picture = usize::try_from(steps).ok().and_then(|at| TURN.get(at));
    picture.copied().unwrap_or("⠋")
}

/// Returns the time at which the team's back-off ends, and its cause, cut to 40 columns. If several agents back off,
/// returns the time and cause of the back-off that ends last. Returns `None` if no agent backs off.
pub fn backoff(model: &CrewModel) -> Option<(Timestamp, String)> {
    let waits = model
        .present()
        .into_iter()
        .filter_map(|name: Name| match model.activity(&name) {
            Activity::Backoff { until, cause, .. } => Some((until, fit(&one_line(&cause), 40))),
            _ => None,
        });
    waits.max_by(|a, b| a.0.0.total_cmp(&b.0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources of views that draw symbols which are not in this file.
    const SOURCES: [&str; 6] = [
        include_str!("../transcript/fold.rs"),
        include_str!("../transcript/entry.rs"),
        include_str!("../transcript/thinking.rs"),
        include_str!("../panes/board/view/progress.rs"),
        include_str!("../popups/servers/view.rs"),
        include_str!("../shell/view/replay.rs"),
    ];

    /// Returns the quoted texts in the code of `source` that consist of one symbol.
    fn symbols_in(source: &str) -> impl Iterator<Item = &str> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let is_symbol = |text: &&str| {
            let mut signs = text.chars();
            let is_one = signs.next().is_some_and(|c| !c.is_ascii()) && signs.next().is_none();
            // `↳` begins the rest of a wrapped line.
            is_one && *text != "↳"
        };
        code.split('"').map(str::trim).filter(is_symbol)
    }

    #[test]
    fn legend_explains_each_symbol() {
        let theme = Theme::default();
        let now = Timestamp(0.0);
        let mut symbols: Vec<&str> = vec!["◆", "◇", "⋯", "┃", branches::UNMERGED];
        for source in SOURCES {
            let before = symbols.len();
            symbols.extend(symbols_in(source));
            assert!(symbols.len() > before, "no symbols in {source}");
        }
        for status in [
            BoardStatus::InProgress,
            BoardStatus::Ready,
            BoardStatus::Assigned,
            BoardStatus::Blocked,
            BoardStatus::Done,
        ] {
            symbols.push(status_symbol(status, &theme).0);
        }
        for status in [
            TodoStatus::Pending,
            TodoStatus::InProgress,
            TodoStatus::Completed,
        ] {
            symbols.push(todo(status, &theme).0);
        }
        for status in [
            MessageStatus::At(DeliveryState::Sent),
            MessageStatus::At(DeliveryState::Delivered),
            MessageStatus::At(DeliveryState::ActedOn),
            MessageStatus::At(DeliveryState::Blocked),
            MessageStatus::Unread,
        ] {
            symbols.push(progress(status, &theme).0);
        }
        for one in [NoticeLevel::Info, NoticeLevel::Warn, NoticeLevel::Error] {
            symbols.push(level(one, &theme).0);
        }
        for one in [
            Activity::Idle,
            Activity::Thinking,
            Activity::Compacting,
            Activity::Queued { place: 1 },
            Activity::Stuck { why: String::new() },
            Activity::Failed { why: String::new() },
            Activity::Gone,
        ] {
            symbols.push(activity(&one, now, &theme).0);
        }
        let explained: Vec<&str> = LEGEND
            .iter()
            .flat_map(|(symbols, _)| symbols.split(' '))
            .collect();
        for symbol in symbols {
            assert!(explained.contains(&symbol), "{symbol} is not explained");
        }
    }
}
