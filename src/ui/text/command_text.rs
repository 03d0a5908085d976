//! Renders a command that the user is asked to approve: invisible characters are escaped, and padding and long comments
//! are replaced by notes. No I/O.

use unicode_width::UnicodeWidthChar;

use crate::domain::text::{bytes_cut, is_hidden};

/// Minimum number of consecutive blank lines that are replaced by a note.
const LINES_MIN: usize = 3;
/// Minimum number of consecutive spaces that are replaced by a note.
const BLANKS_MIN: usize = 24;
/// Maximum length of a comment that is shown whole, in characters.
const COMMENT_MAX: usize = 160;
/// Number of characters that are shown of a longer comment.
const COMMENT_SHOWN: usize = 80;

/// Shell constructs after which a `#` that follows a blank does not always start a comment: here-documents,
/// substitutions, expansions, arithmetic, conditions and patterns.
const OPENINGS: &[&str] = &[
    "<<", "$(", "${", "$[", "((", "[[", "?(", "*(", "+(", "@(", "!(",
];

/// A command that was rendered for approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderedCommand {
    /// The text for the screen, with invisible and misleading characters escaped.
    pub text: String,
    /// Number of characters of comments that the text omits. Scrolling cannot reveal them.
    pub folded_chars: usize,
    /// Number of bytes that were already cut from the input because it was too long.
    pub cut_bytes: usize,
}

/// Renders the body of a request. Shortens long comments only within the command, which begins with the first line that
/// starts with `$ `. Shortens no comment if a quote, a backslash, a construct of `OPENINGS` or a note about removed
/// text is before it: the `#` may then be part of the command.
pub fn render_command(text: &str) -> RenderedCommand {
    let mut out = RenderedCommand {
        cut_bytes: bytes_cut(text),
        ..RenderedCommand::default()
    };
    let mut blank = 0;
    // `None` until the command begins. A later line that begins with `$ ` can be inside a quote.
    let mut may_fold = None;
    for line in text.lines() {
        if line.trim().is_empty() {
            blank += 1;
            continue;
        }
        flush_blank_lines(&mut out.text, &mut blank);
        if line.starts_with("$ ") {
            may_fold.get_or_insert(true);
        }
        // The part that was cut out can contain a quote.
        if bytes_cut(line) > 0 {
            may_fold = Some(false);
        }
        let is_code = may_fold == Some(true);
        let comment = comment(line).filter(|at| is_code && !has_quotes(&line[..*at]));
        let (code, comment) = line.split_at(comment.unwrap_or(line.len()));
        may_fold = may_fold.map(|may| may && !has_quotes(code));
        push_escaped(&mut out.text, code);
        let length = comment.chars().count();
        if length > COMMENT_MAX {
            let begin: String = comment.chars().take(COMMENT_SHOWN).collect();
            push_escaped(&mut out.text, &begin);
            let more = length - COMMENT_SHOWN;
            out.folded_chars += more;
            out.text
                .push_str(&format!(" … {more} more characters of a comment"));
        } else {
            push_escaped(&mut out.text, comment);
        }
        out.text.push('\n');
    }
    flush_blank_lines(&mut out.text, &mut blank);
    out
}

fn flush_blank_lines(out: &mut String, blank: &mut usize) {
    if *blank >= LINES_MIN {
        out.push_str(&format!("… {blank} blank lines\n"));
    } else {
        out.extend(std::iter::repeat_n('\n', *blank));
    }
    *blank = 0;
}

/// Returns the byte offset where a comment begins in `line`, or `None`. The line must not start inside a quote.
fn comment(line: &str) -> Option<usize> {
    let mut before = ' ';
    line.char_indices().find_map(|(at, c)| {
        // A shell separates words only with spaces and tabs.
        let begins = c == '#' && matches!(before, ' ' | '\t');
        before = c;
        begins.then_some(at)
    })
}

/// Returns whether `text` contains a quote, a backslash or one of [`OPENINGS`]. After any of these, a `#` does not
/// always start a comment.
fn has_quotes(text: &str) -> bool {
    text.contains(['"', '\'', '`', '\\']) || OPENINGS.iter().any(|open| text.contains(open))
}

