//! Draws a table as a grid that fits the width. Cells that are too wide wrap. If the columns would become too narrow,
//! each row is drawn as a list of its cells.
//!
//! A long table is drawn in pieces that share column widths and rules ([`TableLayout`]). Earlier pieces are drawn again
//! only if a new row changes the widths or the rules. The widths can change at most once per screen column, which
//! bounds the total work by the number of rows times the screen width.
//!
//! A row that is still being written is drawn, but not measured until its closing bar has arrived. Otherwise,
//! unfinished markup would change the column widths back and forth, and the whole table would be drawn again each time.

use pulldown_cmark::Alignment;
use ratatui::text::Span;

use crate::ui::text::wrap::{Break, Margin, Row, visible, width, wrap};
use crate::ui::theme::Theme;

/// The separator between the columns of a grid.
const RULE: &str = " │ ";
/// Width of [`RULE`], in columns.
const RULE_COLUMNS: usize = 3;
/// Minimum width of a column in a grid, in terminal columns; a column with narrower content needs less. If the columns
/// do not fit with this width, the table is drawn as lists.
const COLUMN_WIDTH_MIN: usize = 5;

type CellSpans = Vec<Span<'static>>;

/// A table to which rows and cells are added before it is drawn.
#[derive(Debug)]
pub struct Table {
    alignments: Vec<Alignment>,
    /// The rows; the first one is the head.
    rows: Vec<Vec<CellSpans>>,
    /// Number of rows at the end of the table that are not measured, because they are still being written: 0 or 1.
    unmeasured: usize,
}

/// The column widths and rules of a table. A long table is rendered in several [`Piece`](super::Piece)s, which all use
/// the same layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLayout {
    /// The width of each column, in terminal columns; `None` if the table is drawn as lists because a grid does not
    /// fit.
    pub widths: Option<Vec<usize>>,
    /// Whether horizontal rules are drawn between the rows, because at least one row takes several lines on the screen.
    pub has_rules: bool,
}

impl TableLayout {
    /// Computes the layout, without rules, for a width of `columns` columns. `natural_widths` are the widths that the
    /// columns need if no cell wraps.
    pub fn without_rules(natural_widths: &[usize], columns: usize) -> TableLayout {
        TableLayout {
            widths: fit_widths(natural_widths, columns),
            has_rules: false,
        }
    }
}

