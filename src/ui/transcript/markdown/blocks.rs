//! The blocks that are open around a text, and what they draw in front of its rows.

use ratatui::text::Span;

use crate::ui::textual::wrap::{Margin, width};
use crate::ui::theme::Theme;

/// In front of quoted rows.
const BAR: &str = "▎ ";

/// What is open.
#[derive(Debug, PartialEq, Eq)]
pub enum Level {
    /// The text itself.
    Root,
    /// A block quote.
    Quote,
    /// An item of a list: its mark, until it is drawn, and the columns that it takes.
    Item {
        /// The mark, if it was not drawn yet.
        mark: Option<Span<'static>>,
        /// The columns of the mark.
        indent: usize,
    },
}

/// Whether the marks of items are drawn, or blanks in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    Drawn,
    Blank,
}

/// What begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// A paragraph behind a blank line.
    Paragraph,
    /// A block of another kind, or a paragraph that follows right below the line before it.
    Other,
}

/// How far a task of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// To be done.
    Open,
    /// Done.
    Done,
}

/// The blocks that are open, outermost first. The root is always there.
#[derive(Debug)]
pub struct Blocks {
    open: Vec<(Level, usize)>,
    lists: Vec<List>,
    /// The list of the text before that goes on with the first list here.
    goes_on: Option<List>,
    /// The last list that ended, of those that stand in no other block.
    ended: Option<List>,
}

/// How a list goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    /// The number of the next item, if they have numbers.
    next: Option<u64>,
    /// Whether an item had several paragraphs: then the items are set apart too.
    is_spread: bool,
}

impl Blocks {
    /// Nothing but the root.
    pub fn new() -> Blocks {
        Blocks {
            open: vec![(Level::Root, 0)],
            lists: Vec::new(),
            goes_on: None,
            ended: None,
        }
    }

    /// The first list that begins goes on with `list`.
    pub fn go_on(&mut self, list: Option<List>) {
        self.goes_on = list;
    }

    /// The last list that stood in no other block, to go on with.
    pub fn ended(&self) -> Option<List> {
        self.ended
    }

    /// A block begins in the innermost one: whether a blank row goes before it.
    pub fn begin(&mut self, block: Block) -> bool {
        let Some((level, count)) = self.open.last_mut() else {
            return false;
        };
        let is_first = *count == 0;
        *count += 1;
        let gap = match level {
            Level::Root | Level::Quote => !is_first,
            Level::Item { .. } => !is_first && block == Block::Paragraph,
        };
        if gap
            && matches!(level, Level::Item { .. })
            && let Some(list) = self.lists.last_mut()
        {
            list.is_spread = true;
        }
        gap
    }

    /// A quote begins.
    pub fn begin_quote(&mut self) {
        self.open.push((Level::Quote, 0));
    }

    /// A list begins.
    pub fn begin_list(&mut self, next: Option<u64>) {
        let begun = List {
            next,
            is_spread: false,
        };
        self.lists.push(self.goes_on.take().unwrap_or(begun));
    }

    /// A list ends.
    pub fn end_list(&mut self) {
        let list = self.lists.pop();
        if self.open.len() == 1 {
            self.ended = list;
        }
    }

    /// An item begins: whether a blank row goes before it.
    pub fn begin_item(&mut self, theme: &Theme) -> bool {
        let mut gap = false;
        let mut text = "• ".to_string();
        if let Some(list) = self.lists.last_mut() {
            gap = list.is_spread;
            if let Some(number) = &mut list.next {
                text = format!("{number}. ");
                *number = number.saturating_add(1);
            }
        }
        let indent = width(&text);
        let mark = Some(Span::styled(text, theme.accent));
        self.open.push((Level::Item { mark, indent }, 0));
        gap
    }

    /// The item is a task of a list: its box is its mark.
    pub fn mark_as_task(&mut self, theme: &Theme, work: Work) {
        if let Some((Level::Item { mark, indent }, _)) = self.open.last_mut() {
            let (text, style) = match work {
                Work::Done => ("☑ ", theme.ok),
                Work::Open => ("☐ ", theme.accent),
            };
            *indent = width(text);
            *mark = Some(Span::styled(text, style));
        }
    }

    /// Whether the innermost block is an item whose mark was not drawn.
    pub fn has_mark(&self) -> bool {
        matches!(
            self.open.last(),
            Some((Level::Item { mark: Some(_), .. }, _))
        )
    }

    /// Rows are drawn that no block announced: the bare text of an item.
    pub fn note_text(&mut self) {
        if let Some((_, count)) = self.open.last_mut() {
            *count = (*count).max(1);
        }
    }

    /// The innermost quote or item ends.
    pub fn end(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// What goes in front of a blank row.
    pub fn gap(&self, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
        self.spans(columns, theme, Marks::Blank)
    }

    /// What goes in front of the rows of a text. The marks of items are drawn once.
    pub fn margin(&mut self, columns: usize, theme: &Theme) -> Margin {
        let first = self.spans(columns, theme, Marks::Drawn);
        let rest = self.spans(columns, theme, Marks::Blank);
        for (level, _) in &mut self.open {
            if let Level::Item { mark, .. } = level {
                *mark = None;
            }
        }
        Margin::hanging(first, rest)
    }

    /// At most half of the columns, and the innermost level wherever it leaves room for a text: where the
    /// nesting is deeper, the outer levels are not drawn.
    fn spans(&self, columns: usize, theme: &Theme, marks: Marks) -> Vec<Span<'static>> {
        let mut out = Vec::new();
        let mut room = columns / 2;
        for (level, _) in self.open.iter().rev() {
            let (span, wide) = match level {
                Level::Root => continue,
                Level::Quote => (Span::styled(BAR, theme.quote), 2),
                Level::Item { mark, indent } => {
                    let mark = mark.clone().filter(|_| marks == Marks::Drawn);
                    let blank = || Span::raw(" ".repeat(*indent));
                    (mark.unwrap_or_else(blank), *indent)
                }
            };
            let is_needed = out.is_empty() && wide + 2 <= columns;
            if wide > room && !is_needed {
                break;
            }
            room = room.saturating_sub(wide);
            out.push(span);
        }
        out.reverse();
        out
    }
}