fn push_escaped(out: &mut String, text: &str) {
    let mut blanks = 0;
    for c in text.chars().chain(['\u{0}']) {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        if blanks >= BLANKS_MIN {
            out.push_str(&format!(" … {blanks} spaces … "));
        } else {
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        blanks = 0;
        match c {
            // The NUL that was appended as an end mark. NULs in the text itself were escaped before.
            '\u{0}' => {}
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            c if is_invisible(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
}

/// Returns whether a character is invisible, combines with the previous one, or imitates an ASCII character.
fn is_invisible(c: char) -> bool {
    if c.is_ascii_graphic() {
        return false;
    }
    is_hidden(c)
        || c.width().unwrap_or(0) == 0
        || c.is_whitespace()
        || matches!(c, '\u{ff01}'..='\u{ff5e}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn hidden_content_is_escaped_or_marked() {
        let long = "x".repeat(3000);
        for (text, expected, folded) in [
            ("$ rm -rf x".to_string(), "$ rm -rf x\n".to_string(), 0),
            (
                format!("$ echo hello{}rm -rf x", "\n".repeat(300)),
                "$ echo hello\n… 299 blank lines\nrm -rf x\n".into(),
                0,
            ),
            ("$ a\n\n\nb".into(), "$ a\n\n\nb\n".into(), 0),
            (
                format!("$ a # {long}\nrm -rf x"),
                format!(
                    "$ a # {} … 2922 more characters of a comment\nrm -rf x\n",
                    &long[..78]
                ),
                2922,
            ),
            // A `#` inside quotes may be part of the command.
            (
                format!("$ sh -c \"\n# {long}\nrm -rf x\""),
                format!("$ sh -c \"\n# {long}\nrm -rf x\"\n"),
                0,
            ),
            (
                format!("$ sh -c \"\n$ a # {long}\nrm -rf x\""),
                format!("$ sh -c \"\n$ a # {long}\nrm -rf x\"\n"),
                0,
            ),
            // The part that was cut out may have opened a quote.
            (
                format!("bash\n$ a\n[… 9 bytes cut here …]\n# {long}"),
                format!("bash\n$ a\n[… 9 bytes cut here …]\n# {long}\n"),
                0,
            ),
            (
                format!("$ sh <<E\n# {long}\nE"),
                format!("$ sh <<E\n# {long}\nE\n"),
                0,
            ),
            // The shell reads these as code, not as comments.
            (
                format!("$ : ${{x= #{long}}}"),
                format!("$ : ${{x= #{long}}}\n"),
                0,
            ),
            (
                format!("$ ((1 +\n #{long}))"),
                format!("$ ((1 +\n #{long}))\n"),
                0,
            ),
            (
                format!("$ [[ a = #{long} ]]"),
                format!("$ [[ a = #{long} ]]\n"),
                0,
            ),
            (
                format!("$ ls @(a #{long})"),
                format!("$ ls @(a #{long})\n"),
                0,
            ),
            (
                format!("$ a\u{a0}#{long}"),
                format!("$ a\\u{{a0}}#{long}\n"),
                0,
            ),
            (
                format!("$ a{}rm -rf x", " ".repeat(2000)),
                "$ a … 2000 spaces … rm -rf x\n".into(),
                0,
            ),
            ("$ a\tb".into(), "$ a\\tb\n".into(), 0),
            ("$ a\u{1b}[2Jb\rc".into(), "$ a\\e[2Jb\\rc\n".into(), 0),
            (
                "$ a\u{202e}b\u{2066}c".into(),
                "$ a\\u{202e}b\\u{2066}c\n".into(),
                0,
            ),
            (
                "$ e\u{301}\u{200b}x".into(),
                "$ e\\u{301}\\u{200b}x\n".into(),
                0,
            ),
            (
                "$ \u{ff52}\u{ff4d}\u{3000}x".into(),
                "$ \\u{ff52}\\u{ff4d}\\u{3000}x\n".into(),
                0,
            ),
            ("$ a\u{a0}b".into(), "$ a\\u{a0}b\n".into(), 0),
            // Words in other scripts stay as they are.
            ("$ echo 漢字 ä".into(), "$ echo 漢字 ä\n".into(), 0),
        ] {
            let shown = render_command(&text);
            assert_eq!(shown.text, expected, "{text:.60}");
            assert_eq!(shown.folded_chars, folded, "{text:.60}");
        }
    }
}
