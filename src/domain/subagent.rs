//! What kinds of subagents exist.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a subagent may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SubagentKind {
    /// Reads files and changes nothing. Called `Explore` in learn-claude-code.
    #[default]
    #[serde(alias = "Explore")]
    Explore,
    /// May also write files and run commands. Called `general-purpose` in learn-claude-code.
    #[serde(alias = "general-purpose")]
    General,
}

impl fmt::Display for SubagentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SubagentKind::Explore => "explore",
            SubagentKind::General => "general",
        })
    }
}
