//! Pure: draws the state into terminal cells. Each file draws one part; none changes the state.

mod board;
mod complete;
mod composer_title;
mod costs;
mod event_log;
pub(super) mod first;
mod frame;
mod hints;
mod inbox;
mod jobs;
mod lead;
mod needs;
mod peek;
mod popup;
mod replay;
mod status;
mod task_form;
mod team;
mod todo;
mod tour;

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

pub use replay::{places as replay_places, share_of};
pub use status::places as status_places;

use super::layout::{self, Class, Layout};
use super::state::UiState;
use super::textual::{fit, width};
use super::theme::Theme;
use super::transcript::TranscriptCache;
use crate::domain::ids::Name;
use crate::ui::guide::bars;
use crate::ui::known::sentence;
use crate::ui::state::pane::Pane;
use crate::ui::state::rows;

/// Caches between two frames. Dropping them changes no output.
#[derive(Debug, Default)]
pub struct ViewCache {
    transcripts: BTreeMap<Name, TranscriptCache>,
    /// The cache of the previewed conversation.
    peeked: BTreeMap<Name, TranscriptCache>,
}

impl ViewCache {
    /// Returns how many rows of the shown conversation were laid out so far.
    pub fn rows_laid(&self) -> usize {
        self.transcripts
            .values()
            .map(TranscriptCache::rows_laid)
            .sum()
    }

    /// Returns the cache of the previewed conversation.
    fn peeked(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.peeked.retain(|name, _| name == agent);
        self.peeked.entry(agent.clone()).or_default()
    }

    /// Returns the cache of a conversation and drops all others, which are not drawn.
    fn transcript(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.transcripts.retain(|name, _| name == agent);
        self.transcripts.entry(agent.clone()).or_default()
    }
}

/// Draws the whole screen.
pub fn draw(state: &UiState, cache: &mut ViewCache, theme: &Theme, frame: &mut Frame) {
    let area = frame.area();
    let cursor = draw_on(state, cache, theme, area, frame.buffer_mut());
    if let Some(cursor) = cursor.filter(|at| area.contains(*at)) {
        frame.set_cursor_position(cursor);
    }
}

/// Draws the whole screen into `buffer`. Returns the cursor position.
fn draw_on(
    state: &UiState,
    cache: &mut ViewCache,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    buffer.set_style(area, theme.ground);
    let layout = layout::layout(state, area);
    if layout.class == Class::Small {
        first::too_small(area, theme, buffer);
        return None;
    }
    status::draw(state, theme, layout.status, buffer);
    hints::draw(state, theme, layout.hints, buffer);
    if let Some(row) = layout.tour {
        tour::draw(state, theme, row, buffer);
    }
    if let (Some(row), Some(player)) = (layout.replay, &state.replay) {
        replay::draw(player, theme, row, buffer);
    }
    if let Some((row, offered)) = &layout.tabs {
        tabs(state, theme, *row, offered, &layout, buffer);
    }
    if let Some(row) = layout.banner {
        banner(state, theme, row, buffer);
    }
    let mut searching = None;
    for (pane, area) in &layout.panes {
        match pane {
            Pane::Lead => searching = lead::draw(state, cache, theme, *area, buffer),
            Pane::Todo => todo::draw(state, theme, *area, buffer),
            Pane::Board => board::draw(state, theme, *area, buffer),
            Pane::Team => team::draw(state, theme, *area, buffer),
            Pane::Inbox => inbox::draw(state, theme, *area, buffer),
            Pane::Needs => needs::draw(state, theme, *area, buffer),
        }
    }
    let mut cursor = layout
        .composer
        .and_then(|area| lead::composer(state, theme, area, buffer))
        .or(searching);
    complete::draw(state, theme, &layout, buffer);
    if let Some(top) = state.popups.last() {
        if popup::covers(top) {
            let from = layout.status.bottom();
            let panes = Rect {
                y: from,
                height: layout.hints.y.saturating_sub(from),
                ..area
            };
            buffer.set_style(panes, theme.behind());
        }
        cursor = popup::draw(state, top, theme, area, buffer);
    }
    match layout.peek {
        Some(area) => peek::draw(state, cache, theme, area, buffer),
        None => cache.peeked.clear(),
    }
    hints::draw_above(state, theme, layout.hints, buffer);
    cursor
}

/// Draws the tabs of the panes that share one area.
fn tabs(
    state: &UiState,
    theme: &Theme,
    row: Rect,
    offered: &[Pane],
    layout: &Layout,
    buffer: &mut Buffer,
) {
    for placed in bars::tab_line(state, layout, row, offered) {
        let (pane, label) = placed.what;
        let is_shown = layout.pane(pane).is_some();
        let style = match (is_shown, state.focus.pane() == pane) {
            (true, true) => theme.title_focused,
            (true, false) => theme.title,
            (false, _) if pane == Pane::Needs => theme.waiting,
            (false, _) => theme.dim,
        };
        Line::styled(label, style).render(placed.at, buffer);
    }
}

/// Minimum columns for the subject of a request.
const ABOUT_LEAST: usize = 12;

/// Draws the line about an open request while its pane is hidden; includes the subject if there is room.
fn banner(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let Some((_, request)) = rows::selected_request(state) else {
        return;
    };
    let more = match state.requests.for_person() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let key = state.waiting_key();
    let hint = format!("{key} shows it ");
    let room = usize::from(row.width).saturating_sub(width(&hint) + 2);
    let heading = sentence::heading(request, &state.board, room.saturating_sub(width(&more) + 2));
    let text = format!("◆ {heading}{more}");
    let rest = room.saturating_sub(width(&text) + 2);
    let about = sentence::about(request).filter(|_| more.is_empty() && rest >= ABOUT_LEAST);
    let about = about.map_or_else(String::new, |about| fit(&about, rest));
    let gap = if about.is_empty() { "" } else { "  " };
    let taken = width(&about) + gap.len();
    let [text, blanks] = frame::cell(&text, room.min(width(&text)), theme.waiting);
    let behind = " ".repeat(room.saturating_sub(text.width() + blanks.width() + taken));
    Line::from(vec![
        Span::raw(" "),
        text,
        blanks,
        Span::raw(gap),
        Span::styled(about, theme.text),
        Span::raw(behind),
        Span::raw(" "),
        Span::styled(hint, theme.accent),
    ])
    .render(row, buffer);
}
