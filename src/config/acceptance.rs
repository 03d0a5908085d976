//! Which acceptance commands of tasks the user has set. A task file of a project may contain a command that the user has
//! never seen; only a command that is approved here runs.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;

use super::approvals::{self, DecisionChange, Decisions, SettingsDecision};
use crate::domain::ids::TaskId;

/// The version of the hash, which is its first field.
const VERSION: &str = "crewdeck acceptance command 1";

/// Stores that the user has set `command` as the acceptance command of a task of the project `root`. Returns a notice if
/// the earlier decisions could not be read.
///
/// # Errors
/// Fails if there is no home directory, or the file with the decisions cannot be written.
pub fn approve(root: &Path, task: TaskId, command: &str) -> Result<Option<String>> {
    let approved = Some(SettingsDecision::Approved);
    let change = DecisionChange::new(&digest(root, task, command), approved);
    approvals::record(root, vec![change])
}

/// Returns whether the user has set `command` as the acceptance command of a task of the project `root`.
pub fn is_approved(root: &Path, task: TaskId, command: &str) -> bool {
    let digest = digest(root, task, command);
    Decisions::load().about(&digest) == Some(SettingsDecision::Approved)
}

fn digest(root: &Path, task: TaskId, command: &str) -> String {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let number = task.0.to_string();
    for field in [
        VERSION.as_bytes(),
        root.as_os_str().as_bytes(),
        number.as_bytes(),
        command.trim().as_bytes(),
    ] {
        hash.update(&(field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    approvals::hex(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approval_holds_for_one_project_task_and_command() {
        let base = digest(Path::new("/p"), TaskId(1), "make");
        assert_eq!(base, digest(Path::new("/p"), TaskId(1), " make "));
        for other in [
            digest(Path::new("/q"), TaskId(1), "make"),
            digest(Path::new("/p"), TaskId(2), "make"),
            digest(Path::new("/p"), TaskId(1), "make test"),
        ] {
            assert_ne!(base, other);
        }
    }
}
