//! Checks the files of roles: which cannot be used, and which have lines without effect.

use crate::doctor::{DoctorContext, Finding};
use crate::domain::role::{AgentRole, RoleCatalog, RoleSource};

const CHECK: &str = "roles";
/// Maximum number of findings about files that cannot be used, and maximum number of findings about files with notices.
/// A further finding gives the number of the other files.
const FILES_MAX: usize = 10;

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    evaluate(&context.roles)
}

/// Returns the findings about role files; an empty list if there are no role files.
fn evaluate(catalog: &RoleCatalog) -> Vec<Finding> {
    let is_own = |role: &&AgentRole| role.source != RoleSource::BuiltIn;
    let own = catalog.roles.iter().filter(is_own).count();
    let mut findings = Vec::new();
    if own > 0 {
        let text = format!("{own} from files");
        findings.push(Finding::ok(CHECK, text));
    }
    let broken = catalog.broken.iter().map(|broken| {
        let text = format!("{} cannot be used: {}", broken.path, broken.why);
        Finding::warn(CHECK, text, "correct the file")
    });
    let limited = catalog.roles.iter().filter_map(|role| {
        let first = role.notices.first()?;
        let more = match role.notices.len() {
            1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        let text = format!("{}:{}: {}{more}", role.path, first.line, first.text);
        let remedy = format!("see crewdeck agents show {}", role.name);
        Some(Finding::warn(CHECK, text, remedy))
    });
    add_first(&mut findings, broken.collect(), "cannot be used");
    add_first(&mut findings, limited.collect(), "have notices");
    findings
}

fn add_first(findings: &mut Vec<Finding>, mut new: Vec<Finding>, what: &str) {
    let more = new.len().saturating_sub(FILES_MAX);
    new.truncate(FILES_MAX);
    findings.append(&mut new);
    if more > 0 {
        let text = format!("{more} more role files {what}");
        findings.push(Finding::warn(CHECK, text, "see crewdeck agents list"));
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::doctor::Level;
    use crate::domain::role::{BrokenRole, RoleFile};

    fn role(name: &str, lines: &str, source: RoleSource) -> AgentRole {
        let text = format!("---\nname: {name}\ndescription: x\n{lines}\n---\nDo it.");
        let file = RoleFile::parse(&text, name, &["bash"]).unwrap();
        file.into_role(source, format!("agents/{name}.md"))
    }

    #[test]
    fn built_in_roles_alone_are_no_finding() {
        let roles = vec![role("tester", "", RoleSource::BuiltIn)];
        let catalog = RoleCatalog {
            roles,
            ..RoleCatalog::default()
        };
        assert_eq!(evaluate(&catalog), []);
    }

    #[test]
    fn files_with_problems_are_named_and_bounded() {
        let limited = "effort: ultra\ntools: Read, WebSearch";
        let broken = |n: usize| BrokenRole {
            path: format!("agents/b{n}.md"),
            why: "line 1: there is no front matter".into(),
            source: RoleSource::Claude,
            names: Vec::new(),
        };
        let catalog = RoleCatalog {
            roles: vec![
                role("fine", "", RoleSource::User),
                role("limited", limited, RoleSource::Claude),
            ],
            broken: (0..FILES_MAX + 2).map(broken).collect(),
            ..RoleCatalog::default()
        };
        let findings = evaluate(&catalog);
        let line = |at: usize| (findings[at].level, findings[at].text.as_str());
        assert_eq!(line(0), (Level::Ok, "2 from files"));
        let first = "agents/b0.md cannot be used: line 1: there is no front matter";
        assert_eq!(line(1), (Level::Warn, first));
        let more = "2 more role files cannot be used";
        assert_eq!(line(FILES_MAX + 1), (Level::Warn, more));
        let (level, text) = line(FILES_MAX + 2);
        assert!(
            text.starts_with("agents/limited.md:4: effort ultra is unknown")
                && text.ends_with(" (and 1 more)"),
            "{text}"
        );
        assert_eq!(level, Level::Warn);
        assert_eq!(findings.len(), FILES_MAX + 3);
    }
}
