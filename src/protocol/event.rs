//! Event: what happened. The screen, the headless front end and the journal live on these alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::setup::Setup;
use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, JobId, Name, TaskId};
use crate::domain::job::Job;
use crate::domain::limits::Limits;
use crate::domain::mail::Letter;
pub use crate::domain::mail::LetterStep;
use crate::domain::request::Request;
use crate::domain::rule::SessionRule;
use crate::domain::skill::SkillBook;
use crate::domain::stamp::Stamp;
use crate::domain::subagent::SubagentKind;
use crate::domain::task::Task;
use crate::domain::team::{Activity, Team};
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;
use crate::domain::worktree::{Branch, CheckedOut, Losses};
use crate::protocol::Asked;

/// Something that happened, numbered and dated. One of these is one line of `crewdeck run --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts up by one; a gap is a delta that was merged or dropped.
    pub seq: u64,
    /// When it happened.
    pub at: Stamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model has answered.
    Done,
    /// The person interrupted it.
    Interrupted,
    /// The model failed; `hint` says what to do.
    Failed {
        /// What went wrong, in one line.
        error: String,
        /// What to do about it; may be empty.
        hint: String,
    },
    /// A rule of crewdeck ended it (rounds, loop, refusal); the text says which.
    Stopped {
        /// Which rule, in one line.
        why: String,
    },
}

/// How a conversation was shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// What was done.
    #[serde(flatten)]
    pub how: Shortened,
    /// The tokens that it took before, as counted or estimated.
    pub before: u64,
    /// The tokens that it takes now, estimated.
    pub after: u64,
}

/// What was done to a conversation that had grown too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Shortened {
    /// Old tool results gave way to placeholders.
    Results {
        /// How many.
        count: usize,
    },
    /// All of it gave way to a summary.
    Summary {
        /// Where the whole conversation is kept, below the root.
        transcript: String,
    },
}

/// Most branches that one event tells of.
pub const BRANCHES_MAX: usize = 200;

/// What the person did to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum PersonAct {
    /// Took it.
    Claimed,
    /// Put it back on the board.
    Released {
        /// Whose it was.
        from: Name,
    },
    /// Completed it.
    Completed,
    /// Wrote it.
    Added,
    /// Changed its words, tags or edges.
    Edited,
}

/// How much a notice matters; what is worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Something is not as it should be, work goes on.
    Warn,
    /// Something failed.
    Error,
}

