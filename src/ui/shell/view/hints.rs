//! The line at the bottom: the status message and the key hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::ui::model::style;
use crate::ui::shell::hints::lines::{hint_line, message_beside_hints};
use crate::ui::shell::message::message_lines;
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;

/// The blank column before, between and after the key and the label of a hint. It has no style, because the background
/// of a style would be visible.
const BLANK: &str = " ";

/// Draws the status message, if it is shown in this row, and the key hints that fit beside it into `row`.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let words = message_beside_hints(state, row);
    if let Some(status) = state.status.as_ref().filter(|_| !words.is_empty()) {
        let (shape, style) = style::level(status.level, theme);
        // The style is set for the message only, because a hint would inherit every attribute that its own style does
        // not set.
        Span::styled(format!(" {shape} {words}"), style).render(row, buffer);
    }
    for placed in hint_line(state, row) {
        let hint = placed.what;
        let key = Span::styled(hint.key, theme.accent);
        let words = Span::styled(hint.words, theme.dim);
        let blank = || Span::raw(BLANK);
        Line::from(vec![blank(), key, blank(), words, blank()]).render(placed.at, buffer);
    }
}

/// Draws the status message into `area`, the rows directly above the hints. It covers what was drawn there.
pub fn draw_message(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(status) = &state.status else {
        return;
    };
    let area = area.intersection(buffer.area);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.ground);
    let (shape, style) = style::level(status.level, theme);
    let lines = message_lines(state, area.width).into_iter();
    for ((at, line), row) in lines.enumerate().zip(area.rows()) {
        // Only the first line has the symbol. The others begin in the same column as its text.
        let mark = if at == 0 { shape } else { " " };
        Span::styled(format!(" {mark} {line}"), style).render(row, buffer);
    }
}
