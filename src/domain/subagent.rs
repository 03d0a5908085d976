//! The kinds of subagents.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name that Claude Code uses for the type of an agent that has no role.
pub const GENERAL_PURPOSE: &str = "general-purpose";

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

impl SubagentKind {
    /// Returns the name of this kind in Claude Code, which hooks receive.
    pub fn claude_name(self) -> &'static str {
        match self {
            SubagentKind::Explore => "Explore",
            SubagentKind::General => GENERAL_PURPOSE,
        }
    }

    /// Returns the kind with this name in Claude Code; `None` for any other name, such as that of a role. Case matters.
    pub fn from_claude_name(name: &str) -> Option<SubagentKind> {
        let all = [SubagentKind::Explore, SubagentKind::General];
        all.into_iter().find(|kind| kind.claude_name() == name)
    }
}

impl fmt::Display for SubagentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SubagentKind::Explore => "explore",
            SubagentKind::General => "general",
        })
    }
}
