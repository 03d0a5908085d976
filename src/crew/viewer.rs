//! Executes the user's commands in a viewer, a dashboard for a crew that runs in another process, here or on another host. A
//! viewer changes only the shared state, and the crew notices the changes. Commands that need the crew's process are refused.

mod hub_feed;
mod merging;
mod removal;
mod state_reader;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::attachments;
use super::command_loop::{self, COMMANDS_MAX, CommandHandler};
use super::context::lock;
use super::identical_requests::decide_with_like;
use super::merge_service::diff_of;
use super::message_delivery::{from_user, send_to_member};
use super::server_prompt::calls_prompt;
use super::shutdown::NUDGE;
use super::user_actions::ActionStores;
use crate::agent::driver::run_blocking;
use crate::checks::TaskChecks;
use crate::domain::host::HostName;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::mail::MailMessage;
use crate::domain::mention::Mention;
use crate::domain::request::{Decision, Request, RequestKind, Verdict};
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{DeliveryState, EventKind, NoticeLevel, TeamEvent};
use crate::protocol::{Command, EventSender, SentCommand, TaskCommand};
use crate::store::{Skills, StoreError, Stores, WorktreeCommands, Worktrees};
pub use hub_feed::{HubFeed, HubUpdate};
use state_reader::StateReader;

/// The process in which the viewed crew runs, if it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runner {
    /// The crew runs in another process. Contains the process id if it is known.
    Process(Option<u32>),
    /// The crew does not run. The viewer then refuses to decide requests and to request shutdowns, because this would
    /// have no effect.
    None,
    /// The crew is on a hub, and this host leads it; `None` if no host leads it. Other hosts may run teammates in both cases,
    /// so requests are decided. The branches are in the clones of the hosts, so the viewer does not merge or remove them.
    Hub(Option<HostName>),
}

/// Returns the checks for merges of the branches of tasks in a project.
pub type MergeChecks = fn(&Path, &[TaskId]) -> Result<Option<TaskChecks>, String>;

pub struct ViewerParts {
    /// The project directory. Its state folders must exist.
    pub root: PathBuf,
    /// The shared state of the crew.
    pub stores: Stores,
    pub runner: Runner,
    /// Whether the settings have checks. A viewer does not run them when the user completes a task.
    pub has_checks: bool,
    /// Returns the checks of the merged state for merges of the branches of tasks; `None` if no check could apply. Called
    /// before a merge.
    pub merge_checks: MergeChecks,
    /// Publishes events to the viewer's own screen. The crew does not receive them.
    pub event_sender: EventSender,
    /// Returns the commands for worktrees. Called before a worktree is removed.
    pub worktree_commands: fn(&Path) -> WorktreeCommands,
    pub clock: fn() -> Timestamp,
    pub new_id: fn() -> String,
}

/// Accepts commands for a crew that runs in another process. Dropping this value stops the viewer and does not affect
/// the crew.
pub struct Viewer {
    commands: mpsc::Sender<SentCommand>,
    files: Arc<ViewerStores>,
    /// Interrupts the teardown commands when the viewer is dropped.
    _stop: DropGuard,
}

impl Viewer {
    /// Starts a viewer. It accepts commands immediately.
    pub fn start(parts: ViewerParts) -> Viewer {
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let stop = CancellationToken::new();
        let files = Arc::new(ViewerStores {
            stop: stop.clone(),
            stores: parts.stores,
            worktrees: Worktrees::open(&parts.root),
            has_checks: parts.has_checks.into(),
            merge_checks: parts.merge_checks,
            root: parts.root,
            merge_turn: tokio::sync::Mutex::default(),
            runner: Mutex::new(parts.runner),
            event_sender: parts.event_sender,
            worktree_commands: parts.worktree_commands,
            clock: parts.clock,
            new_id: parts.new_id,
        });
        tokio::spawn(command_loop::run(Arc::clone(&files), inbox));
        Viewer {
            commands,
            files,
            _stop: stop.drop_guard(),
        }
    }

    pub fn set_runner(&self, runner: Runner) {
        *lock(&self.files.runner) = runner;
    }

    /// Records that the crew has checks, even if the settings here have none.
    pub fn note_checks(&self) {
        self.files.has_checks.store(true, Ordering::Relaxed);
    }

    /// Reads the state files in the background, and publishes the whole board, the team, the pending requests, the
    /// newest messages and the merge status of the branches. An error is published as a notice.
    pub fn publish_files(&self) {
        let files = Arc::clone(&self.files);
        tokio::spawn(async move {
            if let Err(error) = files.publish_files().await {
                let text = format!("The state files cannot be read: {error}");
                let event = EventKind::notice(NoticeLevel::Error, text);
                files.event_sender.publish(event).await;
            }
        });
    }

    /// Queues a command without waiting. If the viewer later rejects the command, it publishes an event with the
    /// reason.
    ///
    /// # Errors
    /// Returns the command if the queue is full.
    pub fn submit(&self, command: SentCommand) -> Result<(), SentCommand> {
        let sent = self.commands.try_send(command);
        sent.map_err(mpsc::error::TrySendError::into_inner)
    }
}

