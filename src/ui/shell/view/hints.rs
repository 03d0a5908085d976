//! The line at the bottom: the status message and the key hints.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::symbols::line;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::protocol::event::NoticeLevel;
use crate::ui::model::style;
use crate::ui::shell::hints::Urgency;
use crate::ui::shell::hints::lines::{hint_line, message, rows_to_message};
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;

/// The blank column before, between and after the key and the label of a hint. It has no style, because the background
/// of a style would be visible.
const BLANK: &str = " ";

/// Draws the status message, or the second part of a long one, and the key hints that fit beside it into `row`.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let (above, before) = message(state, row);
    let level = state.status.as_ref().map(|status| status.level);
    let (shape, style) = style::level(level.unwrap_or(NoticeLevel::Info), theme);
    if !before.is_empty() {
        let lead = if above.is_empty() {
            format!(" {shape} ")
        } else {
            // The second part begins in the column of the first one, which is right of a border.
            " ".repeat(4)
        };
        // The style is set for the message only, because a hint would inherit every attribute that its own style does
        // not set.
        Span::styled(lead + &before, style).render(row, buffer);
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

/// Draws the first part of a status message above the hints: over the tour line, or over the lowest row of the panes. A
/// border in that row, usually the lower border of the composer, stays visible around the message. Draws nothing if
/// that part is empty.
pub fn draw_above(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let y = row.y.checked_sub(rows_to_message(state));
    let (Some(status), Some(y)) = (&state.status, y) else {
        return;
    };
    let (above, _) = message(state, row);
    if above.is_empty() {
        return;
    }
    let place = Rect { y, ..row }.intersection(buffer.area);
    clear_beside_borders(place, theme, buffer);
    let (shape, style) = style::level(status.level, theme);
    let text = Span::styled(format!(" {shape} {above} "), style);
    let inside = place.inner(Margin::new(1, 0));
    let columns = u16::try_from(text.width()).unwrap_or(u16::MAX);
    let at = Rect {
        width: columns.min(inside.width),
        ..inside
    };
    Clear.render(at, buffer);
    buffer.set_style(at, theme.ground);
    text.render(at, buffer);
}

/// Clears `row`, but keeps the lower borders of frames. Titles in these borders are replaced by the border, because the
/// text that is drawn next could cover a part of a title.
fn clear_beside_borders(row: Rect, theme: &Theme, buffer: &mut Buffer) {
    let mut border = None;
    for x in row.left()..row.right() {
        let Some(cell) = buffer.cell_mut((x, row.y)) else {
            continue;
        };
        if cell.symbol() == line::ROUNDED_BOTTOM_LEFT {
            border = Some(cell.style());
        } else if cell.symbol() == line::ROUNDED_BOTTOM_RIGHT {
            border = None;
        } else if let Some(style) = border {
            cell.reset();
            cell.set_symbol(line::HORIZONTAL).set_style(style);
        } else {
            cell.reset();
            cell.set_style(theme.ground);
        }
    }
}
