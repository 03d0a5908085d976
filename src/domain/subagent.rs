//! Subagents: what they may do.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a subagent is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SubagentKind {
    /// Looks around: it reads files and changes nothing. `Explore` is the reference's spelling.
    #[default]
    #[serde(alias = "Explore")]
    Explore,
    /// Works: it may also write files and run commands. `general-purpose` is the reference's spelling.
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
