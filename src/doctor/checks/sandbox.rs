//! Checks the sandbox for commands of agents.

use crate::doctor::{DoctorContext, Finding};
use crate::domain::sandbox::NetworkRules;
use crate::process::history::can_be_private;
use crate::process::sandbox::SandboxReport;
use crate::store;

const CHECK: &str = "sandbox";

/// How commands are sandboxed. The caller of [`crate::doctor::examine`] determines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxFacts {
    Off,
    /// The sandbox is on, but the settings turn off the protection of the git history.
    WithoutHistory(SandboxReport),
    /// The settings turn the sandbox fully on. `report` says which of its mechanisms work on this machine.
    Tried {
        report: SandboxReport,
        network: NetworkRules,
    },
}

/// Checks the sandbox, and whether the git history of the repository can be protected.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let mut findings = vec![evaluate(&context.sandbox)];
    let is_on = matches!(context.sandbox, SandboxFacts::Tried { .. });
    if is_on && store::git_dirs(&context.root).is_some_and(|(_, common)| !can_be_private(&common)) {
        findings.push(Finding::warn(
            CHECK,
            "the git history is not protected from commands of agents, because this repository uses the reftable format",
            "convert the repository while it has no worktrees: git refs migrate --ref-format=files (git 2.46 or newer)",
        ));
    }
    findings
}

fn evaluate(facts: &SandboxFacts) -> Finding {
    let (report, network) = match facts {
        SandboxFacts::Off => {
            return Finding::warn(
                CHECK,
                "commands of agents can write every file that you can write: the setting sandbox is \"off\"",
                "remove sandbox = \"off\" from the settings",
            );
        }
        SandboxFacts::WithoutHistory(report) => {
            return Finding::warn(
                CHECK,
                report.missing_without_history(),
                "if this machine has user namespaces, remove sandbox = \"files\" from the settings",
            );
        }
        SandboxFacts::Tried { report, network } => (report, *network),
    };
    let missing = report
        .describe_missing()
        .or_else(|| report.missing_network(network));
    match (missing, report.landlock) {
        (Some(missing), _) => Finding::warn(
            CHECK,
            missing,
            "review each command before you allow it, or run crewdeck on a system with sandbox support",
        ),
        (None, version) => {
            let version = version.map_or(String::new(), |n| format!(" {n}"));
            Finding::ok(CHECK, format!("on (Landlock{version})"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::sandbox::Network;
    use crate::process::sandbox::Availability;

    #[test]
    fn missing_mechanisms_are_warnings() {
        let whole = SandboxReport {
            guard: Availability::Yes,
            landlock: Some(6),
            view: Availability::Yes,
            network: Availability::No {
                why: "EPERM".into(),
            },
        };
        let tried = |report, network| SandboxFacts::Tried { report, network };
        let unprotected = evaluate(&SandboxFacts::WithoutHistory(whole.clone()));
        assert_eq!(unprotected.level, Level::Warn);
        assert!(
            unprotected.text.contains("rewind commits"),
            "{unprotected:?}"
        );
        let off = evaluate(&tried(whole.clone(), NetworkRules::all(Network::Off)));
        assert_eq!(off.level, Level::Warn);
        assert!(off.text.contains("network namespaces are not"), "{off:?}");
        let found = evaluate(&tried(whole, NetworkRules::default()));
        assert_eq!(found.level, Level::Ok);
        assert_eq!(found.text, "on (Landlock 6)");
        let none = tried(SandboxReport::none("it is a Mac"), NetworkRules::default());
        assert_eq!(evaluate(&none).level, Level::Warn);
        assert!(evaluate(&none).text.contains("it is a Mac"));
        assert_eq!(evaluate(&SandboxFacts::Off).level, Level::Warn);
    }
}
