//! A table as a grid that fits the width. Cells that are too wide take several rows; where even that does
//! not fit, each row becomes a short list of its cells.

use pulldown_cmark::Alignment;
use ratatui::text::Span;

use crate::ui::theme::Theme;
use crate::ui::wrap::{Break, Margin, Row, visible, width, wrap};

/// Between two columns.
const RULE: &str = " │ ";
/// The columns of [`RULE`].
const RULE_COLUMNS: usize = 3;
/// Narrowest column that is worth a grid, unless its content is narrower.
const NARROW: usize = 5;

type Cell = Vec<Span<'static>>;

/// A table that is being read.
#[derive(Debug)]
pub struct Table {
    alignments: Vec<Alignment>,
    /// The first one is the head.
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty one.
    pub fn new(alignments: Vec<Alignment>) -> Table {
        Table {
            alignments,
            rows: Vec::new(),
        }
    }

    /// A row begins.
    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// The next cell of the row.
    pub fn put(&mut self, cell: Vec<Span<'static>>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Its rows behind `margin`.
    pub fn rows(
        &self,
        columns: usize,
        margin: &Margin,
        theme: &Theme,
        ink: &mut usize,
    ) -> Vec<Row> {
        let taken = margin.columns();
        let taken = if taken + 2 <= columns { taken } else { 0 };
        let mut rows = match self.widths(columns - taken) {
            Some(widths) => self.grid(&widths, theme, ink),
            None => self.list(columns - taken, theme, ink),
        };
        if taken > 0 {
            for (at, row) in rows.iter_mut().enumerate() {
                let side = if at == 0 { &margin.first } else { &margin.rest };
                row.spans.splice(0..0, side.iter().cloned());
            }
        }
        rows
    }

    /// The columns of each column; none where a grid does not fit. The widest give way first.
    fn widths(&self, columns: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let room = columns.checked_sub(RULE_COLUMNS * count.saturating_sub(1))?;
        let mut widths = vec![1; count];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                let wide = cell.iter().map(|s| width(&s.content)).sum();
                *widest = (*widest).max(wide).min(room.max(1));
            }
        }
        let least: usize = widths.iter().map(|w| (*w).min(NARROW)).sum();
        if count == 0 || least > room {
            return None;
        }
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max()?;
            *widest -= 1;
        }
        Some(widths)
    }

    fn grid(&self, widths: &[usize], theme: &Theme, ink: &mut usize) -> Vec<Row> {
        let drawn: Vec<(usize, Vec<Vec<Row>>)> = self
            .rows
            .iter()
            .map(|row| {
                let start = *ink;
                let cell = |(at, columns): (usize, &usize)| {
                    row.get(at).map_or_else(Vec::new, |cell| {
                        wrap(cell, *columns, &Margin::default(), Break::Words, ink)
                    })
                };
                (start, widths.iter().enumerate().map(cell).collect())
            })
            .collect();
        let height = |row: &[Vec<Row>]| row.iter().map(Vec::len).max().unwrap_or(0).max(1);
        // Rows of several lines are told apart by rules.
        let is_tall = drawn.iter().skip(1).any(|(_, row)| height(row) > 1);
        let mut out = Vec::new();
        for (at, (ink, row)) in drawn.iter().enumerate() {
            if at == 1 || (at > 1 && is_tall) {
                let rules: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
                let rule = Span::styled(rules.join("─┼─"), theme.dim);
                out.push(Row::ornament(vec![rule], *ink));
            }
            for line in 0..height(row) {
                let mut spans = Vec::new();
                for (column, columns) in widths.iter().enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(RULE, theme.dim));
                    }
                    let cell = row.get(column).and_then(|c| c.get(line));
                    let is_last = column + 1 == widths.len();
                    self.align(column, cell, *columns, &mut spans);
                    if is_last {
                        trim_blank(&mut spans);
                    }
                }
                out.push(Row::ornament(spans, *ink));
            }
        }
        out
    }

    fn align(
        &self,
        column: usize,
        cell: Option<&Row>,
        columns: usize,
        spans: &mut Vec<Span<'static>>,
    ) {
        let free = columns.saturating_sub(cell.map_or(0, Row::width));
        let left = match self.alignments.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        let blank = |count: usize| (count > 0).then(|| Span::raw(" ".repeat(count)));
        spans.extend(blank(left));
        if let Some(cell) = cell {
            spans.extend(cell.spans.iter().cloned());
        }
        spans.extend(blank(free - left));
    }

    /// Each row as `head: cell`, one under the other.
    fn list(&self, columns: usize, theme: &Theme, ink: &mut usize) -> Vec<Row> {
        let mut out: Vec<Row> = Vec::new();
        let (head, body) = match self.rows.split_first() {
            Some((head, [])) => (&[][..], std::slice::from_ref(head)),
            Some((head, body)) => (head.as_slice(), body),
            None => return out,
        };
        let margin = Margin::hanging(vec![], vec!["  ".into()]);
        let count = |cell: &Cell| cell.iter().map(|s| visible(&s.content)).sum::<usize>();
        *ink += head.iter().map(count).sum::<usize>();
        for row in body {
            if !out.is_empty() {
                out.push(Row::ornament(
                    vec![Span::styled("─".repeat(columns.min(8)), theme.dim)],
                    *ink,
                ));
            }
            for (at, cell) in row.iter().enumerate() {
                let mut spans = Vec::new();
                if let Some(name) = head.get(at).filter(|n| !n.is_empty()) {
                    spans.extend(name.iter().cloned());
                    spans.push(Span::raw(": "));
                }
                spans.extend(cell.iter().cloned());
                // The names are repeated, and count as text in the head alone.
                let mut rows = wrap(&spans, columns, &margin, Break::Words, &mut 0);
                for row in &mut rows {
                    row.ink = *ink;
                }
                out.append(&mut rows);
                *ink += count(cell);
            }
        }
        out
    }
}

/// Drops blanks at the end of a row.
fn trim_blank(spans: &mut Vec<Span<'static>>) {
    while spans.last().is_some_and(|s| s.content.trim().is_empty()) {
        spans.pop();
    }
}
