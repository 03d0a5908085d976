//! Wraps styled text into rows of a given width. Widths are counted as the terminal buffer counts them. crewdeck has
//! its own wrapping, because `textwrap` has no styled spans, and ratatui's `Paragraph` does not return its rows.
//!
//! Time and memory are linear in the length of the text. A word is held back until its end is known, but never more of
//! it than fits into one row.

use std::borrow::Cow;
use std::ops::Range;

use ratatui::buffer::CellWidth;
use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::text::CLUSTER_MAX;

/// A row on the screen, with its position in the text from which it was wrapped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub spans: Vec<Span<'static>>,
    /// Number of visible characters of the text that precede this row. It does not depend on the width, so it
    /// identifies a position in the text across different wrappings. Margins and decoration do not count.
    pub text_offset: usize,
    /// Number of leading spans that are margin, not text.
    pub margin: usize,
    /// The index range of spans after the margin that are decoration, not text, such as padding or the line number
    /// between two columns.
    pub aside: Range<usize>,
}

impl Row {
    /// Creates a row without text, such as a frame or a blank row.
    pub fn decoration(spans: Vec<Span<'static>>, text_offset: usize) -> Row {
        Row {
            spans,
            text_offset,
            ..Row::default()
        }
    }

    /// Returns the width of the row in columns, including its margin.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|s| width(&s.content)).sum()
    }

    /// Pads the row with blanks to `columns` columns, and puts it on the background of `style`. The padding has
    /// `style`. Each span from index `from` on gets the background of `style`, unless it has a background already.
    #[must_use]
    pub fn on_ground(mut self, style: Style, from: usize, columns: usize) -> Row {
        for span in self.spans.iter_mut().skip(from) {
            span.style.bg = span.style.bg.or(style.bg);
        }
        let missing = columns.saturating_sub(self.width());
        if missing > 0 {
            self.aside = self.spans.len()..self.spans.len() + 1;
            self.spans.push(Span::styled(" ".repeat(missing), style));
        }
        self
    }
}

/// The spans that are drawn before the rows of a wrapped text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Margin {
    /// The spans before the first row.
    pub first: Vec<Span<'static>>,
    /// The spans before the first row of each line of the text, except the first line.
    pub line: Vec<Span<'static>>,
    /// The spans before the continuation rows of a wrapped line.
    pub rest: Vec<Span<'static>>,
}

impl Margin {
    /// Creates a margin with `first` before the first row and `rest` before all others.
    pub fn hanging(first: Vec<Span<'static>>, rest: Vec<Span<'static>>) -> Margin {
        Margin {
            first,
            line: rest.clone(),
            rest,
        }
    }

    /// Returns the width of the widest of the three margins, in columns.
    pub fn columns(&self) -> usize {
        let count = |spans: &[Span]| spans.iter().map(|s| width(&s.content)).sum::<usize>();
        count(&self.first)
            .max(count(&self.line))
            .max(count(&self.rest))
    }
}

/// Where a line that is too long may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// At blanks, which are dropped at the break, and next to wide characters. A word that is wider than a row breaks
    /// anywhere.
    Words,
    /// Anywhere. Every blank is kept, as in code.
    Anywhere,
}

/// Returns the width of `text` in columns, as the terminal buffer counts them.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    clusters(text).map(|(_, columns)| columns).sum()
}

/// Returns `text` cut to at most `columns` columns. A cut text ends in `…`; with 0 columns, it is empty. Reads only as
/// much of the text as fits.
pub fn fit(text: &str, columns: usize) -> String {
    let mut used = 0;
    let mut cut = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        let wide = cluster_width(cluster);
        if used + wide > columns {
            let ellipsis = if columns > 0 { "…" } else { "" };
            return format!("{}{ellipsis}", &text[..cut]);
        }
        used += wide;
        if used < columns {
            cut = at + cluster.len();
        }
    }
    text.into()
}

/// Returns the end of `text` in at most `columns` columns. A cut text begins with `…`; with 0 columns, it is empty.
pub fn fit_end(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return text.into();
    }
    let mut used = 1;
    let mut start = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += cluster_width(cluster);
        if used > columns {
            break;
        }
        start = at;
    }
    let ellipsis = if columns > 0 { "…" } else { "" };
    format!("{ellipsis}{}", &text[start..]).into()
}

