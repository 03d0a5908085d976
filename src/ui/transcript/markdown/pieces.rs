//! Where a Markdown text may be cut so that what stands before the cut is never drawn anew.
//!
//! A piece ends where all blocks are surely closed: behind a blank line, before a line that neither is
//! indented nor begins an item of a list, outside of fenced code. The cuts are found line by line and depend
//! on the text alone, not on the portions in which it came: an answer that was streamed and one that came
//! whole are drawn alike.

/// The cuts of a text that grows at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Where each piece but the first begins, in bytes.
    cuts: Vec<usize>,
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
            let was_after_blank = std::mem::replace(&mut self.is_after_blank, is_blank(line));
            let is_code = self.fences.take(line);
            let is_flush = !line.starts_with([' ', '\t']) && item(line).is_none();
            // A fence that opens here is code already, and may still be where a piece begins.
            let opens = is_code && self.fences.has_just_opened();
            if was_after_blank && (!is_code || opens) && is_flush && !is_blank(line) {
                self.cuts.push(self.read);
                self.fences.leave_list();
            }
            self.read += end + 1;
        }
    }

    /// The pieces, as ranges of the first `len` bytes.
    pub fn ranges(&self, len: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let starts = std::iter::once(0).chain(self.cuts.iter().copied());
        let ends = self.cuts.iter().copied().chain(std::iter::once(len));
        starts.zip(ends).map(|(start, end)| start..end)
    }
}

/// Which lines are fenced code.
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
    /// Columns before the fence, if it belongs to an item of a list.
    indent: Option<usize>,
}

impl Fences {
    /// Takes the next line in: whether it is code or a fence.
    pub fn take(&mut self, line: &str) -> bool {
        self.just_opened = false;
        let line = line.trim_end();
        let indent = line.len() - line.trim_start().len();
        if let Some(fence) = &self.open {
            // Text that leaves the item closes the item, and the code in it.
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
        while let Some(content) = item(text) {
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

    fn has_just_opened(&self) -> bool {
        self.just_opened
    }

    fn leave_list(&mut self) {
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
        // Backticks behind the fence make it a code span.
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

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The content of an item of a list, if the line begins one.
fn item(line: &str) -> Option<&str> {
    let rest = match line.as_bytes().first()? {
        b'-' | b'*' | b'+' => &line[1..],
        b'0'..=b'9' => {
            let digits = line.bytes().take_while(u8::is_ascii_digit).count();
            line.get(digits..)
                .filter(|_| digits <= 9)
                .and_then(|l| l.strip_prefix(['.', ')']))?
        }
        _ => return None,
    };
    if rest.is_empty() {
        return Some(rest);
    }
    rest.starts_with([' ', '\t', '\n', '\r'])
        .then(|| rest.trim_start())
}
