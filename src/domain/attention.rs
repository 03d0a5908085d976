//! What is worth calling the person for, and how.

use serde::{Deserialize, Serialize};

/// How the person is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calling {
    /// By the terminal's bell: a sound, a mark on its tab, what the terminal makes of it.
    #[default]
    Bell,
    /// By a notification of the desktop (OSC 9), in terminals that have it.
    Desktop,
    /// Not at all.
    Off,
}

/// What the person is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// A plan, a permission, a question or a ceiling waits.
    Needs,
    /// An agent failed or is stuck.
    Trouble,
    /// All work is done and everybody rests.
    Done,
}

impl Matter {
    /// All of them.
    pub const ALL: [Matter; 3] = [Matter::Needs, Matter::Trouble, Matter::Done];
}
