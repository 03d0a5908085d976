//! Executes the user's actions on the board, in the crew and in viewers. They have the same effect as the subcommands
//! of `crewdeck task`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::board_view::BoardView;
use super::checks::CrewChecks;
use super::context::CrewContext;
use super::hook_session;
use super::hooks::feedback;
use super::registry::AgentHandle;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::domain::checks::CheckRecord;
use crate::domain::graph::Claimer;
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{MessageId, Name, TaskId};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::TaskCommand;
use crate::protocol::event::{BoardEvent, EventKind, NoticeLevel, UserAction};
use crate::store::{Board, Mailbox, Roster, StoreError, TaskSet, Worktrees, take_task};
use crate::tools::host::Host;

/// What is needed to execute the user's actions on the board: the stores, the time and an id generator. Also used where
/// no crew runs.
pub struct ActionStores {
    pub root: PathBuf,
    pub board: Board,
    pub roster: Roster,
    pub mailbox: Mailbox,
    /// The worktree store; `None` if worktrees are not in use.
    pub worktrees: Option<Worktrees>,
    /// The results of the checks of the task that is completed; empty for all other actions.
    pub checks: Vec<CheckRecord>,
    pub now: Timestamp,
    pub new_id: fn() -> String,
}

/// An executed action of the user on the board, and the task as it is afterwards.
pub struct CompletedAction {
    pub task: Task,
    pub act: UserAction,
    /// A warning for the user if a task was released, but the message to its previous owner could not be written.
    pub notice: Option<String>,
}

impl CompletedAction {
    /// Returns the message that tells the user where to work on a task that the user has claimed. Returns `None` for
    /// all other actions. Also returns `None` if the task has no worktree yet and `crew_creates` is true, because the
    /// crew then creates the worktree and announces it.
    pub fn workspace_text(&self, root: &Path, crew_creates: bool) -> Option<String> {
        let (UserAction::Claimed, id) = (&self.act, self.task.id) else {
            return None;
        };
        let tree = WorktreeName::new(&self.task.worktree).ok();
        let dir = tree.map(|tree| Path::new(".worktrees").join(tree.as_str()));
        match dir.filter(|dir| root.join(dir).is_dir()) {
            Some(dir) => Some(format!(
                "You claimed {id}. Its worktree {} contains the earlier work.",
                dir.display()
            )),
            None if crew_creates => None,
            None => Some(format!(
                "You claimed {id}. Work on it in the project directory."
            )),
        }
    }

    pub fn to_event(&self) -> EventKind {
        EventKind::Board(BoardEvent::UserActed {
            task: self.task.id,
            act: self.act.clone(),
        })
    }
}

impl ActionStores {
    /// Prepares the completion of a task by the user: commits the uncommitted files in the task's worktree, since
    /// dependent tasks build on its branch. Does nothing for other actions.
    ///
    /// # Errors
    /// Fails if the user cannot complete the task, or the files cannot be committed.
    pub fn prepare(&self, command: &TaskCommand) -> Result<(), StoreError> {
        let TaskCommand::Complete { task } = command else {
            return Ok(());
        };
        let id = *task;
        self.board
            .query(move |graph| graph.check_complete(id, &Name::user()))??;
        let task = self.board.get(id)?;
        let Some((worktrees, name)) = self
            .worktrees
            .as_ref()
            .zip(WorktreeName::new(&task.worktree).ok())
        else {
            return Ok(());
        };
        if self.root.join(".worktrees").join(name.as_str()).is_dir() {
            let message = format!("task {id}: {}", task.subject);
            worktrees.commit_leftovers(&name, &message)?;
        }
        Ok(())
    }

    /// Executes an action on the board files. Publishes nothing. A new task gets the number `reserved`; with `None`,
    /// the next free number.
    ///
    /// # Errors
    /// Fails if the rules of the board do not permit the action, or if the files cannot be read or written.
    pub fn act(
        &self,
        command: TaskCommand,
        reserved: Option<TaskId>,
    ) -> Result<CompletedAction, StoreError> {
        let (board, now) = (&self.board, self.now);
        let mut notice = None;
        let (task, act) = match command {
            TaskCommand::Claim { task } => {
                let claimed = board.claim(Some(task), &Claimer::user(), now)?;
                (
                    claimed.map_or_else(|| board.get(task).map(Arc::unwrap_or_clone), Ok)?,
                    UserAction::Claimed,
                )
            }
            TaskCommand::Release { task, from } => {
                let doors = (board, &self.roster, &self.mailbox);
                let message = MessageId((self.new_id)());
                let taken = take_task(doors, task, &from, message, now)?;
                notice = taken.notice;
                (taken.task, UserAction::Released { from })
            }
            TaskCommand::Complete { task } => (
                board.complete_checked(task, &Name::user(), &self.checks, now)?,
                UserAction::Completed,
            ),
            TaskCommand::Add { new } => (board.create_as(reserved, new, now)?, UserAction::Added),
            TaskCommand::Edit { task, edit } => (board.edit(task, &edit, now)?, UserAction::Edited),
        };
        Ok(CompletedAction { task, act, notice })
    }
}

