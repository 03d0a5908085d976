//! What an external agent reports while it works: texts, tool calls, plans and usage.
//!
//! All texts are untrusted and may contain control characters: callers escape them before they show them. Secrets in
//! them are redacted already.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A report of an external agent about its session.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentUpdate {
    /// The next part of the agent's answer. The end of a part may be held back until the next update or the end of the
    /// turn, because it could be the start of a secret.
    Text(String),
    /// The next part of the agent's thoughts. As in `Text`, the end of a part may be held back.
    Thought(String),
    /// The state of a tool call after a change. The first update with the id of a call announces that call.
    ToolCall(AgentToolCall),
    /// The agent's whole plan. It replaces the previous plan.
    Plan(Vec<AgentPlanEntry>),
    Context(ContextUsage),
    /// The title that the agent has given the session.
    Title(String),
    /// The id of the mode in which the agent works from now on.
    Mode(String),
    /// The names of the agent's slash commands, without the slash.
    Commands(Vec<String>),
    /// Something for the user to know, for example that a part of the output was left out.
    Notice(String),
}

/// A tool call of an external agent, with everything that the agent has reported about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentToolCall {
    /// Identifies the call in its session.
    pub id: String,
    pub title: String,
    pub kind: AgentToolKind,
    pub status: AgentToolStatus,
    /// The arguments, as the agent reports them; `None` if it reports none. A value that is too large is replaced by a
    /// text that says so.
    pub raw_input: Option<Value>,
    pub locations: Vec<FileLocation>,
    /// The output as text.
    pub text: String,
    pub diffs: Vec<FileDiff>,
    /// Whether the files in `locations`, `diffs` and `raw_input` differ from the files that the agent has reported. A
    /// file is left out if there were too many files, or if its path is too long. A path with a secret is redacted.
    #[serde(default)]
    pub has_more_files: bool,
}

impl AgentToolCall {
    /// Returns a pending call of which only the id is known.
    pub fn new(id: impl Into<String>) -> AgentToolCall {
        AgentToolCall {
            id: id.into(),
            title: String::new(),
            kind: AgentToolKind::Other,
            status: AgentToolStatus::Pending,
            raw_input: None,
            locations: Vec::new(),
            text: String::new(),
            diffs: Vec::new(),
            has_more_files: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    #[default]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentToolStatus {
    /// The call has not started, for example because it waits for a permission.
    #[default]
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl AgentToolStatus {
    /// Returns whether the call has ended.
    pub fn is_final(self) -> bool {
        matches!(self, AgentToolStatus::Completed | AgentToolStatus::Failed)
    }
}

/// A place in a file that a tool call reads or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLocation {
    pub path: String,
    pub line: Option<u32>,
}

/// A change of a file by a tool call. Long texts are cut in the middle, with a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: String,
    /// The text before the change; `None` for a new file.
    pub old: Option<String>,
    pub new: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlanEntry {
    pub text: String,
    pub status: PlanEntryStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEntryStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

/// How full the agent's context window is, and what the session has cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextUsage {
    /// Number of tokens that the context window contains now.
    pub used: u64,
    /// Size of the context window in tokens, as the agent reports it; 0 if it does not.
    pub size: u64,
    /// The cost of the session so far in US dollars; `None` if the agent reports none, or reports another currency.
    pub cost: Option<f64>,
}
