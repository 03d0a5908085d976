//! What the settings file of a project may do by itself, and what it may only do once the user has approved exactly it.
//!
//! The author of the directory wrote the file: a clone, an archive and a copy are alike, whether git tracks the file or
//! not. So its settings are parted by what they can do, and never by where they come from.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::approvals::{self, Decision};
use super::settings::{self, InProject, Setting};
use crate::domain::text::{harmless, one_line};

/// A setting that needs approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its name.
    pub key: String,
    /// The setting as it is written, on one line and without control characters.
    pub text: String,
    /// What it can do.
    pub effect: &'static str,
}

/// The settings of a project's file that need approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sensitive {
    /// The directory that the file belongs to.
    pub root: PathBuf,
    /// The settings, the most dangerous first; never empty.
    pub lines: Vec<Line>,
    /// The hash of the whole file and its directory.
    pub digest: String,
}

impl Sensitive {
    /// The names of the settings: `base_url, allow`.
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

    /// Remembers what the user decided about exactly this content. Returns a notice where the earlier decisions could
    /// not be used.
    ///
    /// # Errors
    /// The file of approvals cannot be written.
    pub fn decide(&self, decision: Option<Decision>) -> anyhow::Result<Option<String>> {
        let aside = approvals::record(&self.root, &self.digest, decision)?;
        Ok(aside.map(|aside| {
            format!(
                "The file of earlier decisions was damaged, too large or writable by others. It is now {}: projects that it approved ask again.",
                aside.display()
            )
        }))
    }
}

/// What becomes of the sensitive settings of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Project {
    /// There are none.
    #[default]
    Harmless,
    /// They apply: the user approved exactly them.
    Approved(Sensitive),
    /// They do not apply: the user decided so for exactly this content.
    Ignored(Sensitive),
    /// They do not apply yet: the user has not decided.
    Waiting(Sensitive),
}

/// Judges the file `bytes` of the project in `root`, parsed as `table`; takes out of the table what does not apply.
pub fn judge(root: &Path, bytes: &[u8], table: &mut Table) -> Project {
    let lines = sensitive(table);
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

/// Whether a project may set `name` to `value` without approval.
fn is_harmless(name: &str, value: &Value) -> bool {
    let Some(setting) = settings::find(name) else {
        return false;
    };
    match setting.in_project {
        InProject::Applies => {
            // A table with fixed names may gain names that this version does not know.
            let table = value.as_table().filter(|_| !setting.keys.is_empty());
            table.is_none_or(|t| t.keys().all(|key| setting.keys.contains(&key.as_str())))
        }
        InProject::AppliesIf { is_harmless, .. } => is_harmless(value),
        InProject::NeedsApproval { .. } | InProject::Refused { .. } => false,
    }
}

fn sensitive(table: &Table) -> Vec<Line> {
    let mut out = Vec::new();
    // In the order of the declaration: what can do most harm comes first.
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

/// What a setting of a project can do; shown before it is approved.
const ONLY_USER: &str = "only you may set this";

fn effect(setting: &Setting) -> &'static str {
    match setting.in_project {
        InProject::AppliesIf { effect, .. } | InProject::NeedsApproval { effect } => effect,
        InProject::Applies | InProject::Refused { .. } => ONLY_USER,
    }
}

fn flatten(key: &str, value: &Value, effect: &'static str, out: &mut Vec<Line>) {
    match value.as_table().filter(|table| !table.is_empty()) {
        Some(table) => {
            for (name, value) in table {
                flatten(&format!("{key}.{name}"), value, effect, out);
            }
        }
        None => out.push(Line {
            key: key.to_string(),
            text: one_line(&harmless(&format!("{key} = {value}"))),
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
    fn sensitive_settings_are_listed_the_worst_first() {
        let table = table(
            "model = 'm'\nallow = ['rm']\nconfine = 'off'\nbase_url = 'http://x'\n[ceilings]\nteam_cost = 9.0\n[anthropic]\nversion = 'v'\n",
        );
        let lines = sensitive(&table);
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
    fn what_is_not_approved_is_taken_out() {
        let mut found = table(
            "model = 'm'\nbase_url = 'http://x'\nallow = []\n[openai]\nmax_tokens_field = 'max_tokens'\n",
        );
        assert_eq!(sensitive(&found).len(), 2);
        keep_harmless(&mut found);
        assert_eq!(
            found,
            table("model = 'm'\n[openai]\nmax_tokens_field = 'max_tokens'\n")
        );
    }

    #[test]
    fn values_that_loosen_hide_or_cost_need_approval() {
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
            let lines = sensitive(&found);
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
            assert_eq!(sensitive(&found), [], "{text}");
            keep_harmless(&mut found);
            assert_eq!(found, table(text));
        }
    }

    #[test]
    fn control_characters_in_a_setting_are_not_drawn() {
        let lines = sensitive(&table("base_url = \"http://a\\u001b[2J\\nb\\u202e\"\n"));
        assert!(!lines[0].text.chars().any(crate::domain::text::is_hidden));
    }
}
