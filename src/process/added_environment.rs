//! What the environment of a command has in addition to the variables that it inherits.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The environment variable with the number of settings that git reads from its environment.
const GIT_SETTINGS_COUNT: &str = "GIT_CONFIG_COUNT";

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
    let count: usize = count.and_then(|text| text.parse().ok()).unwrap_or(0);
    env.insert(
        GIT_SETTINGS_COUNT.into(),
        count.saturating_add(1).to_string(),
    );
    env.insert(format!("GIT_CONFIG_KEY_{count}"), key.into());
    env.insert(format!("GIT_CONFIG_VALUE_{count}"), value.into());
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
            (GIT_SETTINGS_COUNT.to_string(), "2".to_string()),
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
}
