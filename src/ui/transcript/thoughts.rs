//! The thoughts before an answer, as rows.

use ratatui::text::Span;

use super::answer::{Answer, Stream};
use super::cell::Fold;
use super::fold;
use super::layout::{Mark, Page};
use super::run::duration;
use crate::domain::text::harmless;
use crate::ui::textual::wrap::{Break, Margin, Row, fit, width, wrap};

/// Fewest columns in which the first line of folded thoughts is shown.
const LEAST_THOUGHT: usize = 12;
/// Most rows of thoughts that are shown when they are opened.
const THOUGHTS_MAX: usize = 400;

/// The thoughts before an answer: one line of them, or all.
pub fn thoughts(answer: &Answer, mark: Mark, page: Page<'_>, ink: &mut usize) -> Vec<Row> {
    let text = answer.thinking.as_str().trim();
    let dim = page.theme.dim;
    let sign = match mark {
        Mark::Selected => page.theme.selection,
        Mark::Plain => dim,
    };
    let margin = Margin::hanging(vec![Span::styled("∴", sign), " ".into()], vec!["  ".into()]);
    match answer.fold {
        Fold::Folded => {
            // What is thought right now stands at the end; what was thought is known by its beginning.
            let mut lines = text.lines().filter(|l| !l.trim().is_empty());
            let (said, line) = match answer.progress {
                Stream::Open => ("thinking", lines.next_back()),
                Stream::Closed | Stream::ClosedWithCall => ("thought", lines.next()),
            };
            let said = match answer.thought_ms {
                0..1000 => said.to_string(),
                ms @ 1000..60_000 => format!("{said} for {} s", ms / 1000),
                ms => format!("{said} for {}", duration(ms)),
            };
            let mut spans = vec![Span::styled("∴", sign), " ".into()];
            let room = page.columns.saturating_sub(2);
            spans.push(Span::styled(fit(&said, room.max(1)), dim));
            let margin = spans.len();
            let room = room.saturating_sub(width(&said) + 3);
            // A word or two say nothing.
            if room >= LEAST_THOUGHT {
                spans.push(Span::styled(" · ", dim));
                spans.push(Span::styled(
                    fit(&harmless(line.unwrap_or_default()), room),
                    dim,
                ));
            }
            let ink = 0;
            vec![Row { spans, ink, margin }]
        }
        Fold::Open => {
            let words = [Span::styled(harmless(text), dim)];
            let rows = wrap(&words, page.columns, &margin, Break::Words, ink);
            fold::some(rows, THOUGHTS_MAX, page)
        }
    }
}
