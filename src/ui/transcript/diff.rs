//! How a unified diff looks: the file as a heading, the numbers of the lines, what was added and what was removed.

use ratatui::style::Style;
use ratatui::text::Span;

use super::layout::Page;
use crate::domain::text::harmless;
use crate::ui::wrap::{Break, Margin, Row, wrap};

/// Most digits of a line number.
const DIGITS_MAX: usize = 7;

/// A line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The file that the lines below are of.
    File(&'a str),
    /// Lines are left out here; what the diff says of where they are.
    Gap(&'a str),
    /// A line that stays: its number in the new file.
    Same(usize, &'a str),
    /// A line that was added: its number in the new file.
    Added(usize, &'a str),
    /// A line that was removed: its number in the old file.
    Removed(usize, &'a str),
    /// Something else, as it is.
    Other(&'a str),
}

/// Reads a unified diff. What is none comes back as it is.
pub fn read(text: &str) -> Vec<Line<'_>> {
    let mut out = Vec::new();
    // The next numbers, and how many lines of the hunk are still to come: of the old file and of the new one.
    let (mut old, mut new) = ((0, 0), (0, 0));
    let mut is_first = true;
    let mut before = None;
    for line in text.lines() {
        let sign = line.as_bytes().first().copied();
        let rest = line.get(1..).unwrap_or_default();
        match sign {
            Some(b'+') if new.1 > 0 => {
                out.push(Line::Added(new.0, rest));
                step(&mut new);
            }
            Some(b'-') if old.1 > 0 => {
                out.push(Line::Removed(old.0, rest));
                step(&mut old);
            }
            // Some programs drop the blank of an empty line.
            Some(b' ') | None if old.1 > 0 && new.1 > 0 => {
                out.push(Line::Same(new.0, rest));
                step(&mut old);
                step(&mut new);
            }
            Some(b'@') => match hunk(line) {
                Some((from, to, about)) => {
                    (old, new) = (from, to);
                    if !is_first {
                        out.push(Line::Gap(about));
                    }
                    is_first = false;
                }
                None => out.push(Line::Other(line)),
            },
            Some(b'-') if line.starts_with("--- ") => before = Some(path(&line[4..])),
            Some(b'+') if line.starts_with("+++ ") => {
                let after = path(&line[4..]);
                let gone = after == "/dev/null";
                out.push(Line::File(before.filter(|_| gone).unwrap_or(after)));
                is_first = true;
            }
            Some(_) if is_noise(line) => {}
            Some(_) | None => out.push(Line::Other(line)),
        }
    }
    out
}

fn step(at: &mut (usize, usize)) {
    *at = (at.0.saturating_add(1), at.1 - 1);
}

/// What git says beside the names of the files.
fn is_noise(line: &str) -> bool {
    const NOISE: [&str; 2] = ["diff --git ", "index "];
    NOISE.iter().any(|start| line.starts_with(start))
}

/// The path without a time behind it and without git's `a/` and `b/`.
fn path(text: &str) -> &str {
    let path = text.split('\t').next().unwrap_or_default().trim_end();
    let short = path.strip_prefix("a/").or(path.strip_prefix("b/"));
    short.unwrap_or(path)
}

type Place = (usize, usize);

/// `@@ -1,2 +3,4 @@ about`: first line and count of both files.
fn hunk(line: &str) -> Option<(Place, Place, &str)> {
    let (ranges, about) = line.strip_prefix("@@ ")?.split_once("@@")?;
    let mut ranges = ranges.split_whitespace();
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let old = range(ranges.next()?.strip_prefix('-')?)?;
    let new = range(ranges.next()?.strip_prefix('+')?)?;
    Some((old, new, about.trim()))
}

/// The digits of the largest number of a line.
pub fn digits(lines: &[Line<'_>]) -> usize {
    let number = |line: &Line| match line {
        Line::Same(n, _) | Line::Added(n, _) | Line::Removed(n, _) => *n,
        Line::File(_) | Line::Gap(_) | Line::Other(_) => 0,
    };
    let most = lines.iter().map(number).max().unwrap_or(0);
    most.to_string().len().min(DIGITS_MAX)
}

/// The rows of a line whose number takes so many digits.
pub fn rows(line: Line<'_>, digits: usize, page: Page<'_>, ink: &mut usize) -> Vec<Row> {
    let theme = page.theme;
    let blank = || " ".repeat(digits + 3);
    let (first, text, style) = match line {
        Line::File(path) => (vec!["  ".into()], path, theme.heading),
        Line::Gap(about) => {
            let dots = Span::styled(format!("{}⋯ ", blank()), theme.dim);
            (vec![dots], about, theme.dim)
        }
        Line::Other(text) => (vec!["  ".into()], text, theme.dim),
        Line::Same(number, text) => (
            gutter(number, digits, " ", theme.dim, page),
            text,
            theme.dim,
        ),
        Line::Added(number, text) => {
            let first = gutter(number, digits, "+", theme.added, page);
            (first, text, theme.added)
        }
        Line::Removed(number, text) => {
            let first = gutter(number, digits, "-", theme.removed, page);
            (first, text, theme.removed)
        }
    };
    if text.is_empty() {
        return vec![Row::ornament(first, *ink)];
    }
    let rest = vec![Span::styled(format!("{}↳ ", blank()), theme.dim)];
    let margin = Margin::hanging(first, rest);
    let words = [Span::styled(harmless(text), style)];
    wrap(&words, page.columns, &margin, Break::Anywhere, ink)
}

fn gutter(
    number: usize,
    digits: usize,
    sign: &'static str,
    style: Style,
    page: Page<'_>,
) -> Vec<Span<'static>> {
    let number = Span::styled(format!("  {number:>digits$} "), page.theme.dim);
    vec![number, Span::styled(sign, style), " ".into()]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::Line::{Added, File, Gap, Other, Removed, Same};
    use super::*;

    #[test]
    fn lines_have_the_numbers_of_their_files() {
        let text = "diff --git a/x.rs b/x.rs\nindex 1..2\n--- a/x.rs\n+++ b/x.rs\n@@ -9,3 +9,3 @@\n same\n--- odd\n+++ odd\n\n\
                    @@ -30 +30,2 @@ fn main()\n-a\n+b\n+c\n\\ No newline at end of file\n--- a/gone\t2026\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let expected = [
            File("x.rs"),
            Same(9, "same"),
            Removed(10, "-- odd"),
            Added(10, "++ odd"),
            Same(11, ""),
            Gap("fn main()"),
            Removed(30, "a"),
            Added(30, "b"),
            Added(31, "c"),
            Other("\\ No newline at end of file"),
            File("gone"),
            Removed(1, "x"),
        ];
        assert_eq!(read(text), expected);
        assert_eq!(digits(&expected), 2);
    }

    #[test]
    fn what_is_no_diff_is_shown_as_it_is() {
        let cases = [
            "+ plain",
            "@@ nonsense",
            "[… 5 bytes cut here …]",
            "",
            "@@ -1,x +2 @@",
        ];
        let text = cases.join("\n");
        assert_eq!(read(&text), cases.map(Other));
        let huge = format!("@@ -{0} +{0},2 @@\n+a\n+b", usize::MAX);
        assert_eq!(
            read(&huge),
            [Added(usize::MAX, "a"), Added(usize::MAX, "b")]
        );
    }
}
