//! Merges the branches of completed tasks, either automatically or when the user or the lead requests it.

mod host_branches;
mod left;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::branch_exchange::CrewExchange;
use super::branch_status::BranchStatus;
use super::context::{CrewContext, lock};
use super::lead_inbox::LeadInbox;
use super::merge_report::{MergeProgress, MergeResult, conflict_task, conflict_text, mergeable};
use super::merge_train::{MERGE_ACT, TrainHost, TrainRunner};
use super::train_merger::{TrainMerge, TrainMerger};
use super::train_texts::TrainLine;
use crate::agent::driver::run_blocking;
use crate::checks::TaskChecks;
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::MergePolicy;
use crate::domain::worktree::{Merge, Worktree, WorktreeName, tasks_on_branches};
use crate::protocol::event::{BoardEvent, EventKind, NoticeLevel};
use crate::store::{ScanMode, StoreError, TaskSet, Worktrees};
use host_branches::HostBranches;

pub struct MergeService {
    context: Arc<CrewContext>,
    board: Arc<BoardView>,
    branches: Arc<BranchStatus>,
    lead: Arc<LeadInbox>,
    /// The worktree store; `None` if worktrees are not in use.
    worktrees: Option<Worktrees>,
    policy: MergePolicy,
    /// The checks of tasks; `None` only in tests.
    checks: Option<Arc<TaskChecks>>,
    /// Combines branches, checks them together and lets them land; `None` if worktrees are not in use.
    train: Option<Arc<TrainMerger>>,
    /// The tasks whose branches are to be merged automatically when the current train has ended.
    due: Mutex<BTreeSet<TaskId>>,
    /// The tasks that automatic trains have left and that are tried again together with the next ones that become due, or when
    /// their [`Worktrees::landing_state`], which is the value, has changed.
    left: Mutex<BTreeMap<TaskId, Option<String>>>,
    /// Locked during an automatic merge, so that the branches that become due meanwhile are merged together.
    due_turn: tokio::sync::Mutex<()>,
    /// Locked during a merge or worktree removal that the user requested, so that these run one at a time.
    user_turn: tokio::sync::Mutex<()>,
    /// Stops the merge train that the user has requested; `None` if none runs.
    user_train: Mutex<Option<CancellationToken>>,
    /// Whether the user has seen that no git hooks run at merges.
    has_warned_of_hooks: Mutex<bool>,
    /// Exchanges branches with other hosts; `None` if the crew is on this machine only, or has no git remote.
    exchange: Option<Arc<CrewExchange>>,
    /// Which branches of other hosts were taken over.
    host_branches: Mutex<HostBranches>,
}

impl MergeService {
    pub fn new(
        context: Arc<CrewContext>,
        board: Arc<BoardView>,
        branches: Arc<BranchStatus>,
        lead: Arc<LeadInbox>,
        worktrees: Option<Worktrees>,
        policy: MergePolicy,
        checks: Option<Arc<TaskChecks>>,
    ) -> MergeService {
        let train = worktrees.clone().zip(checks.clone());
        let train = train.map(|(store, checks)| {
            let host = TrainHost {
                clock: context.clock,
                event_sender: Some(context.event_sender.clone()),
                session: context.host.as_ref().map(|host| Arc::clone(&host.session)),
            };
            let runner = TrainRunner::new(host, store, checks);
            Arc::new(TrainMerger::new(board.store().clone(), runner))
        });
        MergeService {
            train,
            due: Mutex::default(),
            left: Mutex::default(),
            due_turn: tokio::sync::Mutex::default(),
            context,
            board,
            branches,
            lead,
            worktrees,
            policy,
            checks,
            user_turn: tokio::sync::Mutex::default(),
            user_train: Mutex::default(),
            has_warned_of_hooks: Mutex::default(),
            exchange: None,
            host_branches: Mutex::default(),
        }
    }

    pub fn branches(&self) -> &Arc<BranchStatus> {
        &self.branches
    }

