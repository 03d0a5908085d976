//! Formats the findings as a text report. Does no I/O.

use unicode_width::UnicodeWidthStr;

use super::{Finding, Level};
use crate::domain::text::{count_noun, escape_control_chars};

/// Number of terminal columns for the name of the check.
pub const NAME_WIDTH: usize = 9;
/// Number of terminal columns before the text of a finding: symbol, level and name of the check, each followed by a
/// space.
const INDENT: usize = 2 + 5 + NAME_WIDTH + 1;
/// If fewer terminal columns than this are left for the text of a finding, lines are not wrapped.
const ROOM_MIN: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportFormat {
    /// The number of columns at which lines are wrapped; `None` if lines are not wrapped.
    pub columns: Option<usize>,
    pub has_colours: bool,
}

impl ReportFormat {
    /// The format for files and pipes: not wrapped, no colours.
    pub const PLAIN: ReportFormat = ReportFormat {
        columns: None,
        has_colours: false,
    };
}

/// Formats the findings, each with its remedy below it, and a summary line. Wrapped text is indented. Control characters
/// in findings are escaped.
pub fn report(findings: &[Finding], paper: ReportFormat) -> String {
    let mut lines: Vec<String> = findings.iter().flat_map(|f| lines_of(f, paper)).collect();
    lines.push(String::new());
    lines.extend(wrap(
        &summary(findings),
        paper.columns.unwrap_or(usize::MAX),
    ));
    lines.join("\n")
}

fn lines_of(finding: &Finding, paper: ReportFormat) -> Vec<String> {
    let Finding { check, level, .. } = finding;
    let columns = paper.columns.filter(|c| *c >= INDENT + ROOM_MIN);
    let room = columns.map_or(usize::MAX, |columns| columns - INDENT);
    let head = colour(
        &format!("{} {level:<4}", level.symbol()),
        *level,
        paper.has_colours,
    );
    let head = format!("{head} {check:<NAME_WIDTH$} ");
    let blank = " ".repeat(INDENT);
    let mut out: Vec<String> = Vec::new();
    for line in escape_control_chars(&finding.text).lines() {
        for part in wrap(line, room) {
            let before = if out.is_empty() { &head } else { &blank };
            out.push(format!("{before}{part}"));
        }
    }
    if out.is_empty() {
        out.push(head);
    }
    for line in finding.remedy.iter().flat_map(|r| r.lines()) {
        for (at, part) in wrap(&escape_control_chars(line), room - 2)
            .into_iter()
            .enumerate()
        {
            let before = if at == 0 { "→ " } else { "  " };
            out.push(format!("{blank}{before}{part}"));
        }
    }
    out
}

