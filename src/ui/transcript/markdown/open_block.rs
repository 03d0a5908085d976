//! Finds safe cuts in a list, table or paragraph while it is being streamed.
//!
//! A list is cut before a top-level item, a table that begins a piece before one of its rows, and a paragraph before a
//! line at which no inline markup is open. Two lines can still change the meaning of the paragraph above them: an
//! underline that makes it a heading, and the delimiter row of a table. In these cases the paragraph's cuts are
//! revoked.

use crate::ui::transcript::markdown::inline::InlineState;
use crate::ui::transcript::markdown::lines;
use crate::ui::transcript::markdown::lines::ListMarker;

/// Minimum number of lines between two cuts.
const LINES: usize = 12;

/// What a line means for the cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAction {
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
pub enum LinePosition {
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
pub struct OpenBlock {
    block: BlockState,
    /// Number of its lines since the last cut.
    lines: usize,
    html: Html,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum BlockState {
    /// Unknown, or no block that can be cut.
    #[default]
    Unknown,
    /// A one-line heading; it has ended.
    Heading,
    /// A list, and the marker of its last item.
    List(ListMarker),
    /// Possibly the head of a table with this many columns.
    TableHead(usize),
    /// A table in which every line begins with a bar.
    Table,
    /// A paragraph, and its open inline markup.
    Paragraph(InlineState),
    /// A paragraph that may have ended.
    MaybeParagraph,
}

impl OpenBlock {
    /// Reads the next complete line.
    pub fn read_line(&mut self, line: &str, place: LinePosition, fenced: Fenced) -> CutAction {
        if lines::is_blank(line) {
            self.html = Html::No;
            // Only a list continues after a blank line.
            if !matches!(self.block, BlockState::List(_)) {
                self.block = BlockState::Unknown;
            }
            self.lines += 1;
            return CutAction::Stay;
        }
        let html = self.html;
        if line.trim_start().starts_with('<') {
            self.html = Html::Perhaps;
        }
        if place == LinePosition::Begins {
            self.block = BlockState::Unknown;
        }
        let step = match &mut self.block {
            BlockState::List(item) => {
                let item = *item;
                self.in_list(line, item)
            }
            BlockState::TableHead(columns) if lines::is_below_head(line, *columns) => {
                self.block = BlockState::Table;
                self.lines = 0;
                CutAction::Stay
            }
            BlockState::Table if line.starts_with('|') => {
                if self.lines > LINES {
                    self.lines = 0;
                    CutAction::CutTable
                } else {
                    CutAction::Stay
                }
            }
            BlockState::TableHead(_) | BlockState::Table => {
                self.block = BlockState::Unknown;
                if fenced == Fenced::No {
                    self.begin(line, place, html);
                }
                CutAction::Stay
            }
            BlockState::Paragraph(_) | BlockState::MaybeParagraph if fenced == Fenced::Yes => {
                self.block = BlockState::Unknown;
                CutAction::Stay
            }
            BlockState::Paragraph(_) | BlockState::MaybeParagraph if lines::is_underline(line) => {
                self.block = BlockState::Unknown;
                CutAction::TakeBack
            }
            BlockState::Paragraph(inline) if lines::is_plain(line) => {
                let cuts = self.lines >= LINES && inline.is_closed();
                inline.read_line(line);
                if cuts {
                    self.lines = 0;
                    CutAction::CutParagraph
                } else {
                    CutAction::Stay
                }
            }
            BlockState::Paragraph(_)
            | BlockState::MaybeParagraph
            | BlockState::Heading
            | BlockState::Unknown => {
                if fenced == Fenced::No {
                    self.begin(line, place, html);
                }
                CutAction::Stay
            }
        };
        self.lines += 1;
        step
    }

    /// Returns whether the incomplete line `line` revokes the paragraph's cuts.
    pub fn takes_back(&self, line: &str) -> bool {
        match self.block {
            BlockState::Paragraph(_) | BlockState::MaybeParagraph => lines::is_underline(line),
            BlockState::Unknown
            | BlockState::Heading
            | BlockState::List(_)
            | BlockState::TableHead(_)
            | BlockState::Table => false,
        }
    }

    /// Reads a line of a list whose last item is `item`.
    fn in_list(&mut self, line: &str, item: ListMarker) -> CutAction {
        let indent = lines::indent(line);
        if indent >= item.content {
            return CutAction::Stay;
        }
        // A line without a marker may still belong to the item; that is uncertain.
        let Some(mark) = lines::list_marker(line).filter(|_| indent < 4) else {
            self.block = BlockState::Unknown;
            return CutAction::Stay;
        };
        self.block = BlockState::List(mark);
        if indent > 0 || self.lines < LINES {
            return CutAction::Stay;
        }
        self.lines = 0;
        if mark.delimiter == item.delimiter {
            CutAction::CutList
        } else {
            CutAction::CutApart
        }
    }

    /// Reads a line after a block that may have ended.
    fn begin(&mut self, line: &str, place: LinePosition, html: Html) {
        let flush = !line.starts_with([' ', '\t']);
        // Directly below a paragraph, only an unnumbered item or number 1 starts a list.
        let begins = |mark: &ListMarker| {
            place != LinePosition::Below
                || (html == Html::No && mark.number.is_none_or(|number| number == 1))
        };
        let was = std::mem::take(&mut self.block);
        self.lines = 0;
        self.block = match lines::list_marker(line).filter(|_| flush) {
            Some(mark) if begins(&mark) => BlockState::List(mark),
            None if place == LinePosition::Begins
                && let Some(columns) = lines::table_columns(line) =>
            {
                BlockState::TableHead(columns)
            }
            Some(_) | None if lines::is_heading(line) && html == Html::No => BlockState::Heading,
            Some(_) | None => match was {
                BlockState::Paragraph(_) | BlockState::MaybeParagraph => BlockState::MaybeParagraph,
                BlockState::Unknown
                | BlockState::Heading
                | BlockState::List(_)
                | BlockState::TableHead(_)
                | BlockState::Table
                    if lines::is_plain(line)
                        && (place == LinePosition::Begins || was == BlockState::Heading) =>
                {
                    let mut inline = InlineState::default();
                    inline.read_line(line);
                    BlockState::Paragraph(inline)
                }
                BlockState::Unknown
                | BlockState::Heading
                | BlockState::List(_)
                | BlockState::TableHead(_)
                | BlockState::Table => BlockState::Unknown,
            },
        };
    }
}
