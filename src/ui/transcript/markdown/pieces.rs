//! Splits a streamed Markdown text into pieces, so that only the last pieces must be laid out again when text arrives.
//!
//! A piece begins with each top-level block that the parser finds in the complete lines, because later text cannot
//! change the blocks before it. A long block is cut into several pieces where later text cannot change what is before
//! the cut:
//!
//! - fenced code between two lines
//! - a list between two items
//! - a table between two rows
//! - a paragraph between two lines if no inline markup may be open
//!
//! Blocks in quotes and in list items are not cut. The next piece continues from the state at the end of the previous
//! one, for example in a block comment that has not ended, or with the number of the next item. The pieces of a table
//! share a layout (see [`super::table`]).
//!
//! The cuts depend only on the text, not on the chunks in which the text arrived, so a streamed answer and a complete
//! one are drawn alike. For each new line, only the last piece is parsed again.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::ui::transcript::markdown::{options, parser_input};

/// A code block is cut only where the piece before the cut has more than this number of lines.
const CODE_LINES: usize = 64;
/// A list, table or paragraph is cut only where the piece before the cut has more than this number of lines.
const LINES: usize = 12;

/// How a [`Piece`] of a text continues the piece before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joint {
    /// The piece begins a new block, after a blank row.
    Apart,
    /// The piece continues a code block. The opening fence of the block is at this byte range of the text.
    Code(Range<usize>),
    /// The piece continues a table. The head and the delimiter row of the table are at this byte range of the text.
    Table(Range<usize>),
    /// The piece continues a list with another item.
    List,
    /// The piece continues a paragraph with another line.
    Paragraph,
}

/// A part of a Markdown text that is laid out separately, and how it continues the part before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The byte range of the piece in the text, without the fence or table head that [`Piece::source`] puts before it.
    pub range: Range<usize>,
    pub joint: Joint,
}

impl Piece {
    /// Returns the Markdown source of the piece. If the piece continues code or a table, the source begins with the
    /// opening fence or the table head.
    pub fn source(&self, text: &str) -> String {
        let words = &text[self.range.clone()];
        match &self.joint {
            Joint::Code(head) | Joint::Table(head) => [&text[head.clone()], words].concat(),
            Joint::Apart | Joint::List | Joint::Paragraph => words.to_string(),
        }
    }

    /// Returns whether the paragraph that this piece continues has become a heading, because a line of `=` or `-`
    /// follows.
    fn is_in_heading(&self, text: &str) -> bool {
        self.joint == Joint::Paragraph && !begins_paragraph(&parser_input(&self.source(text)))
    }
}

/// The pieces of a Markdown text that is streamed: new text is only appended at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The pieces of all complete lines. New lines extend the last piece, which may then be split.
    pieces: Vec<Piece>,
}

impl Pieces {
    /// Splits the new complete lines of `text`, which must begin with the text of the previous call.
    pub fn read(&mut self, text: &str) {
        let read = self.pieces.last().map_or(0, |piece| piece.range.end);
        if let Some(more) = text[read..].rfind('\n') {
            let last = self.take_last(text, read + more + 1);
            split(text, last, &mut self.pieces);
        }
    }

    /// Returns the pieces of `text`, which must be the text of the last call of [`Pieces::read`]. Its incomplete last
    /// line is a part of the last piece.
    pub fn of(&self, text: &str) -> Vec<Piece> {
        let mut all = self.clone();
        let last = all.take_last(text, text.len());
        all.pieces.push(last);
        all.pieces
    }

    /// Removes the last piece and returns it, extended to the byte offset `end`. If the piece is part of a heading,
    /// also removes the pieces before it that belong to this heading, and returns all of them as one piece.
    fn take_last(&mut self, text: &str, end: usize) -> Piece {
        let mut last = self.pieces.pop().unwrap_or(Piece {
            range: 0..end,
            joint: Joint::Apart,
        });
        last.range.end = end;
        if last.is_in_heading(text) {
            while last.joint == Joint::Paragraph
                && let Some(above) = self.pieces.pop()
            {
                last.joint = above.joint;
                last.range.start = above.range.start;
            }
        }
        last
    }
}

