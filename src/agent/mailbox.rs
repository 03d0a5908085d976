//! State that an agent and the crew share while the agent works. Locks are never held across an await.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::chat::Block;
use crate::domain::hook::HookEvent;
use crate::domain::ids::{JobId, TaskId};
use crate::domain::memory::{GIVEN_MAX, GivenSource, GivenText};
use crate::domain::todo::TodoList;
use crate::store::{InboxReader, PromptQueue};
use crate::tools::policy::PlanGate;

/// Maximum number of entries in each of three queues for an agent's next model call: the crew's notes, other texts, and
/// the user's commands. If a queue is full, its oldest entry is dropped.
pub const NOTES_MAX: usize = 20;

/// Maximum number of background job results that wait for an agent's next model call. If there are more, the oldest is
/// dropped.
pub const RESULTS_MAX: usize = 32;

/// The results of background jobs that have ended, for the model and the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// All results as one block of text for the model, in the format of learn-claude-code.
    pub block: Block,
    /// For the screen, a pair for each result: its first line, and its whole text (empty if it has only one line).
    pub lines: Vec<(String, String)>,
    pub jobs: Vec<JobId>,
}

/// The state of one agent that its tools, its driver and the crew share, such as the plan gate, waiting notes and job
/// results, and a new todo list.
#[derive(Debug, Default)]
pub struct AgentMailbox {
    todo: Mutex<Option<TodoList>>,
    gate: Mutex<PlanGate>,
    notes: Mutex<VecDeque<String>>,
    texts: Mutex<VecDeque<String>>,
    user_commands: Option<Arc<PromptQueue>>,
    results: Mutex<VecDeque<(JobId, String)>>,
    unreported_jobs: Mutex<Vec<(JobId, String)>>,
    workdir: Mutex<Option<PathBuf>>,
    compaction: Mutex<Option<String>>,
    shutdown_answer: Mutex<Option<ShutdownAnswer>>,
    /// Whether the agent stays idle when new messages arrive, because the last ones could not be acknowledged.
    ignores_messages: Mutex<bool>,
    revoked_task: Mutex<Option<TaskId>>,
    reader: Mutex<Option<Arc<InboxReader>>>,
    given: Mutex<VecDeque<GivenText>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownAnswer {
    /// The agent leaves once it has no open task, or after [`NUDGES_MAX`](super::idle::NUDGES_MAX) reminders of its
    /// open task.
    Agreed,
    Refused,
}

impl AgentMailbox {
    /// Creates the state of a new agent. `user_commands` is the queue of the commands that the user runs in the agent's
    /// conversation; `None` for subagents, whose conversations end with their task.
    pub fn new(gate: PlanGate, user_commands: Option<Arc<PromptQueue>>) -> AgentMailbox {
        AgentMailbox {
            gate: Mutex::new(gate),
            user_commands,
            ..AgentMailbox::default()
        }
    }

    /// Records a text that was added to the agent's prompt or conversation, so that the user can look it up. Replaces a
    /// recorded text with the same source and path. If there are [`GIVEN_MAX`] texts already, drops the oldest.
    pub fn record_given(&self, text: GivenText) {
        let mut given = lock(&self.given);
        given.retain(|g| (g.source, &g.path) != (text.source, &text.path));
        if given.len() == GIVEN_MAX {
            given.pop_front();
        }
        given.push_back(text);
    }

    /// Records the texts that SessionStart hooks have added to the conversation. Does nothing if `texts` is empty.
    pub fn record_session_start(&self, texts: &[String]) {
        if !texts.is_empty() {
            let (name, text) = (HookEvent::SessionStart.name(), texts.join("\n"));
            self.record_given(GivenText::whole(GivenSource::Hook, name, &text));
        }
    }

    /// Removes the recorded texts that are not in the system prompt, because a new conversation does not contain them.
    pub fn forget_given(&self) {
        lock(&self.given).retain(|text| text.source.is_in_system_prompt());
    }

    /// Returns the texts of [`AgentMailbox::record_given`], oldest first.
    pub fn given_texts(&self) -> Vec<GivenText> {
        lock(&self.given).iter().cloned().collect()
    }

    /// Stores a new todo list, which the driver takes after the tool call.
    pub fn set_todo(&self, list: TodoList) {
        *lock(&self.todo) = Some(list);
    }

    pub fn take_todo(&self) -> Option<TodoList> {
        lock(&self.todo).take()
    }

    /// Returns the plan gate: while it is closed, the agent may only read.
    pub fn gate(&self) -> PlanGate {
        *lock(&self.gate)
    }

    pub fn open_gate(&self) {
        *lock(&self.gate) = PlanGate::Open;
    }

    /// Returns whether the agent stays idle when new messages arrive. True if the last messages could not be
    /// acknowledged: they stay in the inbox and would wake the agent endlessly.
    pub fn ignores_messages(&self) -> bool {
        *lock(&self.ignores_messages)
    }

    pub fn set_ignores_messages(&self, ignores: bool) {
        *lock(&self.ignores_messages) = ignores;
    }

    /// Keeps the inbox reader open, and thus the inbox locked, until [`AgentMailbox::drop_reader`].
    pub fn keep_reader(&self, reader: Arc<InboxReader>) {
        *lock(&self.reader) = Some(reader);
    }

    pub fn reader(&self) -> Option<Arc<InboxReader>> {
        lock(&self.reader).clone()
    }

