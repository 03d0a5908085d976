//! What comes with a repository may set what suits the project, and not where keys go, what is allowed and who decides.

use std::path::Path;

use anyhow::{Result, bail};

use super::PROJECT_FILE;
use crate::domain::text::one_line;
use crate::store;

/// The settings that a repository may bring along. Every other one can loosen what the person relies on, and so can
/// those that are yet to come.
const HARMLESS: &[&str] = &[
    "model",
    "theme",
    "themes",
    "max_tokens",
    "window",
    "compact_at",
    "worktrees",
    "calls_max",
    "idle_timeout_s",
    "tool_timeout_s",
    "model_timeout_s",
    "notify",
    "notify_about",
    "mouse",
    "anthropic",
    "openai",
];

/// Refuses the settings `keys` of the project's file in `root` that only the person may set, where git tracks the file:
/// then it is no file of the person's but one of whoever wrote the repository. What git can not tell is refused too.
///
/// # Errors
/// Names them, and the file where they belong.
pub fn refuse<'a>(root: &Path, keys: impl Iterator<Item = &'a String>) -> Result<()> {
    let loosening: Vec<&str> = keys
        .map(String::as_str)
        .filter(|key| !HARMLESS.contains(key))
        .collect();
    if loosening.is_empty() || !root.join(".git").exists() {
        return Ok(());
    }
    let (shown, belong) = (root.join(PROJECT_FILE), "~/.config/crewdeck/config.toml");
    let (shown, keys) = (shown.display(), loosening.join(", "));
    match store::is_tracked(root, PROJECT_FILE) {
        Ok(false) => Ok(()),
        Ok(true) => bail!(
            "{shown} comes with the repository, so it can not set {keys}: move what you want of it to {belong}"
        ),
        Err(why) => bail!(
            "{shown} sets {keys}, and whether it comes with the repository is not known ({}): move what you want of it to {belong}",
            one_line(&why.to_string())
        ),
    }
}
