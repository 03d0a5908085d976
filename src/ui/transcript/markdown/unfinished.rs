//! Completes the inline markup at the end of a text that is still being written, so that it is drawn as if it ended
//! there. Otherwise, marks such as `**` would be visible until the closing ones arrive.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::ui::transcript::markdown::options;

/// The marks of emphasis, code and links. At the end of an unfinished text, the next character decides what they mean.
const MARKS: [char; 6] = ['*', '_', '~', '`', '[', '\\'];
/// A line that consists only of these characters and blanks may still become a list item, a heading, a rule or text.
const BLOCK_MARKS: &str = "-=+>#*_~`";
/// Maximum length, in bytes, of a last line that is completed. The time for it grows with the square of the length.
const LINE_MAX: usize = 4096;
/// The beginnings of the checkbox of a task. A link may begin in the same way.
const CHECKBOXES: [&str; 6] = ["[ ", "[x", "[X", "[ ]", "[x]", "[X]"];

/// Returns the Markdown text to draw in place of `source`, whose last line is still being written; `None` if `source`
/// can be drawn as it is. Emphasis, code and links that have begun in the last line are closed, and marks at its end are
/// left out until it is known what they mean.
pub fn complete(source: &str) -> Option<String> {
    let line = source.rfind('\n').map_or(0, |at| at + 1);
    let last = &source[line..];
    let has_marks = last.contains(MARKS) || is_block_mark(last);
    if !has_marks || last.len() > LINE_MAX {
        return None;
    }
    if ends_in_verbatim(source) {
        // The first characters of a closing fence are not drawn as code.
        let fence = last.trim();
        let is_fence = |mark: char| !fence.is_empty() && fence.chars().all(|c| c == mark);
        return (is_fence('`') || is_fence('~')).then(|| source[..line].to_string());
    }
    if unmatched_marks(source).is_empty() && !is_block_mark(last) {
        return None;
    }
    let kept = without_undecided_end(source, line);
    let closers = closers(kept);
    let out = match closers.as_str() {
        "" => kept.to_string(),
        closers => {
            let kept = kept.trim_end_matches([' ', '\t']);
            let out = [kept, closers].concat();
            if is_markup(&out, kept.len()) {
                out
            } else {
                kept.to_string()
            }
        }
    };
    (out != source).then_some(out)
}

fn is_block_mark(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| c == ' ' || BLOCK_MARKS.contains(c))
}

/// Returns whether the text ends in a code or HTML block, in which marks have no meaning.
fn ends_in_verbatim(source: &str) -> bool {
    let end = source.trim_end().len();
    let mut events = Parser::new_ext(source, options()).into_offset_iter();
    events.any(|(event, range)| {
        let is_verbatim = matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock));
        is_verbatim && range.end >= end
    })
}

/// Returns `source` without the characters at its end whose meaning depends on what follows. The last line begins at the
/// byte offset `line`.
fn without_undecided_end(source: &str, line: usize) -> &str {
    let last = source[line..].trim_end_matches(MARKS);
    let checkbox = CHECKBOXES.iter().find_map(|end| last.strip_suffix(*end));
    let checkbox = checkbox.filter(|before| before.is_empty() || before.ends_with(' '));
    let last = checkbox.unwrap_or(last);
    if is_block_mark(last) {
        return &source[..line];
    }
    &source[..line + last.len()]
}

