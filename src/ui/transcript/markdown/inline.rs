//! Whether something in the words of a paragraph is still open, told line by line: a text in code, an emphasis, the
//! words of a link.
//!
//! It says that nothing is open only where that is sure, whatever comes. Where it is not, it stays unsure to the end of
//! the paragraph: one that is drawn anew as a whole is slow, and one that is cut at the wrong place is wrong.

/// Most that is open inside of one another; beyond, it is not sure.
const DEEP: usize = 8;

/// What opens and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A run of that many of these signs: an emphasis.
    Run(char, usize),
    /// The words of a link.
    Bracket,
}

/// What is open behind the lines that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inline {
    open: Vec<Open>,
    /// Behind a run of that many backticks, until the next one.
    code: Option<usize>,
    is_unsure: bool,
    /// The last line ends in a backslash: what that is depends on whether a line follows.
    is_escaped: bool,
}

impl Inline {
    /// Whether nothing is open.
    pub fn is_closed(&self) -> bool {
        self.open.is_empty() && self.code.is_none() && !self.is_unsure && !self.is_escaped
    }

    /// Takes the next line in.
    pub fn take(&mut self, line: &str) {
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
                    self.signs(sign, count, &line[..at], &rest[count..]);
                    count
                }
                (None, '[') => {
                    self.push(Open::Bracket);
                    1
                }
                (None, ']') => 1 + self.end_words(&rest[1..]),
                (None, '<') => self.angle(rest),
                (Some(_) | None, _) => sign.len_utf8(),
            };
        }
    }

    fn push(&mut self, open: Open) {
        self.is_unsure |= self.open.len() == DEEP;
        self.open.push(open);
    }

    /// A run of `sign` between two texts of the line.
    fn signs(&mut self, sign: char, count: usize, before: &str, after: &str) {
        let (before, after) = (
            Side::of(before.chars().next_back()),
            Side::of(after.chars().next()),
        );
        let same = Open::Run(sign, count);
        match flanks(sign, before, after) {
            None => self.is_unsure = true,
            Some((false, false)) => {}
            Some((_, true)) if self.open.last() == Some(&same) => {
                self.open.pop();
            }
            Some((true, _)) => self.push(same),
            // It may close a part of another one.
            Some((false, true)) => self.is_unsure |= !self.open.is_empty(),
        }
    }

    /// Behind the words of a link: the bytes of the address that follows.
    fn end_words(&mut self, rest: &str) -> usize {
        match self.open.last() {
            Some(Open::Bracket) => {
                self.open.pop();
            }
            Some(Open::Run(..)) => self.is_unsure |= self.open.contains(&Open::Bracket),
            // It is only a bracket.
            None => return 0,
        }
        if !rest.starts_with('(') {
            return 0;
        }
        let end = rest.find(')').unwrap_or(0);
        let is_address = |c: char| !c.is_whitespace() && !c.is_control() && !"<>`\\()".contains(c);
        // A link within the words of a link, a title, brackets in an address: rare enough.
        if end == 0 || !rest[1..end].chars().all(is_address) || self.open.contains(&Open::Bracket) {
            self.is_unsure = true;
        }
        end
    }

    /// The bytes of what may be a tag or an address in angles.
    fn angle(&mut self, rest: &str) -> usize {
        let begins = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !begins {
            return 1;
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ":/.-?=&%#@+_".contains(c);
        match rest.find('>') {
            Some(end) if rest[2..end].chars().all(is_plain) => {
                // What is neither a tag nor an address is text, and so are the signs in it.
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

/// What stands beside a run of signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Blank,
    Word,
    Punctuation,
    /// A sign that is no letter: punctuation or not, that depends on tables.
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

    /// The sides that it may be.
    fn all(self) -> &'static [Side] {
        match self {
            Side::Blank => &[Side::Blank],
            Side::Word => &[Side::Word],
            Side::Punctuation => &[Side::Punctuation],
            Side::Either => &[Side::Word, Side::Punctuation],
        }
    }
}

/// Whether a run between two sides may open, and whether it may close; none where that is not sure. The rules are
/// those of CommonMark, "left-flanking" and "right-flanking" runs.
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
                // Of these the rules differ from reader to reader.
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
        let mut inline = Inline::default();
        for line in text.lines() {
            inline.take(line);
        }
        inline.is_closed()
    }

    #[test]
    fn what_has_ended_is_closed() {
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
    fn what_may_go_on_is_open() {
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
