//! The letters between the parties, as sentences, each with the step that it has reached.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::frame::{self, Row, Titles};
use crate::domain::text::one_line;
use crate::protocol::event::LetterStep;
use crate::ui::letters::Traced;
use crate::ui::pane::Pane;
use crate::ui::state::UiState;
use crate::ui::textual::{clock, fit, pad, width};
use crate::ui::theme::Theme;
use crate::ui::{look, rows, sentence};

/// Draws them, the newest at the bottom.
pub fn draw(state: &UiState, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let letters = &state.letters;
    let selected = rows::selected_letter(state);
    let height = area.height.saturating_sub(2);
    let first = frame::first_row(letters.len(), selected.unwrap_or(0), height);
    let unread = letters.unread();
    let titles = Titles {
        name: "Inbox".into(),
        aside: match unread {
            0 => Vec::new(),
            n => vec![Span::styled(format!("{n} not read yet"), theme.warn)],
        },
        below: frame::beyond(letters.len(), first, height, theme),
    };
    let inner = frame::pane(state, Pane::Inbox, titles, theme, area, buffer);
    if letters.is_empty() {
        let words = "No letters yet. What the agents write to one another appears here.";
        frame::empty(words, theme, inner, buffer);
        return;
    }
    let route_width = letters
        .iter()
        .skip(first)
        .take(usize::from(height))
        .map(|t| width(&route(t)))
        .max()
        .unwrap_or(0)
        .min(usize::from(inner.width) * 2 / 5);
    for ((at, traced), area) in letters.iter().enumerate().skip(first).zip(inner.rows()) {
        let (shape, style) = look::step(traced.step, theme);
        let step = format!("{shape} {}", rows::step_word(traced.step));
        let columns = usize::from(area.width).saturating_sub(10 + route_width);
        let mut spans = vec![
            Span::styled(
                format!("{} ", clock(traced.letter.timestamp, &state.zone)),
                theme.dim,
            ),
            Span::styled(
                format!("{}  ", pad(&route(traced), route_width)),
                theme.accent,
            ),
        ];
        let step = pad(&step, width("✓ delivered"));
        // On a narrow row the shape alone says it.
        let step = if columns < 30 {
            shape.to_string()
        } else {
            step
        };
        spans.extend(frame::sides(
            &sentence::letter(&traced.letter),
            match traced.step {
                LetterStep::Sent | LetterStep::Delivered => theme.text,
                LetterStep::ActedOn => theme.dim,
            },
            &step,
            style,
            columns,
        ));
        let row = Row::of(state, Pane::Inbox, at, selected);
        frame::row(row, spans, theme, area, buffer);
    }
}

fn route(traced: &Traced) -> String {
    let letter = &traced.letter;
    let from = fit(&one_line(&letter.from), 16);
    let to = fit(&one_line(&letter.to), 16);
    format!("{from} → {to}")
}
