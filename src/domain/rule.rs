//! Rules of the session: what the person allowed the whole team until crewdeck ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::stamp::Stamp;

/// Most rules that a session holds.
pub const RULES_MAX: usize = 100;

/// Which commands a permission covers beside the one that was asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Scope {
    /// The same command, to the letter.
    Exact {
        /// The command.
        command: String,
    },
    /// Every command that begins with these words and is nothing but one program.
    Begins {
        /// The program and its subcommand.
        words: String,
    },
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Exact { command } => write!(f, "exactly `{command}`"),
            Scope::Begins { words } => write!(f, "every command that begins with `{words}`"),
        }
    }
}

/// One rule of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRule {
    /// Counts up; a number is never given twice in a session.
    pub number: u64,
    /// What it allows.
    pub scope: Scope,
    /// Who allowed it.
    pub by: Name,
    /// Whose request it began with.
    pub asked_by: Name,
    /// Since when.
    pub since: Stamp,
}
