//! What the environment of a command has in addition to the variables that it inherits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The environment variable with the number of settings that git reads from its environment.
const GIT_SETTINGS_COUNT: &str = "GIT_CONFIG_COUNT";
/// The names of the variables with the name and the value of such a setting, without their number.
const GIT_SETTING_NAME: &str = "GIT_CONFIG_KEY_";
const GIT_SETTING_VALUE: &str = "GIT_CONFIG_VALUE_";
/// The setting that takes the place of a withheld one. It has no meaning for git.
const WITHHELD_SETTING: &str = "crewdeck.withheld";

/// Additions to the environment of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddedEnvironment {
    pub variables: BTreeMap<String, String>,
    /// A file in the format of `.gitignore`. Git uses it in place of the user's own file of that kind
    /// (`core.excludesFile`).
    pub git_excludes: Option<PathBuf>,
}

impl AddedEnvironment {
    /// Adds the variables to `env`, which holds other additions to the environment of the same command.
    pub(super) fn add_to(&self, env: &mut BTreeMap<String, String>) {
        env.extend(self.variables.clone());
        // Git reads the value of the setting as UTF-8.
        if let Some(path) = self.git_excludes.as_ref().and_then(|path| path.to_str()) {
            add_git_setting(env, "core.excludesFile", path);
        }
    }
}

/// Adds a setting for all git processes that get the environment `env`. Keeps the settings that `env` or the environment
/// of this process contains.
pub(super) fn add_git_setting(env: &mut BTreeMap<String, String>, key: &str, value: &str) {
    let inherited = || std::env::var(GIT_SETTINGS_COUNT).ok();
    let count = env.get(GIT_SETTINGS_COUNT).cloned().or_else(inherited);
    // Git ignores blanks before the number.
    let count = count.and_then(|text| text.trim_start().parse::<usize>().ok());
    let count = count.unwrap_or(0);
    env.insert(
        GIT_SETTINGS_COUNT.into(),
        count.saturating_add(1).to_string(),
    );
    env.insert(format!("{GIT_SETTING_NAME}{count}"), key.into());
    env.insert(format!("{GIT_SETTING_VALUE}{count}"), value.into());
}

/// Returns the variables that replace the settings of git of which a variable is in `removed`. Without them, git would
/// fail, because the settings are numbered and none may be missing.
pub(super) fn replaced_git_settings(removed: &[OsString]) -> BTreeMap<String, &'static str> {
    let mut replaced = BTreeMap::new();
    for name in removed.iter().filter_map(|name| name.to_str()) {
        let number = name.strip_prefix(GIT_SETTING_NAME);
        let number = number.or_else(|| name.strip_prefix(GIT_SETTING_VALUE));
        if let Some(number) = number {
            replaced.insert(format!("{GIT_SETTING_NAME}{number}"), WITHHELD_SETTING);
            replaced.insert(format!("{GIT_SETTING_VALUE}{number}"), "");
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn git_settings_are_numbered_after_earlier_ones() {
        let added = AddedEnvironment {
            variables: BTreeMap::from([("CREWDECK_TASK".to_string(), "3".to_string())]),
            git_excludes: Some("/p/.worktrees/.excludes-task-3".into()),
        };
        let mut env = BTreeMap::from([
            (GIT_SETTINGS_COUNT.to_string(), " 2".to_string()),
            ("CREWDECK_TASK".to_string(), "of a hook".to_string()),
        ]);
        added.add_to(&mut env);
        add_git_setting(&mut env, "core.hooksPath", "/dev/null");
        let expected = [
            ("CREWDECK_TASK", "3"),
            ("GIT_CONFIG_COUNT", "4"),
            ("GIT_CONFIG_KEY_2", "core.excludesFile"),
            ("GIT_CONFIG_KEY_3", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_2", "/p/.worktrees/.excludes-task-3"),
            ("GIT_CONFIG_VALUE_3", "/dev/null"),
        ];
        let env: Vec<(&str, &str)> = env.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(env, expected);
        let mut none = BTreeMap::new();
        AddedEnvironment::default().add_to(&mut none);
        assert_eq!(none, BTreeMap::new());
    }

    #[test]
    fn withheld_git_setting_keeps_its_number() {
        let removed = ["GIT_CONFIG_VALUE_1", "API_KEY", "GIT_CONFIG_COUNT"].map(OsString::from);
        let expected = [
            ("GIT_CONFIG_KEY_1".to_string(), "crewdeck.withheld"),
            ("GIT_CONFIG_VALUE_1".to_string(), ""),
        ];
        assert_eq!(replaced_git_settings(&removed), BTreeMap::from(expected));
    }
}