    /// Waits until no merge or worktree removal of the user is running. Until the returned guard is dropped, further
    /// merges and removals of the user wait.
    pub async fn user_turn(&self) -> MutexGuard<'_, ()> {
        self.user_turn.lock().await
    }

    /// Returns the worktree store, or the reason as an error if worktrees are not in use.
    pub fn worktrees(&self) -> Result<&Worktrees, String> {
        let worktrees = self.worktrees.as_ref();
        worktrees.ok_or_else(|| {
            "worktrees are not in use here: all agents work in the project directory".into()
        })
    }

    /// Fails if this process must not merge: another host runs the lead, or may run it because this one has lost its session.
    fn check_host(&self) -> Result<(), String> {
        if self.context.is_worker() {
            return Err("the host of the lead merges the branches of the crew".into());
        }
        if !self.context.may_act() {
            return Err(StoreError::HostLost(MERGE_ACT).to_string());
        }
        Ok(())
    }

    /// Returns whether the branch of `tree` is merged automatically when `task` is completed. This is so if the merge
    /// policy is `Auto`, or if `task` was created to resolve a conflict in another task's worktree.
    fn merges(&self, tree: &Worktree, task: TaskId) -> bool {
        self.policy == MergePolicy::Auto || tree.task_id.is_some_and(|own| own != task)
    }

    /// Checks that the content of a completed task was checked. Other programs can complete a task without its checks.
    ///
    /// # Errors
    /// Fails with a sentence if a check is not green on this content.
    async fn verify(&self, task: &Task) -> Result<(), String> {
        match &self.checks {
            Some(checks) => checks.verify(task).await,
            None => Ok(()),
        }
    }

    /// Marks the branch of a task as due for an automatic merge. Refuses content that was not checked, and says so.
    async fn add_due(&self, task: &Task) {
        match self.verify(task).await {
            Ok(()) => {
                lock(&self.due).insert(task.id);
            }
            Err(why) => {
                let text = format!("{why}. Its branch is not merged automatically.");
                self.lead.note(text.clone());
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
    }

    /// Merges the branches that are due, together if checks could apply to one of them, and with them those that were left.
    /// If none is due, does nothing unless `is_retry`. Waits while another automatic merge is running. Publishes the result.
    async fn merge_due(&self, is_retry: bool) {
        let _turn = self.due_turn.lock().await;
        if self.check_host().is_err() {
            return;
        }
        let mut due = std::mem::take(&mut *lock(&self.due));
        if due.is_empty() && !is_retry {
            // The merge before has taken them along.
            return;
        }
        due.extend(self.take_left().await);
        let waiting = self.take_over_or_wait(&due).await;
        due.retain(|id| !waiting.contains(id));
        if due.is_empty() {
            return;
        }
        let due: Vec<TaskId> = due.into_iter().collect();
        let cancel = self.context.stop.child_token();
        match self.merge_together(&due, cancel).await {
            Ok(Some(merged)) => {
                self.leave(merged.left).await;
                self.report_lines(&merged.lines).await;
            }
            Ok(None) => {
                for id in due {
                    if let Err(why) = self.merge_and_report(id).await {
                        let text = format!("{id} is not merged automatically: {why}");
                        self.report_lines(&[(NoticeLevel::Warn, text)]).await;
                    }
                }
            }
            Err(why) => {
                // For example, a train of another process runs.
                self.leave(due).await;
                let text = format!("Branches are not merged automatically: {why}");
                self.report_lines(&[(NoticeLevel::Warn, text)]).await;
            }
        }
    }

    /// Lets the branches of `tasks` land together after checks on their combination. Returns what has become of them;
    /// `None`, and does nothing, if no check could apply to one of them. Cancelling `cancel` and dropping the future stop
    /// the checks.
    ///
    /// # Errors
    /// Returns why nothing could be tried.
    async fn merge_together(
        &self,
        tasks: &[TaskId],
        cancel: CancellationToken,
    ) -> Result<Option<TrainMerge>, String> {
        self.check_host()?;
        let graph = self.board.graph();
        let all: Vec<TaskId> = tasks_on_branches(&graph, tasks).into_iter().collect();
        let Some(train) = self.train.as_ref().filter(|train| train.concerns(&all)) else {
            return Ok(None);
        };
        let (own, tasks, token) = (Arc::clone(train), tasks.to_vec(), cancel.clone());
        // In the background, so that the train tells how it has ended also if nothing waits for it any more.
        let running = self
            .context
            .tracker
            .spawn(async move { own.merge(&tasks, &token).await });
        let _stop = cancel.drop_guard();
        let merged = running.await.map_err(|error| error.to_string())??;
        self.warn_of_skipped_hooks().await;
        let added = merged.added.clone();
        self.board.read(TaskSet::These(added)).await;
        Ok(Some(merged))
    }

    /// Shows the user once, after a merge, why no git hooks ran at it.
    async fn warn_of_skipped_hooks(&self) {
        let Some(store) = self.worktrees.clone() else {
            return;
        };
        if *lock(&self.has_warned_of_hooks) {
            return;
        }
        let skipped = run_blocking(move || store.skipped_merge_hooks()).await;
        if let Some(text) = skipped.ok().flatten() {
            *lock(&self.has_warned_of_hooks) = true;
            self.context.notice(NoticeLevel::Warn, text).await;
        }
    }

    /// Stops the merge train that the user has requested. Returns whether there was one.
    pub fn stop_user_train(&self) -> bool {
        let running = lock(&self.user_train).take();
        running.inspect(CancellationToken::cancel).is_some()
    }

    /// Publishes lines about a train, and adds them to the lead's next model call.
    async fn report_lines(&self, lines: &[TrainLine]) {
        for (level, text) in lines {
            self.lead.note(text.clone());
            self.context.notice(*level, text.clone()).await;
        }
    }

    /// Records in the worktree log that a task with a worktree was completed. Then merges the task's branch if the
    /// branch is merged automatically. Does nothing if the task has no worktree.
    pub async fn on_task_completed(&self, task: &Task) {
        if self.check_host().is_err() {
            return;
        }
        let (Some(store), Ok(name)) = (&self.worktrees, WorktreeName::new(&task.worktree)) else {
            return;
        };
        let (log, now, tree) = (store.clone(), self.context.now(), name.clone());
        let noted = run_blocking(move || log.task_completed(&tree, now)).await;
        if let Err(error) = noted {
            tracing::warn!(
                "the completion of task {} could not be logged: {error}",
                task.id
            );
        }
        // A full scan, because uncommitted files of the task may have been committed just now, which the worktree
        // registry does not show.
        self.branches.read(ScanMode::Always).await;
        let store = store.clone();
        let found = run_blocking(move || store.find(name.as_str())).await;
        if found.is_ok_and(|tree| self.merges(&tree, task.id)) {
            self.add_due(task).await;
            self.merge_due(false).await;
        }
    }

    /// Performs the automatic merges that were due when an earlier crew ended.
    pub async fn merge_waiting(self: &Arc<Self>) {
        if self.check_host().is_err() {
            return;
        }
        let Some(store) = &self.worktrees else { return };
        let store = store.clone();
        let listed = run_blocking(move || store.list()).await;
        let standing: Vec<Worktree> = listed.map(|l| l.worktrees).unwrap_or_default();
        for tree in standing.iter().filter(|t| t.merged_at.is_none()) {
            let graph = self.board.graph();
            let here: Vec<&Task> = graph
                .tasks()
                .filter(|t| t.worktree == tree.name.as_str())
                .collect();
            let is_done = here.iter().all(|t| t.status == TaskStatus::Completed);
            let waits = here.iter().rfind(|t| self.merges(tree, t.id));
            if let Some(task) = waits.filter(|_| is_done) {
                self.add_due(task).await;
            }
        }
        self.merge_due(false).await;
        self.take_over_later();
    }

    /// Merges the branch of a completed task into the base branch and publishes the result, which can be a conflict.
    ///
    /// # Errors
    /// Returns the reason if the merge could not be tried.
    pub async fn merge_and_report(&self, id: TaskId) -> Result<(), String> {
        let tried = self.try_merge(id).await?;
        self.report(&tried).await;
        Ok(())
    }

    /// Merges the branch of a completed task for the lead. Returns the text of the tool result. Publishes a conflict;
    /// publishes nothing if the branch is merged, because the lead reads the tool result.
    ///
    /// # Errors
    /// Returns why the branch was not merged. A conflict is an error too: a tool call that merged nothing must not look
    /// successful.
    pub async fn merge(&self, id: TaskId) -> Result<String, String> {
        if let Some(task) = self.current_graph(id).await.get(id) {
            let mut missing = self.take_over(&[id].into()).await;
            if let Some(why) = missing.remove(&id) {
                return Err(why);
            }
            let verified = self.verify(task).await;
            verified.map_err(|why| format!("{why}: only the user can merge it"))?;
        }
        let cancel = self.context.stop.child_token();
        if let Some(TrainMerge { lines, .. }) = self.merge_together(&[id], cancel).await? {
            let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
            let text = texts.join(" ");
            if lines.iter().any(|(level, _)| *level == NoticeLevel::Warn) {
                self.context.notice(NoticeLevel::Warn, text.clone()).await;
                return Err(text);
            }
            return Ok(text);
        }
        let MergeResult { level, text, .. } = self.try_merge(id).await?;
        if level == NoticeLevel::Warn {
            self.context.notice(level, text.clone()).await;
            return Err(text);
        }
        Ok(text)
    }

    /// Reads the task `id` from disk and returns the updated board. If the read fails, returns the board as it was last
    /// published. The task is read because the change that made it mergeable may not be published yet.
    async fn current_graph(&self, id: TaskId) -> Arc<TaskGraph> {
        let read = self.board.read(TaskSet::These([id].into())).await;
        read.unwrap_or_else(|| self.board.graph())
    }

    pub async fn try_merge(&self, id: TaskId) -> Result<MergeResult, String> {
        self.check_host()?;
        let store = self.worktrees()?;
        let graph = self.current_graph(id).await;
        let (task, name) = mergeable(&graph, id)?;
        let (store, now, tree) = (store.clone(), self.context.now(), name.clone());
        let session = self
            .context
            .host
            .as_ref()
            .map(|host| Arc::clone(&host.session));
        let merged = run_blocking(move || {
            // Reading the board may have waited for a hub that cannot be reached.
            if session.is_some_and(|session| !session.is_valid()) {
                return Err(StoreError::HostLost(MERGE_ACT));
            }
            store.merge(&tree, now)
        });
        let merged = merged.await;
        let branch = name.branch();
        let merged = merged.map_err(|e| e.to_string())?;
        if matches!(merged, Merge::Merged { .. }) {
            self.warn_of_skipped_hooks().await;
        }
        match merged {
            Merge::Merged { into, before, .. } => Ok(MergeResult {
                level: NoticeLevel::Info,
                text: format!("{branch} is merged into {into}."),
                before: Some(before),
            }),
            Merge::AlreadyMerged { into } => Ok(MergeResult {
                level: NoticeLevel::Info,
                text: format!("{branch} is already merged into {into}."),
                before: None,
            }),
            Merge::Conflict { into, files } => Ok(MergeResult {
                level: NoticeLevel::Warn,
                text: {
                    let made = self
                        .add_task(conflict_task(&task, &name, &into, &files))
                        .await?;
                    conflict_text(&name, &into, &files, made)
                },
                before: None,
            }),
        }
    }

    /// Creates a task and returns its number.
    async fn add_task(&self, new: NewTask) -> Result<TaskId, String> {
        let (board, now) = (self.board.store().clone(), self.context.now());
        let made = run_blocking(move || board.create(new, now))
            .await
            .map_err(|e| e.to_string())?;
        self.board.read(TaskSet::These([made.id].into())).await;
        Ok(made.id)
    }

    /// Publishes the diff of a task's branch.
    ///
    /// # Errors
    /// Fails if worktrees are not in use, the task does not exist or has no worktree, or the diff cannot be read.
    pub async fn show_diff(&self, id: TaskId) -> Result<(), String> {
        let store = self.worktrees()?;
        let graph = self.current_graph(id).await;
        let shown = diff_of(store.clone(), &graph, id).await?;
        self.context.publish(shown).await;
        Ok(())
    }

    /// Publishes the result of a merge, and adds its text to the lead's next model call.
    pub async fn report(&self, result: &MergeResult) {
        self.lead.note(result.text.clone());
        self.context.notice(result.level, result.text.clone()).await;
    }

    /// Merges the branches of `tasks` for the user, and reports how to undo the merges. If checks could apply to one of
    /// the tasks, lets the branches land together; see [`super::train_merger`]. Otherwise merges one after another, and
    /// stops at the first branch that cannot be merged, or when the crew stops. First waits until no other merge or
    /// worktree removal of the user is running.
    ///
    /// # Errors
    /// Returns why a merge could not be tried, or that the crew stops, with the number of merged branches. A conflict
    /// is published and is not an error.
    pub async fn merge_for_user(&self, tasks: Vec<TaskId>) -> Result<(), String> {
        let _turn = self.user_turn().await;
        let tasks = self.without_missing(tasks).await?;
        let cancel = self.context.stop.child_token();
        *lock(&self.user_train) = Some(cancel.clone());
        let merged = self.merge_together(&tasks, cancel).await;
        *lock(&self.user_train) = None;
        if let Some(merged) = merged? {
            self.report_lines(&merged.lines).await;
            return Ok(());
        }
        let mut progress = MergeProgress::new(tasks.len());
        for id in tasks {
            if self.context.stop.is_cancelled() {
                return Err(progress.stopped_at(id, "the crew is stopping"));
            }
            let mut tried = match self.try_merge(id).await {
                Ok(tried) => tried,
                Err(why) if progress.all == 1 => return Err(why),
                Err(why) => return Err(progress.stopped_at(id, &why)),
            };
            if tried.level == NoticeLevel::Warn {
                self.report(&tried).await;
                if progress.all > 1 {
                    // The files with conflicts were published just before.
                    let text = progress.stopped_at(id, "conflict");
                    self.context.notice(NoticeLevel::Warn, text).await;
                }
                return Ok(());
            }
            progress.count_merge(tried.before.take());
            if progress.all == 1 {
                tried.text.push_str(&progress.undo_hint());
            }
            self.report(&tried).await;
        }
        if progress.all > 1 {
            self.context
                .notice(NoticeLevel::Info, progress.summary())
                .await;
        }
        Ok(())
    }
}

/// Reads what a task's worktree has changed since the merge base with its base branch, committed or not, and returns it
/// as an event for the screen. For a merged branch without later changes, returns what the merge changed.
///
/// # Errors
/// Returns the reason, as a text for the user, if the task does not exist or has no worktree, or if the diff cannot be
/// read.
pub async fn diff_of(store: Worktrees, graph: &TaskGraph, id: TaskId) -> Result<EventKind, String> {
    let task = graph.require(id).map_err(|e| e.to_string())?;
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree, so there is no diff to show"))?;
    let diff = run_blocking(move || store.diff(&name))
        .await
        .map_err(|e| e.to_string())?;
    Ok(EventKind::Board(BoardEvent::DiffShown {
        task: id,
        stat: diff.stat,
        text: diff.text,
        untracked: diff.untracked,
    }))
}
