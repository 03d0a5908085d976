//! The line at the bottom: the keys that do something now, or a short message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::hints::{Hint, Urgency, hints};
use crate::ui::look;
use crate::ui::state::UiState;
use crate::ui::textual::{fit, width};
use crate::ui::theme::Theme;

/// Between the parts: not styled, as a ground behind the words would show.
const BLANK: &str = " ";

/// Draws it.
pub fn draw(state: &UiState, theme: &Theme, row: Rect, buffer: &mut Buffer) {
    let columns = usize::from(row.width);
    if let Some(flash) = &state.flash {
        let (shape, style) = look::level(flash.level, theme);
        let text = fit(&format!(" {shape} {}", flash.text), columns);
        Line::styled(text, style).render(row, buffer);
        return;
    }
    let all = hints(state);
    let wide = |hint: &Hint| width(&hint.key) + width(&hint.words) + 3;
    let kept = |hint: &&Hint| hint.urgency == Urgency::Always;
    let mut room = columns.saturating_sub(all.iter().filter(kept).map(wide).sum());
    let mut spans = Vec::new();
    for hint in &all {
        if hint.urgency != Urgency::Always {
            if wide(hint) > room {
                continue;
            }
            room -= wide(hint);
        }
        let words = match hint.urgency {
            Urgency::Usual | Urgency::Always => theme.dim,
            Urgency::Now => theme.waiting,
        };
        let key = Span::styled(hint.key.clone(), theme.accent);
        let words = Span::styled(hint.words.clone(), words);
        let blank = || Span::raw(BLANK);
        spans.extend([blank(), key, blank(), words, blank()]);
    }
    Line::from(spans).render(row, buffer);
}
