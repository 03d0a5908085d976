//! Publishes which commit is checked out in the project directory, and the merge status of the tasks' branches.

use std::sync::Arc;

use super::board_view::BoardView;
use super::context::CrewContext;
use super::file_errors::FileErrors;
use crate::agent::driver::run_blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::task::Task;
use crate::domain::worktree::{self, Branch, CheckedOut, WorktreeName};
use crate::protocol::event::{BRANCHES_MAX, BoardEvent, EventKind};
use crate::store::{BranchSnapshot, ScanMode, Worktrees, checked_out};

/// Reads the merge status of the tasks' branches, and publishes the branches whose status has changed.
pub struct BranchStatus {
    context: Arc<CrewContext>,
    errors: Arc<FileErrors>,
    board: Arc<BoardView>,
    /// The worktree store; `None` if worktrees are not in use.
    worktrees: Option<Worktrees>,
    /// The status of the branches that was last published. Locked during a scan of the branches, so that changes are
    /// published in order.
    published: tokio::sync::Mutex<BranchSnapshot>,
    /// The commit that was last published as checked out in the project directory. Locked while the checked-out commit
    /// is read and published.
    head: tokio::sync::Mutex<Option<CheckedOut>>,
}

impl BranchStatus {
    pub fn new(
        context: Arc<CrewContext>,
        errors: Arc<FileErrors>,
        board: Arc<BoardView>,
        worktrees: Option<Worktrees>,
    ) -> BranchStatus {
        BranchStatus {
            context,
            errors,
            board,
            worktrees,
            published: tokio::sync::Mutex::default(),
            head: tokio::sync::Mutex::default(),
        }
    }

    /// Reads which commit is checked out in the project directory, and publishes it if it has changed. Does nothing if
    /// this cannot be determined, for example outside of a git repository.
    pub async fn read_head(&self) {
        let root = self.context.root.clone();
        let mut published = self.head.lock().await;
        let Ok(Some(now)) = run_blocking(move || Ok(checked_out(&root))).await else {
            return;
        };
        if published.as_ref() != Some(&now) {
            *published = Some(now.clone());
            self.context
                .publish(EventKind::Board(BoardEvent::HeadChanged { head: now }))
                .await;
        }
    }

    /// Scans the branches of the worktrees as `how` says, and publishes the branches whose merge status has changed.
    /// Does nothing if worktrees are not in use. An error is reported to the user.
    pub async fn read(&self, how: ScanMode) {
        let Some(store) = &self.worktrees else { return };
        // One scan at a time, so that changes are published in order.
        let mut known = self.published.lock().await;
        let mut how = Some(how);
        while let Some(look) = how {
            let graph = self.board.graph();
            let (store, mut seen) = (store.clone(), std::mem::take(&mut *known));
            let looked = run_blocking(move || {
                let named = if seen.is_empty() {
                    worktrees_of_tasks(&graph)
                } else {
                    Vec::new()
                };
                let changed = store.branches(&mut seen, look, &named)?;
                Ok((seen, changed))
            });
            let Some((seen, changed)) = self.errors.check("The worktrees", looked.await).await
            else {
                return;
            };
            *known = seen;
            for event in branch_events(&changed) {
                self.context.publish(event).await;
            }
            // A partial scan continues after its results were published.
            how = known.is_partial().then_some(ScanMode::IfChanged);
        }
    }

    /// Scans the branches of the worktrees. Returns the branches of completed tasks that are not merged yet, each as a
    /// text for the lead with the task's number, such as `wt/NAME (#7)`. Empty if worktrees are not in use.
    pub async fn unmerged_branches(&self) -> Vec<String> {
        if self.worktrees.is_none() {
            return Vec::new();
        }
        self.read(ScanMode::Always).await;
        let (graph, seen) = (self.board.graph(), self.published.lock().await);
        let tasks = worktree::mergeable_tasks(&graph, |tree| seen.is_unmerged(tree));
        let words = |task: &&Task| format!("wt/{} ({})", task.worktree, task.id);
        tasks.iter().map(words).collect()
    }
}

pub fn worktrees_of_tasks(graph: &TaskGraph) -> Vec<WorktreeName> {
    let names = graph.tasks().map(|t| WorktreeName::new(&t.worktree).ok());
    names.flatten().collect()
}

/// Returns events with the status of `branches`, at most [`BRANCHES_MAX`] branches in each event.
pub fn branch_events(branches: &[Branch]) -> impl Iterator<Item = EventKind> {
    let event = |piece: &[Branch]| {
        EventKind::Board(BoardEvent::BranchesChanged {
            branches: piece.to_vec(),
        })
    };
    branches.chunks(BRANCHES_MAX).map(event)
}
