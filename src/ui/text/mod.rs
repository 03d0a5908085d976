//! Text helpers for terminal cells: width-aware cutting, padding and wrapping, and short forms of numbers and times.

pub(in crate::ui) mod aging;
pub(super) mod command_text;
pub(super) mod fuzzy;
pub(super) mod terms;
pub(super) mod wrap;

use std::time::Duration;

use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::text::{escape_control_chars, one_line};
use crate::domain::timestamp::Timestamp;
pub use crate::domain::usage::count;
pub use crate::ui::text::wrap::{fit, fit_end, width};

/// Maximum width of running text, in columns. Longer lines are hard to read.
pub const TEXT_WIDEST: u16 = 120;

/// Returns the first of `forms` (ordered from longest to shortest) that fits into `columns`, or the last one if none
/// does; empty if there are no forms.
pub fn longest_fitting<'a>(forms: &[&'a str], columns: usize) -> &'a str {
    let found = forms.iter().find(|form| width(form) <= columns);
    found.or(forms.last()).copied().unwrap_or_default()
}

/// Cuts `text`, or pads it with blanks at the end, to exactly `columns` columns. A cut text ends in `…`.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let missing = columns.saturating_sub(width(&out));
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// Returns the name of an agent or a host in at most `columns` columns. A name that ends in a number is cut in its middle,
/// because the teammates of a host differ in the number only; another name is cut at its end.
pub fn fit_name(name: &str, columns: usize) -> String {
    let number = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    // The number with the sign before it. In a wide column, more of the end, which may tell long names of hosts apart.
    let end = (number + 1).max(columns / 3);
    if number == 0 || width(name) <= columns || end >= columns {
        return fit(name, columns);
    }
    let start = fit(name, columns - end);
    let shown = fit_end(name, end + 1);
    start + shown.strip_prefix('…').unwrap_or(&shown)
}

/// Like [`fit_name`], and pads the name with blanks at the end to exactly `columns` columns.
pub fn pad_name(name: &str, columns: usize) -> String {
    pad(&fit_name(name, columns), columns)
}

/// Escapes control characters and wraps `text` into lines of at most `columns` columns, at blanks where possible. A
/// line that was wrapped continues in the column of its first word, which follows the indentation and a list marker
/// such as `- ` or `3. `.
///
/// [`wrap::wrap`] wraps styled text, with an indentation that its caller gives.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    wrap_first_lines(text, columns, usize::MAX)
}

/// Like [`wrap()`], but stops when the result has at least `enough` lines. The line of `text` that is being wrapped is
/// completed first, so the result may have more lines.
pub fn wrap_first_lines(text: &str, columns: usize, enough: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut out = Vec::new();
    for line in text.lines() {
        if out.len() >= enough {
            break;
        }
        wrap_line(escape_control_chars(line).trim_end(), columns, &mut out);
    }
    out
}

/// Returns the number of columns before the first word of a line: indentation and list marker.
fn text_indent(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 if text.starts_with("- ") || text.starts_with("* ") => 2,
        1..=3 if text[digits..].starts_with(". ") || text[digits..].starts_with(") ") => digits + 2,
        _ => 0,
    };
    line.len() - text.len() + mark
}

