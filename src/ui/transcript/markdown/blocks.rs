//! The nested Markdown blocks, such as quotes and lists, around a text, and the margins that they draw.

use ratatui::text::Span;

use crate::ui::text::wrap::{Margin, width};
use crate::ui::theme::Theme;

/// The margin of rows in a block quote, for each level of quoting.
const BAR: &str = "▎ ";

/// What encloses a block of Markdown.
#[derive(Debug, PartialEq, Eq)]
pub enum NestingLevel {
    /// The document itself.
    Root,
    Quote,
    Item {
        /// The marker, such as `• `; `None` once it was drawn.
        mark: Option<Span<'static>>,
        /// Width of the marker, in columns.
        indent: usize,
    },
}

/// The open nesting levels around a text, outermost first, each with the number of blocks that have begun in it.
/// [`NestingLevel::Root`] is always open.
#[derive(Debug)]
pub struct Blocks {
    open: Vec<(NestingLevel, usize)>,
    lists: Vec<ListState>,
    /// The list that the first list of this text continues, if a long list is rendered in several
    /// [`Piece`](super::Piece)s.
    continued_list: Option<ListState>,
    /// The state of the last top-level list that ended.
    ended: Option<ListState>,
}

/// The state of a list at the end of a [`Piece`](super::Piece) of a text, from which the next piece continues the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListState {
    /// Number of the next item; `None` for a bulleted list.
    next: Option<u64>,
    /// Whether any item so far had several paragraphs. If so, blank rows separate the items.
    is_spread: bool,
}

impl Blocks {
    pub fn new() -> Blocks {
        Blocks {
            open: vec![(NestingLevel::Root, 0)],
            lists: Vec::new(),
            continued_list: None,
            ended: None,
        }
    }

    /// Makes the first list of this text a continuation of `list`.
    pub fn continue_list(&mut self, list: Option<ListState>) {
        self.continued_list = list;
    }

    /// Returns the state of the last top-level list that ended. The next [`Piece`](super::Piece) of the text may
    /// continue it.
    pub fn ended(&self) -> Option<ListState> {
        self.ended
    }

    /// Begins a block in the innermost level. `is_new_paragraph` says whether it is a paragraph after a blank line.
    /// Returns whether a blank row must precede the block.
    pub fn begin(&mut self, is_new_paragraph: bool) -> bool {
        let Some((level, count)) = self.open.last_mut() else {
            return false;
        };
        let is_first = *count == 0;
        *count += 1;
        let gap = match level {
            NestingLevel::Root | NestingLevel::Quote => !is_first,
            NestingLevel::Item { .. } => !is_first && is_new_paragraph,
        };
        if gap
            && matches!(level, NestingLevel::Item { .. })
            && let Some(list) = self.lists.last_mut()
        {
            list.is_spread = true;
        }
        gap
    }

    pub fn begin_quote(&mut self) {
        self.open.push((NestingLevel::Quote, 0));
    }

    pub fn begin_list(&mut self, next: Option<u64>) {
        let new_list = ListState {
            next,
            is_spread: false,
        };
        self.lists
            .push(self.continued_list.take().unwrap_or(new_list));
    }

    pub fn end_list(&mut self) {
        let list = self.lists.pop();
        if self.open.len() == 1 {
            self.ended = list;
        }
    }

    /// Begins a list item. Returns whether a blank row must precede the item.
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
        self.open.push((NestingLevel::Item { mark, indent }, 0));
        gap
    }

    /// Turns the innermost item into a task list item, whose marker is a checkbox.
    pub fn mark_as_task(&mut self, theme: &Theme, is_checked: bool) {
        if let Some((NestingLevel::Item { mark, indent }, _)) = self.open.last_mut() {
            let (text, style) = if is_checked {
                ("☑ ", theme.ok)
            } else {
                ("☐ ", theme.accent)
            };
            *indent = width(text);
            *mark = Some(Span::styled(text, style));
        }
    }

    /// Returns whether the innermost level is an item whose marker was not drawn yet.
    pub fn has_mark(&self) -> bool {
        matches!(
            self.open.last(),
            Some((NestingLevel::Item { mark: Some(_), .. }, _))
        )
    }

    /// Counts text that is directly in an item, without a paragraph, as a block.
    pub fn note_text(&mut self) {
        if let Some((_, count)) = self.open.last_mut() {
            *count = (*count).max(1);
        }
    }

    /// Ends the innermost quote or item.
    pub fn end(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// Returns the margin of a blank row between blocks.
    pub fn gap(&self, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
        self.spans(columns, theme, false)
    }

    /// Returns the margin for the rows of a text. Each list marker is returned only once, before the first row.
    pub fn margin(&mut self, columns: usize, theme: &Theme) -> Margin {
        let first = self.spans(columns, theme, true);
        let rest = self.spans(columns, theme, false);
        for (level, _) in &mut self.open {
            if let NestingLevel::Item { mark, .. } = level {
                *mark = None;
            }
        }
        Margin::hanging(first, rest)
    }

    /// Returns the margin of all open levels, limited to half of the width. If `has_marks` is false, blanks replace the
    /// list markers. The innermost level is included whenever it leaves room for text; at deep nesting, outer levels
    /// are omitted.
    fn spans(&self, columns: usize, theme: &Theme, has_marks: bool) -> Vec<Span<'static>> {
        let mut out = Vec::new();
        let mut room = columns / 2;
        for (level, _) in self.open.iter().rev() {
            let (span, wide) = match level {
                NestingLevel::Root => continue,
                NestingLevel::Quote => (Span::styled(BAR, theme.quote), 2),
                NestingLevel::Item { mark, indent } => {
                    let mark = mark.clone().filter(|_| has_marks);
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