/// Returns the marks that close what has begun in the last line of `source` and has not ended.
fn closers(source: &str) -> String {
    let bytes = source.as_bytes();
    let marks = unmatched_marks(source);
    let mut open: Vec<String> = Vec::new();
    let mut next = 0;
    while let Some(start) = marks.get(next).copied() {
        let mark = bytes[start];
        let run = marks[next..].iter().zip(start..);
        let len = run
            .take_while(|(at, expected)| *at == expected && bytes[**at] == mark)
            .count();
        next += len;
        match mark {
            // All that follows is code.
            b'`' => {
                open.push("`".repeat(len));
                break;
            }
            b'[' => {
                // Only the last bracket of several adjacent ones can begin a link.
                let start = start + len - 1;
                let end = marks[next..].iter().find(|at| bytes[**at] == b']');
                match end.map(|end| &source[end + 1..]) {
                    None if begins_link(source, start) => {
                        // A link contains no other link.
                        open.retain(|closer| closer != "]()");
                        open.push("]()".into());
                    }
                    Some("") => {
                        open.push("()".into());
                        break;
                    }
                    Some(rest) if is_open_target(rest) => {
                        open.push(")".into());
                        break;
                    }
                    None | Some(_) => {}
                }
            }
            b'*' | b'_' | b'~' if begins_emphasis(source, start..start + len) => {
                open.push(source[start..start + len].to_string());
            }
            _ => {}
        }
    }
    open.reverse();
    open.concat()
}

/// Returns the byte offsets of the marks in the last line of `source` that the parser treats as text, first to last.
/// Marks in complete emphasis and complete links do not count.
fn unmatched_marks(source: &str) -> Vec<usize> {
    let mut marks: Vec<usize> = Vec::new();
    // For each enclosing emphasis and link, the number of marks before it.
    let mut before = Vec::new();
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(
                Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Link { .. }
                | Tag::Image { .. },
            ) => before.push(marks.len()),
            Event::End(
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image,
            ) => marks.truncate(before.pop().unwrap_or(0)),
            Event::Start(_) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                marks.clear();
                before.fill(0);
            }
            Event::Text(_) => {
                let text = source[range.clone()].bytes().zip(range.start..);
                let is_mark =
                    |(byte, at): &(u8, usize)| b"*_~`[]".contains(byte) && !is_escaped(source, *at);
                marks.extend(text.filter(is_mark).map(|(_, at)| at));
            }
            _ => {}
        }
    }
    let line = source.rfind('\n').map_or(0, |at| at + 1);
    marks.retain(|at| *at >= line);
    marks
}

fn is_escaped(source: &str, at: usize) -> bool {
    let backslashes = source[..at].bytes().rev().take_while(|b| *b == b'\\');
    backslashes.count() % 2 == 1
}

/// Returns whether the bracket at the byte offset `at` may begin a link. An index such as `a[0` does not.
fn begins_link(source: &str, at: usize) -> bool {
    let before = source[..at].chars().next_back();
    let after = source[at + 1..].chars().next();
    let is_apart = before.is_none_or(|c| !c.is_alphanumeric() && !")]".contains(c));
    is_apart && after.is_some_and(|c| !c.is_whitespace())
}

/// Returns whether `rest`, the text after the closing bracket of a link's words, is the target of the link without its
/// closing parenthesis.
fn is_open_target(rest: &str) -> bool {
    let count = |c| rest.matches(c).count();
    rest.starts_with('(') && !rest.contains(char::is_whitespace) && count('(') > count(')')
}

/// Returns whether the marks at the byte range `run` begin emphasis by the rules of Markdown. A single mark, which is
/// often not meant as markup, must also be before a word.
fn begins_emphasis(source: &str, run: Range<usize>) -> bool {
    let is_word = char::is_alphanumeric;
    let before = source[..run.start].chars().next_back();
    let Some(after) = source[run.end..].chars().next() else {
        return false;
    };
    let follows_word = before.is_some_and(is_word);
    let is_opener = !after.is_whitespace() && (is_word(after) || !follows_word);
    let is_wanted = match (source.as_bytes()[run.start], run.len()) {
        (b'~', len) => len == 2,
        (_, 1) => !follows_word && (is_word(after) || "`[(\"'*_~".contains(after)),
        (b'_', 2 | 3) => !follows_word,
        (_, len) => len <= 3,
    };
    is_opener && is_wanted
}

/// Returns whether the parser finds no text in `source` from the byte offset `at` on, so that everything there is
/// markup.
fn is_markup(source: &str, at: usize) -> bool {
    let mut events = Parser::new_ext(source, options()).into_offset_iter();
    !events.any(|(event, range)| matches!(event, Event::Text(_)) && range.end > at)
}