/// Splits `piece`, which consists of complete lines, and appends the resulting pieces to `out`.
fn split(text: &str, mut piece: Piece, out: &mut Vec<Piece>) {
    let end = piece.range.end;
    let source = parser_input(&piece.source(text));
    // The source for the parser has the same lines as the text, but other byte offsets.
    let lines = line_starts(&source);
    let positions = line_starts(&text[piece.range.clone()]);
    let repeated = lines.len() - positions.len();
    let position = |line: usize| {
        positions
            .get(line - repeated)
            .map_or(end, |at| piece.range.start + at)
    };
    let mut head = match &piece.joint {
        Joint::Code(head) | Joint::Table(head) => head.clone(),
        Joint::Apart | Joint::List | Joint::Paragraph => 0..0,
    };
    let (mut begin, mut depth) = (repeated, 0);
    let (mut is_fenced, mut is_paragraph) = (false, false);
    let mut markup = OpenMarkup::default();
    let mut cuts = Vec::new();
    for (event, range) in Parser::new_ext(&source, options()).into_offset_iter() {
        let line_of = |at: usize| lines.partition_point(|start| *start <= at) - 1;
        let text_of = |line: usize| {
            &source[lines[line]..lines.get(line + 1).map_or(source.len(), |end| *end)]
        };
        let line = line_of(range.start);
        let mut cut = |line: usize, least: usize, joint: Joint| {
            if line > begin + least {
                cuts.push((position(line), joint));
                begin = line;
            }
        };
        match &event {
            Event::Start(tag) if depth == 0 => {
                is_fenced = matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                is_paragraph = *tag == Tag::Paragraph;
                markup = OpenMarkup::default();
                if line >= repeated {
                    head = position(line)..position(line + if is_fenced { 1 } else { 2 });
                }
                cut(line, 0, Joint::Apart);
            }
            Event::Rule if depth == 0 => cut(line, 0, Joint::Apart),
            // An item that is indented may belong to an item of an outer list, so the list is not cut before it.
            Event::Start(Tag::Item) if depth == 1 && !text_of(line).starts_with(' ') => {
                cut(line, LINES, Joint::List);
            }
            Event::Start(Tag::TableRow) if depth == 1 => {
                cut(line, LINES, Joint::Table(head.clone()));
            }
            Event::Text(_) if is_fenced => {
                for line in line..=line_of(range.end.saturating_sub(1)) {
                    // Code is not cut at a blank line, because blank lines at the end of a code block are not drawn.
                    let is_blank = |line: usize| text_of(line).trim().is_empty();
                    if !is_blank(line - 1) && !is_blank(line) {
                        cut(line, CODE_LINES, Joint::Code(head.clone()));
                    }
                }
            }
            Event::Text(_) if is_paragraph => markup.read(&source, range),
            // A backslash at the end of a line breaks the line only if another line follows, so the paragraph is not
            // cut after it.
            Event::SoftBreak | Event::HardBreak
                if is_paragraph
                    && depth == 1
                    && !source[range.start..].starts_with('\\')
                    && markup.is_closed()
                    && is_plain(text_of(line + 1)) =>
            {
                cut(line + 1, LINES, Joint::Paragraph);
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    for (at, joint) in cuts {
        let next = Piece {
            range: at..end,
            joint,
        };
        piece.range.end = at;
        out.push(std::mem::replace(&mut piece, next));
    }
    out.push(piece);
}

/// Returns the byte offset at which each line starts. A line break at the end of the text starts no further line.
fn line_starts(text: &str) -> Vec<usize> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(ends.filter(|at| *at < text.len()))
        .collect()
}

fn begins_paragraph(source: &str) -> bool {
    Parser::new_ext(source, options()).next() == Some(Event::Start(Tag::Paragraph))
}

/// Returns whether `line`, as the first line of a text, begins a paragraph for certain, whatever lines follow. False
/// for a line that could be the head of a table or a link reference definition.
fn is_plain(line: &str) -> bool {
    !line.contains('|') && !line.trim_start().starts_with('[') && begins_paragraph(line)
}

/// Tracks whether later text may turn characters of a paragraph into markup, such as an opening `*`. If in doubt, the
/// markup counts as open until the paragraph ends: rendering the whole paragraph again is only slow, but a cut at a
/// wrong position changes what is drawn.
#[derive(Default)]
struct OpenMarkup {
    brackets: usize,
    has_opener: bool,
}

impl OpenMarkup {
    fn is_closed(&self) -> bool {
        self.brackets == 0 && !self.has_opener
    }

    /// Updates the state with the text at the byte range `range` of `source`.
    fn read(&mut self, source: &str, range: Range<usize>) {
        for at in range {
            let before = || source[..at].chars().next_back().unwrap_or(' ');
            let after = || source[at + 1..].chars().next().unwrap_or(' ');
            self.has_opener |= match source.as_bytes()[at] {
                b'[' => {
                    self.brackets += 1;
                    false
                }
                b']' => {
                    self.brackets = self.brackets.saturating_sub(1);
                    false
                }
                b'`' => true,
                b'<' => !after().is_whitespace(),
                b'_' if before().is_alphanumeric() && after().is_alphanumeric() => false,
                b'*' | b'_' | b'~' => !before().is_whitespace() || !after().is_whitespace(),
                _ => false,
            };
        }
    }
}
