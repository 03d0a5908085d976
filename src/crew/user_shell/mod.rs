//! Runs commands that the user types with `!` in the composer. A command runs in the work directory of the addressed
//! agent, with the user's own rights: without the sandbox and the protection of the git history that apply to commands of
//! agents, but under a supervisor, with the same limits and without keys in its environment. No approval is needed. The
//! agent receives the command and its output with its next message, also after a restart.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use super::work_directory::work_directory;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::agent::mailbox::{AgentMailbox, NOTES_MAX};
use crate::domain::chat::Outcome;
use crate::domain::ids::{CallId, Name, PromptId};
use crate::process::supervisor::Supervisor;
use crate::process::{self, CommandSpec, HeadTailBuffer, JobExit, JobReport, Reach};
use crate::protocol::event::{AgentEvent, NoticeLevel};
use crate::store::{QueuedPrompt, os_errors};

/// Maximum number of bytes of a command's output that are kept for the user and the agent: half from the start of the
/// output, half from its end.
const OUTPUT_MAX: usize = 16_000;
/// Maximum run time of a command. The user can stop the command earlier.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// Runs the user's commands. Each agent's conversation has at most one running command.
pub struct UserShell {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    worktrees: Arc<TaskWorktrees>,
    /// The supervisor of the commands, which has no sandbox. With `None`, commands run without a supervisor.
    supervisor: Option<Arc<Supervisor>>,
    running: Mutex<BTreeMap<Name, CancellationToken>>,
}

impl UserShell {
    /// `supervisor` is the supervisor of the agents' commands.
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        board: Arc<BoardView>,
        worktrees: Arc<TaskWorktrees>,
        supervisor: Option<Arc<Supervisor>>,
    ) -> UserShell {
        UserShell {
            context,
            registry,
            board,
            worktrees,
            supervisor: supervisor.map(|supervisor| Arc::new(supervisor.for_user())),
            running: Mutex::default(),
        }
    }

    /// Runs a command to its end, and publishes its output in the conversation of `agent` while it runs. Afterwards,
    /// adds the command and its output to the agent's next model call. A command that fails is not an error.
    ///
    /// # Errors
    /// Returns the reason if the command was not started: the agent is not running, or another command runs in its
    /// conversation.
    pub async fn run(&self, agent: &Name, command: String) -> Result<(), String> {
        let Some(handle) = self.registry.find(agent) else {
            return Err(format!("{agent} is not running."));
        };
        let cancel = self.context.stop.child_token();
        match lock(&self.running).entry(agent.clone()) {
            Entry::Vacant(entry) => entry.insert(cancel.clone()),
            Entry::Occupied(_) => {
                return Err(format!(
                    "A command is still running in {agent}'s conversation: wait until it ends, or stop it."
                ));
            }
        };
        let place = (&*self.context, &*self.board, &*self.worktrees);
        let dir = work_directory(place, agent).await;
        let call = CallId(format!("user-{}", self.context.new_id()));
        let started = AgentEvent::UserCommandStarted {
            call: call.clone(),
            command: command.clone(),
        };
        self.context.publish(started.of(agent.clone())).await;
        let began = Instant::now();
        let (outcome, output) = self
            .execute(agent, &call, command.clone(), dir.clone(), &cancel)
            .await;
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        lock(&self.running).remove(agent);
        let text = format!(
            "<user-command directory=\"{}\">\n$ {command}\n{output}\n</user-command>",
            dir.display()
        );
        self.add(agent, &handle.mailbox, text).await;
        let ended = AgentEvent::UserCommandEnded {
            call,
            outcome,
            output,
            took_ms,
        };
        self.context.publish(ended.of(agent.clone())).await;
        Ok(())
    }

    /// Adds `text`, a command with its output, to the agent's next model call. Keeps a copy on disk until the agent's
    /// conversation contains the text.
    async fn add(&self, agent: &Name, mailbox: &AgentMailbox, text: String) {
        let Some(queue) = mailbox.user_commands() else {
            mailbox.add_text(text);
            return;
        };
        let entry = QueuedPrompt {
            id: PromptId(self.context.new_id()),
            text,
            attachments: Vec::new(),
            context: Vec::new(),
        };
        let notice = match run_blocking(move || queue.push_within(NOTES_MAX, entry)).await {
            Ok(false) => return,
            Ok(true) => format!(
                "More than {NOTES_MAX} commands wait for {agent}: the output of the oldest was dropped. {agent} reads the others with your next message."
            ),
            Err(error) => format!(
                "The output of the command cannot be saved, so {agent} will not see it if crewdeck ends before your next message: {error}"
            ),
        };
        self.context.notice(NoticeLevel::Warn, notice).await;
    }

    /// Stops the command that runs in the conversation of `agent`, without waiting for its end. Returns whether one was
    /// running.
    pub fn interrupt(&self, agent: &Name) -> bool {
        let running = lock(&self.running);
        let found = running.iter().find(|(name, _)| name.same(agent));
        found.inspect(|(_, cancel)| cancel.cancel()).is_some()
    }

    async fn execute(
        &self,
        agent: &Name,
        call: &CallId,
        command: String,
        dir: PathBuf,
        cancel: &CancellationToken,
    ) -> (Outcome, String) {
        let added = self.worktrees.added_environment(&dir).await;
        let spec = CommandSpec {
            // The network setting restricts agents, not the user.
            reach: Reach::default(),
            argv: process::shell(command),
            dir,
            timeout: TIMEOUT,
            keep: OUTPUT_MAX,
            supervisor: self.supervisor.clone(),
            added,
        };
        // Secrets are redacted before the output is shortened, because a shortened secret would not be recognized.
        let mut clean = self.context.event_sender.redactor().stream();
        let mut keep = HeadTailBuffer::new(OUTPUT_MAX);
        let publish = |bytes: &[u8]| {
            let chunk = String::from_utf8_lossy(bytes).into_owned();
            let call = call.clone();
            self.context
                .event_sender
                .offer(AgentEvent::ToolOutput { call, chunk }.of(agent.clone()));
        };
        let live = |bytes: &[u8]| {
            let bytes = clean.push(bytes);
            keep.push(&bytes);
            publish(&bytes);
        };
        match process::run(&spec, cancel, live).await {
            Ok(report) => {
                keep.push(&clean.end());
                describe(&report, keep.text().trim_end())
            }
            Err(error) => {
                let why = os_errors::explain(&error);
                (
                    Outcome::Error,
                    format!("The shell cannot be started: {why}"),
                )
            }
        }
    }
}

/// Returns the outcome of a command, and its output as text. If the command failed, the last line of the text says how
/// the command ended.
fn describe(report: &JobReport, output: &str) -> (Outcome, String) {
    let mut text = output.to_string();
    if let Some(note) = &report.note {
        text.push_str(&format!("\n{note}"));
    }
    let ended = match report.ended {
        JobExit::Code(0) => String::new(),
        JobExit::Code(code) => format!("\n[exit code {code}]"),
        JobExit::Signal(signal) => format!("\n[ended by signal {signal}]"),
        JobExit::TimedOut => "\n[stopped after an hour]".into(),
        JobExit::Cancelled => "\n[interrupted]".into(),
    };
    let outcome = if ended.is_empty() {
        Outcome::Ok
    } else {
        Outcome::Error
    };
    text.push_str(&ended);
    let text = match text.trim_start_matches('\n') {
        "" => "(no output)",
        text => text,
    };
    (outcome, text.into())
}