/// Executes the user's actions in the process that runs the crew.
pub struct UserActions {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    board: Arc<BoardView>,
    roster: Roster,
    mailbox: Mailbox,
    /// The worktree store; `None` if worktrees are not in use.
    worktrees: Option<Worktrees>,
    checks: Arc<CrewChecks>,
}

impl UserActions {
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        board: Arc<BoardView>,
        roster: Roster,
        mailbox: Mailbox,
        worktrees: Option<Worktrees>,
        checks: Arc<CrewChecks>,
    ) -> UserActions {
        UserActions {
            context,
            signals,
            board,
            roster,
            mailbox,
            worktrees,
            checks,
        }
    }

    /// Stops the checks of the tasks that `agent` wants to complete. What the user completes is shown with the lead, so
    /// interrupting the lead stops it too. Returns whether there were any.
    pub fn stop_checks(&self, agent: &Name) -> bool {
        let were_running = self.checks.stop(agent);
        let were_of_user = agent.is_lead() && self.checks.stop(&Name::user());
        were_running || were_of_user
    }

    /// Runs the hooks of an action that adds or completes a task. The input of `TaskCreated` hooks contains the number
    /// of the new task, so this number is reserved first. Returns the reserved number; `None` if no `TaskCreated` hook
    /// was run.
    ///
    /// # Errors
    /// Returns the reason if a hook blocks the action or the hooks were interrupted.
    async fn check_hooks(
        &self,
        command: &TaskCommand,
        lead: Option<&AgentHandle>,
        host: Option<&dyn Host>,
    ) -> Result<Option<TaskId>, String> {
        let Some(hooks) = &self.context.hooks else {
            return Ok(None);
        };
        let mut reserved = None;
        let change = match command {
            TaskCommand::Add { new } if hooks.has_hooks(HookEvent::TaskCreated) => {
                let (board, copy) = (self.board.store().clone(), new.clone());
                let now = self.context.now();
                let id = run_blocking(move || board.reserve(&copy, now)).await;
                let id = id.map_err(|e| e.to_string())?;
                reserved = Some(id);
                HookInput::TaskCreated {
                    id: id.0.to_string(),
                    subject: new.subject.clone(),
                    description: new.description.clone(),
                }
            }
            TaskCommand::Complete { task } if hooks.has_hooks(HookEvent::TaskCompleted) => {
                let graph = self.board.graph();
                let (id, user) = (*task, Name::user());
                graph.check_complete(id, &user).map_err(|e| e.to_string())?;
                let task = graph.get(id).ok_or("the task no longer exists")?;
                HookInput::TaskCompleted {
                    id: id.0.to_string(),
                    subject: task.subject.clone(),
                    description: task.description.clone(),
                }
            }
            _ => return Ok(None),
        };
        let event = change.event();
        let agent = (&Name::lead(), lead);
        let outcome = hook_session::run_for_user(&self.context, hooks, agent, &change, host).await;
        let outcome = outcome.ok_or_else(|| {
            let what = match event {
                HookEvent::TaskCreated => "added",
                _ => "completed",
            };
            let event = event.name();
            format!("The task was not {what}: its {event} hooks were interrupted.")
        })?;
        feedback(event, &outcome).map_err(|why| one_line(&why))?;
        Ok(reserved)
    }

    /// Executes an action on the board and publishes the result. If the user interrupts the lead while hooks of the
    /// action run, the hooks end and the action is not executed. With a `host`, the user is asked about a hook that
    /// blocks the action too often. Before a task is completed, its checks run; if they are red, the user is asked.
    ///
    /// # Errors
    /// Returns the reason if the action was not executed.
    pub async fn act(
        &self,
        command: TaskCommand,
        lead: Option<&AgentHandle>,
        host: Option<&dyn Host>,
    ) -> Result<(), String> {
        let stores = ActionStores {
            root: self.context.root.clone(),
            board: self.board.store().clone(),
            roster: self.roster.clone(),
            mailbox: self.mailbox.clone(),
            worktrees: self.worktrees.clone(),
            checks: Vec::new(),
            now: self.context.now(),
            new_id: self.context.new_id,
        };
        let reserved = self.check_hooks(&command, lead, host).await?;
        let (mut stores, command) =
            run_blocking(move || stores.prepare(&command).map(|()| (stores, command)))
                .await
                .map_err(|e| e.to_string())?;
        if let TaskCommand::Complete { task } = &command {
            stores.checks = self.checks.settle_for_user(*task).await?;
            stores.now = self.context.now();
        }
        let change = async {
            let acted = run_blocking(move || stores.act(command, reserved)).await;
            acted.map_err(|e| e.to_string())
        };
        let acted = self.board.change(change, CompletedAction::to_event).await?;
        if let Some(text) = acted.workspace_text(&self.context.root, self.worktrees.is_some()) {
            self.context.notice(NoticeLevel::Info, text).await;
        }
        if let Some(text) = acted.notice {
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let id = acted.task.id;
        let graph = self.board.graph();
        let mut around = graph.dependants(id);
        around.extend(graph.blockers(id));
        around.insert(id);
        self.board.read(TaskSet::These(around)).await;
        self.signals.files_changed();
        Ok(())
    }
}
