//! The branches of tasks that other hosts have completed: they are taken over before they are merged here. A branch here that
//! lacks their commits is never merged in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::branch_exchange::{CrewExchange, RETRY_MAX, RETRY_MIN};
use super::super::context::lock;
use super::MergeService;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::NoticeLevel;

/// Which branches of other hosts this process has taken over since their tasks were completed.
#[derive(Debug, Default)]
pub(super) struct HostBranches {
    taken: BTreeSet<TaskId>,
    /// The completed tasks whose branches could not be taken over, and are tried again.
    waiting: BTreeSet<TaskId>,
    /// Whether a background task tries them again.
    is_retrying: bool,
}

impl MergeService {
    #[must_use]
    pub fn with_exchange(self, exchange: Option<Arc<CrewExchange>>) -> MergeService {
        MergeService { exchange, ..self }
    }

    /// Takes over the branch of a task that another host has just completed, and continues as
    /// [`MergeService::on_task_completed`] does. If it cannot be taken over, tries again later, and says so.
    pub async fn on_completed_elsewhere(self: &Arc<Self>, task: Arc<Task>) {
        // Completed again, it has other commits.
        lock(&self.host_branches).taken.remove(&task.id);
        let waiting = self.take_over_or_wait(&[task.id].into()).await;
        if waiting.is_empty() {
            self.on_task_completed(&task).await;
        } else {
            self.take_over_later();
        }
    }

    /// Takes over the branches of tasks that other hosts have completed earlier, except those that are merged. Then merges what
    /// is due. Those that cannot be taken over are tried again later.
    pub async fn take_over_all(self: &Arc<Self>, tasks: Vec<TaskId>) {
        let Some(exchange) = self.exchange.clone() else {
            return;
        };
        let graph = self.board.graph();
        let name_of = |id: &TaskId| WorktreeName::new(&graph.get(*id)?.worktree).ok();
        let open = exchange.fetch_open(tasks.iter().filter_map(name_of).collect());
        let open = open.await;
        let is_open = |id: &TaskId| name_of(id).is_some_and(|name| open.contains(&name));
        let wanted: BTreeSet<TaskId> = tasks.iter().copied().filter(is_open).collect();
        if wanted.is_empty() {
            return;
        }
        self.take_over_or_wait(&wanted).await;
        self.merge_waiting().await;
    }

    /// Returns whether branches of other hosts could not be taken over.
    pub fn waits_for_hosts(&self) -> bool {
        !lock(&self.host_branches).waiting.is_empty()
    }

    /// Tries again to take over the branches that could not be taken over, and continues as
    /// [`MergeService::on_task_completed`] does.
    pub async fn retry_take_over(&self) {
        let waiting = lock(&self.host_branches).waiting.clone();
        if waiting.is_empty() {
            return;
        }
        let graph = self.board.graph();
        let failed = self.take_over(&waiting).await;
        for id in waiting.into_iter().filter(|id| !failed.contains_key(id)) {
            // Several retries can run at the same time.
            let is_first = lock(&self.host_branches).waiting.remove(&id);
            let task = graph.get(id).filter(|_| is_first);
            if let Some(task) = task.filter(|task| task.status == TaskStatus::Completed) {
                self.on_task_completed(task).await;
            }
        }
    }

    /// Starts to try again in the background, if branches could not be taken over.
    pub(super) fn take_over_later(self: &Arc<Self>) {
        let mut branches = lock(&self.host_branches);
        if branches.is_retrying || branches.waiting.is_empty() {
            return;
        }
        branches.is_retrying = true;
        drop(branches);
        let own = Arc::clone(self);
        self.context.spawn(async move {
            let mut pause = RETRY_MIN;
            loop {
                tokio::select! {
                    () = own.context.stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(RETRY_MAX);
                own.retry_take_over().await;
                let mut branches = lock(&own.host_branches);
                if branches.waiting.is_empty() {
                    branches.is_retrying = false;
                    return;
                }
            }
        });
    }

    /// Takes over the branches of those of `tasks` that other hosts have completed, unless this process has done so. Returns why
    /// the others must not be merged.
    pub(super) async fn take_over(&self, tasks: &BTreeSet<TaskId>) -> BTreeMap<TaskId, String> {
        let Some(exchange) = &self.exchange else {
            return BTreeMap::new();
        };
        let graph = self.board.graph();
        let taken = lock(&self.host_branches).taken.clone();
        let mut names = BTreeMap::new();
        let mut wanted = Vec::new();
        for task in tasks.iter().filter_map(|id| graph.get(*id)) {
            if task.status == TaskStatus::Completed
                && self.context.is_of_other_host(task)
                && !taken.contains(&task.id)
                && let Ok(name) = WorktreeName::new(&task.worktree)
            {
                let by = task.claim.as_ref().map(|claim| claim.host.clone());
                wanted.push((name.clone(), by));
                names.insert(task.id, name);
            }
        }
        let failed = exchange.take_over(wanted).await;
        let mut reasons = BTreeMap::new();
        for (id, name) in names {
            match failed.get(&name) {
                Some(why) => {
                    let why = format!(
                        "{} is not merged, because the commits of another host are not here: {why}",
                        name.branch()
                    );
                    reasons.insert(id, why);
                }
                None => {
                    lock(&self.host_branches).taken.insert(id);
                }
            }
        }
        reasons
    }

    /// As [`MergeService::take_over`]; those that cannot be taken over wait for the next try, and the lead gets a note with
    /// the reason. Returns them.
    pub(super) async fn take_over_or_wait(&self, tasks: &BTreeSet<TaskId>) -> BTreeSet<TaskId> {
        let failed = self.take_over(tasks).await;
        for (id, why) in &failed {
            let is_new = lock(&self.host_branches).waiting.insert(*id);
            if is_new {
                // The user has seen the error of the exchange.
                self.lead.note(format!("{why}. It is tried again"));
            }
        }
        failed.into_keys().collect()
    }

    /// Returns `tasks` without those whose branches cannot be taken over, and shows the user the reasons.
    ///
    /// # Errors
    /// Returns the reason if no task is left.
    pub(super) async fn without_missing(&self, tasks: Vec<TaskId>) -> Result<Vec<TaskId>, String> {
        let failed = self.take_over(&tasks.iter().copied().collect()).await;
        let (left, missing): (Vec<TaskId>, Vec<TaskId>) =
            tasks.into_iter().partition(|id| !failed.contains_key(id));
        if left.is_empty()
            && let Some(why) = missing.first().and_then(|id| failed.get(id))
        {
            return Err(why.clone());
        }
        for why in failed.into_values() {
            self.context.notice(NoticeLevel::Warn, why).await;
        }
        Ok(left)
    }
}
