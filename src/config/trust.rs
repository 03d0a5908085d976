//! Decides which project settings apply immediately and which need the user's approval.
//!
//! The settings file comes from the author of the directory, whether it arrived by clone, archive or copy and whether
//! git tracks it or not. Each setting is therefore classified by its effect, never by its origin.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::approvals::{self, Decision};
use crate::domain::text::{harmless, one_line};

/// The settings that a project may set to any value without approval. [`is_harmless`] also admits certain values of some
/// others. All other settings, including future ones, need approval: they may disclose a key, run a command or
/// weaken a rule.
const HARMLESS: &[&str] = &[
    "model",
    "theme",
    "themes",
    "window",
    "compact_at",
    "calls_max",
    "idle_timeout_s",
    "model_timeout_s",
    "mouse",
    "anthropic.key_header",
    "anthropic.version",
    "openai.max_tokens_field",
];

/// Maximum number of tokens per response that a project may set without approval.
const TOKENS_MAX: i64 = 32_768;
/// Maximum run time of a command, in seconds, that a project may set without approval.
const TOOL_TIMEOUT_MAX: i64 = 3600;

/// Tables whose settings are classified one by one.
const MIXED: &[&str] = &["anthropic", "openai"];

/// What each setting can do, the most dangerous first.
const EFFECTS: &[(&str, &str)] = &[
    (
        "base_url",
        "your API key and all that agents read go to this address",
    ),
    (
        "provider",
        "selects the provider that receives your key and prompts, or a script that replaces the model",
    ),
    ("confine", "decides whether agents' commands are sandboxed"),
    ("allow", "these commands run without asking you"),
    ("write", "agents' commands may write to these folders"),
    ("tool", "decides who approves tool calls"),
    ("plan", "decides who approves plans"),
    ("shutdown", "decides who approves shutdowns"),
    ("merge", "decides who merges"),
    ("tools", "decides which tools agents have"),
    ("ceilings", "decides how much is spent before you are asked"),
    ("prices", "sets the prices used for cost estimates"),
    (
        "worktrees",
        "decides whether each task has its own worktree or all share this directory",
    ),
    ("notify", "decides whether you are notified"),
    ("notify_about", "decides what you are notified about"),
    ("max_tokens", "allows long answers, which cost more"),
    ("tool_timeout_s", "lets commands run for a long time"),
];

/// A setting that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveSetting {
    /// The dotted name.
    pub key: String,
    /// The setting in TOML, on one line and without control characters.
    pub text: String,
    /// What the setting can do, as shown to the user.
    pub effect: &'static str,
}

/// The settings in a project's file that need approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sensitive {
    /// The project directory.
    pub root: PathBuf,
    /// The settings, the most dangerous first; never empty.
    pub lines: Vec<SensitiveSetting>,
    /// The hash of the project directory and the whole file.
    pub digest: String,
}

