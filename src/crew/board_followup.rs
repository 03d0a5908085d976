//! Responds to changes of the board, no matter which process made them: reports progress to the lead, merges the
//! branches of completed tasks, interrupts a teammate whose task the user has taken away, and creates worktrees for
//! tasks that the user claimed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::board_view::{BoardObserver, BoardView};
use super::branch_exchange::CrewExchange;
use super::context::{CrewContext, lock};
use super::lead_inbox::LeadInbox;
use super::merge_service::MergeService;
use super::registry::AgentRegistry;
use super::signals::CrewSignals;
use super::spare_worktree::SpareWorktrees;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::NoticeLevel;
use crate::store::TaskSet;

pub struct BoardFollowup {
    context: Arc<CrewContext>,
    signals: Arc<CrewSignals>,
    registry: Arc<AgentRegistry>,
    lead: Arc<LeadInbox>,
    pub board: Arc<BoardView>,
    pub worktrees: Arc<TaskWorktrees>,
    pub spares: Arc<SpareWorktrees>,
    pub merges: Arc<MergeService>,
    /// The user's tasks whose worktree is being created, or could not be created since the crew started. For these
    /// tasks, no further creation is started.
    handled: Mutex<BTreeSet<TaskId>>,
    /// Exchanges branches with other hosts; `None` if the crew is on this machine only, or has no git remote.
    exchange: Option<Arc<CrewExchange>>,
}

impl BoardObserver for BoardFollowup {
    fn board_changed(self: Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]) {
        self.report_progress(known, changed);
        self.follow_user(known, changed);
        self.spares.board_changed();
    }
}

impl BoardFollowup {
    #[allow(clippy::too_many_arguments)] // each is another component
    pub fn new(
        context: Arc<CrewContext>,
        signals: Arc<CrewSignals>,
        registry: Arc<AgentRegistry>,
        lead: Arc<LeadInbox>,
        board: Arc<BoardView>,
        worktrees: Arc<TaskWorktrees>,
        merges: Arc<MergeService>,
        exchange: Option<Arc<CrewExchange>>,
    ) -> BoardFollowup {
        let spares = SpareWorktrees::new(
            context.clone(),
            registry.clone(),
            board.clone(),
            worktrees.clone(),
        );
        BoardFollowup {
            spares: Arc::new(spares),
            context,
            signals,
            registry,
            lead,
            board,
            worktrees,
            merges,
            handled: Mutex::default(),
            exchange,
        }
    }