struct ViewerStores {
    /// Cancelled when the viewer is dropped.
    stop: CancellationToken,
    root: PathBuf,
    stores: Stores,
    worktrees: Worktrees,
    has_checks: AtomicBool,
    merge_checks: MergeChecks,
    /// Locked during a merge or worktree removal of this viewer, so that these run one at a time.
    merge_turn: tokio::sync::Mutex<()>,
    runner: Mutex<Runner>,
    event_sender: EventSender,
    worktree_commands: fn(&Path) -> WorktreeCommands,
    clock: fn() -> Timestamp,
    new_id: fn() -> String,
}

impl CommandHandler for ViewerStores {
    async fn carry_out(self: &Arc<Self>, command: Command) -> Result<(), String> {
        if is_about_branches(&command) && self.is_on_hub() {
            return Err(self.crew_window_only());
        }
        match command {
            Command::Prompt {
                to,
                text,
                attachments,
            } => self.write(&to, &text, attachments).await,
            Command::Nudge { member } => {
                let message = from_user(&member, NUDGE, (self.new_id)(), self.now());
                self.send(&member, message.generated()).await
            }
            Command::Decide(decision) => self.decide(decision).await,
            Command::AskShutdown { member } => self.ask_shutdown(&member).await,
            Command::Task(command) => self.act(*command).await,
            Command::Merge { task } => self.merge_asked(vec![task]).await,
            Command::MergeAll { tasks } => self.merge_asked(tasks).await,
            Command::InspectWorktree { task } => self.judge_worktree(task).await,
            Command::RemoveWorktree { task, confirmed } => {
                self.remove_worktree(task, confirmed).await
            }
            Command::ShowDiff { task } => self.show_diff(task).await,
            _ => Err(self.crew_window_only()),
        }
    }

    async fn publish(&self, event: EventKind) {
        self.event_sender.publish(event).await;
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(work);
    }

    /// Never completes: the command loop of a viewer ends when the viewer is dropped.
    async fn wait_for_stop(&self) {
        std::future::pending::<()>().await;
    }
}

impl ViewerStores {
    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn runner(&self) -> Runner {
        lock(&self.runner).clone()
    }

    fn is_on_hub(&self) -> bool {
        matches!(self.runner(), Runner::Hub(_))
    }

    fn crew_window_only(&self) -> String {
        match self.runner() {
            Runner::Process(Some(id)) => {
                format!(
                    "Only the crewdeck that runs this crew can do that: use its window (process {id})."
                )
            }
            Runner::Process(None) => {
                "Only the crewdeck that runs this crew can do that: use its window.".into()
            }
            Runner::None => NO_CREW.into(),
            Runner::Hub(Some(host)) => {
                format!("Only host {host}, which leads this crew, can do that: use its dashboard.")
            }
            Runner::Hub(None) => NO_LEAD.into(),
        }
    }

    fn needs_crew(&self) -> Result<(), String> {
        match self.runner() {
            Runner::Process(_) | Runner::Hub(_) => Ok(()),
            Runner::None => Err(NO_CREW.into()),
        }
    }

    /// Sends a message of the user to the lead or a teammate. The agent receives the message before its next model
    /// call, after the crew has run the `UserPromptSubmit` hooks for it.
    async fn write(&self, to: &Name, text: &str, attachments: Vec<Mention>) -> Result<(), String> {
        if text.trim().is_empty() {
            return Err("An empty message was not sent.".into());
        }
        if calls_prompt(&Skills::open(&self.root, None), text).await {
            return Err(PROMPTS_ELSEWHERE.into());
        }
        let redactor = self.event_sender.redactor();
        let attachments =
            attachments::read(&self.root, attachments, redactor, Err(RESOURCES_ELSEWHERE)).await?;
        let message =
            from_user(to, text, (self.new_id)(), self.now()).with_attachments(&attachments);
        self.send(to, message).await
    }

    async fn send(&self, to: &Name, message: MailMessage) -> Result<(), String> {
        let (roster, mailbox, sent) = (
            self.stores.roster.clone(),
            self.stores.mailbox.clone(),
            message.clone(),
        );
        let to_lead = to.is_lead();
        let done = run_blocking(move || {
            if to_lead {
                mailbox.send(&sent)
            } else {
                send_to_member(&roster, &mailbox, &sent)
            }
        });
        done.await.map_err(|e| e.to_string())?;
        let step = DeliveryState::Sent;
        self.event_sender
            .publish(EventKind::Team(TeamEvent::MessageMoved { message, step }))
            .await;
        Ok(())
    }

    async fn decide(&self, decision: Decision) -> Result<(), String> {
        self.needs_crew()?;
        let (requests, now) = (self.stores.requests.clone(), self.now());
        let decided = run_blocking(move || decide_with_like(&requests, &decision, now)).await;
        decided.map(|_| ()).map_err(|e| e.to_string())
    }

