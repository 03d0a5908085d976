//! What the crew works with: its directory, its model and its tools, as the screen is told of them.

use serde::{Deserialize, Serialize};

/// What the crew works with; sent once at the start and again when the model changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The session's id.
    pub session: String,
    /// The directory that the crew works in, as the person would write it.
    pub root: String,
    /// `anthropic`, `openai`, `script`, `demo`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// Whether the model is scripted: the screen must say so.
    pub scripted: bool,
    /// Whether the directory is a git repository.
    pub git: bool,
    /// The tokens that the model can hold, where known.
    pub window: Option<u64>,
    /// The tools that the lead has.
    pub tools: Vec<String>,
    /// Whether this session is new and another one could be gone on with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier: bool,
}

impl Setup {
    /// The name of the directory that the crew works in.
    pub fn project(&self) -> &str {
        self.root.rsplit('/').next().unwrap_or_default()
    }
}