    /// Reports newly completed tasks to the lead, and starts the automatic merges of their branches. Tasks that the
    /// lead itself completed are left out of both. The lead reads the report in its next model call. If the crew
    /// becomes idle before that call, the lead is woken to read the report.
    fn report_progress(self: &Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]) {
        if self.context.is_worker() {
            return;
        }
        for task in changed
            .iter()
            .filter(|t| t.status == TaskStatus::Completed && t.owner != "lead")
        {
            let is_news = known
                .get(task.id)
                .is_some_and(|before| before.status != TaskStatus::Completed);
            if !is_news {
                continue;
            }
            if !task.worktree.is_empty() {
                let (own, task) = (Arc::clone(self), Arc::clone(task));
                let busy = self.signals.busy();
                self.context.spawn(async move {
                    // Another host may lead the crew after this one has lost its session.
                    if !own.context.may_act() {
                        tracing::warn!("task {} is left to another lead", task.id);
                    } else if own.context.is_of_other_host(&task) {
                        own.merges.on_completed_elsewhere(task).await;
                    } else {
                        own.publish_completed([&*task]).await;
                        own.merges.on_task_completed(&task).await;
                    }
                    drop(busy);
                });
            }
            let by = match task.owner.as_str() {
                "user" => "the user",
                owner => owner,
            };
            let (id, subject) = (task.id, &task.subject);
            self.lead
                .report(format!("{by} completed task {id} ({subject})"));
        }
    }

    /// Publishes the branches of tasks that were completed on this host, if that was not done. Errors are reported.
    async fn publish_completed<'a>(&self, tasks: impl IntoIterator<Item = &'a Task>) {
        let Some(exchange) = &self.exchange else {
            return;
        };
        let tasks = tasks.into_iter();
        let names = tasks.filter_map(|task| WorktreeName::new(&task.worktree).ok());
        exchange.publish_completed(names.collect()).await;
    }

    /// Continues in the background what an earlier run has not exchanged with the other hosts: takes over and publishes the
    /// branches of completed tasks, or, on a worker, publishes its commits for tasks that are not completed. Errors are
    /// reported.
    pub fn continue_exchange(self: &Arc<Self>) {
        let Some(exchange) = self.exchange.clone() else {
            return;
        };
        let (own, graph) = (Arc::clone(self), self.board.graph());
        self.context.spawn(async move {
            if own.context.is_worker() {
                let open = graph.tasks().filter(|task| own.may_publish(task));
                let names = open.filter_map(|task| WorktreeName::new(&task.worktree).ok());
                exchange.publish_progress(names.collect()).await;
                return;
            }
            let done = graph
                .tasks()
                .filter(|task| task.status == TaskStatus::Completed && !task.worktree.is_empty());
            let (others, here): (Vec<&Task>, Vec<&Task>) =
                done.partition(|task| own.context.is_of_other_host(task));
            let others: Vec<TaskId> = others.into_iter().map(|task| task.id).collect();
            own.merges.take_over_all(others).await;
            own.publish_completed(here).await;
        });
    }

    /// Returns whether this host may publish what it has done for an unfinished task: no other host has the task.
    fn may_publish(&self, task: &Task) -> bool {
        let own = self.context.host.as_ref().map(|host| host.session.claim());
        let is_free = task.claim.is_none() && task.owner.is_empty();
        task.status != TaskStatus::Completed && (is_free || (own.is_some() && task.claim == own))
    }

    /// Responds to the user's changes of the board, no matter which process made them:
    ///
    /// - If the user has taken a task away from a teammate, interrupts the teammate's turn.
    /// - If the user has claimed a task or taken one away, adds a note about it to the lead's next model call.
    /// - If the user has claimed a task, creates a worktree for it.
    fn follow_user(self: &Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]) {
        for task in changed {
            let before = known.get(task.id);
            let taken = task.taken_from.iter();
            let is_news = |name: &&String| before.is_some_and(|b| !b.was_taken_from(name));
            for name in taken.filter(is_news).filter_map(|n| Name::party(n).ok()) {
                self.stop_taken(&name, task.id);
                self.lead
                    .note(format!("the user took task {} from {name}", task.id));
            }
            let was = before.is_some_and(|b| b.is_open_for(Name::user().as_str()));
            if task.is_open_for(Name::user().as_str()) && !was {
                self.lead
                    .note(format!("the user works on task {}", task.id));
                // The setup for an earlier owner may have been interrupted.
                self.resume_user_setup(task);
            }
        }
        self.create_user_worktrees(changed.iter().map(|t| &**t));
    }

    /// Interrupts the teammate `name`, whose task the user has taken away, if the teammate is working. Never interrupts
    /// the lead, since the lead talks with the user.
    fn stop_taken(&self, name: &Name, task: TaskId) {
        let Some(handle) = self.registry.find(name).filter(|_| !name.is_lead()) else {
            return;
        };
        // The teammate may wait for the setup of the task's worktree.
        self.worktrees.interrupt_setup(name);
        if handle.is_working() {
            handle.mailbox.set_revoked_task(task);
            handle.interrupt();
        }
    }

    /// Runs in the background the setup command in the worktrees of the user's tasks in which it had not ended when the
    /// earlier crew ended. The setup of the tasks of teammates runs before their next turn.
    pub fn resume_user_setups(self: &Arc<Self>) {
        let board = self.board.graph();
        for task in board.tasks().filter(|task| is_users(task)) {
            self.resume_user_setup(task);
        }
    }

    /// Prepares in the background the worktree of a task of the user, if it exists and that is still to be done. Changes
    /// nothing else in the worktree.
    fn resume_user_setup(self: &Arc<Self>, task: &Task) {
        if !is_users(task) || self.worktrees.dir_of(task).is_none() {
            return;
        }
        let (own, task, busy) = (Arc::clone(self), task.clone(), self.signals.busy());
        self.context.spawn(async move {
            own.worktrees.resume_user_setup(&task).await;
            drop(busy);
        });
    }

    /// Creates in the background a worktree for each task in `tasks` that the user has claimed and that has none. Skips
    /// tasks in `handled`. Does nothing if worktrees are not in use.
    pub fn create_user_worktrees<'a>(self: &Arc<Self>, tasks: impl Iterator<Item = &'a Task>) {
        if !self.worktrees.are_used() || self.context.is_worker() {
            return;
        }
        for task in tasks.filter(|task| self.lacks_worktree(task)) {
            if !lock(&self.handled).insert(task.id) {
                continue;
            }
            let (own, id, busy) = (Arc::clone(self), task.id, self.signals.busy());
            self.context.spawn(async move {
                // After a failure the task stays in `handled`, so that the error is reported only once and not each
                // time that the board is read. After a success the task is removed from `handled`, so that the worktree
                // can be created again for a later claim.
                if own.create_user_worktree(id).await {
                    lock(&own.handled).remove(&id);
                }
                drop(busy);
            });
        }
    }

    /// Returns whether the user has claimed this task and it has no worktree.
    fn lacks_worktree(&self, task: &Task) -> bool {
        is_users(task) && self.worktrees.dir_of(task).is_none()
    }

    /// Reads the task `id` from disk, and returns it if the user has claimed it and not completed it. Otherwise, or if
    /// the task cannot be read, returns `None`.
    async fn works_on(&self, id: TaskId) -> Option<Arc<Task>> {
        let board = self.board.store().clone();
        let task = run_blocking(move || board.get(id)).await.ok()?;
        is_users(&task).then_some(task)
    }

    /// Creates the worktree of a task that the user claimed, and tells the user its directory. Returns false if the
    /// creation has failed. Returns true if it has succeeded or the task needs no worktree any more.
    async fn create_user_worktree(self: &Arc<Self>, id: TaskId) -> bool {
        // The caller knows only the published board, which may be outdated: the worktree may exist by now, or the task
        // may have been released.
        let Some(task) = self
            .works_on(id)
            .await
            .filter(|t| self.worktrees.dir_of(t).is_none())
        else {
            return true;
        };
        // A killed crew may have created the worktree without recording it in the task.
        let task = if task.worktree.is_empty() {
            self.worktrees.recover(Task::clone(&task)).await
        } else {
            Task::clone(&task)
        };
        let created = self
            .worktrees
            .workspace_for(&task, &Name::user(), None)
            .await;
        self.board.read(TaskSet::These([id].into())).await;
        if self.works_on(id).await.is_none() {
            // The task was released or completed in the meantime.
            return true;
        }
        match created {
            Ok(None) => true,
            Ok(Some(workspace)) => {
                let dir = workspace
                    .dir
                    .strip_prefix(&self.context.root)
                    .unwrap_or(&workspace.dir);
                let text = format!("You claimed {id}. Its worktree is {}.", dir.display());
                self.context.notice(NoticeLevel::Info, text).await;
                true
            }
            Err(error) => {
                let text = format!(
                    "The worktree of your task {id} cannot be created: {error}. Work in the project directory, or release the task."
                );
                self.context.notice(NoticeLevel::Warn, text).await;
                false
            }
        }
    }
}

/// Returns whether the user has claimed a task and not completed it.
fn is_users(task: &Task) -> bool {
    task.status == TaskStatus::InProgress && task.is_open_for(Name::user().as_str())
}
