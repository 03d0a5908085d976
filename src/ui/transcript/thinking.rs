//! Draws the thinking that a model sent before its answer.

use ratatui::text::Span;

use crate::domain::text::escape_control_chars;
use crate::ui::text::wrap::{Break, Margin, Row, fit, width, wrap};
use crate::ui::transcript::answer::{Answer, StreamState};
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::fold;
use crate::ui::transcript::layout::LayoutParams;
use crate::ui::transcript::run::duration;

/// Minimum width, in columns, that must be free beside the label of folded thinking to show a preview of its text.
const PREVIEW_WIDTH_MIN: usize = 12;
/// Maximum number of rows of open thinking. If there are more, the first and the last rows are shown, with one row
/// between them that says how many are missing.
const ROWS_MAX: usize = 400;

/// Returns the rows of an answer's thinking. If the thinking is folded, returns one row and does not change
/// `text_offset`. If it is open, returns the rows of its text, limited by [`ROWS_MAX`], and adds the number of visible
/// characters of the text to `text_offset`.
pub fn thinking_rows(
    answer: &Answer,
    is_selected: bool,
    page: LayoutParams<'_>,
    text_offset: &mut usize,
) -> Vec<Row> {
    let text = answer.thinking.as_str().trim();
    let dim = page.theme.dim;
    let sign = if is_selected {
        page.theme.selection
    } else {
        dim
    };
    let margin = Margin::hanging(vec![Span::styled("∴", sign), " ".into()], vec!["  ".into()]);
    match answer.fold {
        Fold::Folded => {
            // The preview shows the last line while the model is thinking, then the first line.
            let mut lines = text.lines().filter(|l| !l.trim().is_empty());
            let (label, line) = match answer.progress {
                StreamState::Open => ("thinking", lines.next_back()),
                StreamState::Closed | StreamState::ClosedWithCall => ("thought", lines.next()),
            };
            let label = match answer.thought_ms {
                0..1000 => label.to_string(),
                ms @ 1000..60_000 => format!("{label} for {} s", ms / 1000),
                ms => format!("{label} for {}", duration(ms)),
            };
            let mut spans = vec![Span::styled("∴", sign), " ".into()];
            let room = page.columns.saturating_sub(2);
            spans.push(Span::styled(fit(&label, room.max(1)), dim));
            let margin = spans.len();
            let room = room.saturating_sub(width(&label) + 3);
            // A preview with fewer columns would say too little.
            if room >= PREVIEW_WIDTH_MIN {
                spans.push(Span::styled(" · ", dim));
                spans.push(Span::styled(
                    fit(&escape_control_chars(line.unwrap_or_default()), room),
                    dim,
                ));
            }
            let text_offset = 0;
            vec![Row {
                spans,
                text_offset,
                margin,
                ..Row::default()
            }]
        }
        Fold::Open => {
            let words = [Span::styled(escape_control_chars(text), dim)];
            let rows = wrap(&words, page.columns, &margin, Break::Words, text_offset);
            fold::elide_rows(rows, ROWS_MAX, page)
        }
    }
}
