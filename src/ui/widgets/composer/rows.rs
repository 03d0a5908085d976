//! Wraps one line of the composer's text into rows. Every typed character stays visible, and each cursor position has
//! exactly one cell. No I/O.
//!
//! The wrapping of `ratatui-textarea` 0.9 is not used. It lays out the whole text at each change, does not draw the
//! cursor behind a full row, drops control characters, and may begin a row with a blank.
//!
//! Words do not use the last column of a row. This column holds the cursor after a word, or the blank at which the row
//! breaks, so that the next row begins with a word. A word longer than a row breaks between grapheme clusters.

use std::borrow::Cow;
use std::ops::Range;

use crate::domain::text::{CLUSTER_MAX, escape_each_char};
use crate::ui::text::wrap::{BreakClass, base_char, break_class, can_break_between, clusters};

/// Minimum width of a row, in columns, so that a character of two columns fits.
const COLUMNS_MIN: usize = 2;

/// A line of text that is wrapped into rows. Positions in the line are counted in characters, from 0.
pub struct WrappedLine<'a> {
    line: Cow<'a, str>,
    width: usize,
    starts: Vec<RowStart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowStart {
    bytes: usize,
    chars: usize,
}

/// A grapheme cluster as it is drawn. The cursor moves over it in one step.
struct CursorCell<'a> {
    shown: Cow<'a, str>,
    columns: usize,
    chars: usize,
    bytes: usize,
}

impl<'a> WrappedLine<'a> {
    pub fn new(line: &'a str, width: usize) -> WrappedLine<'a> {
        let width = width.max(COLUMNS_MIN);
        let line = escape_each_char(line);
        WrappedLine {
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

    /// Returns the row and column, both from 0, of the character position `chars`. A position past the end of the line
    /// counts as the end.
    pub fn cell_of(&self, chars: usize) -> (usize, usize) {
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

    /// Returns the position of the character at a column of a row. A column past the end maps to the last position of
    /// the row; a row past the end counts as the last one.
    pub fn position_at(&self, row: usize, column: usize) -> usize {
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

    fn cells(&self, row: usize) -> impl Iterator<Item = CursorCell<'_>> {
        let from = self.starts.get(row).map_or(0, |start| start.bytes);
        let to = self.starts.get(row + 1).map(|start| start.bytes);
        let text = self.line.get(from..to.unwrap_or(self.line.len()));
        cells(text.unwrap_or_default(), self.width)
    }
}

/// Returns the character range of the grapheme cluster that contains character `at` of `line`. If `at` is past the end,
/// returns an empty range at the end.
pub fn cluster_range(line: &str, at: usize) -> Range<usize> {
    let line = escape_each_char(line);
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

fn cells(text: &str, width: usize) -> impl Iterator<Item = CursorCell<'_>> {
    clusters(text).map(move |(cluster, wide)| {
        let (shown, columns) = if cluster.len() > CLUSTER_MAX {
            (Cow::Owned(format!("{}\u{fffd}", base_char(cluster))), wide)
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
        CursorCell {
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

fn starts(line: &str, width: usize) -> Vec<RowStart> {
    let room = width - 1;
    let mut at = RowStart { bytes: 0, chars: 0 };
    let mut out = vec![at];
    // Width of the current row, and of its part before the last possible break.
    let mut used = 0;
    let mut last_break: Option<(RowStart, usize)> = None;
    let mut before = Previous::Begin;
    for cell in cells(line, width) {
        let now = match cell.shown.as_ref() {
            " " => Previous::Blank,
            shown => Previous::Cluster(break_class(shown, cell.columns)),
        };
        let most = match now {
            Previous::Blank => width,
            Previous::Begin | Previous::Cluster(_) => room,
        };
        if can_break(before, now) {
            last_break = Some((at, used));
        }
        while used > 0 && used + cell.columns > most {
            let word = last_break.take().filter(|_| now != Previous::Blank);
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
enum Previous {
    Begin,
    Blank,
    Cluster(BreakClass),
}

fn can_break(before: Previous, now: Previous) -> bool {
    match (before, now) {
        (Previous::Begin, _) | (_, Previous::Begin | Previous::Blank) => false,
        (Previous::Blank, Previous::Cluster(_)) => true,
        (Previous::Cluster(last), Previous::Cluster(next)) => can_break_between(last, next),
    }
}
