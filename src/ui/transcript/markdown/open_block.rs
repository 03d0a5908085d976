//! Finds safe cuts in a list, table or paragraph while it is being streamed.
//!
//! A list is cut before a top-level item, a table that begins a piece before one of its rows, and a paragraph before a
//! line at which no inline markup is open. Two lines can still change the meaning of the paragraph above them: an
//! underline that makes it a heading, and the delimiter row of a table. In these cases the paragraph's cuts are
//! revoked.

use super::inline::Inline;
use super::lines::{self, Mark};

/// Minimum number of lines between two cuts.
const LINES: usize = 12;

/// What a line means for the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// No change.
    Stay,
    /// A piece begins here, with the next item of the list.
    CutList,
    /// A piece begins here, with the next line of the paragraph.
    CutParagraph,
    /// A piece begins here, with the next row of the table.
    CutTable,
    /// A piece begins here, with a different list.
    CutApart,
    /// The cuts in the current paragraph are revoked.
    TakeBack,
}

/// Position of a line that may begin a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the beginning of the text or of a piece.
    Begins,
    /// After a blank line.
    AfterBlank,
    /// Directly below another line.
    Below,
}

/// Whether a line is fenced code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    /// Code or a fence.
    Yes,
    No,
}

/// Whether a line since the last blank one may have started HTML, inside of which lists and headings start no block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Html {
    #[default]
    No,
    Perhaps,
}

/// State of the top-level block at the end of the text read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Growing {
    block: Block,
    /// Number of its lines since the last cut.
    lines: usize,
    html: Html,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Block {
    /// Unknown, or no block that can be cut.
    #[default]
    Unknown,
    /// A one-line heading; it has ended.
    Heading,
    /// A list, and the marker of its last item.
    List(Mark),
    /// Possibly the head of a table with this many columns.
    TableHead(usize),
    /// A table in which every line begins with a bar.
    Table,
    /// A paragraph, and its open inline markup.
    Paragraph(Inline),
    /// A paragraph that may have ended.
    MaybeParagraph,
}

impl Growing {
    /// Reads the next complete line.
    pub fn take(&mut self, line: &str, place: Place, fenced: Fenced) -> Step {
        if lines::is_blank(line) {
            self.html = Html::No;
            // Only a list continues after a blank line.
            if !matches!(self.block, Block::List(_)) {
                self.block = Block::Unknown;
            }
            self.lines += 1;
            return Step::Stay;
        }
        let html = self.html;
        if line.trim_start().starts_with('<') {
            self.html = Html::Perhaps;
        }
        if place == Place::Begins {
            self.block = Block::Unknown;
        }
        let step = match &mut self.block {
            Block::List(item) => {
                let item = *item;
                self.in_list(line, item)
            }
            Block::TableHead(columns) if lines::is_below_head(line, *columns) => {
                self.block = Block::Table;
                self.lines = 0;
                Step::Stay
            }
            Block::Table if line.starts_with('|') => {
                if self.lines > LINES {
                    self.lines = 0;
                    Step::CutTable
                } else {
                    Step::Stay
                }
            }
            Block::TableHead(_) | Block::Table => {
                self.block = Block::Unknown;
                if fenced == Fenced::No {
                    self.begin(line, place, html);
                }
                Step::Stay
            }
            Block::Paragraph(_) | Block::MaybeParagraph if fenced == Fenced::Yes => {
                self.block = Block::Unknown;
                Step::Stay
            }
            Block::Paragraph(_) | Block::MaybeParagraph if lines::is_underline(line) => {
                self.block = Block::Unknown;
                Step::TakeBack
            }
            Block::Paragraph(inline) if lines::is_plain(line) => {
                let cuts = self.lines >= LINES && inline.is_closed();
                inline.take(line);
                if cuts {
                    self.lines = 0;
                    Step::CutParagraph
                } else {
                    Step::Stay
                }
            }
            Block::Paragraph(_) | Block::MaybeParagraph | Block::Heading | Block::Unknown => {
                if fenced == Fenced::No {
                    self.begin(line, place, html);
                }
                Step::Stay
            }
        };
        self.lines += 1;
        step
    }

    /// Returns whether the incomplete line `line` revokes the paragraph's cuts.
    pub fn takes_back(&self, line: &str) -> bool {
        match self.block {
            Block::Paragraph(_) | Block::MaybeParagraph => lines::is_underline(line),
            Block::Unknown
            | Block::Heading
            | Block::List(_)
            | Block::TableHead(_)
            | Block::Table => false,
        }
    }

    /// Reads a line of a list whose last item is `item`.
    fn in_list(&mut self, line: &str, item: Mark) -> Step {
        let indent = lines::indent(line);
        if indent >= item.content {
            return Step::Stay;
        }
        // A line without a marker may still belong to the item; that is uncertain.
        let Some(mark) = lines::mark(line).filter(|_| indent < 4) else {
            self.block = Block::Unknown;
            return Step::Stay;
        };
        self.block = Block::List(mark);
        if indent > 0 || self.lines < LINES {
            return Step::Stay;
        }
        self.lines = 0;
        if mark.sign == item.sign {
            Step::CutList
        } else {
            Step::CutApart
        }
    }

    /// Reads a line after a block that may have ended.
    fn begin(&mut self, line: &str, place: Place, html: Html) {
        let flush = !line.starts_with([' ', '\t']);
        // Directly below a paragraph, only an unnumbered item or number 1 starts a list.
        let begins = |mark: &Mark| {
            place != Place::Below
                || (html == Html::No && mark.number.is_none_or(|number| number == 1))
        };
        let was = std::mem::take(&mut self.block);
        self.lines = 0;
        self.block = match lines::mark(line).filter(|_| flush) {
            Some(mark) if begins(&mark) => Block::List(mark),
            None if place == Place::Begins
                && let Some(columns) = lines::table_columns(line) =>
            {
                Block::TableHead(columns)
            }
            Some(_) | None if lines::is_heading(line) && html == Html::No => Block::Heading,
            Some(_) | None => match was {
                Block::Paragraph(_) | Block::MaybeParagraph => Block::MaybeParagraph,
                Block::Unknown
                | Block::Heading
                | Block::List(_)
                | Block::TableHead(_)
                | Block::Table
                    if lines::is_plain(line)
                        && (place == Place::Begins || was == Block::Heading) =>
                {
                    let mut inline = Inline::default();
                    inline.take(line);
                    Block::Paragraph(inline)
                }
                Block::Unknown
                | Block::Heading
                | Block::List(_)
                | Block::TableHead(_)
                | Block::Table => Block::Unknown,
            },
        };
    }
}