    /// Drops the inbox reader, which unlocks the inbox for other programs.
    pub fn drop_reader(&self) {
        *lock(&self.reader) = None;
    }

    /// Adds a note of the crew to the agent's next model call. If there are [`NOTES_MAX`] notes, drops the oldest.
    pub fn note(&self, line: String) {
        let mut notes = lock(&self.notes);
        if notes.len() == NOTES_MAX {
            notes.pop_front();
        }
        notes.push_back(line);
    }

    /// Adds a text, such as the instructions of an MCP server, to the agent's next model call. Does not wake an idle
    /// agent. If there are [`NOTES_MAX`] texts, drops the oldest.
    pub fn add_text(&self, text: String) {
        let mut texts = lock(&self.texts);
        if texts.len() == NOTES_MAX {
            texts.pop_front();
        }
        texts.push_back(text);
    }

    /// Takes the texts of [`AgentMailbox::add_text`] that are not yet in the agent's conversation, oldest first, one
    /// block each.
    pub fn take_texts(&self) -> Vec<Block> {
        lock(&self.texts).drain(..).map(Block::text).collect()
    }

    /// Returns the queue of the commands, with their output, that the user ran in the agent's conversation. They go
    /// into the agent's next model call and do not wake an idle agent. `None` for subagents.
    pub fn user_commands(&self) -> Option<Arc<PromptQueue>> {
        self.user_commands.clone()
    }

    /// Adds a started background job to [`AgentMailbox::unreported_jobs`], where it stays until
    /// [`AgentMailbox::remove_reported_job`]. The limit on running jobs and [`RESULTS_MAX`] bound the length of that
    /// list.
    pub fn add_running_job(&self, job: JobId, command: String) {
        lock(&self.unreported_jobs).push((job, command));
    }

    /// Returns the background jobs whose result is not yet in the conversation on disk, in the order in which they
    /// started, with their commands.
    pub fn unreported_jobs(&self) -> Vec<(JobId, String)> {
        lock(&self.unreported_jobs).clone()
    }

    /// Removes a background job from [`AgentMailbox::unreported_jobs`], because its result is in the conversation on
    /// disk. Returns its command; `None` if the job is not in the list.
    pub fn remove_reported_job(&self, job: &JobId) -> Option<String> {
        let mut untold = lock(&self.unreported_jobs);
        let at = untold.iter().position(|(id, _)| id == job)?;
        Some(untold.remove(at).1)
    }

    /// Stores `line`, the result of a background job, for the agent's next model call. If there are more than
    /// [`RESULTS_MAX`] results, drops the oldest.
    pub fn add_job_result(&self, job: JobId, line: String) {
        let dropped = {
            let mut results = lock(&self.results);
            results.push_back((job, line));
            (results.len() > RESULTS_MAX).then(|| results.pop_front())
        };
        if let Some((job, _)) = dropped.flatten() {
            self.remove_reported_job(&job);
        }
    }

    pub fn has_job_results(&self) -> bool {
        !lock(&self.results).is_empty()
    }

    /// Takes the stored results of background jobs; `None` if there are none.
    pub fn take_results(&self) -> Option<Results> {
        let (jobs, all): (Vec<JobId>, Vec<String>) = lock(&self.results).drain(..).unzip();
        (!all.is_empty()).then(|| {
            let text = all.join("\n");
            let entry = |text: &String| {
                let first = text.lines().next().unwrap_or_default();
                let whole = if first == text { "" } else { text };
                (first.to_string(), whole.to_string())
            };
            Results {
                block: Block::text(format!(
                    "<background-results>\n{text}\n</background-results>"
                )),
                lines: all.iter().map(entry).collect(),
                jobs,
            }
        })
    }

    pub fn set_shutdown_answer(&self, answer: ShutdownAnswer) {
        *lock(&self.shutdown_answer) = Some(answer);
    }

    pub fn take_shutdown_answer(&self) -> Option<ShutdownAnswer> {
        lock(&self.shutdown_answer).take()
    }

    /// Records that the agent was interrupted because `task` was taken from it. The agent then continues without
    /// waiting for a message from the user or another agent.
    pub fn set_revoked_task(&self, task: TaskId) {
        *lock(&self.revoked_task) = Some(task);
    }

    pub fn take_revoked_task(&self) -> Option<TaskId> {
        lock(&self.revoked_task).take()
    }

    /// Sets the work directory that the agent uses once the tool calls that are running have ended.
    pub fn set_workdir(&self, workdir: PathBuf) {
        *lock(&self.workdir) = Some(workdir);
    }

    pub fn take_workdir(&self) -> Option<PathBuf> {
        lock(&self.workdir).take()
    }

    /// Requests a compaction of the conversation before the next model call. Its summary should cover `focus` in most
    /// detail.
    pub fn request_compaction(&self, focus: String) {
        *lock(&self.compaction) = Some(focus);
    }

    /// Takes the `focus` that [`AgentMailbox::request_compaction`] stored; `None` if no compaction was requested.
    pub fn take_compaction(&self) -> Option<String> {
        lock(&self.compaction).take()
    }

    /// Takes all notes of the crew, as one text block for the model; `None` if there are none.
    pub fn take_notes(&self) -> Option<Block> {
        let lines: Vec<String> = lock(&self.notes).drain(..).collect();
        (!lines.is_empty()).then(|| Block::text(format!("<crew>{}</crew>", lines.join("; "))))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
