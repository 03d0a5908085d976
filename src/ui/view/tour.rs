//! The line above the hints that tells in the demo what to press next.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::state::UiState;
use crate::ui::textual::width;
use crate::ui::theme::Theme;
use crate::ui::tour::{dismissed_by, line};

/// What stands before the words.
const MARK: &str = " ▸ ";

/// Draws it, where there is one.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let Some(words) = line(state) else {
        return;
    };
    let away = format!(" {} hides ", dismissed_by(state));
    let columns = usize::from(row.width).saturating_sub(width(MARK));
    // What is to be pressed next is worth more than how the line is put away, which the keys tell too.
    let away = if width(&words) + width(&away) > columns {
        String::new()
    } else {
        away
    };
    let room = columns.saturating_sub(width(&away));
    let [words, blanks] = super::frame::cell(&words, room, theme.title);
    Line::from(vec![
        Span::styled(MARK, theme.accent),
        words,
        blanks,
        Span::styled(away, theme.dim),
    ])
    .render(row, buffer);
}
