//! A table as a grid that fits the width. Cells that are too wide take several rows; where even that does
//! not fit, each row becomes a short list of its cells.
//!
//! A long table is drawn in pieces. What all of them must agree on is small ([`Shared`]): while a row that comes in
//! leaves it as it is, the pieces before stay as they are drawn. It changes at most as often as there are columns on
//! the screen to be given, so the work is bounded by the rows, times the columns of the screen at the worst.
//!
//! A row that is still being written is drawn, and not measured before its last bar: else columns would grow and shrink
//! by what is written around its words, and the whole table would be drawn anew for each row.

use pulldown_cmark::Alignment;
use ratatui::text::Span;

use crate::ui::textual::wrap::{Break, Margin, Row, visible, width, wrap};
use crate::ui::theme::Theme;

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
    /// Rows at its end that are not measured.
    unmeasured: usize,
}

/// Whether a piece of a table has its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// It is drawn.
    Here,
    /// It stands above, in another piece: here it is only known.
    Above,
}

/// Whether rules stand between the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Some row takes several lines: they tell the rows apart.
    Drawn,
    /// Every row takes one line.
    None,
}

/// What the pieces of one table have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The columns of each column; none where a grid does not fit.
    pub widths: Option<Vec<usize>>,
    /// Whether rules stand between the rows.
    pub rules: Rules,
}

impl Shared {
    /// What pieces that wish for these columns have in common in so many of the screen.
    pub fn of(wished: &[usize], columns: usize, rules: Rules) -> Shared {
        Shared {
            widths: fitted(wished, columns),
            rules,
        }
    }
}

/// What a piece of a table would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The columns of its widest cells.
    pub wished: Vec<usize>,
    /// Whether one of its rows takes several lines in the columns that it was drawn with.
    pub rules: Rules,
}

impl Table {
    /// An empty one.
    pub fn new(alignments: Vec<Alignment>) -> Table {
        Table {
            alignments,
            rows: Vec::new(),
            unmeasured: 0,
        }
    }

    /// Its last row is still being written.
    pub fn leave_last_unmeasured(&mut self) {
        // The head is whole: a table begins with the line below it.
        self.unmeasured = usize::from(self.rows.len() > 1);
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

    /// Its rows behind `margin`, in the columns that it shares with other pieces or in those of its own; and what it
    /// would have.
    pub fn rows(
        &self,
        (columns, margin): (usize, &Margin),
        (shared, head): (Option<&Shared>, Head),
        theme: &Theme,
        ink: &mut usize,
    ) -> (Vec<Row>, Measured) {
        let taken = margin.columns();
        let taken = if taken + 2 <= columns { taken } else { 0 };
        let columns = columns - taken;
        let wished = self.wished(columns);
        let widths = match shared {
            Some(shared) => shared.widths.clone(),
            None => fitted(&wished, columns),
        };
        let (mut rows, rules) = match widths {
            Some(widths) => self.grid(&widths, (shared, head), theme, ink),
            None => (self.list(columns, head, theme, ink), Rules::None),
        };
        if taken > 0 {
            for (at, row) in rows.iter_mut().enumerate() {
                let side = if at == 0 { &margin.first } else { &margin.rest };
                row.spans.splice(0..0, side.iter().cloned());
            }
        }
        (rows, Measured { wished, rules })
    }

    /// The columns of the widest cell of each column; none is wider than the screen.
    fn wished(&self, columns: usize) -> Vec<usize> {
        let mut wished = vec![1; self.alignments.len()];
        let measured = self.rows.len() - self.unmeasured.min(self.rows.len());
        for row in &self.rows[..measured] {
            for (widest, cell) in wished.iter_mut().zip(row) {
                let wide = cell.iter().map(|s| width(&s.content)).sum();
                *widest = (*widest).max(wide).min(columns.max(1));
            }
        }
        wished
    }

    fn grid(
        &self,
        widths: &[usize],
        (shared, head): (Option<&Shared>, Head),
        theme: &Theme,
        ink: &mut usize,
    ) -> (Vec<Row>, Rules) {
        let skip = match head {
            Head::Here => 0,
            Head::Above => 1,
        };
        let drawn: Vec<(usize, Vec<Vec<Row>>)> = self
            .rows
            .iter()
            .skip(skip)
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
        let measured = drawn.len() - self.unmeasured.min(drawn.len());
        let body = drawn[..measured].iter().skip(1 - skip);
        let own = if body.into_iter().any(|(_, row)| height(row) > 1) {
            Rules::Drawn
        } else {
            Rules::None
        };
        let rules = shared.map_or(own, |shared| shared.rules);
        let mut out = Vec::new();
        for (at, (ink, row)) in (skip..).zip(&drawn) {
            let is_below_head = at == 1 && head == Head::Here;
            if is_below_head || (at > 0 && rules == Rules::Drawn) {
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
        (out, own)
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
    fn list(&self, columns: usize, place: Head, theme: &Theme, ink: &mut usize) -> Vec<Row> {
        let mut out: Vec<Row> = Vec::new();
        let (head, body) = match self.rows.split_first() {
            Some((head, [])) => (&[][..], std::slice::from_ref(head)),
            Some((head, body)) => (head.as_slice(), body),
            None => return out,
        };
        let margin = Margin::hanging(vec![], vec!["  ".into()]);
        let count = |cell: &Cell| cell.iter().map(|s| visible(&s.content)).sum::<usize>();
        if place == Head::Here {
            *ink += head.iter().map(count).sum::<usize>();
        }
        for row in body {
            if !out.is_empty() || place == Head::Above {
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

/// The columns of each column, of those that the cells wish for; none where a grid does not fit. The widest give way
/// first.
fn fitted(wished: &[usize], columns: usize) -> Option<Vec<usize>> {
    let count = wished.len();
    let room = columns.checked_sub(RULE_COLUMNS * count.saturating_sub(1))?;
    let mut widths: Vec<usize> = wished.iter().map(|w| (*w).min(room.max(1))).collect();
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

/// Drops blanks at the end of a row.
fn trim_blank(spans: &mut Vec<Span<'static>>) {
    while spans.last().is_some_and(|s| s.content.trim().is_empty()) {
        spans.pop();
    }
}