impl Sensitive {
    /// Returns the top-level names of the settings, such as `base_url, allow`.
    pub fn names(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for line in &self.lines {
            let name = line.key.split('.').next().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Stores the user's decision about exactly this content; `None` deletes it. Returns a notice if the file of earlier
    /// decisions was unusable.
    ///
    /// # Errors
    /// Fails if the decisions file cannot be written.
    pub fn decide(&self, decision: Option<Decision>) -> anyhow::Result<Option<String>> {
        let damaged = approvals::record(&self.root, &self.digest, decision)?;
        Ok(damaged.map(|path| {
            format!(
                "The file of earlier decisions was damaged, too large or writable by others and is now {}. Approved projects ask again.",
                path.display()
            )
        }))
    }
}

/// Whether the sensitive settings of a project apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Project {
    /// The project has no sensitive settings.
    #[default]
    Harmless,
    /// They apply: the user approved exactly this content.
    Approved(Sensitive),
    /// They do not apply: the user chose to ignore exactly this content.
    Ignored(Sensitive),
    /// They do not apply yet: the user has not decided.
    Waiting(Sensitive),
}

/// Looks up the decision about the settings file of the project in `root`. `bytes` is the file, `table` the same file
/// parsed. Removes settings that do not apply from `table`.
pub fn apply_decision(root: &Path, bytes: &[u8], table: &mut Table) -> Project {
    let lines = sensitive_settings(table);
    if lines.is_empty() {
        return Project::Harmless;
    }
    let found = Sensitive {
        root: root.to_owned(),
        lines,
        digest: approvals::digest(root, bytes),
    };
    let decision = approvals::decision(&found.digest);
    if decision != Some(Decision::Approved) {
        keep_harmless(table);
    }
    match decision {
        Some(Decision::Approved) => Project::Approved(found),
        Some(Decision::Ignored) => Project::Ignored(found),
        None => Project::Waiting(found),
    }
}

/// Returns whether a project may set `key` to `value` without approval.
fn is_harmless(key: &str, value: &Value) -> bool {
    let is_at_most = |most| value.as_integer().is_some_and(|n| (0..=most).contains(&n));
    match key {
        "worktrees" => value.as_bool() == Some(true),
        "notify" => matches!(value.as_str(), Some("bell" | "desktop")),
        "max_tokens" => is_at_most(TOKENS_MAX),
        "tool_timeout_s" => is_at_most(TOOL_TIMEOUT_MAX),
        _ => HARMLESS.contains(&key),
    }
}

/// Returns the settings by dotted name; settings of [`MIXED`] tables are listed one by one.
fn dotted_settings(table: &Table) -> Vec<(String, &Value)> {
    let mut out = Vec::new();
    for (key, value) in table {
        match value.as_table().filter(|_| MIXED.contains(&key.as_str())) {
            Some(inner) => {
                out.extend(inner.iter().map(|(k, value)| (format!("{key}.{k}"), value)));
            }
            None => out.push((key.clone(), value)),
        }
    }
    out
}

fn sensitive_settings(table: &Table) -> Vec<SensitiveSetting> {
    let mut out = Vec::new();
    for (key, value) in dotted_settings(table) {
        if is_harmless(&key, value) {
            continue;
        }
        let effect = EFFECTS.iter().find(|(known, _)| *known == key);
        let effect = effect.map_or("only you may set this", |(_, effect)| effect);
        flatten(&key, value, effect, &mut out);
    }
    let rank = |line: &SensitiveSetting| {
        let name = line.key.split('.').next().unwrap_or_default();
        let index = EFFECTS.iter().position(|(known, _)| *known == name);
        index.unwrap_or(EFFECTS.len())
    };
    out.sort_by_key(rank);
    out
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
            text: one_line(&harmless(&format!("{key} = {value}"))),
            effect,
        }),
    }
}

fn keep_harmless(table: &mut Table) {
    for name in MIXED {
        if let Some(inner) = table.get_mut(*name).and_then(Value::as_table_mut) {
            inner.retain(|key, value| is_harmless(&format!("{name}.{key}"), value));
        }
    }
    table.retain(|key, value| is_harmless(key, value) || MIXED.contains(&key));
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
            "model = 'm'\nallow = ['rm']\nconfine = 'off'\nbase_url = 'http://x'\n[ceilings]\nteam_cost = 9.0\n[anthropic]\nversion = 'v'\n",
        );
        let lines = sensitive_settings(&table);
        let texts: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "base_url = \"http://x\"",
                "confine = \"off\"",
                "allow = [\"rm\"]",
                "ceilings.team_cost = 9.0"
            ]
        );
        assert!(lines[0].effect.contains("key"));
    }

    #[test]
    fn unapproved_settings_are_removed() {
        let mut found = table(
            "model = 'm'\nbase_url = 'http://x'\nallow = []\n[openai]\nmax_tokens_field = 'max_tokens'\nnew = 1\n",
        );
        assert_eq!(sensitive_settings(&found).len(), 3);
        keep_harmless(&mut found);
        assert_eq!(
            found,
            table("model = 'm'\n[openai]\nmax_tokens_field = 'max_tokens'\n")
        );
    }

    #[test]
    fn weakening_or_costly_values_need_approval() {
        for text in [
            "confine = 'files'",
            "worktrees = false",
            "notify = 'off'",
            "notify_about = ['done']",
            "max_tokens = 9000000",
            "max_tokens = -1",
            "tool_timeout_s = 86400",
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
