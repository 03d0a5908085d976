//! Text search in a cell, and the positions of the matches in the cell's rows.
//!
//! A space in the search text also matches a line break. All other line breaks inside a match are ignored, so that a
//! match is found even if it is wrapped over several rows.

use std::ops::Range;

use crate::ui::text::wrap::{Row, width};

/// A text to search for. The search ignores case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needle {
    /// The characters of the search text in lower case. At least one of them is not whitespace.
    pattern: Vec<char>,
}

/// The position of a match in the rows of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMatch {
    /// The parts of the match, at least one: row index and first column, both counted from 0, and width in columns. A
    /// match that is wrapped has one part per row.
    pub parts: Vec<(usize, usize, usize)>,
}

impl Needle {
    /// Creates a search for `words`; `None` if `words` is blank.
    pub fn new(words: &str) -> Option<Needle> {
        let pattern: Vec<char> = words.chars().map(lower).collect();
        (!words.trim().is_empty()).then_some(Needle { pattern })
    }

    /// Returns the number of matches in `text`. Matches do not overlap.
    pub fn count(&self, text: &str) -> usize {
        self.matches(text).count()
    }

    /// Returns the byte ranges of the matches in `text`, first to last.
    pub fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            while let Some(start) = self.find_first_char(text, from) {
                if let Some(len) = self.match_len(&text[start..]) {
                    from = start + len;
                    return Some(start..from);
                }
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
            }
            from = text.len();
            None
        })
    }

    /// Returns the byte offset of the first character at or after `from` that matches the first character of the search
    /// text; `None` if there is none.
    fn find_first_char(&self, text: &str, from: usize) -> Option<usize> {
        let first = *self.pattern.first()?;
        let rest = text.get(from..)?;
        let found = if first.is_ascii_graphic() {
            let byte = u8::try_from(first).ok()?;
            let other = byte.to_ascii_uppercase();
            rest.bytes().position(|b| b == byte || b == other)
        } else {
            rest.find(|c| chars_match(first, c))
        };
        found.map(|at| from + at)
    }

    /// Returns the length, in bytes, of the match at the start of `text`; `None` if `text` does not begin with a match.
    fn match_len(&self, text: &str) -> Option<usize> {
        let mut rest = text.chars();
        for (at, sign) in self.pattern.iter().enumerate() {
            let mut next = rest.next()?;
            while next == '\n' && at > 0 && *sign != ' ' {
                next = rest.next()?;
            }
            if !chars_match(*sign, next) {
                return None;
            }
        }
        Some(text.len() - rest.as_str().len())
    }
}

/// Returns whether `sign`, a character of the search text in lower case, matches `other`, a character of the searched
/// text. Ignores the case of `other`; a space also matches a line break.
fn chars_match(sign: char, other: char) -> bool {
    sign == other || sign == lower(other) || (sign == ' ' && other == '\n')
}

/// Returns the lower-case form of a character, always as one character, so that positions in a text do not shift.
fn lower(sign: char) -> char {
    if sign.is_ascii() {
        sign.to_ascii_lowercase()
    } else {
        sign.to_lowercase().next().unwrap_or(sign)
    }
}

