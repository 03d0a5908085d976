//! Events: what happened in the crew. The dashboard, the headless front end and the journal are built from these
//! alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::session_info::SessionInfo;
use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, JobId, Name, TaskId};
use crate::domain::job::Job;
use crate::domain::limits::Limits;
pub use crate::domain::mail::DeliveryState;
use crate::domain::mail::MailMessage;
use crate::domain::permission::SessionPermission;
use crate::domain::request::Request;
use crate::domain::skill::SkillCatalog;
use crate::domain::subagent::SubagentKind;
use crate::domain::task::Task;
use crate::domain::team::{Activity, Team};
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;
use crate::domain::worktree::{Branch, CheckedOut, Losses};
use crate::protocol::CommandRef;

/// A numbered event with its time. One event is one line of `crewdeck run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Increases by one with each event. A gap means that a delta was merged or dropped.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model has answered.
    Done,
    /// The user interrupted the turn.
    Interrupted,
    /// The model call failed.
    Failed {
        /// The error, in one line.
        error: String,
        /// What the user can do about it; may be empty.
        hint: String,
    },
    /// A limit of crewdeck ended the turn: too many rounds, a loop, the token limit of an answer, or a
    /// refusal of the model.
    Stopped {
        /// Which limit, in one line.
        why: String,
    },
}

/// The result of shortening a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    #[serde(flatten)]
    pub how: CompactionMethod,
    /// Size before, in tokens, counted or estimated.
    pub before: u64,
    /// Size after, in tokens, estimated.
    pub after: u64,
}

/// How a conversation was shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CompactionMethod {
    /// Old tool results were replaced by placeholders.
    Results {
        /// How many results.
        count: usize,
    },
    /// The whole conversation was replaced by a summary.
    Summary {
        /// The file that keeps the full conversation, relative to the root.
        transcript: String,
    },
}

/// Maximum number of branches in one event.
pub const BRANCHES_MAX: usize = 200;

/// A change that the user made to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum UserAction {
    Claimed,
    /// Returned it to the board.
    Released {
        /// The previous owner.
        from: Name,
    },
    Completed,
    Added,
    /// Changed its text, tags or dependencies.
    Edited,
}

/// Severity of a notice. A more severe level compares as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Information only.
    Info,
    /// A problem that does not stop the work.
    Warn,
    /// A failure.
    Error,
}

