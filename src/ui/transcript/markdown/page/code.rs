//! Draws code blocks: the lines of code, with the name of the language.

use ratatui::text::Span;

use crate::ui::text::wrap::{Break, Row, visible, width, wrap};
use crate::ui::transcript::markdown::page::PageBuilder;

impl PageBuilder<'_> {
    /// Adds the rows of the collected lines of code. The language of the block is at the right of the first row if it
    /// fits there, otherwise in a row above.
    pub(super) fn draw_code(&mut self) {
        let code = std::mem::take(&mut self.spans);
        let label = self.label.take();
        let beside = label
            .as_deref()
            .filter(|label| self.has_room_beside(&code, label));
        if let Some(label) = label.as_deref().filter(|_| beside.is_none()) {
            self.draw_label(label);
        }
        self.draw_on_ground(&code, beside);
    }

    /// Returns whether the first line of `code` leaves room for `label` and two blanks before it. Always false if the
    /// theme has no background for code, because nothing would connect the two.
    fn has_room_beside(&self, code: &[Span<'_>], label: &str) -> bool {
        let mut line = 0;
        for span in code {
            let part = span.content.split('\n').next().unwrap_or_default();
            line += width(part);
            if part.len() < span.content.len() {
                break;
            }
        }
        let used = self.margin_width() + 2 + line + 2 + width(label) + 1;
        self.theme.code_ground.bg.is_some() && used <= self.code_columns
    }

    /// Returns the width of what the enclosing blocks draw to the left of the text, in columns.
    fn margin_width(&self) -> usize {
        let margin = self.blocks.gap(self.columns, self.theme);
        margin.iter().map(|span| width(&span.content)).sum()
    }

    /// Adds the rows of `spans` with the theme's background for code. If the theme has no such background, draws a bar
    /// to the left of them. `beside` is the text at the right of the first row, which must have room for it.
    fn draw_on_ground(&mut self, spans: &[Span<'static>], beside: Option<&str>) {
        self.blocks.note_text();
        let mut margin = self.blocks.margin(self.columns, self.theme);
        let (ground, columns) = (self.theme.code_ground, self.code_columns);
        let edge = match ground.bg {
            Some(_) => Span::raw("  "),
            None => Span::styled("▏ ", self.theme.dim),
        };
        let around = [&mut margin.first, &mut margin.line].map(|spans| {
            spans.push(edge.clone());
            spans.len() - 1
        });
        margin.rest.push(Span::styled("↳ ", self.theme.dim));
        let offset = &mut self.text_offset;
        let mut rows = wrap(spans, columns, &margin, Break::Anywhere, offset);
        if let (Some(label), Some((first, rest))) = (beside, rows.split_first_mut()) {
            let gap = columns.saturating_sub(first.width() + width(label) + 1);
            let at = first.spans.len();
            first.spans.push(" ".repeat(gap).into());
            first.aside = at..at + 1;
            let label_span = Span::styled(format!("{label} "), self.theme.dim);
            first.spans.push(label_span);
            // The label is a part of the text of the first row.
            let more = visible(label);
            for row in rest {
                row.text_offset += more;
            }
            self.text_offset += more;
        }
        let on_ground = |row: Row| match ground.bg {
            Some(_) => {
                let from = around[0].min(row.margin);
                row.on_ground(ground, from, columns)
            }
            None => row,
        };
        self.rows.extend(rows.into_iter().map(on_ground));
    }

    /// Adds the row above a code block, which shows the info string: at the right, or at the left if the theme has no
    /// background for code.
    pub(super) fn draw_label(&mut self, info: &str) {
        let mut spans = vec![Span::styled(info.to_string(), self.theme.dim)];
        if self.theme.code_ground.bg.is_some() {
            let room = self.code_columns.saturating_sub(self.margin_width() + 3);
            let missing = room.saturating_sub(width(info));
            spans.insert(0, Span::raw(" ".repeat(missing)));
        }
        self.draw_on_ground(&spans, None);
    }
}
