//! Tells line by line which lines of a Markdown text are fenced code.

use crate::ui::transcript::markdown::lines::item_content;

/// Scanner state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fences {
    open: Option<Fence>,
    is_in_list: bool,
    just_opened: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    sign: char,
    count: usize,
    /// Column of the fence if it belongs to a list item.
    indent: Option<usize>,
}

impl Fences {
    /// Reads the next line. Returns whether it is code or a fence.
    pub fn read_line(&mut self, line: &str) -> bool {
        self.just_opened = false;
        let line = line.trim_end();
        let indent = line.len() - line.trim_start().len();
        if let Some(fence) = &self.open {
            // A line outside the list item ends the item and the code in it.
            let leaves =
                fence.indent.is_some_and(|of| of >= 2 && indent < 2) && !line.trim().is_empty();
            if !leaves {
                if fence.is_closed_by(line.trim_start()) {
                    self.open = None;
                }
                return true;
            }
            self.open = None;
        }
        let mut text = line.trim_start();
        let mut column = indent;
        while let Some(content) = item_content(text) {
            self.is_in_list = true;
            column += text.len() - content.len();
            text = content;
        }
        let is_indented_code = !self.is_in_list && indent >= 4;
        if is_indented_code {
            return false;
        }
        self.open = Fence::opened_by(text, self.is_in_list.then_some(column));
        self.just_opened = self.open.is_some();
        self.just_opened
    }

    /// Returns whether a fence is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns whether the last line opened a fence.
    pub fn has_just_opened(&self) -> bool {
        self.just_opened
    }

    /// Ends the list that surrounds the text.
    pub fn leave_list(&mut self) {
        self.is_in_list = false;
        if let Some(fence) = &mut self.open {
            fence.indent = None;
        }
    }
}

impl Fence {
    fn opened_by(text: &str, indent: Option<usize>) -> Option<Fence> {
        let sign = text.chars().next().filter(|c| "`~".contains(*c))?;
        let count = text.chars().take_while(|c| *c == sign).count();
        // Backticks later in the line make it a code span.
        let is_span = sign == '`' && text[count..].contains('`');
        (count >= 3 && !is_span).then_some(Fence {
            sign,
            count,
            indent,
        })
    }

    fn is_closed_by(&self, text: &str) -> bool {
        text.len() >= self.count && text.chars().all(|c| c == self.sign)
    }
}
