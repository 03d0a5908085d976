//! The line at the bottom: a short message, and the keys that do something now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::guide::bars::{hint_line, message_room};
use crate::ui::guide::hints::Urgency;
use crate::ui::look;
use crate::ui::state::UiState;
use crate::ui::textual::fit;
use crate::ui::theme::Theme;

/// Between the parts: not styled, as a ground behind the words would show.
const BLANK: &str = " ";

/// Draws it.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    if let Some(flash) = &state.flash {
        let (shape, style) = look::level(flash.level, theme);
        // Not over the whole line: the hints behind it would take on what their own style leaves open.
        let place = Rect {
            width: message_room(state, row).saturating_sub(2),
            ..row
        };
        let text = fit(&format!(" {shape} {}", flash.text), place.width.into());
        Line::styled(text, style).render(place, buffer);
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
