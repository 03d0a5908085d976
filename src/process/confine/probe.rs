//! What this machine can hold programs with, found out by trying it in a process of its own.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::sandbox::NetworkRules;
use crate::process::Ended;
use crate::process::blocking::{self, Errand};

/// How long the attempt may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of its answer.
const ANSWER_MAX: usize = 4096;

/// Whether something works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Works {
    /// It does.
    Yes,
    /// It does not.
    No {
        /// Why, in one line.
        why: String,
    },
}

/// What programs of agents are held with on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// A guard stands between crewdeck and each program: nothing that it starts outlives it.
    pub guard: Works,
    /// The version of Landlock's interface (1 and up); `None`: the kernel has no Landlock, so that programs
    /// are not confined.
    pub landlock: Option<u32>,
    /// Mount namespaces: without them git folders are read-only to commands, and outside of repositories programs in the
    /// root (the lead's) can write the state folders there.
    pub view: Works,
    /// Network namespaces: without them a command that is to have no network does not run.
    pub network: Works,
}

impl SandboxReport {
    /// A report of a machine where no guard can be had, and nothing that it would do.
    pub fn none(why: impl Into<String>) -> SandboxReport {
        let why = why.into();
        SandboxReport {
            guard: Works::No { why: why.clone() },
            landlock: None,
            view: Works::No { why: why.clone() },
            network: Works::No { why },
        }
    }

    /// What is missing, in one line for the user; `None`: nothing is.
    pub fn missing(&self) -> Option<String> {
        match (&self.guard, self.landlock, &self.view) {
            (Works::No { why }, ..) => Some(format!(
                "Commands of agents run unconfined, and some may outlive them: {why}."
            )),
            (_, None, _) => Some(
                "Commands of agents run unconfined: this kernel has no Landlock (Linux 5.13 or newer has it)."
                    .into(),
            ),
            (_, Some(1 | 2), Works::No { why }) => Some(format!(
                "Commands of agents do not run in a git repository: its history cannot be protected from them, because user and mount namespaces are not available ({why}) and the Landlock of this kernel is too old to do it alone (Linux 6.2 or newer). In other directories they {REACH}. Allow user namespaces, or set {GIVES_UP}."
            )),
            (_, Some(_), Works::No { why }) => Some(format!(
                "User and mount namespaces are not available ({why}). To protect the history, commands of agents cannot write git folders: they read with git, but git add, commit and merge fail in them, and in the root of a repository they create no new files beside the existing ones. crewdeck commits what is left in a worktree when its task is completed. Commands {REACH}. Allow user namespaces, or set {GIVES_UP}."
            )),
            (Works::Yes, Some(_), Works::Yes) => None,
        }
    }

    /// The same where the settings give up the protection of the history.
    pub fn missing_without_history(&self) -> String {
        let unprotected = "Commands of agents can delete and rewind commits: confine = \"files\" gives up the protection of the history.";
        match (&self.guard, self.landlock, &self.view) {
            (Works::Yes, Some(_), Works::No { why }) => format!(
                "{unprotected} User and mount namespaces are not available ({why}), so commands {REACH}, and in the root also .git/config and .git/hooks."
            ),
            (Works::Yes, Some(_), Works::Yes) => unprotected.into(),
            (..) => format!("{unprotected} {}", self.missing().unwrap_or_default()),
        }
    }
}

/// What commands reach without a view.
const REACH: &str =
    "reach ssh-agent and container sockets, and those of the lead may write .tasks and .team";
/// How the protection of the history is given up.
const GIVES_UP: &str = "confine = \"files\" to give up the protection of the history";

impl SandboxReport {
    /// What is missing for these switches of the network, in one line; `None`: nothing is.
    pub fn missing_network(&self, rules: NetworkRules) -> Option<String> {
        match &self.network {
            Works::No { why } if !rules.is_on_for_all() => Some(format!(
                "Commands for which the setting 'network' turns the network off do not run: network namespaces are not available ({why})."
            )),
            Works::No { .. } | Works::Yes => None,
        }
    }
}

/// Tries what the guard `program` would do. Blocks for some milliseconds.
///
/// `program`: see [`Guard`](super::super::guard::Guard); `None`: there is none on this machine.
pub fn probe(program: Option<&Path>) -> SandboxReport {
    let Some(program) = program else {
        return SandboxReport::none("there is no guard on this operating system");
    };
    let errand = Errand {
        program: program.to_path_buf(),
        args: vec![super::super::guard::VERB.into(), "--probe".into()],
        dir: "/".into(),
        stdin: None,
        env: Vec::new(),
        timeout: TIMEOUT,
        stop: None,
        keep: ANSWER_MAX,
    };
    match blocking::run(&errand) {
        Err(why) => SandboxReport::none(format!("the guard can not be started: {why}")),
        Ok(brought) if brought.ended == Ended::Code(0) => serde_json::from_slice(&brought.stdout)
            .unwrap_or_else(|_| SandboxReport::none("the guard gives an answer that is none")),
        Ok(brought) => SandboxReport::none(format!(
            "the guard failed: {}",
            crate::domain::text::one_line(&brought.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_missing_is_told_in_the_order_of_its_weight() {
        let all = SandboxReport {
            guard: Works::Yes,
            landlock: Some(7),
            view: Works::Yes,
            network: Works::Yes,
        };
        assert_eq!(all.missing(), None);
        let no = || Works::No {
            why: "EPERM".into(),
        };
        for (report, word) in [
            (
                SandboxReport {
                    view: no(),
                    ..all.clone()
                },
                "git add, commit and merge fail",
            ),
            (
                SandboxReport {
                    view: no(),
                    landlock: Some(2),
                    ..all.clone()
                },
                "do not run in a git repository",
            ),
            (
                SandboxReport {
                    landlock: None,
                    view: no(),
                    ..all
                },
                "no Landlock",
            ),
            (SandboxReport::none("it is a Mac"), "it is a Mac"),
            (probe(None), "operating system"),
            (
                probe(Some(Path::new("/nowhere/guard"))),
                "can not be started",
            ),
            (probe(Some(Path::new("/bin/false"))), "the guard failed"),
            (
                probe(Some(Path::new("/bin/true"))),
                "an answer that is none",
            ),
        ] {
            let said = report.missing().unwrap();
            assert!(said.contains(word), "{said}");
        }
    }
}
