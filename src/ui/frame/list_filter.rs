//! The text filter of a pane's list, and whether the user is typing it. Each pane decides what the words of its filter
//! mean. No I/O.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::ui::text::fit;
use crate::ui::theme::Theme;
use crate::ui::widgets::cut::cut_top;
use crate::ui::widgets::line_input::LineInput;

/// A filter that the user types for a list. It is unset until the user starts typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFilter {
    /// The hint that explains the syntax of the filter. Shown while the text is empty.
    syntax: &'static str,
    filter: Option<Filter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Filter {
    words: LineInput,
    is_typing: bool,
}

impl ListFilter {
    pub fn new(syntax: &'static str) -> ListFilter {
        ListFilter {
            syntax,
            filter: None,
        }
    }

    /// Returns whether the filter is set or being typed.
    pub fn is_set(&self) -> bool {
        self.filter.is_some()
    }

    pub fn is_typing(&self) -> bool {
        self.filter.as_ref().is_some_and(|f| f.is_typing)
    }

    /// Returns the text as typed; empty if there is no filter.
    pub fn text(&self) -> &str {
        self.filter.as_ref().map_or("", |f| f.words.text())
    }

    /// Returns the text of the filter without surrounding blanks.
    pub fn words(&self) -> &str {
        self.text().trim()
    }

    /// Returns the text input of the filter while the user types in it; `None` otherwise.
    pub fn input(&mut self) -> Option<&mut LineInput> {
        let filter = self.filter.as_mut().filter(|f| f.is_typing);
        filter.map(|f| &mut f.words)
    }

    /// Starts typing the filter. If it is already set, the user edits its text.
    pub fn start(&mut self) {
        let words = self
            .filter
            .take()
            .map_or_else(LineInput::default, |f| f.words);
        self.filter = Some(Filter {
            words,
            is_typing: true,
        });
    }

    /// Finishes typing and keeps the filter. A blank filter is removed.
    pub fn finish(&mut self) {
        self.filter.take_if(|f| f.words.text().trim().is_empty());
        if let Some(filter) = &mut self.filter {
            filter.is_typing = false;
        }
    }

    /// Removes the filter. Returns whether there was one.
    pub fn remove(&mut self) -> bool {
        self.filter.take().is_some()
    }

    /// Divides `inside` into the row of the filter and the area of the list below it. If the filter is not set, the row
    /// is `None` and the list gets the whole area.
    pub fn areas(&self, inside: Rect) -> (Option<Rect>, Rect) {
        if self.is_set() {
            let (row, list) = cut_top(inside, 1);
            (Some(row), list)
        } else {
            (None, inside)
        }
    }

    pub fn draw(&self, theme: &Theme, row: Rect, buffer: &mut Buffer) {
        let cursor = if self.is_typing() { "▏" } else { "" };
        let room = usize::from(row.width).saturating_sub(4);
        let text = self.text();
        let mut spans = vec![
            Span::styled(" / ", theme.accent),
            Span::styled(format!("{}{cursor}", fit(text, room)), theme.text),
        ];
        if text.is_empty() {
            let hint = format!("  {}", self.syntax);
            spans.push(Span::styled(fit(&hint, room), theme.dim));
        }
        Line::from(spans).render(row, buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_is_typed_then_kept_unless_blank() {
        let mut filter = ListFilter::new("words");
        assert!(filter.input().is_none());
        filter.start();
        assert!(filter.is_set() && filter.is_typing());
        filter.input().unwrap().insert("a b");
        filter.finish();
        assert_eq!((filter.words(), filter.is_typing()), ("a b", false));
        assert!(filter.input().is_none());
        filter.start();
        assert_eq!(filter.words(), "a b", "an existing text is edited");
        assert!(filter.remove() && !filter.remove());
        filter.start();
        filter.input().unwrap().insert(" ");
        filter.finish();
        assert!(!filter.is_set(), "no words, no filter");
    }
}
