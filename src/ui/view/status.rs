//! The line at the top: who works, who waits, what it costs, which model, what holds everybody up.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::domain::ids::Name;
use crate::domain::stamp::Stamp;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::ui::look;
use crate::ui::state::UiState;
use crate::ui::textual::{count, dollars, fit, width};
use crate::ui::theme::Theme;

/// A piece of the line; of those that do not fit, the last ones in rank go first.
struct Piece {
    rank: u8,
    text: String,
    style: Style,
}

/// Pieces up to this rank matter more than the whole words of a viewer's mark.
const ESSENTIAL: u8 = 3;

/// Draws it.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let columns = usize::from(row.width);
    let mut left = left(state, theme, Words::Whole);
    let mut right = right(state, theme);
    // A viewer says so whatever else there is; in fewer words before anything that matters more than names goes.
    let essential = |p: &&Piece| p.rank <= ESSENTIAL;
    if left
        .iter()
        .filter(essential)
        .map(|p| width(&p.text) + 2)
        .sum::<usize>()
        + 1
        > columns
    {
        left = self::left(state, theme, Words::Short);
    }
    while total(&left) + total(&right) + 1 > columns {
        let worst = left.iter().chain(&right).map(|p| p.rank).max().unwrap_or(0);
        if worst == 0 {
            break;
        }
        left.retain(|p| p.rank != worst);
        right.retain(|p| p.rank != worst);
    }
    let gap = columns.saturating_sub(total(&left) + total(&right));
    let mut spans = spans(left);
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(self::spans(right));
    Line::from(spans).render(row, buffer);
}

fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|p| width(&p.text) + 2).sum()
}

fn spans(pieces: Vec<Piece>) -> Vec<Span<'static>> {
    pieces
        .into_iter()
        .map(|p| Span::styled(format!(" {} ", p.text), p.style))
        .collect()
}

/// How many words there is room for.
#[derive(Clone, Copy)]
enum Words {
    Whole,
    Short,
}

fn left(state: &UiState, theme: &Theme, words: Words) -> Vec<Piece> {
    let mut out = vec![Piece {
        rank: 0,
        text: "crewdeck".into(),
        style: theme.title,
    }];
    let mut piece = |rank: u8, text: String, style: Style| out.push(Piece { rank, text, style });
    if let Some((whole, short)) = state.seat.mark() {
        let text = match words {
            Words::Whole => whole,
            Words::Short => short,
        };
        piece(0, text, theme.accent);
    }
    let Some(setup) = &state.setup else {
        piece(1, "starting…".into(), theme.dim);
        return out;
    };
    let project = one_line(setup.project());
    if !project.is_empty() {
        piece(8, fit(&project, 24), theme.text);
    }
    if setup.scripted {
        piece(1, "scripted".into(), theme.warn);
    }
    let team = one_line(&state.team.team_name);
    if team != "default" && !team.is_empty() {
        piece(9, fit(&team, 20), theme.dim);
    }
    let waiting = state.requests.for_person();
    if waiting > 0 {
        let words = if waiting == 1 { "needs" } else { "need" };
        piece(1, format!("◆ {waiting} {words} you"), theme.waiting);
    }
    if let Some((until, cause)) = backoff(state) {
        let left = look::seconds(until, state.now);
        piece(2, format!("◔ {cause}, retry in {left} s"), theme.warn);
    }
    let activities: Vec<Activity> = state
        .present()
        .iter()
        .map(|name| state.activity(name))
        .collect();
    let count_of = |wanted: fn(&Activity) -> bool| activities.iter().filter(|a| wanted(a)).count();
    let working = count_of(Activity::is_busy);
    if working > 0 {
        // What only waits for a call does not turn.
        let shape = match count_of(Activity::is_running) {
            0 => "◔",
            _ => look::spinner(state.now, state.motion),
        };
        piece(3, format!("{shape} {working} working"), theme.working);
    }
    let jobs = state.jobs.running();
    if jobs > 0 {
        let words = if jobs == 1 { "job" } else { "jobs" };
        piece(4, format!("▷ {jobs} {words}"), theme.working);
    }
    let idle = count_of(|a| matches!(a, Activity::Idle));
    if idle > 0 {
        piece(4, format!("○ {idle} idle"), theme.dim);
    }
    let stuck = count_of(|a| matches!(a, Activity::Stuck { .. }));
    if stuck > 0 {
        piece(2, format!("▲ {stuck} stuck"), theme.warn);
    }
    let failed = count_of(|a| matches!(a, Activity::Failed { .. }));
    if failed > 0 {
        piece(2, format!("✗ {failed} failed"), theme.error);
    }
    out
}

fn right(state: &UiState, theme: &Theme) -> Vec<Piece> {
    let mut out = Vec::new();
    let Some(setup) = &state.setup else {
        return out;
    };
    let mut piece = |rank: u8, text: String, style: Style| out.push(Piece { rank, text, style });
    piece(6, fit(&one_line(&setup.model), 32), theme.dim);
    let share = state
        .agents
        .get(&state.shown)
        .and_then(super::super::agents::AgentView::context_share);
    if let Some(share) = share {
        let style = if share >= 80 { theme.warn } else { theme.dim };
        piece(7, format!("ctx {share}%"), style);
    }
    let tokens = state.agents.tokens();
    if tokens > 0 {
        piece(5, format!("{} tok", count(tokens)), theme.dim);
    }
    if let Some(cost) = state.agents.cost() {
        piece(5, dollars(cost), theme.dim);
    }
    out
}

/// The wait that ends last, and why: one server holds everybody up.
fn backoff(state: &UiState) -> Option<(Stamp, String)> {
    let waits = state
        .present()
        .into_iter()
        .filter_map(|name: Name| match state.activity(&name) {
            Activity::Backoff { until, cause, .. } => Some((until, fit(&one_line(&cause), 40))),
            Activity::Idle
            | Activity::Thinking
            | Activity::Compacting
            | Activity::Tool { .. }
            | Activity::Queued { .. }
            | Activity::NeedsYou { .. }
            | Activity::Stuck { .. }
            | Activity::Failed { .. }
            | Activity::Gone => None,
        });
    waits.max_by(|a, b| a.0.0.total_cmp(&b.0.0))
}