/// Wraps `spans` into rows of at most `columns` columns. A newline always breaks. Blanks are dropped only with
/// [`Break::Words`]: at a break and at the end of a line. All visible characters are kept, with two exceptions:
///
/// - A character that is wider than a row is replaced by `…`.
/// - The end of a grapheme cluster longer than [`CLUSTER_MAX`] bytes is replaced by a replacement character.
///
/// `text_offset` is the number of visible characters before `spans`, as in [`Row::text_offset`]; the function increases
/// it by the number of visible characters in `spans`. The margin is omitted if it leaves fewer than two columns for
/// text.
pub fn wrap(
    spans: &[Span<'_>],
    columns: usize,
    margin: &Margin,
    how: Break,
    text_offset: &mut usize,
) -> Vec<Row> {
    let mut writer = RowWriter::new(columns, margin, how, *text_offset);
    for span in spans {
        for (at, part) in span.content.split('\n').enumerate() {
            if at > 0 {
                writer.end_of_line();
            }
            for (cluster, wide) in clusters(part) {
                writer.push_cluster(cluster, wide, span.style);
            }
        }
    }
    let rows = writer.finish();
    *text_offset = writer.offset;
    rows
}

/// Returns the number of visible characters in `text`, as [`Row::text_offset`] counts them.
pub fn visible(text: &str) -> usize {
    let count = |(cluster, wide): (&str, usize)| match (cluster, wide) {
        (" " | "\n", _) | (_, 0) => 0,
        _ if cluster.len() > CLUSTER_MAX => 2,
        _ => 1,
    };
    clusters(text).map(count).sum()
}

/// Iterates over the grapheme clusters of `text` with their widths in columns. A cluster of width 0 takes no terminal
/// cell.
pub(in crate::ui) fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true).map(|c| (c, cluster_width(c)))
}

fn cluster_width(cluster: &str) -> usize {
    if cluster.len() == 1 {
        1
    } else if cluster.len() > CLUSTER_MAX {
        usize::from(base_char(cluster).cell_width()) + 1
    } else {
        usize::from(cluster.cell_width())
    }
}

/// Returns the first character of a cluster, without its combining characters.
pub(in crate::ui) fn base_char(cluster: &str) -> &str {
    cluster
        .char_indices()
        .nth(1)
        .map_or(cluster, |(at, _)| &cluster[..at])
}

/// A text in spans of different styles, with its width.
#[derive(Default)]
struct StyledRun {
    spans: Vec<Span<'static>>,
    columns: usize,
}

impl StyledRun {
    fn put(&mut self, text: &str, columns: usize, style: Style) {
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            Some(_) | None => self.spans.push(Span::styled(text.to_string(), style)),
        }
        self.columns += columns;
    }

    fn append(&mut self, other: &mut StyledRun) {
        for span in other.spans.drain(..) {
            self.put(&span.content, 0, span.style);
        }
        self.columns += std::mem::take(&mut other.columns);
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.columns = 0;
    }
}

/// The kind of the row that is being written, which selects its margin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowKind {
    First,
    Line,
    Rest,
}

struct RowWriter<'a> {
    margin: Option<&'a Margin>,
    room: usize,
    how: Break,
    rows: Vec<Row>,
    row_kind: RowKind,
    row: StyledRun,
    /// The blanks between `row` and `word`.
    blank: StyledRun,
    word: StyledRun,
    /// Number of visible characters consumed so far, counted as in [`Row::text_offset`].
    offset: usize,
    /// Number of visible characters before the current row.
    row_offset: usize,
    /// Number of visible characters before `word`, which is not in the row yet.
    word_offset: usize,
    /// Class of the last cluster, which decides whether a line may break after it.
    last: BreakClass,
}

/// Line-breaking class of a grapheme cluster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ui) enum BreakClass {
    Word,
    /// Punctuation that ends a word. Never begins a row; a word may continue after it.
    Tail,
    /// Wide character: a line may break on both sides.
    Wide,
    /// Closing punctuation of a wide script: never begins a row.
    Closing,
    /// Opening punctuation of a wide script: never ends a row.
    Opening,
}

