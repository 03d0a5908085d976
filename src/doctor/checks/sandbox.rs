//! The sandbox: what holds the commands of agents on this machine.

use crate::doctor::{Finding, Place};
use crate::domain::sandbox::NetworkRules;
use crate::process::confine::SandboxReport;
use crate::process::history::can_be_private;
use crate::store;

const CHECK: &str = "sandbox";

/// What the roof has found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxFacts {
    /// The settings turn it off.
    Off,
    /// The settings give up the protection of the history; what was tried on this machine.
    WithoutHistory(SandboxReport),
    /// What was tried on this machine, and came of it.
    Tried {
        /// What was found.
        report: SandboxReport,
        /// Who is to have the network.
        network: NetworkRules,
    },
}

/// Looks at what was found out, and at whether the history of the repository can be protected.
pub fn look(place: &Place) -> Vec<Finding> {
    let mut findings = vec![judge(&place.sandbox)];
    let is_on = matches!(place.sandbox, SandboxFacts::Tried { .. });
    if is_on && store::git_dirs(&place.root).is_some_and(|(_, common)| !can_be_private(&common)) {
        findings.push(Finding::warn(
            CHECK,
            "the history is not protected from commands of agents: the refs of this repository are stored in the \
             reftable format",
            "convert it while it has no worktrees: git refs migrate --ref-format=files (git 2.46 or newer)",
        ));
    }
    findings
}

fn judge(facts: &SandboxFacts) -> Finding {
    let (report, network) = match facts {
        SandboxFacts::Off => {
            return Finding::warn(
                CHECK,
                "commands of agents may write wherever you may: the settings say confine = \"off\"",
                "take that line out of the settings",
            );
        }
        SandboxFacts::WithoutHistory(report) => {
            return Finding::warn(
                CHECK,
                report.missing_without_history(),
                "take confine = \"files\" out of the settings where user namespaces are available",
            );
        }
        SandboxFacts::Tried { report, network } => (report, *network),
    };
    let missing = report.missing().or_else(|| report.missing_network(network));
    match (missing, report.landlock) {
        (Some(missing), _) => Finding::warn(
            CHECK,
            missing,
            "read what a command does before you allow it, or run crewdeck on a system that has it",
        ),
        (None, version) => {
            let version = version.map_or(String::new(), |n| format!(" {n}"));
            Finding::ok(
                CHECK,
                format!(
                    "Landlock{version}, a view of its own and a guard hold each command of an agent"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;
    use crate::domain::sandbox::Network;
    use crate::process::confine::Works;

    #[test]
    fn what_is_missing_is_told_with_a_remedy() {
        let whole = SandboxReport {
            guard: Works::Yes,
            landlock: Some(6),
            view: Works::Yes,
            network: Works::No {
                why: "EPERM".into(),
            },
        };
        let tried = |report, network| SandboxFacts::Tried { report, network };
        let given_up = judge(&SandboxFacts::WithoutHistory(whole.clone()));
        assert_eq!(given_up.level, Level::Warn);
        assert!(given_up.text.contains("rewind commits"), "{given_up:?}");
        let off = judge(&tried(whole.clone(), NetworkRules::all(Network::Off)));
        assert_eq!(off.level, Level::Warn);
        assert!(off.text.contains("network namespaces are not"), "{off:?}");
        let found = judge(&tried(whole, NetworkRules::default()));
        assert_eq!(found.level, Level::Ok);
        assert!(found.text.starts_with("Landlock 6,"), "{found:?}");
        let none = tried(SandboxReport::none("it is a Mac"), NetworkRules::default());
        assert_eq!(judge(&none).level, Level::Warn);
        assert!(judge(&none).text.contains("it is a Mac"));
        assert_eq!(judge(&SandboxFacts::Off).level, Level::Warn);
    }
}
