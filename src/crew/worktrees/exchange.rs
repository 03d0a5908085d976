//! The work of tasks that other hosts have: finds what a worktree starts from, and publishes what is done here.

use std::sync::Arc;
use std::time::Duration;

use super::super::branch_exchange::CrewExchange;
use super::super::context::lock;
use super::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::store::{GitError, NeededWork, StoreError};

/// Time for which the result of [`TaskWorktrees::fetch_before_claim`] is used.
const FETCHED_MAX: Duration = Duration::from_secs(60);

/// What the worktree of a task starts from.
#[derive(Debug, Clone, Default)]
pub(super) struct WorktreeStart {
    /// The base commit of the crew; `None` to start from what is checked out here.
    pub commit: Option<String>,
    /// The branches that are merged into the worktree; see [`NewWorktree::needs`](crate::store::NewWorktree::needs).
    pub needs: Vec<String>,
}

impl TaskWorktrees {
    /// Fetches what the worktree of a task starts from, before the task is claimed. Does nothing if the crew is on this machine
    /// only. An error is reported to the user.
    ///
    /// # Errors
    /// When the remote cannot be reached, or lacks the work of a blocker. The task is not to be claimed then. An error
    /// [`StoreError::Graph`] or [`StoreError::Unreadable`] says that it cannot be claimed.
    pub async fn fetch_before_claim(&self, id: TaskId) -> Result<(), StoreError> {
        let Some(exchange) = self.exchange.as_ref().filter(|_| self.are_used()) else {
            return Ok(());
        };
        let board = self.board.store().clone();
        let task = run_blocking(move || board.get(id)).await?;
        let start = self.fetch_start(exchange, &task).await?;
        let fetched = (self.context.uptime(), start);
        lock(&self.fetched).insert(id, fetched);
        Ok(())
    }

    /// Forgets what was fetched before a claim that was not made.
    pub fn forget_fetched(&self, id: TaskId) {
        lock(&self.fetched).remove(&id);
    }

    /// Returns what the worktree of a claimed task starts from. Fetches it, unless that was done before the claim.
    ///
    /// # Errors
    /// As [`TaskWorktrees::fetch_before_claim`].
    pub(super) async fn start_of(&self, task: &Task) -> Result<WorktreeStart, StoreError> {
        let Some(exchange) = &self.exchange else {
            let needs = self.branches_of(task).await?;
            return Ok(WorktreeStart {
                commit: None,
                needs,
            });
        };
        let fetched = lock(&self.fetched).remove(&task.id);
        let now = self.context.uptime();
        match fetched {
            Some((at, start)) if now.saturating_sub(at) < FETCHED_MAX => Ok(start),
            Some(_) | None => self.fetch_start(exchange, task).await,
        }
    }

    /// The host of the lead needs the remote only for the work of other hosts.
    async fn fetch_start(
        &self,
        exchange: &CrewExchange,
        task: &Task,
    ) -> Result<WorktreeStart, StoreError> {
        let is_worker = self.context.is_worker();
        let needed = self.needed_work(task).await?;
        let mut base = None;
        if is_worker || needed.iter().any(|work| work.is_required) {
            base = exchange.fetch().await?.base.filter(|_| is_worker);
        } else if !task.worktree.is_empty() {
            // Another host may have continued the task. An error is reported.
            let _ = exchange.fetch().await;
        }
        let needs = exchange.find_needed(task.id, needed, base.clone()).await?;
        Ok(WorktreeStart {
            commit: base,
            needs,
        })
    }

