//! The table `[worktree]` of the settings: how a worktree is prepared for work, and cleaned up before its removal.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::domain::folders::reserved_names;
use crate::domain::text::{clip, one_line};

/// The names of the settings in the table.
pub const WORKTREE_KEYS: &[&str] = &[
    "setup",
    "teardown",
    "setup_timeout",
    "clone",
    "clone_fallback",
    "disk_limit",
];
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

/// What is done with the folders of the setting `clone` where the file system cannot share blocks between files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloneFallback {
    /// They are not cloned.
    Skip,
    /// Their files are copied, which takes time and disk space for each worktree.
    Copy,
}

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
    /// What is done where the file system cannot share blocks between files; [`CloneFallback::Skip`] if it is not set.
    pub clone_fallback: Option<CloneFallback>,
    /// The size of all worktrees and of the files for checks together, in bytes, above which caches of completed tasks are
    /// deleted and the user is warned.
    #[serde(deserialize_with = "read_size")]
    pub disk_limit: Option<u64>,
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
            clone_fallback: later.clone_fallback.or(self.clone_fallback),
            disk_limit: later.disk_limit.or(self.disk_limit),
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

/// Reads the setting `disk_limit`, a size such as `20 GiB`, as a number of bytes.
pub(in crate::domain) fn read_size<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    parse_size(&text).map(Some).ok_or_else(|| {
        let shown = one_line(&clip(&text, NAME_SHOWN_MAX));
        D::Error::custom(format!(
            "disk_limit is '{shown}': give a number above 0 with a unit, such as \"500 MiB\", \"20 GiB\" or \"1 TiB\""
        ))
    })
}

/// Parses a size such as `20 GiB`. Returns the number of bytes; `None` if it is 0 or not valid.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let unit = match unit.trim_start() {
        "MiB" => 1024 * 1024,
        "GiB" => 1024 * 1024 * 1024,
        "TiB" => 1024 * 1024 * 1024 * 1024,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(unit).filter(|bytes| *bytes > 0)
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
    fn sizes_need_a_unit() {
        const GIB: u64 = 1024 * 1024 * 1024;
        for (text, bytes) in [
            ("20 GiB", Some(20 * GIB)),
            (" 1TiB ", Some(1024 * GIB)),
            ("512 MiB", Some(GIB / 2)),
            ("0 GiB", None),
            ("20", None),
            ("GiB", None),
            ("-1 GiB", None),
            ("1.5 GiB", None),
            ("20 GB", None),
            ("99999999999999999999 MiB", None),
            ("99999999999999 TiB", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
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