/// What happened. The crew sends all of them; where an agent is named, it happened to that agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The crew is there, or its model has changed.
    CrewReady(Setup),
    /// The models that the server offers. Answers [`super::Command::ListModels`].
    ModelsListed {
        /// Their names, as the server orders them.
        names: Vec<String>,
    },
    /// A prompt of the user entered an agent's conversation: until then it waits in the queue. Answers
    /// [`super::Command::Prompt`].
    Prompted {
        /// The agent.
        agent: Name,
        /// The words.
        text: String,
    },
    /// Something else entered an agent's conversation: letters, a claimed task, a reminder.
    Injected {
        /// The agent.
        agent: Name,
        /// In one line: what it was.
        what: String,
        /// All of it, for reading; empty where the line says all, and in journals of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// An agent began to work on an answer.
    TurnStarted {
        /// The agent.
        agent: Name,
    },
    /// Words of an answer, as they arrive. May be merged or dropped: [`EventKind::Said`] follows whole.
    TextDelta {
        /// The agent.
        agent: Name,
        /// The words.
        text: String,
    },
    /// Thoughts of an answer, as they arrive. May be merged or dropped.
    ThinkingDelta {
        /// The agent.
        agent: Name,
        /// The thoughts.
        text: String,
    },
    /// The answer broke off and is tried again: what its deltas said does not count.
    StreamReset {
        /// The agent.
        agent: Name,
    },
    /// An answer is whole (its words; its tool calls follow as events of their own).
    Said {
        /// The agent.
        agent: Name,
        /// The words; may be empty.
        text: String,
        /// The thoughts; may be empty.
        thinking: String,
        /// How long the thoughts took, in milliseconds; 0 where it is not known.
        #[serde(default)]
        thought_ms: u64,
    },
    /// A tool call begins (also one that will be refused).
    ToolStarted {
        /// The agent.
        agent: Name,
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// What it works on, in one line.
        on: String,
        /// Its input, bounded.
        input: Value,
    },
    /// Output of a running tool, as it arrives. May be merged or dropped.
    ToolOutput {
        /// The agent.
        agent: Name,
        /// The call.
        call: CallId,
        /// The output.
        chunk: String,
    },
    /// A tool call has its result.
    ToolFinished {
        /// The agent.
        agent: Name,
        /// The call.
        call: CallId,
        /// The tool.
        tool: String,
        /// How it ended.
        outcome: Outcome,
        /// The result as the model reads it, bounded.
        output: String,
        /// A unified diff of what it changed; empty: nothing or not a file.
        diff: String,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// The turn is over and the agent rests.
    TurnEnded {
        /// The agent.
        agent: Name,
        /// Why.
        #[serde(flatten)]
        end: TurnEnd,
    },
    /// An agent does something else now.
    ActivityChanged {
        /// The agent.
        agent: Name,
        /// What.
        activity: Activity,
    },
    /// The server has counted tokens.
    UsageChanged {
        /// The agent.
        agent: Name,
        /// All its tokens so far.
        total: Usage,
        /// The tokens that its conversation takes of the model's window.
        context: u64,
        /// The model's window, where known.
        window: Option<u64>,
        /// Whether the window is assumed from the model's name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        assumed: bool,
        /// What all its tokens cost in US dollars, where the price is known.
        cost: Option<f64>,
        /// Its calls of the model so far; 0 where they were not counted.
        #[serde(default)]
        calls: u64,
    },
    /// An agent's conversation was shortened. Answers [`super::Command::Compact`].
    Compacted {
        /// The agent.
        agent: Name,
        /// How.
        #[serde(flatten)]
        compaction: Compaction,
    },
    /// An agent replaced its todo list.
    TodoChanged {
        /// The agent.
        agent: Name,
        /// The list.
        list: TodoList,
    },
    /// An agent has sent a subagent out. What the subagent does comes as events of its own name; its
    /// `TurnEnded` is its end.
    SubagentStarted {
        /// The subagent.
        agent: Name,
        /// Who sent it.
        parent: Name,
        /// The call that it answers.
        call: CallId,
        /// What it may do.
        kind: SubagentKind,
        /// What it is to find out or do.
        prompt: String,
    },
    /// A background job began or ended. Answers [`super::Command::KillJob`].
    JobChanged {
        /// The job as it stands.
        job: Job,
    },
    /// Output of a background job, as it arrives. May be merged or dropped.
    JobOutput {
        /// The job.
        job: JobId,
        /// The output.
        chunk: String,
    },
    /// The board on disk is another than before, whoever changed it. At the start of a crew the whole board comes
    /// this way. A large change comes as several events of a bounded size ([`Delta::pieces`]).
    ///
    /// [`Delta::pieces`]: crate::domain::graph::Delta::pieces
    BoardChanged {
        /// The tasks that are new or other than before, whole.
        changed: Vec<Arc<Task>>,
        /// The tasks that are there no more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<TaskId>,
    },
    /// The person has changed the board by a command; the `BoardChanged` that follows shows how. Answers
    /// [`super::Command::Task`].
    PersonActed {
        /// The task.
        task: TaskId,
        /// What was done.
        #[serde(flatten)]
        act: PersonAct,
    },
    /// Branches of worktrees stand otherwise than before, whoever merged them. At the start of a crew all of them come
    /// this way; outside a repository none does. Many come as several events, [`BRANCHES_MAX`] in each.
    BranchesChanged {
        /// Those branches.
        branches: Vec<Branch>,
    },
    /// The root has something else checked out than before, whoever switched; told at the start of a crew, too. Outside
    /// a repository it never comes.
    HeadChanged {
        /// What it is now.
        head: CheckedOut,
    },
    /// What the branch of a task changes. Answers [`super::Command::ShowDiff`].
    DiffShown {
        /// The task.
        task: TaskId,
        /// A line for each changed file, and a sum.
        stat: String,
        /// The changes as a unified diff, cut with a mark.
        text: String,
        /// New files that are not in it yet.
        untracked: Vec<String>,
    },
    /// What would be lost with the worktree of a task. Answers [`super::Command::JudgeWorktree`].
    WorktreeJudged {
        /// The task.
        task: TaskId,
        /// What would be lost.
        losses: Losses,
        /// What its folder takes on disk, in words.
        size: String,
    },
    /// The roster on disk is another than before, whoever changed it.
    TeamChanged {
        /// The whole roster.
        team: Arc<Team>,
    },
    /// A letter took a step.
    LetterMoved {
        /// The letter.
        letter: Letter,
        /// The step.
        step: LetterStep,
    },
    /// A request was made, decided or withdrawn. Answers [`super::Command::Decide`].
    RequestChanged {
        /// The request as it stands.
        request: Request,
    },
    /// The rules of the session are others: what the person allowed the whole team.
    RulesChanged {
        /// All of them, the oldest first.
        rules: Vec<SessionRule>,
    },
    /// The limits of the crew are others than before: the person raised a ceiling. Also sent once at the start.
    LimitsChanged(Limits),
    /// The skills on disk are others than before; also sent once at the start. A notice follows for each
    /// one that can not be used.
    SkillsChanged(SkillBook),
    /// Something the person should know, in one line.
    Notice {
        /// How much it matters.
        level: Level,
        /// The agent it is about, if any.
        agent: Option<Name>,
        /// What happened and what to do.
        text: String,
    },
    /// A command could not be carried out; nothing changed.
    Refused {
        /// Which command. `None`: the journal is of a version that did not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Asked>,
        /// Why, and what to do.
        why: String,
    },
    /// Nobody works, nothing is on its way, and no request waits but those that the lead was reminded of in vain: a
    /// headless run ends here.
    CrewAtRest,
}

impl EventKind {
    /// Whether it may be merged or dropped under load, because a later event says it whole.
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            EventKind::TextDelta { .. }
                | EventKind::ThinkingDelta { .. }
                | EventKind::ToolOutput { .. }
                | EventKind::JobOutput { .. }
        )
    }

    /// Whether it answers a command and says nothing to a screen that has not given it: to one that shows the
    /// session later, or beside the first one.
    pub fn is_for_asker(&self) -> bool {
        matches!(
            self,
            EventKind::DiffShown { .. }
                | EventKind::WorktreeJudged { .. }
                | EventKind::ModelsListed { .. }
                | EventKind::Refused { .. }
        )
    }

    /// A notice for everybody.
    pub fn notice(level: Level, text: impl Into<String>) -> EventKind {
        EventKind::Notice {
            level,
            agent: None,
            text: text.into(),
        }
    }
}
