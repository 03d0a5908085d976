//! Which events notify the user outside the dashboard, and how.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyMethod {
    #[default]
    Bell,
    /// Shows a desktop notification with the escape sequence OSC 9, which not all terminals support.
    Desktop,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotifyKind {
    /// A request waits for the user, for example a plan, a permission, a question or a used-up budget.
    Needs,
    /// An agent failed or is stuck.
    Trouble,
    /// All agents are idle and no request is open. Tasks may still be open.
    Done,
}

impl NotifyKind {
    pub const ALL: [NotifyKind; 3] = [NotifyKind::Needs, NotifyKind::Trouble, NotifyKind::Done];
}
