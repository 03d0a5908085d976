//! Where a list, a table or a paragraph that grows may be cut, as far as its lines say for sure what they are.
//!
//! A list is cut before an item of its own, a table that begins a piece before a row of its own, a paragraph before a line of its own where nothing in its words is open.
//! Two things can still change what stands before such a cut in a paragraph: a line that makes a heading of it, and
//! the second line of a table. Then its cuts are taken back.

use super::inline::Inline;
use super::lines::{self, Mark};

/// Lines, about, behind which a list or a paragraph is cut.
const LINES: usize = 12;

/// What the next line means for the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Stay,
    /// A piece begins with it: an item of the list that is open.
    CutList,
    /// A piece begins with it: a line of the paragraph that is open.
    CutParagraph,
    /// A piece begins with it: a row of the table that is open.
    CutTable,
    /// A piece begins with it: another list.
    CutApart,
    /// The cuts in the paragraph that is open are taken back.
    TakeBack,
}

/// Where the line stands that begins a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It begins the text, or a piece of it.
    Begins,
    /// Behind a blank line.
    AfterBlank,
    /// Below another line.
    Below,
}

/// Whether the line is fenced code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    /// It is, or it is a fence.
    Yes,
    /// It is not.
    No,
}

/// Whether a line since the last blank one may have begun HTML: there, lists and headings begin no block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Html {
    #[default]
    No,
    Perhaps,
}

/// The block that is open at the end of what was read, outside of all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Growing {
    block: Block,
    /// The lines of it since the last cut.
    lines: usize,
    html: Html,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Block {
    /// It is not known, or is none of these.
    #[default]
    Unknown,
    /// A heading in one line: it has ended.
    Heading,
    /// A list, and the last item of it.
    List(Mark),
    /// What may be the head of a table with so many columns.
    TableHead(usize),
    /// A table all of whose lines begin with a bar.
    Table,
    /// A paragraph, and what is open in its words.
    Paragraph(Inline),
    /// A paragraph that may have ended.
    MaybeParagraph,
}

impl Growing {
    /// Takes the next whole line in.
    pub fn take(&mut self, line: &str, place: Place, fenced: Fenced) -> Step {
        if lines::is_blank(line) {
            self.html = Html::No;
            // Only a list goes on behind it.
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

    /// Whether `line`, which is not whole yet, takes the cuts back as it stands.
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

    /// The next line of a list with that item.
    fn in_list(&mut self, line: &str, item: Mark) -> Step {
        let indent = lines::indent(line);
        if indent >= item.content {
            return Step::Stay;
        }
        // A text without a mark may belong to the item all the same; what it is, is not sure.
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

    /// A line behind what may have ended.
    fn begin(&mut self, line: &str, place: Place, html: Html) {
        let flush = !line.starts_with([' ', '\t']);
        // Below a paragraph only the first item of a list begins one.
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
