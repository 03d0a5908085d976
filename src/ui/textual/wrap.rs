//! Styled text in rows of a width: broken where a reader expects it, by the columns that the terminal uses.
//!
//! Work and memory are linear in the text: the word that is being read never grows beyond one row.

use ratatui::buffer::CellWidth;
use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::text::CLUSTER_MAX;

/// One row of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// What stands in it.
    pub spans: Vec<Span<'static>>,
    /// How many visible characters of the text stand before this row, whatever the width is: a place in
    /// the text that outlives another wrapping of it. Margins and ornaments do not count.
    pub ink: usize,
    /// How many of the spans, from the left, are the margin and not the text.
    pub margin: usize,
}

impl Row {
    /// A row that is no part of a text: an ornament, or blank. `ink` is that of the text before it.
    pub fn ornament(spans: Vec<Span<'static>>, ink: usize) -> Row {
        Row {
            spans,
            ink,
            margin: 0,
        }
    }

    /// The columns that it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|s| width(&s.content)).sum()
    }
}

/// What stands in front of the rows of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Margin {
    /// In front of the first row.
    pub first: Vec<Span<'static>>,
    /// In front of the first row of each further line of the text.
    pub line: Vec<Span<'static>>,
    /// In front of the rows in which a line is continued.
    pub rest: Vec<Span<'static>>,
}

impl Margin {
    /// `first` in front of the first row, `rest` in front of all others.
    pub fn hanging(first: Vec<Span<'static>>, rest: Vec<Span<'static>>) -> Margin {
        Margin {
            first,
            line: rest.clone(),
            rest,
        }
    }

    /// The columns of the widest of the three.
    pub fn columns(&self) -> usize {
        let count = |spans: &[Span]| spans.iter().map(|s| width(&s.content)).sum::<usize>();
        count(&self.first)
            .max(count(&self.line))
            .max(count(&self.rest))
    }
}

/// How a line that is too long is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// At blanks, which are not drawn there, and beside wide characters.
    Words,
    /// Anywhere: every blank counts, as in code.
    Anywhere,
}

/// The columns that `text` takes, as the terminal buffer counts them.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    clusters(text).map(|(_, columns)| columns).sum()
}

/// `text` within `columns`: a cut ends in `…`. Only as much of it is looked at as fits.
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

/// `spans` in rows of at most `columns`. A newline always breaks. No visible character is lost; blanks are
/// lost only where [`Break::Words`] breaks a line, and at its end. `ink` counts the visible characters
/// ([`Row::ink`]) and is moved on.
///
/// A margin that leaves less than two columns is not drawn.
pub fn wrap(
    spans: &[Span<'_>],
    columns: usize,
    margin: &Margin,
    how: Break,
    ink: &mut usize,
) -> Vec<Row> {
    let mut writer = Writer::new(columns, margin, how, *ink);
    for span in spans {
        for (at, part) in span.content.split('\n').enumerate() {
            if at > 0 {
                writer.end_of_line();
            }
            for (cluster, wide) in clusters(part) {
                writer.take(cluster, wide, span.style);
            }
        }
    }
    let rows = writer.finish();
    *ink = writer.ink;
    rows
}

/// How many visible characters `text` has, as [`Row::ink`] counts them.
pub fn visible(text: &str) -> usize {
    let count = |(cluster, wide): (&str, usize)| match (cluster, wide) {
        (" " | "\n", _) | (_, 0) => 0,
        _ if cluster.len() > CLUSTER_MAX => 2,
        _ => 1,
    };
    clusters(text).map(count).sum()
}

/// The grapheme clusters of `text` with their columns. What takes no column is no cell of a terminal.
pub(in crate::ui) fn clusters(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.graphemes(true).map(|c| (c, cluster_width(c)))
}

fn cluster_width(cluster: &str) -> usize {
    if cluster.len() == 1 {
        1
    } else if cluster.len() > CLUSTER_MAX {
        usize::from(base(cluster).cell_width()) + 1
    } else {
        usize::from(cluster.cell_width())
    }
}

/// The sign below the marks of a cluster.
pub(in crate::ui) fn base(cluster: &str) -> &str {
    cluster
        .char_indices()
        .nth(1)
        .map_or(cluster, |(at, _)| &cluster[..at])
}

/// Text with its columns, in runs of one style.
#[derive(Default)]
struct Piece {
    spans: Vec<Span<'static>>,
    columns: usize,
}

impl Piece {
    fn put(&mut self, text: &str, columns: usize, style: Style) {
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            Some(_) | None => self.spans.push(Span::styled(text.to_string(), style)),
        }
        self.columns += columns;
    }

    fn append(&mut self, other: &mut Piece) {
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

/// Which row of its line, and of the text, is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Line,
    Rest,
}

struct Writer<'a> {
    margin: Option<&'a Margin>,
    room: usize,
    how: Break,
    rows: Vec<Row>,
    turn: Turn,
    row: Piece,
    /// Blanks between the row and the word.
    blank: Piece,
    word: Piece,
    /// The visible characters taken so far, and those before the row and before the word.
    ink: usize,
    row_ink: usize,
    word_ink: usize,
    /// What the last cluster was, to know whether a line may break behind it.
    last: Glue,
}

