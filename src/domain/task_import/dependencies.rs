//! Finds the lines of a text that state dependencies: `Blocked by #12`, `Depends on #12, #13` and `after #12`.

use std::collections::HashSet;

use super::fence::CodeFence;
use super::item::ItemRef;

/// The beginnings of a line that states a dependency, in lower case. The second value is whether only references may
/// follow. Prose often begins with "after", so such a line may contain nothing else.
const BEGINNINGS: &[(&str, bool)] = &[
    ("blocked by", false),
    ("depends on", false),
    ("after", true),
];

/// Characters that may stand before and after the words of the line: marks of lists and of emphasis.
const MARKS: &[char] = &['-', '*', '+', '_', ' ', '\t'];

/// Reads a text line by line and finds stated dependencies. Skips code blocks and comments, such as the hints in the
/// template of an issue.
#[derive(Debug, Default)]
pub(super) struct DependencyReader {
    fence: Option<CodeFence>,
    is_in_comment: bool,
}

/// The dependencies that one line states.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedDependencies {
    pub waits_for: Vec<ItemRef>,
    /// Whether the line contains nothing else.
    pub is_whole_line: bool,
}

impl DependencyReader {
    /// Returns the dependencies that the next line of the text states; `None` if it states none.
    pub(super) fn read(&mut self, line: &str) -> Option<StatedDependencies> {
        let line = line.trim();
        if self.is_in_comment {
            self.is_in_comment = !line.contains("-->");
            return None;
        }
        if let Some(fence) = self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
            }
            return None;
        }
        self.fence = CodeFence::open(line);
        if let Some((_, comment)) = line.rsplit_once("<!--") {
            self.is_in_comment = !comment.contains("-->");
        }
        if self.fence.is_some() || line.starts_with("<!--") {
            return None;
        }
        stated_dependencies(line)
    }
}

/// Returns all dependencies that a text states, without repetitions.
pub(super) fn all_in(text: &str) -> Vec<ItemRef> {
    let mut reader = DependencyReader::default();
    let mut all = Vec::new();
    let mut known = HashSet::new();
    for stated in text.lines().filter_map(|line| reader.read(line)) {
        for item in stated.waits_for {
            if known.insert(item.clone()) {
                all.push(item);
            }
        }
    }
    all
}

fn stated_dependencies(line: &str) -> Option<StatedDependencies> {
    let line = line.trim_start_matches(MARKS);
    let (rest, is_strict) = BEGINNINGS.iter().find_map(|(beginning, is_strict)| {
        let start = line.get(..beginning.len())?;
        let rest = &line[beginning.len()..];
        let is_word = rest.starts_with([' ', '\t', ':', '*', '_']);
        (is_word && start.eq_ignore_ascii_case(beginning)).then_some((rest, *is_strict))
    })?;
    let mut rest = rest.trim_start_matches([' ', '\t', ':', '*', '_']);
    let mut waits_for = Vec::new();
    while let Some((item, after)) = reference(rest) {
        waits_for.push(item);
        rest = after;
        match reference_after_separator(after) {
            Some(next) => rest = next,
            None => break,
        }
    }
    let is_whole_line = rest
        .trim_matches([' ', '\t', '.', ';', '*', '_'])
        .is_empty();
    let is_stated = !waits_for.is_empty() && (is_whole_line || !is_strict);
    is_stated.then_some(StatedDependencies {
        waits_for,
        is_whole_line,
    })
}

/// Returns `text` from the next reference on, if only a separator comes before it.
fn reference_after_separator(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix([',', '&']).unwrap_or(text).trim_start();
    let text = text.strip_prefix("and ").unwrap_or(text).trim_start();
    reference(text).is_some().then_some(text)
}

/// Parses a reference at the start of `text`, `#12` or a URL. Returns it with the rest of the text.
fn reference(text: &str) -> Option<(ItemRef, &str)> {
    if let Some(number) = text.strip_prefix('#') {
        let end = number.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = number.split_at(end.unwrap_or(number.len()));
        let is_end = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-');
        let number = digits.parse().ok().filter(|_| is_end)?;
        return Some((ItemRef::Number(number), rest));
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, ',' | ')' | '>' | '*'));
    let url = &text[..end.unwrap_or(text.len())];
    let url = url.trim_end_matches(['.', ';']);
    Some((ItemRef::Url(url.into()), &text[url.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats the dependencies that a line states: `-` for none, and `+` at the end if the line has more text.
    fn found(line: &str) -> String {
        let Some(stated) = DependencyReader::default().read(line) else {
            return "-".into();
        };
        let refs: Vec<String> = stated.waits_for.iter().map(ToString::to_string).collect();
        let more = if stated.is_whole_line { "" } else { "+" };
        refs.join(" ") + more
    }

    #[test]
    fn lines_that_state_dependencies_are_found() {
        for (line, expected) in [
            ("Blocked by #12", "#12"),
            ("blocked by: #12, #13 and #14.", "#12 #13 #14"),
            ("  - Depends on #1 & #2", "#1 #2"),
            ("**Blocked by:** #12", "#12"),
            ("_Depends on_ #12", "#12"),
            ("DEPENDS ON #3 (the parser)", "#3+"),
            ("after #3", "#3"),
            ("After: #3, #4", "#3 #4"),
            (
                "Blocked by https://a.example/o/r/issues/7.",
                "https://a.example/o/r/issues/7",
            ),
            ("Depends on #3, see also #4", "#3+"),
            // Prose, code and other references.
            ("After #3 was merged, it fails", "-"),
            ("This is blocked by #12", "-"),
            ("Blocked by nothing", "-"),
            ("Blocked by #12abc", "-"),
            ("Blocked by #", "-"),
            ("Blocked by #99999999999999999999999", "-"),
            ("Blocked bypass #1", "-"),
            ("afternoon #1", "-"),
            ("> Blocked by #12", "-"),
            ("<!-- Blocked by #12 -->", "-"),
            ("", "-"),
            ("é", "-"),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn code_blocks_and_comments_state_nothing() {
        let text = "Blocked by #1\n```\nBlocked by #2\n```\n<!-- Name blockers:\nBlocked by #3\n-->\nDepends on #4\n\
                    Blocked by #1\n";
        assert_eq!(all_in(text), [ItemRef::Number(1), ItemRef::Number(4)]);
    }
}
