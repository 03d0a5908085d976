//! The findings as lines for people. Pure.

use super::{Finding, Level};

/// Columns of a check's name.
pub const NAME_WIDTH: usize = 9;
/// Columns before the text of a finding: mark, level, name, and a blank after each.
const INDENT: usize = 2 + 5 + NAME_WIDTH + 1;

/// The findings, a line each, with the remedy below it, and a sum.
pub fn report(findings: &[Finding]) -> String {
    let mut lines: Vec<String> = findings.iter().flat_map(lines_of).collect();
    lines.push(String::new());
    lines.push(sum(findings));
    lines.join("\n")
}

fn lines_of(finding: &Finding) -> Vec<String> {
    let Finding { check, level, .. } = finding;
    let mark = level.mark();
    let first = format!("{mark} {level:<4} {check:<NAME_WIDTH$} {}", finding.text);
    let remedies = finding.remedy.iter().flat_map(|r| r.lines());
    let remedies = remedies.map(|remedy| format!("{:INDENT$}→ {remedy}", ""));
    std::iter::once(first).chain(remedies).collect()
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
            report(&findings),
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
        assert!(report(&findings[..1]).ends_with("All is well."));
        assert!(report(&[]).ends_with("All is well."));
    }
}
