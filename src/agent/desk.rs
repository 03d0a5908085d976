//! What an agent and the crew share about the agent while it works: small, locked, never held across a wait.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::chat::Block;
use crate::domain::ids::{JobId, TaskId};
use crate::domain::todo::TodoList;
use crate::store::Reader;
use crate::tools::policy::PlanGate;

/// Most lines of housekeeping that wait for an agent's next call; older ones are dropped.
pub const NOTES_MAX: usize = 20;

/// Most ends of background jobs that wait for an agent's next call; older ones are dropped.
pub const RESULTS_MAX: usize = 32;

/// The ends of background jobs, as they enter a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// In the reference's form, for the model.
    pub block: Block,
    /// Each for the screen: its first line, and all of it where there is more.
    pub lines: Vec<(String, String)>,
    /// The jobs.
    pub jobs: Vec<JobId>,
}

/// Whether an agent can take letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intake {
    /// It can.
    #[default]
    Open,
    /// Those that it took last could not be written down, so that they wait still: they must not wake it
    /// again and again.
    Shut,
}

/// One agent's desk.
#[derive(Debug, Default)]
pub struct Desk {
    todo: Mutex<Option<TodoList>>,
    gate: Mutex<PlanGate>,
    notes: Mutex<VecDeque<String>>,
    results: Mutex<VecDeque<(JobId, String)>>,
    untold: Mutex<Vec<(JobId, String)>>,
    place: Mutex<Option<PathBuf>>,
    compaction: Mutex<Option<String>>,
    parting: Mutex<Option<Parting>>,
    intake: Mutex<Intake>,
    lifted: Mutex<Option<TaskId>>,
    reader: Mutex<Option<Arc<Reader>>>,
}

/// An agent's answer to the wish that it shuts down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parting {
    /// It goes when its task is off its hands.
    Agreed,
    /// It stays.
    Refused,
}

impl Desk {
    /// A desk of an agent whose plan stands at `gate`.
    pub fn new(gate: PlanGate) -> Desk {
        Desk {
            gate: Mutex::new(gate),
            ..Desk::default()
        }
    }

    /// Lays a new todo list down.
    pub fn set_todo(&self, list: TodoList) {
        *lock(&self.todo) = Some(list);
    }

    /// Takes the todo list that was laid down since the last look.
    pub fn take_todo(&self) -> Option<TodoList> {
        lock(&self.todo).take()
    }

    /// Where the agent's plan stands.
    pub fn gate(&self) -> PlanGate {
        *lock(&self.gate)
    }

    /// The agent's plan was approved.
    pub fn open_gate(&self) {
        *lock(&self.gate) = PlanGate::Open;
    }

    /// Whether the agent can take letters.
    pub fn intake(&self) -> Intake {
        *lock(&self.intake)
    }

    /// Says whether the agent can take letters.
    pub fn set_intake(&self, intake: Intake) {
        *lock(&self.intake) = intake;
    }

    /// The agent takes letters: it keeps the right to until they are acknowledged.
    pub fn keep_reader(&self, reader: Arc<Reader>) {
        *lock(&self.reader) = Some(reader);
    }

    /// The right to take letters, while the agent has it.
    pub fn reader(&self) -> Option<Arc<Reader>> {
        lock(&self.reader).clone()
    }

    /// What it took is acknowledged, or was nothing: others may read.
    pub fn drop_reader(&self) {
        *lock(&self.reader) = None;
    }

    /// Adds a line of housekeeping for the agent's next call.
    pub fn note(&self, line: String) {
        let mut notes = lock(&self.notes);
        if notes.len() == NOTES_MAX {
            notes.pop_front();
        }
        notes.push_back(line);
    }

    /// A background job began: it is untold until [`Desk::told`]. Bounded by the jobs that may run, and
    /// by [`RESULTS_MAX`].
    pub fn began(&self, job: JobId, command: String) {
        lock(&self.untold).push((job, command));
    }

    /// The background jobs whose end is not in the conversation on disk, with their commands.
    pub fn untold(&self) -> Vec<(JobId, String)> {
        lock(&self.untold).clone()
    }

    /// The end of a background job is in the conversation on disk; its command comes back.
    pub fn told(&self, job: &JobId) -> Option<String> {
        let mut untold = lock(&self.untold);
        let at = untold.iter().position(|(id, _)| id == job)?;
        Some(untold.remove(at).1)
    }

    /// Lays the end of a background job down.
    pub fn put_result(&self, job: JobId, line: String) {
        let dropped = {
            let mut results = lock(&self.results);
            results.push_back((job, line));
            (results.len() > RESULTS_MAX).then(|| results.pop_front())
        };
        if let Some((job, _)) = dropped.flatten() {
            self.told(&job);
        }
    }

    /// Whether background jobs have ended that the agent has not heard of.
    pub fn has_results(&self) -> bool {
        !lock(&self.results).is_empty()
    }

    /// Takes the ends of background jobs that wait.
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

    /// Lays the agent's answer to a shutdown request down.
    pub fn part(&self, answer: Parting) {
        *lock(&self.parting) = Some(answer);
    }

    /// Takes that answer.
    pub fn take_parting(&self) -> Option<Parting> {
        lock(&self.parting).take()
    }

    /// The agent is interrupted because that task was taken from it: it need not wait for words before it goes on.
    pub fn lift(&self, task: TaskId) {
        *lock(&self.lifted) = Some(task);
    }

    /// Takes the reason of such an interrupt.
    pub fn take_lifted(&self) -> Option<TaskId> {
        lock(&self.lifted).take()
    }

    /// The agent works at `place` from its next call on.
    pub fn put_place(&self, place: PathBuf) {
        *lock(&self.place) = Some(place);
    }

    /// Takes the place that the agent is to work at, if it is another than before.
    pub fn take_place(&self) -> Option<PathBuf> {
        lock(&self.place).take()
    }

    /// The agent wants its conversation summarised before the next call, with most room for `focus`.
    pub fn wish_compaction(&self, focus: String) {
        *lock(&self.compaction) = Some(focus);
    }

    /// Takes that wish.
    pub fn take_compaction(&self) -> Option<String> {
        lock(&self.compaction).take()
    }

    /// Takes all lines of housekeeping, as one line for the model.
    pub fn take_notes(&self) -> Option<Block> {
        let lines: Vec<String> = lock(&self.notes).drain(..).collect();
        (!lines.is_empty()).then(|| Block::text(format!("<crew>{}</crew>", lines.join("; "))))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
