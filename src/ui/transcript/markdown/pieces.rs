//! Splits a Markdown text that is being streamed into pieces, so that only the last ones must be laid out again.
//!
//! A piece ends where certainly all blocks are closed: after a blank line and outside of fenced code, before a line
//! that is neither indented nor a list item. The cuts depend only on the text, not on the chunks in which it arrived,
//! so a streamed answer and a complete one are drawn alike.
//!
//! Long blocks are cut as well where the meaning of their lines is certain: code whose fence begins a piece (here), and
//! lists, paragraphs and tables that begin a piece ([`super::open_block`]). Rendering passes state from one such piece to
//! the next, such as an open block comment or the number of the next item; the pieces of a table share a layout
//! ([`super::table`]). A table in a quote, in a list or directly below other text is not cut, so each new row redraws
//! its whole piece.

use std::ops::Range;

use crate::ui::transcript::markdown::fences::Fences;
use crate::ui::transcript::markdown::lines::{is_blank, item_content};
use crate::ui::transcript::markdown::open_block::{CutAction, Fenced, LinePosition, OpenBlock};

/// Approximate number of lines of code between two cuts.
const CODE_LINES: usize = 64;

/// How a piece is joined to the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joint {
    /// It begins a new block, after a blank row.
    Apart,
    /// It continues the code block whose fence is at this range.
    Code(Range<usize>),
    /// It continues the table whose head and delimiter row are at this range.
    Table(Range<usize>),
    /// It continues the list with another item.
    List,
    /// It continues the paragraph with another line.
    Paragraph,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Byte range in the text.
    pub range: Range<usize>,
    pub joint: Joint,
}

/// Where a piece begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    at: usize,
    joint: Joint,
}

/// The code block at the beginning of the last piece.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenCode {
    fence: Range<usize>,
    /// Number of its lines since the last cut.
    lines: usize,
}

/// The cuts of a text that grows at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// The beginnings of all pieces except the first.
    cuts: Vec<Cut>,
    /// The code block that began with the last piece and is still open.
    code: Option<OpenCode>,
    /// Byte range of the first two lines of the last piece that starts a block.
    head: Range<usize>,
    head_lines: usize,
    /// The open list, table or paragraph.
    open_block: OpenBlock,
    /// Number of bytes read: up to the last newline.
    read: usize,
    fences: Fences,
    is_after_blank: bool,
}

impl Pieces {
    /// Reads the rest of `text`, which must begin with the text read before.
    pub fn read(&mut self, text: &str) {
        while let Some(end) = text[self.read..].find('\n') {
            let line = &text[self.read..=self.read + end];
            self.take(line);
            self.read += end + 1;
        }
    }

    fn take(&mut self, line: &str) {
        let was_after_blank = std::mem::replace(&mut self.is_after_blank, is_blank(line));
        let is_code = self.fences.read_line(line);
        let is_flush = !line.starts_with([' ', '\t']) && item_content(line).is_none();
        // An opening fence already counts as code but can still begin a piece.
        let opens = is_code && self.fences.has_just_opened();
        let here = self.read..self.read + line.len();
        let begins = was_after_blank && (!is_code || opens) && is_flush && !is_blank(line);
        if begins {
            self.cut(Joint::Apart);
            self.fences.leave_list();
            self.code = opens.then_some(OpenCode::new(here));
        } else if opens && is_flush && self.read == 0 {
            self.code = Some(OpenCode::new(here));
        } else if !is_code || !self.fences.is_open() {
            self.code = None;
        } else if let Some(code) = &mut self.code {
            code.lines += 1;
            // Not next to a blank line: blank lines at the end of a code block are not drawn.
            if code.lines > CODE_LINES && !was_after_blank && !is_blank(line) {
                code.lines = 0;
                let fence = code.fence.clone();
                self.cut(Joint::Code(fence));
            }
        }
        if begins || self.read == 0 {
            self.head = self.read..self.read + line.len();
            self.head_lines = 1;
        } else if self.head_lines == 1 {
            self.head.end = self.read + line.len();
            self.head_lines = 2;
        }
        let place = match (begins || self.read == 0, was_after_blank) {
            (true, _) => LinePosition::Begins,
            (false, true) => LinePosition::AfterBlank,
            (false, false) => LinePosition::Below,
        };
        let fenced = if is_code { Fenced::Yes } else { Fenced::No };
        match self.open_block.read_line(line, place, fenced) {
            CutAction::Stay => {}
            CutAction::CutList => self.cut(Joint::List),
            CutAction::CutTable => self.cut(Joint::Table(self.head.clone())),
            CutAction::CutParagraph => self.cut(Joint::Paragraph),
            CutAction::CutApart => self.cut(Joint::Apart),
            CutAction::TakeBack => self.cuts.truncate(self.before_paragraph()),
        }
    }

    /// Begins a piece at the current position.
    fn cut(&mut self, joint: Joint) {
        self.cuts.push(Cut {
            at: self.read,
            joint,
        });
    }

    /// Returns the number of cuts before the current paragraph.
    fn before_paragraph(&self) -> usize {
        let is_other = |cut: &Cut| cut.joint != Joint::Paragraph;
        self.cuts.iter().rposition(is_other).map_or(0, |at| at + 1)
    }

    /// Iterates over the pieces of `text`, which must have been read. The incomplete last line is included as it is.
    pub fn of(&self, text: &str) -> impl Iterator<Item = Piece> + '_ {
        let count = if self.open_block.takes_back(&text[self.read..]) {
            self.before_paragraph()
        } else {
            self.cuts.len()
        };
        let cuts = &self.cuts[..count];
        let first = Cut {
            at: 0,
            joint: Joint::Apart,
        };
        let begins = std::iter::once(first).chain(cuts.iter().cloned());
        let ends = cuts.iter().map(|cut| cut.at);
        begins
            .zip(ends.chain(std::iter::once(text.len())))
            .map(|(cut, end)| Piece {
                range: cut.at..end,
                joint: cut.joint,
            })
    }
}

impl OpenCode {
    fn new(fence: Range<usize>) -> OpenCode {
        OpenCode { fence, lines: 0 }
    }
}
