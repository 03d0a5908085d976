//! Which acceptance commands of tasks the user has set. A task file of a project may contain a command that the user has
//! never seen; only a command that is approved here runs.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;

use super::approvals::{self, DecisionChange, Decisions, SettingsDecision};
use crate::domain::ids::TaskId;

/// The version of the hash, which is its first field.
const VERSION: &str = "crewdeck acceptance command 1";
/// The version of the hash that says that a task has an acceptance command, whatever is in its file.
const SET_VERSION: &str = "crewdeck acceptance command set 1";

/// Stores that the user has set `command` as the acceptance command of a task of the project `root`. Returns a notice if
/// the earlier decisions could not be read.
///
/// # Errors
/// Fails if there is no home directory, or the file with the decisions cannot be written.
pub fn approve(root: &Path, task: TaskId, command: &str) -> Result<Option<String>> {
    let approved = Some(SettingsDecision::Approved);
    let changes = vec![
        DecisionChange::new(&digest(VERSION, root, task, command), approved),
        DecisionChange::new(&digest(SET_VERSION, root, task, ""), approved),
    ];
    approvals::record(root, changes)
}

/// Stores that the user has removed the acceptance command of a task. Returns a notice like [`approve`].
///
/// # Errors
/// As [`approve`].
pub fn remove(root: &Path, task: TaskId) -> Result<Option<String>> {
    let change = DecisionChange::new(&digest(SET_VERSION, root, task, ""), None);
    approvals::record(root, vec![change])
}

/// Returns whether the user has set an acceptance command for a task of the project `root` and not removed it.
pub fn is_set(root: &Path, task: TaskId) -> bool {
    let digest = digest(SET_VERSION, root, task, "");
    Decisions::load().about(&digest) == Some(SettingsDecision::Approved)
}

/// Returns whether the user has set `command` as the acceptance command of a task of the project `root`.
pub fn is_approved(root: &Path, task: TaskId, command: &str) -> bool {
    let digest = digest(VERSION, root, task, command);
    Decisions::load().about(&digest) == Some(SettingsDecision::Approved)
}

fn digest(version: &str, root: &Path, task: TaskId, command: &str) -> String {
    let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
    let number = task.0.to_string();
    for field in [
        version.as_bytes(),
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
        let base = digest(VERSION, Path::new("/p"), TaskId(1), "make");
        assert_eq!(base, digest(VERSION, Path::new("/p"), TaskId(1), " make "));
        for other in [
            digest(VERSION, Path::new("/q"), TaskId(1), "make"),
            digest(VERSION, Path::new("/p"), TaskId(2), "make"),
            digest(VERSION, Path::new("/p"), TaskId(1), "make test"),
        ] {
            assert_ne!(base, other);
        }
    }
}
