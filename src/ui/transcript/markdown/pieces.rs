//! Where a Markdown text may be cut so that what stands before the cut is never drawn anew.
//!
//! A piece ends where all blocks are surely closed: behind a blank line, before a line that neither is
//! indented nor begins an item of a list, outside of fenced code. The cuts are found line by line and depend
//! on the text alone, not on the portions in which it came: an answer that was streamed and one that came
//! whole are drawn alike.
//!
//! Long code is cut too, where its fence begins a piece: there it is sure that it is code, whatever stands around it.
//! What goes on from one such piece to the next (a comment of several lines) is handed on in the drawing.

use std::ops::Range;

/// Lines of code, about, behind which it is cut.
const CODE_LINES: usize = 64;

/// A piece of a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it stands.
    pub range: Range<usize>,
    /// If the code of the piece before goes on in it: where the line with the fence stands that began it.
    pub fence: Option<Range<usize>>,
}

/// Where a piece begins, and the fence of the code that goes on there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    at: usize,
    fence: Option<Range<usize>>,
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
            let here = self.read..self.read + end + 1;
            if was_after_blank && (!is_code || opens) && is_flush && !is_blank(line) {
                self.cut(None);
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
                    self.cut(Some(fence));
                }
            }
            self.read += end + 1;
        }
    }

    /// A piece begins where the text is read.
    fn cut(&mut self, fence: Option<Range<usize>>) {
        self.cuts.push(Cut {
            at: self.read,
            fence,
        });
    }

    /// The pieces of the first `len` bytes.
    pub fn of(&self, len: usize) -> impl Iterator<Item = Piece> + '_ {
        let first = Cut { at: 0, fence: None };
        let begins = std::iter::once(first).chain(self.cuts.iter().cloned());
        let ends = self.cuts.iter().map(|cut| cut.at);
        begins
            .zip(ends.chain(std::iter::once(len)))
            .map(|(cut, end)| Piece {
                range: cut.at..end,
                fence: cut.fence,
            })
    }
}

impl Code {
    fn begun(fence: Range<usize>) -> Code {
        Code { fence, lines: 0 }
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

    fn is_open(&self) -> bool {
        self.open.is_some()
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
