//! Creates and prepares the worktree of the next ready task while all teammates work, so that the teammate that claims the
//! task need not wait for the setup. There is at most one such spare worktree. Nothing happens unless the settings name
//! something to do in new worktrees.

use std::sync::{Arc, Mutex};

use super::board_view::BoardView;
use super::context::{CrewContext, lock};
use super::registry::AgentRegistry;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::domain::graph::{Claimer, TaskGraph};
use crate::domain::hook::HookEvent;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::Worktree;
use crate::store::NewWorktree;

/// Whether the spare worktree is being brought up to date with the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Update {
    #[default]
    Ended,
    Runs,
    /// It runs, and the board has changed since it began.
    RunsAgain,
}

/// Creates, prepares and removes the spare worktree.
pub struct SpareWorktrees {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    worktrees: Arc<TaskWorktrees>,
    update: Mutex<Update>,
}

impl SpareWorktrees {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        board: Arc<BoardView>,
        worktrees: Arc<TaskWorktrees>,
    ) -> SpareWorktrees {
        SpareWorktrees {
            context,
            registry,
            board,
            worktrees,
            update: Mutex::default(),
        }
    }

    /// Brings the spare worktree up to date with the board, in the background. Called after each change of the board. Does
    /// nothing if the settings name nothing to do in new worktrees, or if hooks create the worktrees.
    pub fn board_changed(self: &Arc<Self>) {
        let hooks = self.context.hooks.as_ref();
        let has_hooks = hooks.is_some_and(|hooks| hooks.has_hooks(HookEvent::WorktreeCreate));
        if !self.worktrees.prepares() || has_hooks {
            return;
        }
        let mut update = lock(&self.update);
        if *update != Update::Ended {
            *update = Update::RunsAgain;
            return;
        }
        *update = Update::Runs;
        drop(update);
        let own = Arc::clone(self);
        self.context.spawn(async move {
            loop {
                own.update_once().await;
                let mut update = lock(&own.update);
                let is_outdated = *update == Update::RunsAgain;
                *update = if is_outdated {
                    Update::Runs
                } else {
                    Update::Ended
                };
                if !is_outdated {
                    return;
                }
            }
        });
    }

    async fn update_once(&self) {
        let Some(store) = self.worktrees.store().cloned() else {
            return;
        };
        if self.context.stop.is_cancelled() {
            return;
        }
        let (own, claimers) = (self.board.store().clone(), self.working_claimers());
        let read = run_blocking(move || {
            let spares = store.spares()?;
            own.query(|graph| {
                let state = |tree: &Worktree| graph.get(tree.task_id?).map(|task| task.status);
                let spares: Vec<_> = spares
                    .into_iter()
                    .map(|tree| (state(&tree), tree))
                    .collect();
                (spares, next_task(graph, &claimers))
            })
        });
        let (spares, next) = match read.await {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!("no worktree is created for the next task: {error}");
                return;
            }
        };
        let mut has_spare = false;
        for (status, tree) in spares {
            match status {
                None | Some(TaskStatus::Completed) => self.worktrees.discard_spare(&tree).await,
                // The claim takes it.
                Some(TaskStatus::InProgress) => has_spare = true,
                Some(TaskStatus::Pending) => {
                    has_spare = true;
                    self.worktrees.prepare_spare(&tree.name).await;
                }
            }
        }
        if let Some(task) = next.filter(|_| !has_spare) {
            self.create(&task).await;
        }
    }

    /// Returns the teammates that have a task and will claim another one.
    fn working_claimers(&self) -> Vec<Claimer> {
        let teammates = self.registry.all().into_iter();
        let teammates = teammates.filter(|(name, _)| !name.is_lead());
        teammates
            .map(|(name, handle)| Claimer {
                name,
                tags: handle.tags,
            })
            .collect()
    }

    async fn create(&self, task: &Task) {
        let needs = match self.worktrees.branches_of(task).await {
            Ok(needs) => needs,
            Err(error) => {
                tracing::warn!("no worktree is created for task {}: {error}", task.id);
                return;
            }
        };
        let new = NewWorktree {
            task: task.id,
            subject: task.subject.clone(),
            needs,
            has_setup: true,
            ..NewWorktree::default()
        };
        if let Err(error) = self.worktrees.create_spare(new).await {
            // The claim tries again, and reports the error.
            tracing::warn!("no worktree is created for task {}: {error}", task.id);
            return;
        }
        // The task may have been deleted meanwhile.
        if self.is_deleted(task.id).await {
            *lock(&self.update) = Update::RunsAgain;
        }
    }

    async fn is_deleted(&self, id: TaskId) -> bool {
        let board = self.board.store().clone();
        let found = run_blocking(move || board.query(|graph| graph.get(id).is_none())).await;
        found.unwrap_or(false)
    }
}

/// Returns the ready task that one of `claimers` claims when it has completed its task; `None` if there is none, or if it
/// has a worktree. Claimers without a task do not count: they claim the next task at once.
fn next_task(graph: &TaskGraph, claimers: &[Claimer]) -> Option<Task> {
    let mut busy = claimers
        .iter()
        .filter(|claimer| graph.open_task_of(&claimer.name).is_some());
    let next = busy.find_map(|claimer| graph.next_for(claimer))?;
    next.worktree.is_empty().then(|| next.clone())
}

#[cfg(test)]
#[path = "spare_worktree_tests.rs"]
mod tests;
