//! The table `[worktree]` of the settings: how a worktree is prepared for work, and cleaned up before its removal.

use std::time::Duration;

use serde::Deserialize;

use crate::domain::folders::reserved_names;
use crate::domain::text::{clip, one_line};

/// The names of the settings in the table.
pub const WORKTREE_KEYS: &[&str] = &["setup", "teardown", "setup_timeout", "clone"];
/// The maximum run time of a command if the setting `setup_timeout` is not set, in seconds.
const TIMEOUT_DEFAULT: u64 = 600;
/// The highest accepted value of `setup_timeout`, in seconds: a day.
const TIMEOUT_MAX: u64 = 86_400;
/// Maximum length of a command, in bytes.
const COMMAND_MAX: usize = 16 * 1024;
/// Maximum length of a wrong name in an error, in characters.
const NAME_SHOWN_MAX: usize = 80;
/// Maximum number of folders in the setting `clone`.
const FOLDERS_MAX: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorktreeSettings {
    /// A shell command that runs in each new worktree before its owner begins.
    pub setup: Option<String>,
    /// A shell command that runs in a worktree before the worktree is removed.
    pub teardown: Option<String>,
    /// Maximum run time of each of the two commands, in seconds.
    pub setup_timeout: Option<u64>,
    /// Folders that git ignores, relative to the root, that are cloned into each new worktree.
    #[serde(rename = "clone")]
    pub clone_folders: Option<Vec<String>>,
}

impl WorktreeSettings {
    /// Returns these settings, overridden by those that are set in `later`.
    #[must_use]
    pub fn merged_with(self, later: WorktreeSettings) -> WorktreeSettings {
        WorktreeSettings {
            setup: later.setup.or(self.setup),
            teardown: later.teardown.or(self.teardown),
            setup_timeout: later.setup_timeout.or(self.setup_timeout),
            clone_folders: later.clone_folders.or(self.clone_folders),
        }
    }

    /// Returns whether anything is to be done in a new worktree.
    pub fn prepares(&self) -> bool {
        self.setup.is_some() || self.clone_folders.iter().flatten().next().is_some()
    }

    /// Returns the maximum run time of a command.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.setup_timeout.unwrap_or(TIMEOUT_DEFAULT))
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Returns a message that continues the name of the table, such as `.setup is empty: …`.
    pub fn check(&self) -> Result<(), String> {
        for (name, command) in [("setup", &self.setup), ("teardown", &self.teardown)] {
            let Some(command) = command else { continue };
            if command.trim().is_empty() {
                return Err(format!(".{name} is empty: give a command, or leave it out"));
            }
            if command.len() > COMMAND_MAX {
                return Err(format!(
                    ".{name} has more than {COMMAND_MAX} bytes: put the command into a script file"
                ));
            }
            if command.contains('\0') {
                return Err(format!(".{name} has a NUL character: remove it"));
            }
        }
        let folders = self.clone_folders.as_deref().unwrap_or_default();
        if folders.len() > FOLDERS_MAX {
            return Err(format!(
                ".clone names {} folders: name at most {FOLDERS_MAX}",
                folders.len()
            ));
        }
        if let Some(wrong) = folders.iter().find(|folder| !is_project_folder(folder)) {
            return Err(format!(
                ".clone names '{}': give folders in the project, such as \"node_modules\" or \"app/target\"",
                one_line(&clip(wrong, NAME_SHOWN_MAX))
            ));
        }
        match self.setup_timeout {
            Some(seconds) if !(1..=TIMEOUT_MAX).contains(&seconds) => Err(format!(
                ".setup_timeout is {seconds}: give a number from 1 to {TIMEOUT_MAX}"
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns whether a path is relative, has no `.` and `..`, and is not in a folder of git or crewdeck.
fn is_project_folder(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    let is_git = |part: &str| part.eq_ignore_ascii_case(".git");
    let first = path.split('/').next().unwrap_or_default();
    let is_state = reserved_names().any(|name| first.eq_ignore_ascii_case(name));
    !is_state && parts.all(|part| is_name(part) && !is_git(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn later_settings_override_earlier_ones_one_by_one() {
        let user = WorktreeSettings {
            setup: Some("npm ci".into()),
            setup_timeout: Some(60),
            ..WorktreeSettings::default()
        };
        let project = WorktreeSettings {
            setup: Some("make setup".into()),
            teardown: Some("make down".into()),
            ..WorktreeSettings::default()
        };
        let both = user.merged_with(project);
        assert_eq!(both.setup.as_deref(), Some("make setup"));
        assert_eq!(both.teardown.as_deref(), Some("make down"));
        assert_eq!(both.timeout(), Duration::from_secs(60));
        assert_eq!(
            WorktreeSettings::default().timeout(),
            Duration::from_secs(TIMEOUT_DEFAULT)
        );
    }

    #[test]
    fn unusable_values_are_rejected() {
        let setup = |command: &str| WorktreeSettings {
            setup: Some(command.into()),
            ..WorktreeSettings::default()
        };
        let timeout = |seconds| WorktreeSettings {
            setup_timeout: Some(seconds),
            ..WorktreeSettings::default()
        };
        for (settings, why) in [
            (setup(" \n"), ".setup is empty"),
            (setup("a\0b"), ".setup has a NUL character"),
            (setup(&"a".repeat(COMMAND_MAX + 1)), ".setup has more than"),
            (timeout(0), ".setup_timeout is 0: give a number from 1 to"),
            (timeout(86_401), ".setup_timeout is 86401: give"),
        ] {
            let error = settings.check().unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
        let clone = |folder: &str| WorktreeSettings {
            clone_folders: Some(vec![folder.into()]),
            ..WorktreeSettings::default()
        };
        for wrong in [
            "",
            "/etc",
            "../x",
            "a/../b",
            "./a",
            "a/",
            ".git",
            "a/.Git/b",
            ".worktrees",
            ".Tasks/x",
        ] {
            let error = clone(wrong).check().unwrap_err();
            assert!(error.starts_with(".clone names '"), "{wrong}: {error}");
        }
        for folder in ["node_modules", "app/target", ".venv"] {
            assert_eq!(clone(folder).check(), Ok(()), "{folder}");
            assert!(clone(folder).prepares());
        }
        assert!(!WorktreeSettings::default().prepares());
        assert_eq!(setup("npm ci").check(), Ok(()));
        assert_eq!(timeout(86_400).check(), Ok(()));
    }
}
