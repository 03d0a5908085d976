//! Wraps one line of the text being typed. Every typed character stays visible, and every cursor position has exactly
//! one cell. Pure.
//!
//! A row reserves its last column for the cursor after a word, or for the blank at which the row breaks. That blank
//! stays where it was typed, so the next row begins with a word. A word longer than a row breaks between grapheme
//! clusters.

use std::borrow::Cow;
use std::ops::Range;

use crate::domain::text::{CLUSTER_MAX, harmless_chars};
use crate::ui::textual::wrap::{Glue, base, breaks_between, clusters, glue};

/// Minimum width of a row, in columns; a wide character must fit.
const COLUMNS_MIN: usize = 2;

/// A wrapped line. Positions in it count characters, as the text field does.
pub struct Rows<'a> {
    line: Cow<'a, str>,
    width: usize,
    starts: Vec<Start>,
}

/// Where a row begins in its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    bytes: usize,
    chars: usize,
}

/// One cursor position: a grapheme cluster as it is drawn.
struct Cell<'a> {
    shown: Cow<'a, str>,
    columns: usize,
    chars: usize,
    bytes: usize,
}

impl<'a> Rows<'a> {
    /// Wraps `line` into rows of at most `width` columns.
    pub fn new(line: &'a str, width: usize) -> Rows<'a> {
        let width = width.max(COLUMNS_MIN);
        let line = harmless_chars(line);
        Rows {
            starts: starts(&line, width),
            line,
            width,
        }
    }

    /// Returns the number of rows, at least one.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the text of a row as it is drawn.
    pub fn text(&self, row: usize) -> String {
        self.cells(row).map(|cell| cell.shown).collect()
    }

    /// Returns the row and column of a character position. A position past the end maps to the end.
    pub fn place(&self, chars: usize) -> (usize, usize) {
        let after = self.starts.partition_point(|start| start.chars <= chars);
        let row = after.saturating_sub(1);
        let mut at = self.starts.get(row).map_or(0, |start| start.chars);
        let mut column = 0;
        for cell in self.cells(row) {
            if at + cell.chars > chars {
                break;
            }
            at += cell.chars;
            column += cell.columns;
        }
        (row, column)
    }

    /// Returns the character position at a column of a row. A column past the end maps to the last position of the row.
    pub fn at(&self, row: usize, column: usize) -> usize {
        let row = row.min(self.len() - 1);
        let is_last = row + 1 == self.len();
        let mut at = self.starts.get(row).map_or(0, |start| start.chars);
        let mut used = 0;
        let mut cells = self.cells(row).peekable();
        while let Some(cell) = cells.next() {
            used += cell.columns;
            // The position after the last cell of a row belongs to the next row.
            if used > column || !is_last && cells.peek().is_none() {
                break;
            }
            at += cell.chars;
        }
        at
    }

    fn cells(&self, row: usize) -> impl Iterator<Item = Cell<'_>> {
        let from = self.starts.get(row).map_or(0, |start| start.bytes);
        let to = self.starts.get(row + 1).map(|start| start.bytes);
        let text = self.line.get(from..to.unwrap_or(self.line.len()));
        cells(text.unwrap_or_default(), self.width)
    }
}

/// Returns the character range of the grapheme cluster that contains character `at` of `line`.
pub fn sign(line: &str, at: usize) -> Range<usize> {
    let line = harmless_chars(line);
    let mut begin = 0;
    for (cluster, _) in clusters(&line) {
        let end = begin + cluster.chars().count();
        if end > at {
            return begin..end;
        }
        begin = end;
    }
    begin..begin
}

fn cells(text: &str, width: usize) -> impl Iterator<Item = Cell<'_>> {
    clusters(text).map(move |(cluster, wide)| {
        let (shown, columns) = if cluster.len() > CLUSTER_MAX {
            (Cow::Owned(format!("{}\u{fffd}", base(cluster))), wide)
        } else if wide == 0 {
            (Cow::Borrowed("\u{fffd}"), 1)
        } else {
            (Cow::Borrowed(cluster), wide)
        };
        // A cluster wider than a whole row is replaced.
        let (shown, columns) = if columns > width {
            (Cow::Borrowed("…"), 1)
        } else {
            (shown, columns)
        };
        Cell {
            shown,
            columns,
            chars: if cluster.len() == 1 {
                1
            } else {
                cluster.chars().count()
            },
            bytes: cluster.len(),
        }
    })
}

fn starts(line: &str, width: usize) -> Vec<Start> {
    let room = width - 1;
    let mut at = Start { bytes: 0, chars: 0 };
    let mut out = vec![at];
    // Width of the current row, and of its part before the last possible break.
    let mut used = 0;
    let mut may: Option<(Start, usize)> = None;
    let mut before = Before::Begin;
    for cell in cells(line, width) {
        let now = match cell.shown.as_ref() {
            " " => Before::Blank,
            shown => Before::Sign(glue(shown, cell.columns)),
        };
        let most = match now {
            Before::Blank => width,
            Before::Begin | Before::Sign(_) => room,
        };
        if may_break(before, now) {
            may = Some((at, used));
        }
        while used > 0 && used + cell.columns > most {
            let word = may.take().filter(|_| now != Before::Blank);
            let (start, above) = word.unwrap_or((at, used));
            out.push(start);
            used -= above;
        }
        used += cell.columns;
        at.bytes += cell.bytes;
        at.chars += cell.chars;
        before = now;
    }
    if used >= width {
        out.push(at);
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Begin,
    Blank,
    Sign(Glue),
}

fn may_break(before: Before, now: Before) -> bool {
    match (before, now) {
        (Before::Begin, _) | (_, Before::Begin | Before::Blank) => false,
        (Before::Blank, Before::Sign(_)) => true,
        (Before::Sign(last), Before::Sign(next)) => breaks_between(last, next),
    }
}