/// Colours a text green, yellow or red, depending on the level. Uses the terminal's own shades of these colours.
fn colour(text: &str, level: Level, has_colours: bool) -> String {
    if !has_colours {
        return text.to_string();
    }
    let code = match level {
        Level::Ok => "32",
        Level::Warn => "33",
        Level::Fail => "31",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Wraps a line at spaces into parts of at most `room` columns. A word that is longer than `room`, such as a path or a
/// command, is not split, so that the user can copy it. For this reason, the functions of `ui::text`, which split long
/// words, are not used.
fn wrap(line: &str, room: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match out.last_mut() {
            Some(last) if last.width() + 1 + word.width() <= room => {
                last.push(' ');
                last.push_str(word);
            }
            Some(_) | None => out.push(word.to_string()),
        }
    }
    out
}

fn summary(findings: &[Finding]) -> String {
    let number = |level| findings.iter().filter(|f| f.level == level).count();
    let (warn, fail) = (number(Level::Warn), number(Level::Fail));
    let fixes = findings.iter().filter(|f| f.fix.is_some()).count();
    let summary = match (fail, warn) {
        (0, 0) => "No problems.".to_string(),
        (0, warn) => format!("No failures, {}.", count_noun(warn, "warning")),
        (fail, 0) => format!("{fail} failed."),
        (fail, warn) => format!("{fail} failed, {}.", count_noun(warn, "warning")),
    };
    match fixes {
        0 => summary,
        fixes => {
            format!("{summary} `crewdeck doctor --mend` fixes {fixes} of them and loses no work.")
        }
    }
}

/// Returns an error message that names the failed checks; `None` if no check failed.
pub fn failure(findings: &[Finding]) -> Option<String> {
    let mut names: Vec<&str> = findings
        .iter()
        .filter(|f| f.level == Level::Fail)
        .map(|f| f.check)
        .collect();
    names.dedup();
    let checks = if names.len() == 1 { "check" } else { "checks" };
    (!names.is_empty()).then(|| format!("{} {checks} failed (see above)", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::Fix;
    use super::*;
    use crate::domain::ids::Name;
    use pretty_assertions::assert_eq;

    #[test]
    fn findings_have_their_remedies_below() {
        let member = Name::member("bob").unwrap();
        let findings = [
            Finding::ok("git", "git 2.47"),
            Finding::warn("team", "bob is gone", "note it").with_fix(Fix::Leave { member }),
            Finding::fail("model", "no key", "set one\nor another"),
        ];
        assert_eq!(
            report(&findings, ReportFormat::PLAIN),
            "✓ ok   git       git 2.47\n\
             ! warn team      bob is gone\n\
             \x20                → note it\n\
             ✗ fail model     no key\n\
             \x20                → set one\n\
             \x20                → or another\n\
             \n\
             1 failed, 1 warning. `crewdeck doctor --mend` fixes 1 of them and loses no work."
        );
        assert_eq!(
            failure(&findings).unwrap(),
            "model check failed (see above)"
        );
        assert_eq!(failure(&findings[..2]), None);
        assert!(report(&findings[..1], ReportFormat::PLAIN).ends_with("No problems."));
        assert!(report(&[], ReportFormat::PLAIN).ends_with("No problems."));
    }

    #[test]
    fn long_text_is_wrapped_and_indented() {
        let long = "three words here, and /a/path/that/is/longer/than/the/room, and more";
        let findings = [
            Finding::warn("disk", long, "delete some of what lies there, or move it"),
            Finding::fail("settings", "wrong\n  |  ^ here", "mend"),
        ];
        let paper = ReportFormat {
            columns: Some(INDENT + 22),
            has_colours: false,
        };
        assert_eq!(
            report(&findings, paper),
            "! warn disk      three words here, and\n\
             \x20                /a/path/that/is/longer/than/the/room,\n\
             \x20                and more\n\
             \x20                → delete some of what\n\
             \x20                  lies there, or move\n\
             \x20                  it\n\
             ✗ fail settings  wrong\n\
             \x20                  |  ^ here\n\
             \x20                → mend\n\
             \n\
             1 failed, 1 warning."
        );
        let narrow = ReportFormat {
            columns: Some(INDENT + 5),
            ..paper
        };
        assert!(report(&findings, narrow).contains(long));
    }

    #[test]
    fn only_the_level_is_coloured_and_control_characters_are_escaped() {
        let findings = [
            Finding::ok("git", "git 2.47"),
            Finding::warn("mail", "a\u{1b}[2Jb", "c\u{1b}d"),
            Finding::fail("model", "no key", "set one"),
        ];
        let paper = ReportFormat {
            columns: None,
            has_colours: true,
        };
        assert_eq!(
            report(&findings, paper),
            "\u{1b}[32m✓ ok  \u{1b}[0m git       git 2.47\n\
             \u{1b}[33m! warn\u{1b}[0m mail      a␛[2Jb\n\
             \x20                → c␛d\n\
             \u{1b}[31m✗ fail\u{1b}[0m model     no key\n\
             \x20                → set one\n\
             \n\
             1 failed, 1 warning."
        );
    }
}
