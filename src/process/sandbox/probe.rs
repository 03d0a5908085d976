//! Reports which sandbox mechanisms this machine supports, by trying them in a child process.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::sandbox::NetworkRules;
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand};

/// Timeout of the supervisor process that [`probe`] starts.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of the report that the supervisor process of [`probe`] prints, in bytes.
const ANSWER_MAX: usize = 4096;

/// Whether a sandbox mechanism is available on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    Yes,
    No {
        /// The reason, in one line.
        why: String,
    },
}

/// The sandbox mechanisms that are available on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// Whether commands run under a supervisor, which kills everything that a command leaves running.
    pub guard: Availability,
    /// The ABI version of Landlock (1 and up). `None`: the kernel has no Landlock. Commands are then restricted by the
    /// mount view alone; without a view they are not sandboxed, and in a repository with protected history they do not
    /// run.
    pub landlock: Option<u32>,
    /// Whether user and mount namespaces are available. Without them, git folders are read-only to commands, and
    /// commands of the lead can write the state folders of a root that is not a repository.
    pub view: Availability,
    /// Whether network namespaces are available. Without them, commands whose network must be off do not run.
    pub network: Availability,
}

impl SandboxReport {
    /// Returns a report in which no mechanism is available, for the reason `why`.
    pub fn none(why: impl Into<String>) -> SandboxReport {
        let why = why.into();
        SandboxReport {
            guard: Availability::No { why: why.clone() },
            landlock: None,
            view: Availability::No { why: why.clone() },
            network: Availability::No { why },
        }
    }

    /// Returns what is missing, apart from network namespaces, and what follows from that, as one line for the user.
    /// Returns `None` if nothing is missing.
    pub fn describe_missing(&self) -> Option<String> {
        match (&self.guard, self.landlock, &self.view) {
            (Availability::No { why }, ..) => Some(format!(
                "Commands of agents run without a sandbox, and processes that they start may outlive them: {why}."
            )),
            (_, None, Availability::Yes) => Some(
                "This kernel has no Landlock (Linux 5.13 or newer has it). Commands of agents are restricted by their view of the file system alone."
                    .into(),
            ),
            (_, None, Availability::No { why }) => Some(format!(
                "Commands of agents run without a sandbox, and do not run in a git repository, because its history cannot be protected: this kernel has no Landlock (Linux 5.13 or newer has it), and user and mount namespaces are not available ({why}). Allow user namespaces, or set {DISABLE_PROTECTION}."
            )),
            (_, Some(1 | 2), Availability::No { why }) => Some(format!(
                "Commands of agents do not run in a git repository, because its history cannot be protected: user and mount namespaces are not available ({why}), and the Landlock of this kernel is too old (Linux 6.2 or newer is needed). In other directories commands {ACCESS_WITHOUT_VIEW}. Allow user namespaces, or set {DISABLE_PROTECTION}."
            )),
            (_, Some(_), Availability::No { why }) => Some(format!(
                "User and mount namespaces are not available ({why}). To protect the history, git folders are read-only to commands of agents: git add, commit and merge fail, and commands cannot create new files in the root folder of a repository. crewdeck commits the changes in a worktree when its task is completed. Commands {ACCESS_WITHOUT_VIEW}. Allow user namespaces, or set {DISABLE_PROTECTION}."
            )),
            (Availability::Yes, Some(_), Availability::Yes) => None,
        }
    }

    /// Like [`Self::describe_missing`], but for settings that disable protection of the git history. The line always
    /// begins with a warning that commits are not protected.
    pub fn missing_without_history(&self) -> String {
        let unprotected = "Commands of agents can delete and rewind commits: sandbox = \"files\" disables protection of the history.";
        match (&self.guard, self.landlock, &self.view) {
            (Availability::Yes, Some(_), Availability::No { why }) => format!(
                "{unprotected} User and mount namespaces are not available ({why}), so commands {ACCESS_WITHOUT_VIEW}. Commands in the root can also write .git/config and .git/hooks."
            ),
            (Availability::Yes, Some(_), Availability::Yes) => unprotected.into(),
            (..) => format!(
                "{unprotected} {}",
                self.describe_missing().unwrap_or_default()
            ),
        }
    }
}

/// What commands can access without a mount view, as part of a sentence.
const ACCESS_WITHOUT_VIEW: &str = "are not kept from ssh-agent and container sockets, nor commands of the lead from writing .tasks and .team";
/// How to disable protection of the git history, as part of a sentence.
const DISABLE_PROTECTION: &str =
    "sandbox = \"files\" in config.toml to give up the protection of the history";

impl SandboxReport {
    /// Returns what is missing to enforce the network rules `rules`, as one line for the user; `None` if nothing is
    /// missing.
    pub fn missing_network(&self, rules: NetworkRules) -> Option<String> {
        match &self.network {
            Availability::No { why } if !rules.is_on_for_all() => Some(format!(
                "Commands do not run if the setting 'network' turns the network off for them: network namespaces are not available ({why}). Allow user and network namespaces, or set network = \"on\"."
            )),
            Availability::No { .. } | Availability::Yes => None,
        }
    }
}

/// Returns which sandbox mechanisms this machine supports. For this, runs the supervisor `program` in a mode that tries
/// the mechanisms. Blocks, usually for some milliseconds, at most about `TIMEOUT`. If the program fails, returns a
/// report in which no mechanism is available.
///
/// `program` is the program of a [`Supervisor`](crate::process::supervisor::Supervisor); `None` if this operating
/// system has no supervisor.
pub fn probe(program: Option<&Path>) -> SandboxReport {
    let Some(program) = program else {
        return SandboxReport::none("crewdeck has no sandbox for this operating system");
    };
    let command = BlockingCommand {
        program: program.to_path_buf(),
        args: vec![crate::process::supervisor::VERB.into(), "--probe".into()],
        dir: "/".into(),
        stdin: None,
        env: Vec::new(),
        timeout: TIMEOUT,
        stop: None,
        keep: ANSWER_MAX,
    };
    match blocking::run(&command) {
        Err(why) => SandboxReport::none(format!("cannot start the supervisor: {why}")),
        Ok(output) if output.ended == JobExit::Code(0) => serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| SandboxReport::none("the supervisor gave an invalid answer")),
        Ok(output) => SandboxReport::none(format!(
            "the supervisor failed: {}",
            crate::domain::text::one_line(&output.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn missing_reports_the_most_severe_gap() {
        let all = SandboxReport {
            guard: Availability::Yes,
            landlock: Some(7),
            view: Availability::Yes,
            network: Availability::Yes,
        };
        assert_eq!(all.describe_missing(), None);
        let no = || Availability::No {
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
                    ..all.clone()
                },
                "run without a sandbox",
            ),
            (
                SandboxReport {
                    landlock: None,
                    ..all
                },
                "by their view of the file system alone",
            ),
            (SandboxReport::none("it is a Mac"), "it is a Mac"),
            (probe(None), "operating system"),
            (
                probe(Some(Path::new("/nowhere/guard"))),
                "cannot start the supervisor",
            ),
            (
                probe(Some(Path::new("/bin/false"))),
                "the supervisor failed",
            ),
            (probe(Some(Path::new("/bin/true"))), "an invalid answer"),
        ] {
            let said = report.describe_missing().unwrap();
            assert!(said.contains(word), "{said}");
        }
    }
}
