//! The tour line, above the key hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::shell::hints::lines;
use crate::ui::shell::state::UiState;
use crate::ui::shell::tour::{MARK, line};
use crate::ui::text::width;
use crate::ui::theme::Theme;

pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let Some(words) = line(state) else {
        return;
    };
    let away = lines::tour_dismiss_hint(state, row).map_or_else(String::new, |away| away.what);
    let room = usize::from(row.width).saturating_sub(width(MARK) + width(&away));
    let [words, blanks] = crate::ui::frame::cell(&words, room, theme.title);
    Line::from(vec![
        Span::styled(MARK, theme.accent),
        words,
        blanks,
        Span::styled(away, theme.dim),
    ])
    .render(row, buffer);
}
