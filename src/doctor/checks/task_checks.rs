//! Reports the checks of tasks, and proposes some where none is configured. Never runs them.

use std::path::Path;

use crate::doctor::{DoctorContext, Finding};
use crate::domain::checks::{ProposedCheck, propose};
use crate::store::regular_file;

const CHECK: &str = "checks";
/// Maximum size of a build file that is read for the proposal, in bytes.
const FILE_MAX: u64 = 256 * 1024;
/// The build files and lock files from which checks are proposed.
const BUILD_FILES: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pyproject.toml",
    "requirements.txt",
    "go.mod",
    "Makefile",
];

/// What the caller of [`crate::doctor::examine`] found out about the checks of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckFacts {
    /// The names of the checks in the settings. Those that wait for approval are left out.
    pub names: Vec<String>,
    /// Whether the project's settings file sets checks that do not apply.
    pub has_unapproved: bool,
}

/// Reports nothing if no check is configured and none can be proposed.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let facts = &context.checks;
    if facts.names.is_empty() && !facts.has_unapproved {
        let proposed = proposals(&context.root);
        return proposal(&proposed).into_iter().collect();
    }
    if facts.names.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "before a task is completed, these run: {}",
        facts.names.join(", ")
    );
    vec![Finding::ok(CHECK, text)]
}

fn proposals(root: &Path) -> Vec<ProposedCheck> {
    let is_there = |name: &&&str| root.join(name).is_file();
    let found = BUILD_FILES.iter().filter(is_there);
    let names: Vec<String> = found.map(ToString::to_string).collect();
    propose(&names, |name| {
        regular_file::read_text(&root.join(name), FILE_MAX).ok()
    })
}

/// Returns a finding with settings that the user can copy; `None` without a proposal.
fn proposal(proposed: &[ProposedCheck]) -> Option<Finding> {
    if proposed.is_empty() {
        return None;
    }
    let entries = proposed
        .iter()
        .map(|check| format!("{{ name = \"{}\", run = \"{}\" }}", check.name, check.run));
    let entries: Vec<String> = entries.collect();
    Some(Finding {
        remedy: Some(format!(
            "add to .crewdeck/config.toml what fits, then crewdeck trust: checks = [{}]",
            entries.join(", ")
        )),
        ..Finding::ok(CHECK, "no checks: tasks are completed without one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn proposal_can_be_copied_into_the_settings() {
        assert_eq!(proposal(&[]), None);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        let found = proposal(&proposals(dir.path())).unwrap();
        assert_eq!(found.level, Level::Ok);
        let remedy = found.remedy.unwrap();
        let (_, setting) = remedy.split_once(": ").unwrap();
        assert!(
            setting.starts_with("checks = [{ name = \"cargo-test\", run = \"cargo test\" }"),
            "{setting}"
        );
    }
}
