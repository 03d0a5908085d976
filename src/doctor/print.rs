//! The findings as lines for people. Pure.

use unicode_width::UnicodeWidthStr;

use super::{Finding, Level};
use crate::domain::text::harmless;

/// Columns of a check's name.
pub const NAME_WIDTH: usize = 9;
/// Columns before the text of a finding: mark, level, name, and a blank after each.
const INDENT: usize = 2 + 5 + NAME_WIDTH + 1;
/// Fewest columns for the text of a finding that are worth to wrap it.
const ROOM_MIN: usize = 20;

/// Whether the level of a finding has its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// It has.
    Colour,
    /// There is none: where it goes is no terminal, or nobody wants it.
    Plain,
}

/// What it is printed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paper {
    /// Its columns; `None`: lines are as long as they are.
    pub columns: Option<usize>,
    /// Its colours.
    pub paint: Paint,
}

impl Paper {
    /// What no person reads on a screen: a file, a pipe.
    pub const PLAIN: Paper = Paper {
        columns: None,
        paint: Paint::Plain,
    };
}

/// The findings, a line each, with the remedy below it, and a sum. What is too long goes on below its text. Fit for a
/// terminal: nothing in them drives it but the colours.
pub fn report(findings: &[Finding], paper: Paper) -> String {
    let mut lines: Vec<String> = findings.iter().flat_map(|f| lines_of(f, paper)).collect();
    lines.push(String::new());
    lines.extend(wrapped(&sum(findings), paper.columns.unwrap_or(usize::MAX)));
    lines.join("\n")
}

fn lines_of(finding: &Finding, paper: Paper) -> Vec<String> {
    let Finding { check, level, .. } = finding;
    let columns = paper.columns.filter(|c| *c >= INDENT + ROOM_MIN);
    let room = columns.map_or(usize::MAX, |columns| columns - INDENT);
    let head = painted(&format!("{} {level:<4}", level.mark()), *level, paper.paint);
    let head = format!("{head} {check:<NAME_WIDTH$} ");
    let blank = " ".repeat(INDENT);
    let mut out: Vec<String> = Vec::new();
    for line in harmless(&finding.text).lines() {
        for part in wrapped(line, room) {
            let before = if out.is_empty() { &head } else { &blank };
            out.push(format!("{before}{part}"));
        }
    }
    if out.is_empty() {
        out.push(head);
    }
    for line in finding.remedy.iter().flat_map(|r| r.lines()) {
        for (at, part) in wrapped(&harmless(line), room - 2).into_iter().enumerate() {
            let before = if at == 0 { "→ " } else { "  " };
            out.push(format!("{blank}{before}{part}"));
        }
    }
    out
}

/// In the terminal's own colours: green, yellow, red.
fn painted(words: &str, level: Level, paint: Paint) -> String {
    let code = match (paint, level) {
        (Paint::Plain, _) => return words.to_string(),
        (Paint::Colour, Level::Ok) => "32",
        (Paint::Colour, Level::Warn) => "33",
        (Paint::Colour, Level::Fail) => "31",
    };
    format!("\x1b[{code}m{words}\x1b[0m")
}

/// A line in parts of at most `room` columns, cut at blanks. A word that is longer stays whole: it is a path or a
/// command, and can be copied.
fn wrapped(line: &str, room: usize) -> Vec<String> {
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

fn sum(findings: &[Finding]) -> String {
    let count = |level| findings.iter().filter(|f| f.level == level).count();
    let (warn, fail) = (count(Level::Warn), count(Level::Fail));
    let mends = findings.iter().filter(|f| f.mend.is_some()).count();
    let sum = match (fail, warn) {
        (0, 0) => "All is well.".to_string(),
        (0, warn) => format!("Nothing fails; {warn} to be seen to."),
        (fail, 0) => format!("{fail} failed."),
        (fail, warn) => format!("{fail} failed; {warn} to be seen to."),
    };
    match mends {
        0 => sum,
        mends => format!("{sum} crewdeck doctor --mend mends {mends} of them; nothing is lost."),
    }
}

/// What the one line on stderr says when something fails; `None`: nothing does.
pub fn failure(findings: &[Finding]) -> Option<String> {
    let mut names: Vec<&str> = findings
        .iter()
        .filter(|f| f.level == Level::Fail)
        .map(|f| f.check)
        .collect();
    names.dedup();
    (!names.is_empty()).then(|| format!("{} failed: do what its line says", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::Mend;
    use super::*;
    use crate::domain::ids::Name;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_finding_is_a_line_with_its_remedy_below() {
        let member = Name::member("bob").unwrap();
        let findings = [
            Finding::ok("git", "git 2.47"),
            Finding::warn("team", "bob is gone", "note it").mended_by(Mend::Leave { member }),
            Finding::fail("model", "no key", "set one\nor another"),
        ];
        assert_eq!(
            report(&findings, Paper::PLAIN),
            "✓ ok   git       git 2.47\n\
             ! warn team      bob is gone\n\
             \x20                → note it\n\
             ✗ fail model     no key\n\
             \x20                → set one\n\
             \x20                → or another\n\
             \n\
             1 failed; 1 to be seen to. crewdeck doctor --mend mends 1 of them; nothing is lost."
        );
        assert_eq!(
            failure(&findings).unwrap(),
            "model failed: do what its line says"
        );
        assert_eq!(failure(&findings[..2]), None);
        assert!(report(&findings[..1], Paper::PLAIN).ends_with("All is well."));
        assert!(report(&[], Paper::PLAIN).ends_with("All is well."));
    }

    #[test]
    fn what_is_too_long_goes_on_below_its_text() {
        let long = "three words here, and /a/path/that/is/longer/than/the/room, and more";
        let findings = [
            Finding::warn("disk", long, "delete some of what lies there, or move it"),
            Finding::fail("settings", "wrong\n  |  ^ here", "mend"),
        ];
        let paper = Paper {
            columns: Some(INDENT + 22),
            paint: Paint::Plain,
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
             1 failed; 1 to be seen to."
        );
        let narrow = Paper {
            columns: Some(INDENT + 5),
            ..paper
        };
        assert!(report(&findings, narrow).contains(long));
    }

    #[test]
    fn only_the_level_has_a_colour_and_nothing_else_drives_the_terminal() {
        let findings = [
            Finding::ok("git", "git 2.47"),
            Finding::warn("mail", "a\u{1b}[2Jb", "c\u{1b}d"),
            Finding::fail("model", "no key", "set one"),
        ];
        let paper = Paper {
            columns: None,
            paint: Paint::Colour,
        };
        assert_eq!(
            report(&findings, paper),
            "\u{1b}[32m✓ ok  \u{1b}[0m git       git 2.47\n\
             \u{1b}[33m! warn\u{1b}[0m mail      a␛[2Jb\n\
             \x20                → c␛d\n\
             \u{1b}[31m✗ fail\u{1b}[0m model     no key\n\
             \x20                → set one\n\
             \n\
             1 failed; 1 to be seen to."
        );
    }
}