fn wrap_line(line: &str, columns: usize, out: &mut Vec<String>) {
    let indent = match text_indent(line) {
        begin if begin * 2 > columns => String::new(),
        begin => " ".repeat(begin),
    };
    let mut row = String::new();
    let mut used = 0;
    for word in line.split_word_bounds() {
        let wide = width(word);
        if used + wide <= columns {
            row.push_str(word);
            used += wide;
            continue;
        }
        if word.trim().is_empty() {
            // The blank at which the line breaks is dropped.
            out.push(
                std::mem::replace(&mut row, indent.clone())
                    .trim_end()
                    .to_string(),
            );
            used = indent.len();
            continue;
        }
        // Breaks after the last blank, so that punctuation stays with its word.
        let at = row.trim_end().rfind(' ').map_or(0, |at| at + 1);
        let tail = if row.ends_with(' ') || at <= indent.len() {
            String::new()
        } else {
            row.split_off(at)
        };
        if !row.trim().is_empty() {
            out.push(row.trim_end().to_string());
            row.clear();
            row.push_str(&indent);
        }
        row.push_str(&tail);
        used = width(&row);
        for grapheme in word.graphemes(true) {
            let wide = grapheme.width();
            if used + wide > columns && used > indent.len() {
                out.push(std::mem::replace(&mut row, indent.clone()));
                used = indent.len();
            }
            row.push_str(grapheme);
            used += wide;
        }
    }
    let rest = row.trim_end();
    if !rest.is_empty() || line.is_empty() {
        out.push(rest.to_string());
    }
}

/// Formats a duration in its largest unit up to hours, rounded down: `42s`, `7m`, `30h`.
pub fn age(passed: Duration) -> String {
    match passed.as_secs() {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s => format!("{}h", s / 3600),
    }
}

/// Formats a duration like [`age`], but in days if it is two days or longer.
pub fn long_age(passed: Duration) -> String {
    match passed.as_secs() / 3600 {
        hours @ 48.. => format!("{}d", hours / 24),
        _ => age(passed),
    }
}

/// Returns by how much the duration `passed` must grow until [`age`] returns another text.
pub fn age_valid_for(passed: Duration) -> Duration {
    let unit = match passed.as_secs() {
        0..60 => 1,
        60..3600 => 60,
        _ => 3600,
    };
    Duration::from_secs((passed.as_secs() / unit + 1) * unit).saturating_sub(passed)
}

/// Formats a number of bytes, rounded down: `812 B`, `256 KiB`, `1.0 MiB`.
pub fn bytes(n: usize) -> String {
    const MIB: usize = 1024 * 1024;
    match n {
        0..1024 => format!("{n} B"),
        1024..MIB => format!("{} KiB", n / 1024),
        MIB.. => format!("{}.{} MiB", n / MIB, n % MIB * 10 / MIB),
    }
}

/// Formats the time of day as `12:03`. Returns 5 blanks if the time is unknown, as in [`format_time_with_seconds`].
pub fn format_time(at: Timestamp, zone: &TimeZone) -> String {
    format_time_with_seconds(at, zone).chars().take(5).collect()
}

/// Formats date and time of day as `2026-11-21 16:52`; empty if the time is too large for a date. A time that is 0,
/// negative or not a number is shown as the start of 1970.
pub fn format_date(at: Timestamp, zone: &TimeZone) -> String {
    let seconds = i64::try_from(at.since(Timestamp(0.0)).as_secs()).ok();
    let time = seconds.and_then(|s| jiff::Timestamp::from_second(s).ok());
    time.map_or_else(String::new, |t| {
        let local = t.to_zoned(zone.clone());
        local.strftime("%Y-%m-%d %H:%M").to_string()
    })
}

/// Formats the time of day as `12:03:59`. Returns 8 blanks if the time is unknown: before the first second of 1970, not
/// a number, or out of range.
pub fn format_time_with_seconds(at: Timestamp, zone: &TimeZone) -> String {
    let seconds = i64::try_from(at.since(Timestamp(0.0)).as_secs()).ok();
    let time = seconds
        .filter(|s| *s > 0)
        .and_then(|s| jiff::Timestamp::from_second(s).ok());
    time.map_or_else(
        || " ".repeat(8),
        |t| {
            let local = t.to_zoned(zone.clone());
            let (hour, minute, second) = (local.hour(), local.minute(), local.second());
            format!("{hour:02}:{minute:02}:{second:02}")
        },
    )
}

