//! Watches the disk usage of worktrees and checks, if the setting `worktree.disk_limit` limits it: above the limit, deletes
//! the build caches of completed tasks and of checks before a worktree is created, and warns the user.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::board_view::BoardView;
use super::context::CrewContext;
use crate::agent::driver::run_blocking;
use crate::domain::graph::TaskGraph;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::{DiskUse, Worktree, WorktreeName};
use crate::protocol::event::NoticeLevel;
use crate::store::{Board, StoreError, Worktrees};

/// The time for which a measured disk usage counts, because many worktrees may be created at once.
const MEASURE_INTERVAL: Duration = Duration::from_secs(30);

/// The limit of the disk usage, and what is known about it.
pub struct WorktreeDiskLimit {
    context: Arc<CrewContext>,
    board: Arc<BoardView>,
    store: Worktrees,
    /// The setting `worktree.disk_limit`, in bytes.
    limit: u64,
    interval: Duration,
    state: tokio::sync::Mutex<DiskLimitState>,
}

#[derive(Default)]
struct DiskLimitState {
    measured_at: Option<Instant>,
    /// Whether the usage was above the limit after the last measurement.
    is_exceeded: bool,
    /// Whether the user has been warned since the usage was below the limit.
    is_warned: bool,
}

impl WorktreeDiskLimit {
    pub fn new(
        context: Arc<CrewContext>,
        board: Arc<BoardView>,
        store: Worktrees,
        limit: u64,
    ) -> WorktreeDiskLimit {
        WorktreeDiskLimit {
            context,
            board,
            store,
            limit,
            interval: MEASURE_INTERVAL,
            state: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether the usage is above the limit, as far as [`WorktreeDiskLimit::enforce`] has found out.
    pub async fn is_exceeded(&self) -> bool {
        self.state.lock().await.is_exceeded
    }

    /// Measures the disk usage, unless that was done a moment ago. Above the limit, deletes the cache folders of worktrees
    /// that no open task needs, those of the oldest worktrees first, until the usage is below the limit. If that does not
    /// suffice, deletes the caches of checks. Warns the user once if the usage is still above the limit. Returns the worktrees
    /// whose cache folders were deleted.
    pub async fn enforce(&self) -> Vec<WorktreeName> {
        let mut state = self.state.lock().await;
        let is_recent = |at: Instant| at.elapsed() < self.interval;
        if state.measured_at.is_some_and(is_recent) {
            return Vec::new();
        }
        let Some(before) = self.measure().await else {
            return Vec::new();
        };
        let excess = before.bytes.saturating_sub(self.limit);
        let (deleted, mut now) = match excess {
            0 => (Vec::new(), before),
            _ => self.delete_caches(before, excess).await,
        };
        if now.bytes > self.limit {
            now = self.delete_check_caches(now).await;
        }
        state.measured_at = Some(Instant::now());
        state.is_exceeded = now.bytes > self.limit;
        match self.warning(now) {
            None => state.is_warned = false,
            Some(_) if state.is_warned => {}
            Some(text) => {
                state.is_warned = true;
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
        deleted
    }

    async fn measure(&self) -> Option<DiskUse> {
        let store = self.store.clone();
        run_blocking(move || Ok(store.disk_use())).await.ok()
    }

    /// Deletes cache folders until `excess` bytes are freed, and shows the user which. Returns the worktrees, and the disk
    /// usage that remains. `before` is the usage until now.
    async fn delete_caches(&self, before: DiskUse, excess: u64) -> (Vec<WorktreeName>, DiskUse) {
        let (store, board) = (self.store.clone(), self.board.store().clone());
        let deleted = run_blocking(move || {
            let unneeded = unneeded_worktrees(&store, &board)?;
            store.delete_caches(&unneeded, excess)
        });
        let deleted = match deleted.await {
            Ok(deleted) if !deleted.is_empty() => deleted,
            Ok(_) => return (Vec::new(), before),
            Err(error) => {
                let text = format!("The caches of completed tasks cannot be deleted: {error}");
                self.context.notice(NoticeLevel::Warn, text).await;
                // Some may be deleted.
                let now = self.measure().await.unwrap_or(before);
                return (Vec::new(), now);
            }
        };
        let names: Vec<&str> = deleted.iter().map(WorktreeName::as_str).collect();
        let text = format!(
            "Build caches of completed tasks were deleted, because worktrees and checks used {}, more than worktree.disk_limit ({}): {}.",
            before.in_words(),
            self.limit_text(),
            names.join(", ")
        );
        self.context.notice(NoticeLevel::Info, text).await;
        let now = self.measure().await.unwrap_or(before);
        (deleted, now)
    }

    /// Deletes the caches of checks that no check uses, and shows it to the user. `before` is the usage until now. Returns the
    /// disk usage that remains.
    async fn delete_check_caches(&self, before: DiskUse) -> DiskUse {
        let store = self.store.clone();
        let deleted = run_blocking(move || Ok(store.delete_check_caches(None))).await;
        if deleted.unwrap_or_default() == 0 {
            return before;
        }
        let text = format!(
            "The build caches of checks were deleted, because worktrees and checks used {}, more than worktree.disk_limit ({}).",
            before.in_words(),
            self.limit_text()
        );
        self.context.notice(NoticeLevel::Info, text).await;
        self.measure().await.unwrap_or(before)
    }

    /// Returns the warning for the usage `now`; `None` if it is below the limit.
    fn warning(&self, now: DiskUse) -> Option<String> {
        let (used, limit) = (now.in_words(), self.limit_text());
        let advice = "Show what uses the space: crewdeck worktree list --sizes. Remove worktrees that you no longer need: W in the list of tasks, or crewdeck worktree remove NAME.";
        if now.bytes > self.limit {
            Some(format!(
                "Worktrees and checks use {used}, more than worktree.disk_limit ({limit}). New worktrees are created nevertheless. {advice}"
            ))
        } else if now.at_least {
            Some(format!(
                "Worktrees and checks use {used} and have too many files to count, so they may exceed worktree.disk_limit ({limit}). {advice}"
            ))
        } else {
            None
        }
    }

    fn limit_text(&self) -> String {
        let limit = DiskUse {
            bytes: self.limit,
            at_least: false,
        };
        limit.to_string()
    }
}

/// Returns the worktrees whose task is completed and in which no open task is worked on, the oldest first.
fn unneeded_worktrees(store: &Worktrees, board: &Board) -> Result<Vec<WorktreeName>, StoreError> {
    let worktrees = store.list()?.worktrees;
    board.query(|graph| {
        let unneeded = worktrees
            .into_iter()
            .filter(|tree| is_unneeded(tree, graph));
        unneeded.map(|tree| tree.name).collect()
    })
}

fn is_unneeded(tree: &Worktree, graph: &TaskGraph) -> bool {
    let is_completed = |task: &Task| task.status == TaskStatus::Completed;
    let task = tree.task_id.and_then(|id| graph.get(id));
    // A task that resolves a merge conflict works in the worktree of another task.
    let mut here = graph
        .tasks()
        .filter(|task| task.worktree == tree.name.as_str());
    task.is_some_and(is_completed) && here.all(is_completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::test_support::{TestCrew, bob, repository};
    use crate::domain::graph::NewTask;
    use crate::domain::timestamp::Timestamp;
    use crate::store::NewWorktree;
    use pretty_assertions::assert_eq;

    const MIB: u64 = 1024 * 1024;

    #[tokio::test]
    async fn caches_of_completed_tasks_are_deleted_before_the_user_is_warned() {
        let mut crew = TestCrew::new();
        let root = crew.context.root.clone();
        repository(&root, &[]);
        let board = crew.board();
        let store = Worktrees::open(&root);
        let now = Timestamp(1.0);
        for id in 1..=3 {
            let new = NewTask {
                subject: format!("task {id}"),
                ..NewTask::default()
            };
            let task = board.store().create(new, now).unwrap().id;
            let new = NewWorktree {
                task,
                ..NewWorktree::default()
            };
            let tree = store.create(&new, now).unwrap().worktree;
            board.store().bind(task, &tree.name, now).unwrap();
            let cache = root.join(format!(".worktrees/.cache-{}", tree.name));
            std::fs::create_dir(&cache).unwrap();
            std::fs::write(cache.join("file"), vec![1; 4 << 20]).unwrap();
            if id < 3 {
                board.store().complete(task, &bob(), now).unwrap();
            }
        }
        let has_cache = |id| root.join(format!(".worktrees/.cache-task-{id}")).exists();
        let limit = |limit| WorktreeDiskLimit {
            interval: Duration::ZERO,
            ..WorktreeDiskLimit::new(crew.context.clone(), board.clone(), store.clone(), limit)
        };
        let name = |text| WorktreeName::new(text).unwrap();

        assert_eq!(limit(100 * MIB).enforce().await, Vec::new());
        // One cache suffices: that of the oldest completed task.
        assert_eq!(limit(9 * MIB).enforce().await, [name("task-1")]);
        assert!(!has_cache(1) && has_cache(2) && has_cache(3));

        // The cache of an open task stays, and the user is warned once.
        let low = limit(2 * MIB);
        assert_eq!(low.enforce().await, [name("task-2")]);
        assert_eq!(low.enforce().await, Vec::new());
        assert!(!has_cache(2) && has_cache(3));
        let notices = crew.notices();
        assert_eq!(notices.len(), 3, "{notices:?}");
        assert!(notices[0].ends_with("worktree.disk_limit (9.0 MiB): task-1."));
        assert!(notices[1].ends_with("worktree.disk_limit (2.0 MiB): task-2."));
        assert!(
            notices[2].contains("more than worktree.disk_limit (2.0 MiB). New worktrees are"),
            "{notices:?}"
        );
    }

    #[tokio::test]
    async fn caches_of_checks_are_deleted_if_nothing_else_suffices() {
        let mut crew = TestCrew::new();
        let root = crew.context.root.clone();
        repository(&root, &[]);
        let store = Worktrees::open(&root);
        let cache = root.join(".crewdeck/checks/cache/1");
        std::fs::create_dir_all(&cache).unwrap();
        std::fs::write(cache.join("file"), vec![1; 4 << 20]).unwrap();
        let limit = WorktreeDiskLimit::new(crew.context.clone(), crew.board(), store, 2 * MIB);
        assert_eq!(limit.enforce().await, Vec::new());
        assert!(!cache.exists() && !limit.is_exceeded().await);
        let notices = crew.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(
            notices[0].starts_with("The build caches of checks were deleted"),
            "{notices:?}"
        );
    }

    #[tokio::test]
    async fn usage_that_cannot_be_counted_is_reported_as_a_minimum() {
        let crew = TestCrew::new();
        let store = Worktrees::open(&crew.context.root);
        let limit = WorktreeDiskLimit::new(crew.context.clone(), crew.board(), store, 5 * MIB);
        let text = |mib, at_least| {
            limit.warning(DiskUse {
                bytes: mib * MIB,
                at_least,
            })
        };
        assert_eq!(text(5, false), None);
        assert!(
            text(5, true)
                .unwrap()
                .contains("use at least 5.0 MiB and have too many")
        );
        assert!(
            text(6, true)
                .unwrap()
                .contains("use at least 6.0 MiB, more than")
        );
        assert!(text(6, false).unwrap().contains("use 6.0 MiB, more than"));
    }
}