/// How a cluster holds on to its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ui) enum Glue {
    /// Part of a word.
    Word,
    /// Punctuation that ends a word: never begins a row, and a word may go on behind it.
    Tail,
    /// A wide character: a line may break on both sides.
    Wide,
    /// Closing punctuation of wide scripts: never begins a row.
    Closing,
    /// Opening punctuation of wide scripts: never ends a row.
    Opening,
}

impl<'a> Writer<'a> {
    fn new(columns: usize, margin: &'a Margin, how: Break, ink: usize) -> Writer<'a> {
        let columns = columns.max(1);
        let taken = margin.columns();
        let margin = (taken + 2 <= columns).then_some(margin);
        Writer {
            room: margin.map_or(columns, |_| columns - taken),
            margin,
            how,
            rows: Vec::new(),
            turn: Turn::First,
            row: Piece::default(),
            blank: Piece::default(),
            word: Piece::default(),
            ink,
            row_ink: ink,
            word_ink: ink,
            last: Glue::Word,
        }
    }

    fn take(&mut self, cluster: &str, wide: usize, style: Style) {
        if wide == 0 {
            return;
        }
        if cluster.len() > CLUSTER_MAX {
            self.take(base(cluster), wide - 1, style);
            self.take("\u{fffd}", 1, style);
            return;
        }
        // Wider than a whole row: something must stand for it.
        let (cluster, wide) = if wide > self.room {
            ("…", 1)
        } else {
            (cluster, wide)
        };
        if self.how == Break::Anywhere {
            self.letter(cluster, wide, style);
        } else if cluster == " " {
            self.commit();
            if self.row.columns + self.blank.columns < self.room {
                self.blank.put(cluster, wide, style);
            }
            self.last = Glue::Word;
        } else {
            let glue = glue(cluster, wide);
            if breaks_between(self.last, glue) {
                self.commit();
            }
            self.last = glue;
            if self.word.columns + wide > self.room {
                self.split_word();
            }
            if self.word.columns == 0 {
                self.word_ink = self.ink;
            }
            self.word.put(cluster, wide, style);
            self.ink += 1;
        }
    }

    fn letter(&mut self, cluster: &str, wide: usize, style: Style) {
        if self.row.columns + wide > self.room && self.row.columns > 0 {
            self.end_row(Turn::Rest);
        }
        self.row.put(cluster, wide, style);
        self.ink += usize::from(cluster != " ");
    }

    /// Puts the word into the row, or into the next one where it does not fit.
    fn commit(&mut self) {
        if self.word.columns == 0 {
            return;
        }
        if self.row.columns + self.blank.columns + self.word.columns > self.room {
            self.blank.clear();
            if self.row.columns > 0 {
                let next = self.word_ink;
                self.end_row(Turn::Rest);
                self.row_ink = next;
            }
        }
        self.row.append(&mut self.blank);
        self.row.append(&mut self.word);
    }

    /// The word fills a whole row: it goes there, and goes on in the next.
    fn split_word(&mut self) {
        self.commit();
        self.end_row(Turn::Rest);
    }

    fn end_of_line(&mut self) {
        self.commit();
        self.blank.clear();
        self.last = Glue::Word;
        self.end_row(Turn::Line);
    }

    fn end_row(&mut self, next: Turn) {
        let mut spans = Vec::new();
        if let Some(margin) = self.margin {
            spans.extend_from_slice(match self.turn {
                Turn::First => &margin.first,
                Turn::Line => &margin.line,
                Turn::Rest => &margin.rest,
            });
        }
        let margin = spans.len();
        spans.append(&mut self.row.spans);
        self.row.columns = 0;
        self.rows.push(Row {
            spans,
            ink: self.row_ink,
            margin,
        });
        self.row_ink = self.ink;
        self.turn = next;
    }

    fn finish(&mut self) -> Vec<Row> {
        self.commit();
        if self.row.columns > 0 || self.turn != Turn::Rest {
            self.end_row(Turn::Rest);
        }
        std::mem::take(&mut self.rows)
    }
}

/// Whether a line may break between two clusters without a blank.
pub(in crate::ui) fn breaks_between(last: Glue, next: Glue) -> bool {
    match (last, next) {
        (Glue::Opening, _)
        | (_, Glue::Closing | Glue::Tail)
        | (Glue::Word | Glue::Tail, Glue::Word) => false,
        (Glue::Wide | Glue::Closing, _) | (Glue::Word | Glue::Tail, Glue::Wide | Glue::Opening) => {
            true
        }
    }
}

/// How a cluster, so many columns wide, holds on to its neighbours.
pub(in crate::ui) fn glue(cluster: &str, wide: usize) -> Glue {
    const CLOSING: &str =
        "、。，．：；？！）］｝〉》」』】〕〗ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ";
    const OPENING: &str = "（［｛〈《「『【〔〖";
    const TAIL: &str = ",.;:!?)]}%\"'’”…";
    match cluster.chars().next() {
        Some(c) if wide == 2 && CLOSING.contains(c) => Glue::Closing,
        Some(c) if wide == 2 && OPENING.contains(c) => Glue::Opening,
        Some(_) if wide == 2 => Glue::Wide,
        Some(c) if TAIL.contains(c) => Glue::Tail,
        Some(_) | None => Glue::Word,
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
