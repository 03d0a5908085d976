//! The Markdown blocks that enclose a text, such as quotes and list items, and the margins that they draw to its left.

use ratatui::text::Span;

use crate::ui::text::wrap::{Margin, width};
use crate::ui::theme::Theme;

/// What a block quote draws to the left of each row, once for each level of quoting.
const BAR: &str = "▎ ";

/// A block that can contain other blocks.
#[derive(Debug, PartialEq, Eq)]
pub enum NestingLevel {
    /// The document itself.
    Root,
    Quote,
    Item {
        /// The marker of the item, such as `• `; `None` once it was drawn.
        mark: Option<Span<'static>>,
        /// Width of the item's marker, in columns.
        indent: usize,
    },
}

/// The blocks that enclose a text, outermost first, each with the number of blocks that have begun in it. The first one
/// is always [`NestingLevel::Root`].
#[derive(Debug)]
pub struct Blocks {
    open: Vec<(NestingLevel, usize)>,
    lists: Vec<ListState>,
    /// The state from which the first list continues; `None` if that list is a new one. A long list is rendered in
    /// several [`Piece`](super::Piece)s, and this is its state at the end of the previous piece.
    continued_list: Option<ListState>,
    /// The state of the last top-level list that has ended.
    ended: Option<ListState>,
}

/// The state of a list at the end of a [`Piece`](super::Piece) of a text. If the list continues in the next piece, it
/// continues from this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListState {
    /// Number of the next item; `None` for a list with bullets.
    next: Option<u64>,
    /// Whether any item so far had several paragraphs. If so, a blank row is drawn before each further item.
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

    /// Makes the first list of the text continue from the state `list`.
    pub fn continue_list(&mut self, list: Option<ListState>) {
        self.continued_list = list;
    }

    /// Returns the state of the last top-level list that has ended; `None` if no such list has ended. The next
    /// [`Piece`](super::Piece) of the text may continue that list.
    pub fn ended_list(&self) -> Option<ListState> {
        self.ended
    }

    /// Begins a block in the innermost enclosing block. `is_new_paragraph` is true if the block is a paragraph after a
    /// blank line. Returns whether a blank row must be drawn before the block.
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

    /// Begins a list item. Returns whether a blank row must be drawn before the item.
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

    /// Replaces the marker of the innermost list item by a checkbox.
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

    /// Returns whether the innermost enclosing block is a list item whose marker is not drawn yet.
    pub fn has_mark(&self) -> bool {
        matches!(
            self.open.last(),
            Some((NestingLevel::Item { mark: Some(_), .. }, _))
        )
    }

    /// Records that the innermost enclosing block contains text. If the text is directly in a list item, without a
    /// paragraph around it, it counts as the first block of the item.
    pub fn note_text(&mut self) {
        if let Some((_, count)) = self.open.last_mut() {
            *count = (*count).max(1);
        }
    }

    /// Ends the innermost quote or list item.
    pub fn end(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// Returns the margin to draw in a blank row between blocks.
    pub fn gap(&self, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
        self.spans(columns, theme, false)
    }

    /// Returns the margin to draw to the left of a text. The markers of all enclosing list items that were not drawn
    /// yet are in front of the first row, and count as drawn from then on.
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

    /// Returns the margin of all enclosing blocks, limited to half of the width. If `has_marks` is false, blanks
    /// replace the list markers. If the nesting is too deep, the margins of outer blocks are left out; the margin of
    /// the innermost block is left out only if it would leave no room for text.
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