    /// Files a shutdown request of the user for the teammate `member`, and approves it immediately, because the user
    /// has requested it.
    async fn ask_shutdown(&self, member: &Name) -> Result<(), String> {
        self.needs_crew()?;
        let (roster, board, requests) = (
            self.stores.roster.clone(),
            self.stores.board.clone(),
            self.stores.requests.clone(),
        );
        let (id, member, now) = (RequestId((self.new_id)()), member.clone(), self.now());
        let done = run_blocking(move || {
            let team = roster.read()?;
            if !team.present().any(|m| m.name.same(&member)) {
                return Err(team.unknown(member.as_str()).into());
            }
            let mut request = Request::new(
                id,
                RequestKind::Shutdown,
                Name::user(),
                member,
                "Requested by the user.".into(),
                now,
            );
            request.task = board
                .read()?
                .graph
                .open_task_of(&request.target)
                .map(|t| t.id);
            let decision = Decision::on(&request, Verdict::Approve, Name::user(), String::new());
            requests.create(&request)?;
            requests.decide(&decision, now)
        });
        done.await.map(|_| ()).map_err(|e| e.to_string())
    }

    /// Fails if checks could apply to the task, because a viewer does not run them.
    async fn check_has_no_checks(&self, id: TaskId) -> Result<(), String> {
        let board = self.stores.board.clone();
        let task = run_blocking(move || board.get(id)).await;
        let task = task.map_err(|e| e.to_string())?;
        if self.has_checks.load(Ordering::Relaxed) || !task.acceptance.is_empty() {
            return Err(format!(
                "task {id} has checks, which a viewer does not run: complete it in the dashboard of the crew, or with crewdeck task done {} --as user",
                id.0
            ));
        }
        Ok(())
    }

    /// Executes an action of the user on the board. If the crew runs, the crew notices the changed files and publishes
    /// the change. Otherwise the viewer publishes it.
    async fn act(&self, command: TaskCommand) -> Result<(), String> {
        let is_on_hub = self.is_on_hub();
        let stores = ActionStores {
            root: self.root.clone(),
            board: self.stores.board.clone(),
            roster: self.stores.roster.clone(),
            mailbox: self.stores.mailbox.clone(),
            worktrees: (!is_on_hub).then(|| self.worktrees.clone()),
            checks: Vec::new(),
            now: self.now(),
            new_id: self.new_id,
        };
        if let TaskCommand::Complete { task } = &command {
            self.check_has_no_checks(*task).await?;
        }
        let done = run_blocking(move || {
            stores.prepare(&command)?;
            stores.act(command, None)
        });
        let acted = done.await.map_err(|e| e.to_string())?;
        self.event_sender.publish(acted.to_event()).await;
        let runner = self.runner();
        let crew_creates = matches!(runner, Runner::Process(_));
        // The worktrees of a crew on a hub are in other clones.
        let workspace = (!is_on_hub).then(|| acted.workspace_text(&self.root, crew_creates));
        if let Some(text) = workspace.flatten() {
            self.notice(text).await;
        }
        if let Some(text) = acted.notice {
            self.notice(text).await;
        }
        match runner {
            Runner::Process(_) | Runner::Hub(_) => Ok(()),
            Runner::None => self.publish_files().await.map_err(|e| e.to_string()),
        }
    }

    async fn notice(&self, text: String) {
        let event = EventKind::notice(NoticeLevel::Info, text);
        self.event_sender.publish(event).await;
    }

    async fn publish_files(&self) -> Result<(), StoreError> {
        let mut reader = StateReader::new(&self.stores);
        let read = move || {
            let parts = StateReader::parts().into_iter();
            let parts: Result<Vec<_>, StoreError> = parts.map(|part| reader.read(&part)).collect();
            Ok(parts?.concat())
        };
        for event in run_blocking(read).await? {
            self.event_sender.publish(event).await;
        }
        self.publish_branches().await;
        Ok(())
    }

    async fn show_diff(&self, id: TaskId) -> Result<(), String> {
        let board = self.stores.board.clone();
        let reading = run_blocking(move || board.read()).await;
        let graph = reading.map_err(|e| e.to_string())?.graph;
        let shown = diff_of(self.worktrees.clone(), &graph, id).await?;
        self.event_sender.publish(shown).await;
        Ok(())
    }
}

/// Returns whether the command reads or changes the branch or the worktree of a task.
fn is_about_branches(command: &Command) -> bool {
    matches!(
        command,
        Command::Merge { .. }
            | Command::MergeAll { .. }
            | Command::InspectWorktree { .. }
            | Command::RemoveWorktree { .. }
            | Command::ShowDiff { .. }
    )
}

/// The reason why a message that is written in a viewer cannot attach a resource of an MCP server. It is part of the
/// error for the user.
const RESOURCES_ELSEWHERE: &str = "only the crewdeck that runs this crew reads resources of MCP servers: write the message in its window";
const PROMPTS_ELSEWHERE: &str = "Only the crewdeck that runs this crew calls prompts of MCP servers: write the message in its window.";
const NO_CREW: &str = "No crew is running. Quit, then run crewdeck --resume.";
const NO_LEAD: &str =
    "No host leads this crew: quit, then start crewdeck --hub again to lead it from here.";

#[cfg(test)]
#[path = "viewer_tests.rs"]
mod tests;
