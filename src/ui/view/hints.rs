//! The line at the bottom: the keys that do something now, or a short message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::hints::{Urgency, hints};
use crate::ui::look;
use crate::ui::state::UiState;
use crate::ui::textual::{fit, width};
use crate::ui::theme::Theme;

/// Draws it.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let columns = usize::from(row.width);
    if let Some(flash) = &state.flash {
        let (shape, style) = look::level(flash.level, theme);
        let text = fit(&format!(" {shape} {}", flash.text), columns);
        Line::styled(text, style).render(row, buffer);
        return;
    }
    let mut spans = Vec::new();
    let mut used = 0;
    for hint in hints(state) {
        let wide = width(&hint.key) + width(&hint.words) + 3;
        if used + wide > columns {
            continue;
        }
        used += wide;
        let words = match hint.urgency {
            Urgency::Usual => theme.dim,
            Urgency::Now => theme.waiting,
        };
        spans.push(Span::styled(format!(" {}", hint.key), theme.accent));
        spans.push(Span::styled(format!(" {} ", hint.words), words));
    }
    Line::from(spans).render(row, buffer);
}
