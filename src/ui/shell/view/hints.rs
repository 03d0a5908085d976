//! The line at the bottom: the status message and the key hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::protocol::event::NoticeLevel;
use crate::ui::model::style;
use crate::ui::shell::hints::Urgency;
use crate::ui::shell::hints::lines::{hint_line, message};
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;

/// The blank column before, between and after the key and the label of a hint. It has no style, because the background
/// of a style would be visible.
const BLANK: &str = " ";

/// Draws the status message and the key hints into `row`.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let (above, before) = message(state, row);
    let level = state.status.as_ref().map(|status| status.level);
    let (shape, style) = style::level(level.unwrap_or(NoticeLevel::Info), theme);
    let shape = if above.is_empty() { shape } else { " " };
    if !before.is_empty() {
        // The style is set for the message only, because a hint would inherit every attribute that its own style does
        // not set.
        Span::styled(format!(" {shape} {before}"), style).render(row, buffer);
    }
    for placed in hint_line(state, row) {
        let hint = placed.what;
        let words = match hint.urgency {
            Urgency::Usual | Urgency::Always => theme.dim,
            Urgency::Now => theme.waiting,
        };
        let key = Span::styled(hint.key, theme.accent);
        let words = Span::styled(hint.words, words);
        let blank = || Span::raw(BLANK);
        Line::from(vec![blank(), key, blank(), words, blank()]).render(placed.at, buffer);
    }
}

/// Draws the first part of a long status message over the lowest row of the panes, directly above the hints.
pub fn draw_above(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let (Some(status), Some(y)) = (&state.status, row.y.checked_sub(1)) else {
        return;
    };
    let (above, _) = message(state, row);
    if above.is_empty() {
        return;
    }
    let place = Rect { y, ..row }.intersection(buffer.area);
    Clear.render(place, buffer);
    buffer.set_style(place, theme.ground);
    let (shape, style) = style::level(status.level, theme);
    Line::styled(format!(" {shape} {above}"), style).render(place, buffer);
}
