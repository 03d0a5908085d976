//! Where a Markdown text may be cut so that what stands before the cut is not drawn anew.
//!
//! A piece ends where all blocks are surely closed: behind a blank line, before a line that neither is
//! indented nor begins an item of a list, outside of fenced code. The cuts are found line by line and depend
//! on the text alone, not on the portions in which it came: an answer that was streamed and one that came
//! whole are drawn alike.
//!
//! Long blocks are cut too, where it is sure what their lines are: code whose fence begins a piece, here; lists,
//! paragraphs, and tables that begin a piece, in [`super::growing`]. What goes on from one such piece to the next (a
//! comment of several lines, the number of the next item) is handed on in the drawing; what the pieces of a table have
//! in common is found there, too ([`super::table`]). Tables right below other words, in quotes and in lists are drawn
//! anew as a whole with each row: by as many rows as such a piece has.

use std::ops::Range;

use super::fences::Fences;
use super::growing::{Fenced, Growing, Place, Step};
use super::lines::{is_blank, item};

/// Lines of code, about, behind which it is cut.
const CODE_LINES: usize = 64;

/// How a piece is joined to the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joint {
    /// It begins with a block of its own, which a blank row sets apart.
    Apart,
    /// The code goes on that began with the line that stands here.
    Code(Range<usize>),
    /// The table goes on whose head, with the line below it, stands here.
    Table(Range<usize>),
    /// The list goes on, with another item.
    List,
    /// The paragraph goes on, with another line.
    Paragraph,
}

/// A piece of a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands.
    pub range: Range<usize>,
    /// What it has to do with the piece before.
    pub joint: Joint,
}

/// Where a piece begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    at: usize,
    joint: Joint,
}

/// The code with which the last piece begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Code {
    fence: Range<usize>,
    /// Its lines since the last cut.
    lines: usize,
}

/// The cuts of a text that grows at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Where each piece but the first begins.
    cuts: Vec<Cut>,
    /// The code that began with the last piece and goes on.
    code: Option<Code>,
    /// The first line of the last piece that goes on from none, and the line below it.
    head: Range<usize>,
    head_lines: usize,
    /// The list, the table or the paragraph that is open.
    growing: Growing,
    /// How far the text was read: behind its last newline.
    read: usize,
    fences: Fences,
    is_after_blank: bool,
}

impl Pieces {
    /// Reads on in `text`, which begins with all that was read before.
    pub fn read(&mut self, text: &str) {
        while let Some(end) = text[self.read..].find('\n') {
            let line = &text[self.read..=self.read + end];
            self.take(line);
            self.read += end + 1;
        }
    }

    fn take(&mut self, line: &str) {
        let was_after_blank = std::mem::replace(&mut self.is_after_blank, is_blank(line));
        let is_code = self.fences.take(line);
        let is_flush = !line.starts_with([' ', '\t']) && item(line).is_none();
        // A fence that opens here is code already, and may still be where a piece begins.
        let opens = is_code && self.fences.has_just_opened();
        let here = self.read..self.read + line.len();
        let begins = was_after_blank && (!is_code || opens) && is_flush && !is_blank(line);
        if begins {
            self.cut(Joint::Apart);
            self.fences.leave_list();
            self.code = opens.then_some(Code::begun(here));
        } else if opens && is_flush && self.read == 0 {
            self.code = Some(Code::begun(here));
        } else if !is_code || !self.fences.is_open() {
            self.code = None;
        } else if let Some(code) = &mut self.code {
            code.lines += 1;
            // Not beside blank lines: at the end of a code they are not drawn.
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
            (true, _) => Place::Begins,
            (false, true) => Place::AfterBlank,
            (false, false) => Place::Below,
        };
        let fenced = if is_code { Fenced::Yes } else { Fenced::No };
        match self.growing.take(line, place, fenced) {
            Step::Stay => {}
            Step::CutList => self.cut(Joint::List),
            Step::CutTable => self.cut(Joint::Table(self.head.clone())),
            Step::CutParagraph => self.cut(Joint::Paragraph),
            Step::CutApart => self.cut(Joint::Apart),
            Step::TakeBack => self.cuts.truncate(self.before_paragraph()),
        }
    }

    /// A piece begins where the text is read.
    fn cut(&mut self, joint: Joint) {
        self.cuts.push(Cut {
            at: self.read,
            joint,
        });
    }

    /// How many cuts there are before those in the last paragraph.
    fn before_paragraph(&self) -> usize {
        let is_other = |cut: &Cut| cut.joint != Joint::Paragraph;
        self.cuts.iter().rposition(is_other).map_or(0, |at| at + 1)
    }

    /// The pieces of `text`, all of which was read. A line that is not whole counts as it stands.
    pub fn of(&self, text: &str) -> impl Iterator<Item = Piece> + '_ {
        let count = if self.growing.takes_back(&text[self.read..]) {
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

impl Code {
    fn begun(fence: Range<usize>) -> Code {
        Code { fence, lines: 0 }
    }
}
