//! Decides which project settings apply immediately and which need the user's approval.
//!
//! A project's settings file was written by the author of the project, who may not be the user. How the user got the
//! file (by clone, archive or copy) and whether git tracks it do not show whether it can be trusted. Each setting is
//! therefore classified only by what it can do.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::approvals::{self, Decisions, SettingsDecision};
use super::setting::{InProject, Setting};
use super::settings;
use crate::domain::text::{escape_control_chars, one_line};

/// The [`SensitiveSetting::effect`] of two kinds of settings: those that this version does not know, and those that are
/// allowed only in the user's own settings file.
const ONLY_USER: &str = "only you may set this";

/// A setting in a project's file that takes effect only after the user's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveSetting {
    /// The dotted name, such as `network.lead`.
    pub key: String,
    /// The setting in TOML, on one line and without control characters.
    pub text: String,
    /// What the setting can do, as shown to the user.
    pub effect: &'static str,
}

/// The settings in a project's file that need approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveSettings {
    pub root: PathBuf,
    /// The settings, the most dangerous first; never empty.
    pub settings: Vec<SensitiveSetting>,
    /// The hash of the project directory's path and the whole settings file.
    pub digest: String,
}

impl SensitiveSettings {
    /// Returns the top-level names of the settings, each once, separated by commas, such as `base_url, allow`.
    pub fn names(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for line in &self.settings {
            let name = line.key.split('.').next().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

/// Whether the sensitive settings of a project apply. A setting is sensitive if it needs the user's approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProjectPolicy {
    /// The project has no sensitive settings.
    #[default]
    Harmless,
    /// The sensitive settings apply, because the user approved the settings file with exactly this content.
    Approved(SensitiveSettings),
    /// The sensitive settings do not apply, because the user decided to ignore the settings file with exactly this
    /// content.
    Ignored(SensitiveSettings),
    /// The sensitive settings do not apply until the user has decided about them.
    Waiting(SensitiveSettings),
}

/// Looks up the user's decision about the settings file of the project `root`. `bytes` is the content of the file, and
/// `table` is the parsed content. Unless the user has approved the file, removes the settings that need approval from
/// `table`.
pub fn apply_decision(root: &Path, bytes: &[u8], table: &mut Table) -> ProjectPolicy {
    let lines = sensitive_settings(table);
    if lines.is_empty() {
        return ProjectPolicy::Harmless;
    }
    let found = SensitiveSettings {
        root: root.to_owned(),
        settings: lines,
        digest: approvals::digest(root, bytes),
    };
    let decision = Decisions::load().about(&found.digest);
    if decision != Some(SettingsDecision::Approved) {
        keep_harmless(table);
    }
    match decision {
        Some(SettingsDecision::Approved) => ProjectPolicy::Approved(found),
        Some(SettingsDecision::Ignored) => ProjectPolicy::Ignored(found),
        None => ProjectPolicy::Waiting(found),
    }
}

/// Returns whether a project may set `name` to `value` without approval.
fn is_harmless(name: &str, value: &Value) -> bool {
    let Some(setting) = settings::find(name) else {
        return false;
    };
    match setting.in_project {
        InProject::Applies => {
            // An unknown key in a table with fixed keys needs approval, because a later version may give it a meaning.
            let table = value.as_table().filter(|_| !setting.keys.is_empty());
            table.is_none_or(|t| t.keys().all(|key| setting.keys.contains(&key.as_str())))
        }
        InProject::AppliesIf { is_harmless, .. } => is_harmless(value),
        InProject::NeedsApproval { .. } | InProject::Refused { .. } => false,
    }
}

/// Returns the settings in `table` that need approval, in the order of [`settings::SECTIONS`], which begins with the
/// most dangerous section. Unknown settings come last.
fn sensitive_settings(table: &Table) -> Vec<SensitiveSetting> {
    let mut out = Vec::new();
    for setting in settings::all() {
        for name in std::iter::once(setting.name).chain(setting.alias) {
            if let Some(value) = table.get(name).filter(|value| !is_harmless(name, value)) {
                flatten(name, value, effect(setting), &mut out);
            }
        }
    }
    let unknown = table
        .iter()
        .filter(|(name, _)| settings::find(name).is_none());
    for (name, value) in unknown {
        flatten(name, value, ONLY_USER, &mut out);
    }
    out
}

fn effect(setting: &Setting) -> &'static str {
    match setting.in_project {
        InProject::AppliesIf { effect, .. } | InProject::NeedsApproval { effect } => effect,
        InProject::Applies | InProject::Refused { .. } => ONLY_USER,
    }
}

fn flatten(key: &str, value: &Value, effect: &'static str, out: &mut Vec<SensitiveSetting>) {
    match value.as_table().filter(|table| !table.is_empty()) {
        Some(table) => {
            for (name, value) in table {
                flatten(&format!("{key}.{name}"), value, effect, out);
            }
        }
        None => out.push(SensitiveSetting {
            key: key.to_string(),
            text: one_line(&escape_control_chars(&format!("{key} = {value}"))),
            effect,
        }),
    }
}

fn keep_harmless(table: &mut Table) {
    table.retain(|name, value| is_harmless(name, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn table(text: &str) -> Table {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn sensitive_settings_are_sorted_by_danger() {
        let table = table(
            "model = 'm'\nallow = ['rm']\nconfine = 'off'\nbase_url = 'http://x'\n[budget]\nteam_cost = 9.0\n[anthropic]\nversion = 'v'\n",
        );
        let lines = sensitive_settings(&table);
        let texts: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "base_url = \"http://x\"",
                "confine = \"off\"",
                "allow = [\"rm\"]",
                "budget.team_cost = 9.0"
            ]
        );
        assert!(lines[0].effect.contains("key"));
    }

    #[test]
    fn unapproved_settings_are_removed() {
        let mut found = table(
            "model = 'm'\nbase_url = 'http://x'\nallow = []\n[openai]\nmax_tokens_field = 'max_tokens'\n",
        );
        assert_eq!(sensitive_settings(&found).len(), 2);
        keep_harmless(&mut found);
        assert_eq!(
            found,
            table("model = 'm'\n[openai]\nmax_tokens_field = 'max_tokens'\n")
        );
    }

    #[test]
    fn weakening_or_costly_values_need_approval() {
        for text in [
            "sandbox = 'files'",
            "worktrees = false",
            "notify = 'off'",
            "notify_about = ['done']",
            "max_tokens = 9000000",
            "max_tokens = -1",
            "tool_timeout_s = 86400",
            "worktree = { setup = 'x' }",
            "[worktree]\nsetup_timeout = 86400",
        ] {
            let mut found = table(text);
            let lines = sensitive_settings(&found);
            assert_eq!(lines.len(), 1, "{text}");
            assert_ne!(lines[0].effect, "only you may set this", "{text}");
            keep_harmless(&mut found);
            assert!(found.is_empty(), "{text}");
        }
        for text in [
            "worktrees = true",
            "notify = 'desktop'",
            "max_tokens = 8192",
            "tool_timeout_s = 600",
        ] {
            let mut found = table(text);
            assert_eq!(sensitive_settings(&found), [], "{text}");
            keep_harmless(&mut found);
            assert_eq!(found, table(text));
        }
    }

    #[test]
    fn control_characters_in_settings_are_escaped() {
        let lines = sensitive_settings(&table("base_url = \"http://a\\u001b[2J\\nb\\u202e\"\n"));
        assert!(!lines[0].text.chars().any(crate::domain::text::is_hidden));
    }
}