impl<'a> RowWriter<'a> {
    fn new(columns: usize, margin: &'a Margin, how: Break, text_offset: usize) -> RowWriter<'a> {
        let columns = columns.max(1);
        let margin_width = margin.columns();
        let margin = (margin_width + 2 <= columns).then_some(margin);
        RowWriter {
            room: margin.map_or(columns, |_| columns - margin_width),
            margin,
            how,
            rows: Vec::new(),
            row_kind: RowKind::First,
            row: StyledRun::default(),
            blank: StyledRun::default(),
            word: StyledRun::default(),
            offset: text_offset,
            row_offset: text_offset,
            word_offset: text_offset,
            last: BreakClass::Word,
        }
    }

    fn push_cluster(&mut self, cluster: &str, wide: usize, style: Style) {
        if wide == 0 {
            return;
        }
        if cluster.len() > CLUSTER_MAX {
            self.push_cluster(base_char(cluster), wide - 1, style);
            self.push_cluster("\u{fffd}", 1, style);
            return;
        }
        // A cluster wider than a whole row is replaced.
        let (cluster, wide) = if wide > self.room {
            ("…", 1)
        } else {
            (cluster, wide)
        };
        if self.how == Break::Anywhere {
            self.push_anywhere(cluster, wide, style);
        } else if cluster == " " {
            self.commit();
            if self.row.columns + self.blank.columns < self.room {
                self.blank.put(cluster, wide, style);
            }
            self.last = BreakClass::Word;
        } else {
            let class = break_class(cluster, wide);
            if can_break_between(self.last, class) {
                self.commit();
            }
            self.last = class;
            if self.word.columns + wide > self.room {
                self.split_word();
            }
            if self.word.columns == 0 {
                self.word_offset = self.offset;
            }
            self.word.put(cluster, wide, style);
            self.offset += 1;
        }
    }

    fn push_anywhere(&mut self, cluster: &str, wide: usize, style: Style) {
        if self.row.columns + wide > self.room && self.row.columns > 0 {
            self.end_row(RowKind::Rest);
        }
        self.row.put(cluster, wide, style);
        self.offset += usize::from(cluster != " ");
    }

    /// Appends the pending word to the row. If the word does not fit into the row, first starts a new row.
    fn commit(&mut self) {
        if self.word.columns == 0 {
            return;
        }
        if self.row.columns + self.blank.columns + self.word.columns > self.room {
            self.blank.clear();
            if self.row.columns > 0 {
                let next = self.word_offset;
                self.end_row(RowKind::Rest);
                self.row_offset = next;
            }
        }
        self.row.append(&mut self.blank);
        self.row.append(&mut self.word);
    }

    /// Writes the pending part of a word and ends the row. The rest of the word begins on a continuation row.
    fn split_word(&mut self) {
        self.commit();
        self.end_row(RowKind::Rest);
    }

    fn end_of_line(&mut self) {
        self.commit();
        self.blank.clear();
        self.last = BreakClass::Word;
        self.end_row(RowKind::Line);
    }

    fn end_row(&mut self, next: RowKind) {
        let mut spans = Vec::new();
        if let Some(margin) = self.margin {
            spans.extend_from_slice(match self.row_kind {
                RowKind::First => &margin.first,
                RowKind::Line => &margin.line,
                RowKind::Rest => &margin.rest,
            });
        }
        let margin = spans.len();
        spans.append(&mut self.row.spans);
        self.row.columns = 0;
        self.rows.push(Row {
            spans,
            text_offset: self.row_offset,
            margin,
            aside: 0..0,
        });
        self.row_offset = self.offset;
        self.row_kind = next;
    }

    fn finish(&mut self) -> Vec<Row> {
        self.commit();
        if self.row.columns > 0 || self.row_kind != RowKind::Rest {
            self.end_row(RowKind::Rest);
        }
        std::mem::take(&mut self.rows)
    }
}

pub(in crate::ui) fn can_break_between(last: BreakClass, next: BreakClass) -> bool {
    match (last, next) {
        (BreakClass::Opening, _)
        | (_, BreakClass::Closing | BreakClass::Tail)
        | (BreakClass::Word | BreakClass::Tail, BreakClass::Word) => false,
        (BreakClass::Wide | BreakClass::Closing, _)
        | (BreakClass::Word | BreakClass::Tail, BreakClass::Wide | BreakClass::Opening) => true,
    }
}

/// Returns the line-breaking class of a cluster that is `wide` columns wide.
pub(in crate::ui) fn break_class(cluster: &str, wide: usize) -> BreakClass {
    const CLOSING: &str =
        "、。，．：；？！）］｝〉》」』】〕〗ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ";
    const OPENING: &str = "（［｛〈《「『【〔〖";
    const TAIL: &str = ",.;:!?)]}%\"'’”…";
    match cluster.chars().next() {
        Some(c) if wide == 2 && CLOSING.contains(c) => BreakClass::Closing,
        Some(c) if wide == 2 && OPENING.contains(c) => BreakClass::Opening,
        Some(_) if wide == 2 => BreakClass::Wide,
        Some(c) if TAIL.contains(c) => BreakClass::Tail,
        Some(_) | None => BreakClass::Word,
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
