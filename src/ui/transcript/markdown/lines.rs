//! Classifies a single line of Markdown by its own characters.

/// Width of a tab, in columns.
const TAB: usize = 4;

/// A list marker and the column at which the item's content begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListMarker {
    /// The bullet, or the character after the number. Another one starts another list.
    pub delimiter: u8,
    pub number: Option<u64>,
    /// Column at which the content of the item begins.
    pub content: usize,
}

pub fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Returns the number of columns before the first non-blank character.
pub fn indent(line: &str) -> usize {
    columns(&line[..line.len() - line.trim_start().len()])
}

fn columns(blanks: &str) -> usize {
    let column = |b: u8| if b == b'\t' { TAB } else { 1 };
    blanks.bytes().map(column).sum()
}

/// Returns the content of a list item, if the line begins one.
pub fn item_content(line: &str) -> Option<&str> {
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

/// Returns the list marker of the line. `None` if its item is empty or the line is a thematic break.
pub fn list_marker(line: &str) -> Option<ListMarker> {
    let indent = indent(line);
    let line = line.trim();
    let content = item_content(line).filter(|c| !c.is_empty() && !is_rule(line))?;
    let (head, digits) = (
        &line[..line.len() - content.len()],
        line.bytes().take_while(u8::is_ascii_digit).count(),
    );
    let sign = digits + 1;
    let gap = match columns(&head[sign..]) {
        wide @ 1..=4 => wide,
        // The other blanks belong to the content, which is indented code.
        _ => 1,
    };
    Some(ListMarker {
        delimiter: head.as_bytes()[digits],
        number: head[..digits].parse().ok(),
        content: indent + sign + gap,
    })
}

/// Returns whether the line is a thematic break.
fn is_rule(line: &str) -> bool {
    let mut signs = line.chars().filter(|c| !c.is_whitespace());
    let first = signs.next().filter(|c| "-_*".contains(*c));
    first.is_some_and(|first| {
        let mut count = 1;
        signs.all(|c| {
            count += 1;
            c == first
        }) && count >= 3
    })
}

/// Returns whether the line certainly continues a paragraph when it directly follows one. May return false for other
/// lines that do, too.
pub fn is_plain(line: &str) -> bool {
    let mut signs = line.chars();
    match signs.next() {
        None => false,
        Some('*' | '_') => {
            let next = line.trim_start_matches(['*', '_']).chars().next();
            next.is_some_and(char::is_alphanumeric)
        }
        Some('`') => !line.starts_with("```"),
        Some(
            '"' | '\'' | '(' | '$' | '@' | '%' | ',' | '.' | '/' | ';' | '^' | '{' | '}' | '&',
        ) => true,
        Some('0'..='9') => item_content(line).is_none(),
        Some(c) => !c.is_whitespace() && !c.is_control() && !c.is_ascii_punctuation(),
    }
}

/// Returns whether the line may turn the paragraph above it into a heading or a table.
pub fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| "=-|: \t".contains(c))
}

/// Returns the number of columns if the line may be the head of a table: with bars at both ends, no empty cell and no
/// escape.
pub fn table_columns(line: &str) -> Option<usize> {
    let inner = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
    let is_sure = !inner.contains('\\') && inner.split('|').all(|cell| !cell.trim().is_empty());
    is_sure.then(|| inner.split('|').count())
}

/// Returns whether the line is the delimiter row of a table with this many columns.
pub fn is_below_head(line: &str, columns: usize) -> bool {
    let is_cell = |cell: &str| {
        let cell = cell.trim();
        let cell = cell.strip_prefix(':').unwrap_or(cell);
        let cell = cell.strip_suffix(':').unwrap_or(cell);
        !cell.is_empty() && cell.bytes().all(|b| b == b'-')
    };
    table_columns(line) == Some(columns)
        && line.trim_end().trim_matches('|').split('|').all(is_cell)
}

/// Returns whether the last row of a table is still being written: it lacks the closing bar that the head has.
pub fn is_open_row(table: &str) -> bool {
    let last = table.rsplit('\n').next().unwrap_or_default().trim_end();
    let head = table.lines().next().unwrap_or_default().trim_end();
    !last.is_empty() && !last.ends_with('|') && head.ends_with('|')
}

/// Returns whether the line is a heading that starts with `#`.
pub fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_marker_gives_content_column() {
        let of = |line: &str| list_marker(line).map(|m| (m.delimiter, m.number, m.content));
        let cases = [
            ("- a", Some((b'-', None, 2))),
            ("*   a", Some((b'*', None, 4))),
            ("10. a", Some((b'.', Some(10), 4))),
            ("  3) a", Some((b')', Some(3), 5))),
            ("-      code", Some((b'-', None, 2))),
            ("-\ta", Some((b'-', None, 5))),
            ("- [ ] a", Some((b'-', None, 2))),
            ("-", None),
            ("- - -", None),
            ("***", None),
            ("-a", None),
            ("1.5", None),
            ("a", None),
            ("", None),
        ];
        for (line, expected) in cases {
            assert_eq!(of(line), expected, "{line:?}");
            let whole = format!("{line}\n");
            assert_eq!(of(&whole), expected, "{whole:?}");
        }
    }

    #[test]
    fn lines_that_may_begin_a_block_are_not_plain() {
        for line in [
            "words",
            "**bold** words",
            "`code`",
            "✅ done",
            "1.5 GB",
            "中",
            "\"so\"",
        ] {
            assert!(is_plain(line), "{line}");
        }
        for line in [
            "", " x", "# x", "> x", "- x", "* x", "1. x", "```", "~~~", "<b>", "| a |", "[x]: y",
            "===", "---", "***", "___", "+ x", "\t", "1)", ":-:", "\\x", "!",
        ] {
            assert!(!is_plain(line), "{line}");
        }
    }

    #[test]
    fn underlines_are_recognized() {
        for line in ["-", "===", "--- \n", "|---|:-:|", "--|--"] {
            assert!(is_underline(line), "{line}");
        }
        for line in ["", " \n", "- a", "| a |"] {
            assert!(!is_underline(line), "{line}");
        }
    }
}
