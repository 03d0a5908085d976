//! Tells line by line whether inline markup of a paragraph is still open: a code span, emphasis, or the text of a link.
//!
//! It reports "closed" only when that is certain whatever follows. In doubt, it reports "open" up to the end of the
//! paragraph: redrawing a whole paragraph is slow, but cutting it at a wrong place is incorrect.

/// Maximum nesting depth; beyond it, the state is uncertain.
const DEPTH_MAX: usize = 8;

/// Open markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenMarkup {
    /// A delimiter run of emphasis: its character and length.
    Run(char, usize),
    /// The text of a link.
    Bracket,
}

/// Open markup after the lines read so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineState {
    open: Vec<OpenMarkup>,
    /// Length of the backtick run that opened a code span.
    code: Option<usize>,
    is_unsure: bool,
    /// The last line ends in a backslash, whose meaning depends on whether a line follows.
    is_escaped: bool,
}

impl InlineState {
    /// Returns whether certainly nothing is open.
    pub fn is_closed(&self) -> bool {
        self.open.is_empty() && self.code.is_none() && !self.is_unsure && !self.is_escaped
    }

    /// Reads the next line.
    pub fn read_line(&mut self, line: &str) {
        if self.is_unsure {
            return;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        self.is_escaped = line.ends_with('\\');
        let mut at = 0;
        while let Some(sign) = line[at..].chars().next() {
            let rest = &line[at..];
            at += match (self.code, sign) {
                (Some(count), '`') => {
                    let here = run(rest, '`');
                    if here == count {
                        self.code = None;
                    }
                    here
                }
                (None, '`') => {
                    let count = run(rest, '`');
                    self.code = Some(count);
                    count
                }
                (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                (None, '*' | '_' | '~') => {
                    let count = run(rest, sign);
                    self.read_delimiters(sign, count, &line[..at], &rest[count..]);
                    count
                }
                (None, '[') => {
                    self.push(OpenMarkup::Bracket);
                    1
                }
                (None, ']') => 1 + self.end_link_text(&rest[1..]),
                (None, '<') => self.angle(rest),
                (Some(_) | None, _) => sign.len_utf8(),
            };
        }
    }

    fn push(&mut self, open: OpenMarkup) {
        self.is_unsure |= self.open.len() == DEPTH_MAX;
        self.open.push(open);
    }

    /// Reads a delimiter run, given the text before and after it.
    fn read_delimiters(&mut self, sign: char, count: usize, before: &str, after: &str) {
        let (before, after) = (
            Side::of(before.chars().next_back()),
            Side::of(after.chars().next()),
        );
        let same = OpenMarkup::Run(sign, count);
        match flanks(sign, before, after) {
            None => self.is_unsure = true,
            Some((false, false)) => {}
            Some((_, true)) if self.open.last() == Some(&same) => {
                self.open.pop();
            }
            Some((true, _)) => self.push(same),
            // It may partially close an outer run.
            Some((false, true)) => self.is_unsure |= !self.open.is_empty(),
        }
    }

    /// Reads the end of a link text. Returns the length of the address that follows, in bytes.
    fn end_link_text(&mut self, rest: &str) -> usize {
        match self.open.last() {
            Some(OpenMarkup::Bracket) => {
                self.open.pop();
            }
            Some(OpenMarkup::Run(..)) => self.is_unsure |= self.open.contains(&OpenMarkup::Bracket),
            // A literal bracket.
            None => return 0,
        }
        if !rest.starts_with('(') {
            return 0;
        }
        let end = rest.find(')').unwrap_or(0);
        let is_address = |c: char| !c.is_whitespace() && !c.is_control() && !"<>`\\()".contains(c);
        // Nested links, titles and brackets in addresses are rare and not analyzed.
        if end == 0
            || !rest[1..end].chars().all(is_address)
            || self.open.contains(&OpenMarkup::Bracket)
        {
            self.is_unsure = true;
        }
        end
    }

    /// Reads a possible tag or autolink in angle brackets. Returns its length in bytes.
    fn angle(&mut self, rest: &str) -> usize {
        let begins = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !begins {
            return 1;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/.-?=&%#@+_".contains(c);
        match rest.find('>') {
            Some(end) if rest[2..end].chars().all(is_plain) => {
                // If it is neither a tag nor an autolink, its characters are text and an underscore may be markup.
                self.is_unsure |= rest[1..end].contains('_');
                end + 1
            }
            Some(_) | None => {
                self.is_unsure = true;
                1
            }
        }
    }
}

fn run(text: &str, sign: char) -> usize {
    text.bytes().take_while(|b| *b == sign as u8).count()
}

/// What is next to a delimiter run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Blank,
    Word,
    Punctuation,
    /// Not alphanumeric. Whether it counts as punctuation depends on Unicode tables.
    Either,
}

impl Side {
    fn of(sign: Option<char>) -> Side {
        match sign {
            None => Side::Blank,
            Some(c) if c.is_whitespace() => Side::Blank,
            Some(c) if c.is_alphanumeric() => Side::Word,
            Some(c) if c.is_ascii_punctuation() => Side::Punctuation,
            Some(_) => Side::Either,
        }
    }

    /// Returns the possible interpretations.
    fn all(self) -> &'static [Side] {
        match self {
            Side::Blank => &[Side::Blank],
            Side::Word => &[Side::Word],
            Side::Punctuation => &[Side::Punctuation],
            Side::Either => &[Side::Word, Side::Punctuation],
        }
    }
}

/// Returns whether a delimiter run can open and whether it can close emphasis; `None` if that is uncertain. Implements
/// the left-flanking and right-flanking rules of CommonMark.
fn flanks(sign: char, before: Side, after: Side) -> Option<(bool, bool)> {
    let mut found = None;
    for before in before.all() {
        for after in after.all() {
            let left = *after != Side::Blank
                && (*after != Side::Punctuation
                    || matches!(before, Side::Blank | Side::Punctuation));
            let right = *before != Side::Blank
                && (*before != Side::Punctuation
                    || matches!(after, Side::Blank | Side::Punctuation));
            let here = match sign {
                '_' => (
                    left && (!right || *before == Side::Punctuation),
                    right && (!left || *after == Side::Punctuation),
                ),
                // Implementations of strikethrough differ here.
                '~' if left && right => return None,
                _ => (left, right),
            };
            if *found.get_or_insert(here) != here {
                return None;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closed(text: &str) -> bool {
        let mut inline = InlineState::default();
        for line in text.lines() {
            inline.read_line(line);
        }
        inline.is_closed()
    }

    #[test]
    fn closed_markup_is_reported_closed() {
        for text in [
            "",
            "words, and more: of them!",
            "`code`, *one* and **two**, ***three***, ~~gone~~",
            "**Bold:** words",
            "2 * 3 * 4, a_b_c, 5 ~ 6",
            "`a * b [`",
            "``a ` b``",
            "[words](https://a.b/c_d) and <https://a.b> and Vec<String>",
            "[ ] open, [x] done]",
            "**open\nclosed**",
            "`open\nclosed`",
            "[open\nclosed](x)",
            "\\*not, \\`this",
            "a < b > c",
            "**✅ done** ✅",
        ] {
            assert!(is_closed(text), "{text:?}");
        }
    }

    #[test]
    fn open_markup_is_reported_open() {
        for text in [
            "one ` tick",
            "*open",
            "**open\nmore",
            "[open",
            "[words](open",
            "[words](x \"open",
            "<a href=\"open",
            "**half*",
            "*a **b* c**",
            "**Bold:**words",
            "a*b",
            "~half~word",
            "line\\",
            "*[words*](x)",
            "``a `",
            "[a [b](c) d](e",
        ] {
            assert!(!is_closed(text), "{text:?}");
        }
    }
}