/// Returns the matches in `rows`, all rows of a cell or of another text, first to last. Margins and decoration
/// (`Row::aside`) are not searched. The first row has the index 0.
pub fn find_matches<'a>(needle: &Needle, rows: impl Iterator<Item = &'a Row>) -> Vec<SearchMatch> {
    let mut text = String::new();
    // For each piece of text in the rows: its byte offset in `text`, the index of its row, and its first column.
    let mut starts = Vec::new();
    for (at, row) in rows.enumerate() {
        let (mut column, mut is_in_text, start) = (0, false, text.len());
        for (nth, span) in row.spans.iter().enumerate() {
            let was_in_text = is_in_text;
            is_in_text = nth >= row.margin && !row.aside.contains(&nth);
            match (was_in_text, is_in_text) {
                (false, true) => starts.push((text.len(), at, column)),
                (true, false) => text.push('\n'),
                (true, true) | (false, false) => {}
            }
            if is_in_text {
                text.push_str(&span.content);
            }
            column += width(&span.content);
        }
        if is_in_text || text.len() == start {
            text.push('\n');
        }
    }
    let hit = |range: Range<usize>| {
        let first = starts.partition_point(|(start, ..)| *start <= range.start);
        let mut parts = Vec::new();
        let rows = starts.iter().skip(first.saturating_sub(1));
        for (start, row, column) in rows.take_while(|(start, ..)| *start < range.end) {
            let line = text[*start..].split('\n').next().unwrap_or_default();
            let from = range.start.max(*start) - start;
            let to = (range.end - start).min(line.len());
            if let (Some(before), Some(here)) = (line.get(..from), line.get(from..to))
                && !here.is_empty()
            {
                parts.push((*row, column + width(before), width(here)));
            }
        }
        (!parts.is_empty()).then_some(SearchMatch { parts })
    };
    needle.matches(&text).filter_map(hit).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::diff::{self, DiffPainter, DiffParams, DiffPlacement};
    use crate::ui::text::wrap::{Break, Margin, wrap};
    use crate::ui::theme::Theme;

    #[test]
    fn matches_ignore_case_and_line_breaks() {
        type Places = &'static [(usize, usize)];
        let cases: [(&str, &str, Places); 10] = [
            ("a", "banAna", &[(1, 2), (3, 4), (5, 6)]),
            ("aa", "aaaaa", &[(0, 2), (2, 4)]),
            ("Fix it", "fix\nit, FIX IT", &[(0, 6), (8, 14)]),
            ("fixit", "fix\nit", &[(0, 6)]),
            ("größe", "GRÖSSE Größe", &[(8, 15)]),
            ("ß", "Straße", &[(4, 6)]),
            ("中文", "说中文,中文", &[(3, 9), (10, 16)]),
            ("x", "", &[]),
            ("aab", "aaab", &[(1, 4)]),
            ("é", "É", &[(0, 2)]),
        ];
        for (words, text, expected) in cases {
            let needle = Needle::new(words).unwrap();
            let found: Vec<_> = needle.matches(text).map(|r| (r.start, r.end)).collect();
            assert_eq!(found, expected, "{words} in {text}");
        }
        assert_eq!((Needle::new(""), Needle::new("  ")), (None, None));
    }

    #[test]
    fn text_of_a_diff_is_found_once_at_any_width() {
        let diff = "--- a\n+++ a\n@@ -8,3 +8,4 @@\n fn add() {\n-    a - 1\n+    a + 1 // half\n+    new\n }\n";
        let lines = diff::read(diff);
        let find = |words: &str, columns| {
            let look = DiffParams {
                columns,
                theme: &Theme::default(),
                placement: DiffPlacement::Conversation,
                digits: 2,
            };
            let rows = DiffPainter::new(look).rows(&lines, &mut 0);
            let hits = find_matches(&Needle::new(words).unwrap(), rows.iter());
            hits.iter().map(|hit| hit.parts[0]).collect::<Vec<_>>()
        };
        for columns in [60, 120] {
            for (words, count) in [("fn add", 1), ("a ", 2), ("10", 0), ("new", 1)] {
                assert_eq!(find(words, columns).len(), count, "{words} {columns}");
            }
        }
        // The row, the column and the width of matches in the left and in the right half.
        assert_eq!(find("- 1", 120), [(1, 13, 3)]);
        assert_eq!(find("half", 120), [(1, 80, 4)]);
    }

    #[test]
    fn wrapped_match_has_one_part_per_row() {
        let margin = Margin::hanging(vec!["› ".into()], vec!["  ".into()]);
        let rows = wrap(
            &["one two 中 three".into()],
            9,
            &margin,
            Break::Words,
            &mut 0,
        );
        let text: Vec<String> = rows
            .iter()
            .map(|r| r.spans.iter().map(|s| s.content.as_ref()).collect())
            .collect();
        assert_eq!(text, ["› one two", "  中", "  three"]);
        let parts = |words: &str| -> Vec<Vec<(usize, usize, usize)>> {
            let needle = Needle::new(words).unwrap();
            let hits = find_matches(&needle, rows.iter());
            hits.into_iter().map(|h| h.parts).collect()
        };
        assert_eq!(parts("TWO 中 t"), [vec![(0, 6, 3), (1, 2, 2), (2, 2, 1)]]);
        assert_eq!(parts("e"), [[(0, 4, 1)], [(2, 5, 1)], [(2, 6, 1)]]);
        assert_eq!(parts("›"), Vec::<Vec<_>>::new());
    }
}