/// The measurements of a table, or of the part of a long table that is in one [`Piece`](super::Piece) of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMeasure {
    /// The width of the widest cell of each column, in terminal columns.
    pub natural_widths: Vec<usize>,
    /// Whether rules must separate the measured rows, because one of them takes several lines on the screen.
    pub needs_rules: bool,
}

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Table {
        Table {
            alignments,
            rows: Vec::new(),
            unmeasured: 0,
        }
    }

    /// Excludes the last row from the measurements, because it is still being written.
    pub fn leave_last_unmeasured(&mut self) {
        // The head is complete, because the parser recognizes a table only by the delimiter row below the head.
        self.unmeasured = usize::from(self.rows.len() > 1);
    }

    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the current row.
    pub fn put(&mut self, cell: Vec<Span<'static>>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// Draws the table to the right of `margin`. Uses the layout `shared`, or computes one if that is `None`. If
    /// `is_head_above` is true, omits the head, because an earlier piece of the table has drawn it. Returns the rows
    /// and the measurements of the table.
    pub fn rows(
        &self,
        (columns, margin): (usize, &Margin),
        (shared, is_head_above): (Option<&TableLayout>, bool),
        theme: &Theme,
        text_offset: &mut usize,
    ) -> (Vec<Row>, TableMeasure) {
        let margin_width = margin.columns();
        let margin_width = if margin_width + 2 <= columns {
            margin_width
        } else {
            0
        };
        let columns = columns - margin_width;
        let natural_widths = self.natural_widths(columns);
        let widths = match shared {
            Some(shared) => shared.widths.clone(),
            None => fit_widths(&natural_widths, columns),
        };
        let (mut rows, needs_rules) = match widths {
            Some(widths) => self.grid(&widths, (shared, is_head_above), theme, text_offset),
            None => (self.list(columns, is_head_above, theme, text_offset), false),
        };
        if margin_width > 0 {
            for (at, row) in rows.iter_mut().enumerate() {
                let side = if at == 0 { &margin.first } else { &margin.rest };
                row.spans.splice(0..0, side.iter().cloned());
            }
        }
        (
            rows,
            TableMeasure {
                natural_widths,
                needs_rules,
            },
        )
    }

    /// Returns the width of the widest cell of each column, limited to `columns`.
    fn natural_widths(&self, columns: usize) -> Vec<usize> {
        let mut natural_widths = vec![1; self.alignments.len()];
        let measured = self.rows.len() - self.unmeasured.min(self.rows.len());
        for row in &self.rows[..measured] {
            for (widest, cell) in natural_widths.iter_mut().zip(row) {
                let wide = cell.iter().map(|s| width(&s.content)).sum();
                *widest = (*widest).max(wide).min(columns.max(1));
            }
        }
        natural_widths
    }

    /// Returns the rows of the grid, and whether horizontal rules must separate them. Rules are needed if a row below
    /// the head takes several lines on the screen. A row that is still being written does not count.
    fn grid(
        &self,
        widths: &[usize],
        (shared, is_head_above): (Option<&TableLayout>, bool),
        theme: &Theme,
        text_offset: &mut usize,
    ) -> (Vec<Row>, bool) {
        let skip = usize::from(is_head_above);
        let drawn: Vec<(usize, Vec<Vec<Row>>)> = self
            .rows
            .iter()
            .skip(skip)
            .map(|row| {
                let start = *text_offset;
                let cell = |(at, columns): (usize, &usize)| {
                    row.get(at).map_or_else(Vec::new, |cell| {
                        wrap(
                            cell,
                            *columns,
                            &Margin::default(),
                            Break::Words,
                            text_offset,
                        )
                    })
                };
                (start, widths.iter().enumerate().map(cell).collect())
            })
            .collect();
        let height = |row: &[Vec<Row>]| row.iter().map(Vec::len).max().unwrap_or(0).max(1);
        // Rules separate the rows if any of them takes several lines.
        let measured = drawn.len() - self.unmeasured.min(drawn.len());
        let body = drawn[..measured].iter().skip(1 - skip);
        let needs_rules = body.into_iter().any(|(_, row)| height(row) > 1);
        let has_rules = shared.map_or(needs_rules, |shared| shared.has_rules);
        let mut out = Vec::new();
        for (at, (text_offset, row)) in (skip..).zip(&drawn) {
            let is_below_head = at == 1 && !is_head_above;
            if is_below_head || (at > 0 && has_rules) {
                let rules: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
                let rule = Span::styled(rules.join("─┼─"), theme.dim);
                out.push(Row::decoration(vec![rule], *text_offset));
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
                out.push(Row::decoration(spans, *text_offset));
            }
        }
        (out, needs_rules)
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

    /// Draws each row of the table as a list with a line `head: cell` for each cell.
    fn list(
        &self,
        columns: usize,
        is_head_above: bool,
        theme: &Theme,
        text_offset: &mut usize,
    ) -> Vec<Row> {
        let mut out: Vec<Row> = Vec::new();
        let (head, body) = match self.rows.split_first() {
            Some((head, [])) => (&[][..], std::slice::from_ref(head)),
            Some((head, body)) => (head.as_slice(), body),
            None => return out,
        };
        let margin = Margin::hanging(vec![], vec!["  ".into()]);
        let count = |cell: &CellSpans| cell.iter().map(|s| visible(&s.content)).sum::<usize>();
        if !is_head_above {
            *text_offset += head.iter().map(count).sum::<usize>();
        }
        for row in body {
            if !out.is_empty() || is_head_above {
                out.push(Row::decoration(
                    vec![Span::styled("─".repeat(columns.min(8)), theme.dim)],
                    *text_offset,
                ));
            }
            for (at, cell) in row.iter().enumerate() {
                let mut spans = Vec::new();
                if let Some(name) = head.get(at).filter(|n| !n.is_empty()) {
                    spans.extend(name.iter().cloned());
                    spans.push(Span::raw(": "));
                }
                spans.extend(cell.iter().cloned());
                // The text of the head counts only once, although it is repeated for each row.
                let mut rows = wrap(&spans, columns, &margin, Break::Words, &mut 0);
                for row in &mut rows {
                    row.text_offset = *text_offset;
                }
                out.append(&mut rows);
                *text_offset += count(cell);
            }
        }
        out
    }
}

/// Returns the column widths of a grid with a total width of at most `columns`; `None` if a grid does not fit. Narrows
/// the widest columns first.
fn fit_widths(natural_widths: &[usize], columns: usize) -> Option<Vec<usize>> {
    let count = natural_widths.len();
    let room = columns.checked_sub(RULE_COLUMNS * count.saturating_sub(1))?;
    let mut widths: Vec<usize> = natural_widths
        .iter()
        .map(|w| (*w).min(room.max(1)))
        .collect();
    let least: usize = widths.iter().map(|w| (*w).min(COLUMN_WIDTH_MIN)).sum();
    if count == 0 || least > room {
        return None;
    }
    while widths.iter().sum::<usize>() > room {
        let widest = widths.iter_mut().max()?;
        *widest -= 1;
    }
    Some(widths)
}

/// Removes the blank spans at the end of a row.
fn trim_blank(spans: &mut Vec<Span<'static>>) {
    while spans.last().is_some_and(|s| s.content.trim().is_empty()) {
        spans.pop();
    }
}
