//! Joins the rows of both versions of a line side by side. Pure.

use ratatui::text::Span;

use crate::ui::diff::painter::DiffParams;
use crate::ui::text::wrap::Row;

impl DiffParams<'_> {
    /// Joins the rows of a removed line (`left`) and of the added line that replaces it (`right`); one of them may be
    /// empty. `start` is the number of visible characters in all earlier lines of the diff.
    pub(super) fn side_by_side(self, left: Vec<Row>, right: Vec<Row>, start: usize) -> Vec<Row> {
        let middle = right.first().map_or(start, |row| row.text_offset);
        let (mut left, mut right) = (left.into_iter(), right.into_iter());
        let (mut seen_left, mut seen_right) = (start, middle);
        let mut out = Vec::new();
        loop {
            let (old, new) = (left.next(), right.next());
            if old.is_none() && new.is_none() {
                return out;
            }
            seen_left = old
                .as_ref()
                .map_or(middle, |row| row.text_offset)
                .max(seen_left);
            seen_right = new.as_ref().map_or(seen_right, |row| row.text_offset);
            let offset = seen_left + (seen_right - middle);
            out.push(self.join(old, new, offset));
        }
    }

    /// Joins a row of the old version and a row of the new version into one row. The side of a missing row is blank.
    /// The joined row gets the offset `text_offset`, in visible characters.
    pub(super) fn join(self, left: Option<Row>, right: Option<Row>, text_offset: usize) -> Row {
        let (has_left, left) = (left.is_some(), left.unwrap_or_default());
        let right = right.unwrap_or_default();
        let missing = self.half().saturating_sub(left.width());
        let text_end = if left.aside.is_empty() {
            left.spans.len()
        } else {
            left.aside.start
        };
        let mut spans: Vec<Span<'static>> = vec![self.indent().into()];
        spans.extend(left.spans);
        spans.push(" ".repeat(missing).into());
        spans.push(Span::styled("│ ", self.theme.dim));
        let right_text = spans.len() + right.margin;
        spans.extend(right.spans);
        let (margin, aside) = if has_left {
            (1 + left.margin, 1 + text_end..right_text)
        } else {
            (right_text, 0..0)
        };
        Row {
            spans,
            text_offset,
            margin,
            aside,
        }
    }

    /// Returns the width of one version, in columns, when the old and the new version are side by side.
    pub(super) fn half(self) -> usize {
        (self.columns - self.indent().len() - 2) / 2
    }
}