    /// Returns the work on which a task builds: that of its blockers, and what an earlier owner has published.
    async fn needed_work(&self, task: &Task) -> Result<Vec<NeededWork>, StoreError> {
        let (board, context, id) = (
            self.board.store().clone(),
            Arc::clone(&self.context),
            task.id,
        );
        let is_worker = context.is_worker();
        let of_blockers = move |graph: &TaskGraph| {
            let mut needed: Vec<NeededWork> = Vec::new();
            for id in graph.blockers(id) {
                let Some(blocker) = graph.get(id) else {
                    continue;
                };
                let Ok(worktree) = WorktreeName::new(&blocker.worktree) else {
                    continue;
                };
                // The user claims tasks for no host, and works at the host of the lead.
                let is_of_user = blocker.claim.is_none() && is_worker;
                let is_local = !is_of_user && !context.is_of_other_host(blocker);
                needed.push(NeededWork {
                    worktree,
                    by: blocker.claim.as_ref().map(|claim| claim.host.clone()),
                    is_local,
                    is_required: blocker.status == TaskStatus::Completed
                        && (is_worker || !is_local),
                });
            }
            needed
        };
        let mut needed = run_blocking(move || board.query(of_blockers)).await?;
        let own = WorktreeName::new(&task.worktree).ok();
        if let Some(worktree) = own {
            let host = self.context.host.as_ref();
            needed.push(NeededWork {
                worktree,
                by: host.map(|host| host.info.name.clone()),
                is_local: false,
                is_required: false,
            });
        }
        Ok(needed)
    }

    /// Returns whether the branch in the folder of a task's worktree has diverged from that of the crew: another host has
    /// continued the task. The folder then stays as it is, and the work continues in a new one.
    pub(super) async fn is_left_behind(&self, task: &Task) -> bool {
        match (&self.exchange, WorktreeName::new(&task.worktree)) {
            (Some(exchange), Ok(name)) => exchange.has_diverged(&name).await,
            (None, _) | (_, Err(_)) => false,
        }
    }

    /// Publishes the branch of a task before the task is completed. The host of the lead can work without the remote: it tries
    /// again in the background.
    pub(super) async fn publish(&self, task: &Task, name: &WorktreeName) -> Result<(), String> {
        let Some(exchange) = &self.exchange else {
            return Ok(());
        };
        if !self.context.may_act() {
            return Err(StoreError::HostLost("publish branches").to_string());
        }
        let claimed = self.check_claim(task.id).await;
        claimed.map_err(|error| error.to_string())?;
        match exchange.publish(name).await {
            Ok(_) => Ok(()),
            Err(_) if !self.context.is_worker() => {
                exchange.publish_later(name.clone());
                Ok(())
            }
            Err(error) => Err(format!(
                "the branch of task {} cannot be published for the other hosts: {error}",
                task.id
            )),
        }
    }

    /// Checks that a task is claimed for this session, so that a late owner does not publish under the name of the task.
    async fn check_claim(&self, id: TaskId) -> Result<(), StoreError> {
        let Some(host) = &self.context.host else {
            return Ok(());
        };
        let board = self.board.store().clone();
        let task = run_blocking(move || board.get(id)).await?;
        let own = host.session.claim();
        let is_own = match &task.claim {
            Some(claim) => *claim == own,
            None => !task.owner.is_empty(),
        };
        if is_own && host.session.is_valid() {
            return Ok(());
        }
        let why = "its branch is not published, because another host may work on it";
        Err(StoreError::ClaimLost(id, why.into()))
    }

    /// Publishes in the background the commits that `agent`, a teammate of a worker, has made for its open task, if there are
    /// new ones. Does nothing on the host of the lead. An error is reported to the user.
    pub fn publish_progress(self: &Arc<Self>, agent: &Name) {
        let is_used = self.exchange.is_some() && self.context.is_worker();
        if !is_used {
            return;
        }
        let (own, owner) = (Arc::clone(self), agent.clone());
        self.context.spawn(async move {
            let board = own.board.store().clone();
            let task =
                run_blocking(move || board.query(|graph| graph.open_task_of(&owner).cloned()))
                    .await;
            let (Some(exchange), Ok(Some(task))) = (&own.exchange, task) else {
                return;
            };
            if let Ok(name) = WorktreeName::new(&task.worktree)
                && own.check_claim(task.id).await.is_ok()
            {
                exchange.publish_progress(vec![name]).await;
            }
        });
    }
}

/// Returns whether a worktree cannot be created because the remote cannot be reached or lacks commits now. That ends without
/// a change here.
pub fn is_exchange_failure(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Git(GitError::Remote(_)) | StoreError::Worktree(WorktreeError::NotTakenOver(_))
    )
}