/// Returns the display name of an agent or approver: `you` for the user, `a standing rule` for a policy, otherwise
/// `name` as one line.
pub fn display_name(name: &str) -> String {
    match name {
        "user" => "you".into(),
        "policy" => "a standing rule".into(),
        name => one_line(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_count_cells_not_characters() {
        assert_eq!(width("ab中文👍"), 8);
        assert_eq!(fit("中文字", 5), "中文…");
        assert_eq!(fit("中文字", 4), "中…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(pad("中文字", 4), "中… ");
        assert_eq!(pad("a", 3), "a  ");
    }

    #[test]
    fn names_of_teammates_of_one_host_differ_when_they_are_cut() {
        let name = "a-very-long-host-na-1a2b3c4d-12";
        for (columns, expected) in [
            (31, name),
            (19, "a-very-long-…c4d-12"),
            (12, "a-very-…d-12"),
            (8, "a-ve…-12"),
            (4, "…-12"),
            (3, "a-…"),
            (0, ""),
        ] {
            assert_eq!(fit_name(name, columns), expected, "{columns}");
        }
        assert_eq!(fit_name("a-very-long-name", 8), "a-very-…");
        assert_eq!(fit_name("1234567890", 8), "1234567…");
        assert_eq!(fit_name("中文中文-1", 6), "中…-1");
        assert_eq!(pad_name("gpu-1", 7), "gpu-1  ");
        for columns in 0..40 {
            assert!(width(&fit_name(name, columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn lines_break_at_blanks_and_fit_the_width() {
        assert_eq!(wrap("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(
            wrap("  - one two three", 9),
            ["  - one", "    two", "    three"]
        );
        assert_eq!(
            wrap("12. one two\nthree four", 8),
            ["12. one", "    two", "three", "four"]
        );
        assert_eq!(wrap("-5 and more", 6), ["-5 and", "more"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("doctor says what", 11), ["doctor says", "what"]);
        assert_eq!(wrap("one two", 3), ["one", "two"]);
        assert_eq!(wrap("say (hello) world.", 12), ["say (hello)", "world."]);
        for columns in 1..30 {
            for line in wrap(
                "  Wide 中文字符 and émoji 👍👍 in a_long_word_here, ok?",
                columns,
            ) {
                assert!(width(&line) <= columns.max(2), "{columns}: {line:?}");
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        let counts = [0, 999, 1_000, 12_449, 99_999, 100_000, 999_999, 3_149_999];
        let shown = counts.map(count);
        assert_eq!(
            shown,
            ["0", "999", "1.0k", "12.4k", "99.9k", "100k", "999k", "3.1M"]
        );
        assert_eq!(
            [0.0, 0.0004, 1.239].map(crate::domain::usage::dollars),
            ["$0.00", "$0.0004", "$1.24"]
        );
        assert_eq!(
            [5, 61, 7300].map(|s| age(Duration::from_secs(s))),
            ["5s", "1m", "2h"]
        );
        assert_eq!(
            [9, 262_144, 1_100_000].map(bytes),
            ["9 B", "256 KiB", "1.0 MiB"]
        );
    }

    #[test]
    fn age_text_is_valid_exactly_for_the_returned_time() {
        for millis in [
            0, 1, 999, 1000, 59_999, 60_000, 61_500, 3_599_999, 3_600_000, 9_999_999,
        ] {
            let passed = Duration::from_millis(millis);
            let lasts = age_valid_for(passed);
            let almost = passed + lasts.saturating_sub(Duration::from_millis(1));
            assert_eq!(age(almost), age(passed), "{millis}");
            assert_ne!(age(passed + lasts), age(passed), "{millis}");
        }
    }

    #[test]
    fn time_of_day_uses_the_time_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(format_time(Timestamp(43_380.0), &zone), "14:03");
        for unknown in [0.0, f64::NAN, f64::INFINITY, -5.0, 1e300] {
            assert_eq!(format_time(Timestamp(unknown), &zone), "     ");
        }
    }
}
