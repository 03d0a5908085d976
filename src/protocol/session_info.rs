//! Session data for the front ends: directory, model and tools.

use serde::{Deserialize, Serialize};

use crate::domain::permission::SettingsPermissions;

/// Data about the session. Sent once at the start and again when the model changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // independent facts, each a field on disk
pub struct SessionInfo {
    pub session: String,
    /// The project's root as shown to the user, with `~` for the home directory.
    pub root: String,
    /// The name of the provider, such as `anthropic`; `script` or `demo` for a scripted model.
    pub provider: String,
    pub model: String,
    /// Whether a script supplies the answers instead of a model. If so, the screen must say that no model answers.
    pub scripted: bool,
    /// Whether [`Self::root`] is the top level of a git repository.
    pub git: bool,
    /// Size of the model's context window in tokens, if known.
    pub window: Option<u64>,
    /// The names of the tools that the lead can use.
    pub tools: Vec<String>,
    /// Whether this session is new, and an earlier session could be resumed instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
    /// The entries of the setting `allow`, which names what agents may run without asking.
    #[serde(default, skip_serializing_if = "SettingsPermissions::is_empty")]
    pub allowed: SettingsPermissions,
    /// Whether the settings have checks, so that branches are checked together before they are merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checks: bool,
}

impl SessionInfo {
    /// Returns the last component of [`Self::root`], as a short name for the project: `~` for the home directory, empty
    /// for `/`.
    pub fn project(&self) -> &str {
        self.root.rsplit('/').next().unwrap_or_default()
    }
}