/// The kinds of events, with their data. A field `agent` names the agent that the event belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The crew has started, or its model has changed.
    CrewReady(SessionInfo),
    /// The models that the server offers. Answers [`super::Command::ListModels`].
    ModelsListed {
        /// Model names in the server's order.
        names: Vec<String>,
    },
    /// A prompt of the user entered an agent's conversation. Before that it waited in the queue. Answers
    /// [`super::Command::Prompt`].
    Prompted { agent: Name, text: String },
    /// Other text entered an agent's conversation: messages, a claimed task, a reminder.
    Injected {
        agent: Name,
        /// A summary in one line.
        what: String,
        /// The full text. Empty if `what` is complete, and in journals of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// An agent began a turn.
    TurnStarted { agent: Name },
    /// A piece of an answer, as it arrives. May be merged or dropped; [`EventKind::Said`] has the full text.
    TextDelta { agent: Name, text: String },
    /// A piece of the model's thinking, as it arrives. May be merged or dropped.
    ThinkingDelta { agent: Name, text: String },
    /// The stream of an answer failed and is retried. Discard the deltas of the failed attempt.
    StreamReset { agent: Name },
    /// An answer is complete. Its tool calls follow as separate events.
    Said {
        agent: Name,
        /// The text of the answer; may be empty.
        text: String,
        /// The thinking; may be empty.
        thinking: String,
        /// Duration of the thinking in milliseconds; 0 if unknown.
        #[serde(default)]
        thought_ms: u64,
    },
    /// A tool call begins. Also sent for a call that is then denied.
    ToolStarted {
        agent: Name,
        call: CallId,
        /// The name of the tool.
        tool: String,
        /// What the call works on, such as a path or a command, in one line.
        on: String,
        /// The input, cut to a bounded size.
        input: Value,
    },
    /// Output of a running tool, as it arrives. May be merged or dropped.
    ToolOutput {
        agent: Name,
        call: CallId,
        chunk: String,
    },
    /// A tool call has its result.
    ToolFinished {
        agent: Name,
        call: CallId,
        /// The name of the tool.
        tool: String,
        outcome: Outcome,
        /// The result as the model reads it, cut to a bounded size.
        output: String,
        /// The unified diff of the changed file; empty if no file was changed.
        diff: String,
        /// Duration in milliseconds.
        took_ms: u64,
    },
    /// A turn has ended and the agent is idle.
    TurnEnded {
        agent: Name,
        #[serde(flatten)]
        end: TurnEnd,
    },
    /// An agent's activity has changed, for example from thinking to running a tool.
    ActivityChanged { agent: Name, activity: Activity },
    /// The server has reported token usage for an agent.
    UsageChanged {
        agent: Name,
        /// All tokens that the agent has used so far.
        total: Usage,
        /// Tokens of the conversation in the model's context window.
        context: u64,
        /// Size of the context window in tokens, if known.
        window: Option<u64>,
        /// Whether `window` is guessed from the model's name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        assumed: bool,
        /// Cost of all tokens in US dollars, if the price is known.
        cost: Option<f64>,
        /// Number of model calls so far; 0 if not counted.
        #[serde(default)]
        calls: u64,
    },
    /// An agent's conversation was shortened. Answers [`super::Command::Compact`].
    Compacted {
        agent: Name,
        #[serde(flatten)]
        compaction: Compaction,
    },
    /// An agent replaced its todo list.
    TodoChanged { agent: Name, list: TodoList },
    /// An agent started a subagent. The subagent sends events under its own name and ends with its `TurnEnded`.
    SubagentStarted {
        /// The name of the subagent.
        agent: Name,
        /// The agent that started it.
        parent: Name,
        /// The tool call that returns its result.
        call: CallId,
        /// What the subagent may do.
        kind: SubagentKind,
        /// The prompt for the subagent.
        prompt: String,
    },
    /// A background job began or ended. Answers [`super::Command::KillJob`].
    JobChanged {
        /// The current state of the job.
        job: Job,
    },
    /// Output of a background job, as it arrives. May be merged or dropped.
    JobOutput { job: JobId, chunk: String },
    /// The board on disk has changed, through crewdeck or another program. The first events of a crew carry the whole
    /// board. A large change is split into several events of bounded size ([`Delta::pieces`]).
    ///
    /// [`Delta::pieces`]: crate::domain::graph::Delta::pieces
    BoardChanged {
        /// New and changed tasks, complete.
        changed: Vec<Arc<Task>>,
        /// Deleted tasks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<TaskId>,
    },
    /// The user has changed the board with a command. A `BoardChanged` event with the result follows. Answers
    /// [`super::Command::Task`].
    PersonActed {
        task: TaskId,
        #[serde(flatten)]
        act: UserAction,
    },
    /// The state of worktree branches has changed, through crewdeck or another program. The first events of a crew
    /// carry all branches. Never sent outside a repository. More than [`BRANCHES_MAX`] branches are split into
    /// several events.
    BranchesChanged {
        /// The changed branches.
        branches: Vec<Branch>,
    },
    /// The commit or branch that is checked out in the root has changed. Also sent once at the start. Never sent
    /// outside a repository.
    HeadChanged {
        /// What is checked out now.
        head: CheckedOut,
    },
    /// The diff of a task's branch. Answers [`super::Command::ShowDiff`].
    DiffShown {
        task: TaskId,
        /// One line for each changed file and a total, as from `git diff --stat`.
        stat: String,
        /// The unified diff; if it was cut, a line says so.
        text: String,
        /// Untracked files, which the diff does not include.
        untracked: Vec<String>,
    },
    /// What would be lost if a task's worktree were removed. Answers [`super::Command::JudgeWorktree`].
    WorktreeJudged {
        task: TaskId,
        losses: Losses,
        /// Disk usage of the worktree's folder, formatted for the screen.
        size: String,
    },
    /// The roster on disk has changed, through crewdeck or another program.
    TeamChanged {
        /// The whole roster.
        team: Arc<Team>,
    },
    /// A message was sent, delivered or acted on.
    LetterMoved {
        letter: MailMessage,
        step: DeliveryState,
    },
    /// A request was made, decided or withdrawn. Answers [`super::Command::Decide`].
    RequestChanged {
        /// The current state of the request.
        request: Request,
    },
    /// The session permissions, which the user has given to the whole team, have changed.
    RulesChanged {
        /// All session permissions, oldest first.
        rules: Vec<SessionPermission>,
    },
    /// The limits of the crew have changed: the user raised a budget. Also sent once at the start.
    LimitsChanged(Limits),
    /// The skills on disk have changed. Also sent once at the start. A notice follows for each skill that cannot be
    /// used.
    SkillsChanged(SkillCatalog),
    /// A one-line message for the user.
    Notice {
        level: NoticeLevel,
        /// The agent that the notice is about, if any.
        agent: Option<Name>,
        /// What happened and what to do.
        text: String,
    },
    /// A command could not be carried out; nothing changed.
    Refused {
        /// The command. `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<CommandRef>,
        /// The reason and what to do.
        why: String,
    },
    /// All agents are idle, no message or job is pending, and no request waits except those of which the lead was
    /// reminded without effect. A headless run ends here.
    CrewAtRest,
}

impl EventKind {
    /// Returns whether the event may be merged or dropped under load, because a later event has the full data.
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            EventKind::TextDelta { .. }
                | EventKind::ThinkingDelta { .. }
                | EventKind::ToolOutput { .. }
                | EventKind::JobOutput { .. }
        )
    }

    /// Returns whether the event only matters to the front end that gave the command, and not to other or later
    /// viewers of the session.
    pub fn is_command_reply(&self) -> bool {
        matches!(
            self,
            EventKind::DiffShown { .. }
                | EventKind::WorktreeJudged { .. }
                | EventKind::ModelsListed { .. }
                | EventKind::Refused { .. }
        )
    }

    /// Returns a notice that concerns no particular agent.
    pub fn notice(level: NoticeLevel, text: impl Into<String>) -> EventKind {
        EventKind::Notice {
            level,
            agent: None,
            text: text.into(),
        }
    }
}
