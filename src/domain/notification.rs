//! Which events notify the user outside the dashboard, and how.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyMethod {
    #[default]
    Bell,
    /// Shows a desktop notification (OSC 9), in terminals that support it.
    Desktop,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyKind {
    /// A plan, a permission, a question or a reached budget waits for the user.
    Needs,
    /// An agent failed or is stuck.
    Trouble,
    /// All tasks are done and all agents are idle.
    Done,
}

impl NotifyKind {
    pub const ALL: [NotifyKind; 3] = [NotifyKind::Needs, NotifyKind::Trouble, NotifyKind::Done];
}
