//! Exchanges the branches of worktrees with the other hosts of the crew: one operation at a time, and with notices about
//! errors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::domain::host::HostName;
use crate::domain::ids::TaskId;
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::protocol::event::NoticeLevel;
use crate::store::{BranchExchange, FetchedBranches, NeededWork, Published, StoreError};

/// Maximum number of operations whose last error is remembered. With more, all are forgotten and can be reported again.
const ERRORS_MAX: usize = 200;
/// Time until a branch that could not be published or taken over is tried again for the first time. Doubles each time.
pub(super) const RETRY_MIN: Duration = Duration::from_secs(5);
/// Maximum time between two tries.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(300);

/// The exchange of branches of one host. Git is stopped when the crew stops.
pub struct CrewExchange {
    context: Arc<CrewContext>,
    exchange: BranchExchange,
    /// Locked while an operation runs, also if its caller has gone away.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last reported error of each operation that fails, by the name of the operation.
    reported: Mutex<BTreeMap<String, String>>,
    /// The worktrees whose branches are published in the background, until that has succeeded.
    pending: Mutex<BTreeSet<WorktreeName>>,
}

impl CrewExchange {
    pub fn new(context: Arc<CrewContext>, exchange: BranchExchange) -> CrewExchange {
        CrewExchange {
            context,
            exchange,
            turn: Arc::default(),
            reported: Mutex::default(),
            pending: Mutex::default(),
        }
    }

    /// Checks that the remote can be used; see [`BranchExchange::check`]. Publishes no notice, because the caller cannot start
    /// without the remote.
    ///
    /// # Errors
    /// As [`BranchExchange::check`].
    pub async fn check(&self) -> Result<(), StoreError> {
        self.run(BranchExchange::check).await
    }

    /// Fetches the base commit and the branches of the crew.
    ///
    /// # Errors
    /// As [`BranchExchange::fetch`].
    pub async fn fetch(&self) -> Result<FetchedBranches, StoreError> {
        let result = self.run(BranchExchange::fetch).await;
        self.reported("Fetching the branches of the crew".into(), result)
            .await
    }

    /// Publishes the branch of a worktree. Call this when the work is committed, before the task is recorded as completed: until
    /// it has succeeded, no other host has the work. After an error, it can be called again.
    ///
    /// # Errors
    /// As [`BranchExchange::publish`].
    pub async fn publish(&self, worktree: &WorktreeName) -> Result<Published, StoreError> {
        let name = worktree.clone();
        let result = self.run(move |exchange| exchange.publish(&name)).await;
        let what = format!("Publishing {}", worktree.branch());
        let published = self.reported(what, result).await?;
        if let Some(other) = &published.other_work {
            let short: String = other.chars().take(8).collect();
            let text = format!(
                "The remote has other work as {} ({short}), so this host's commits were published as {}. Compare both before you merge them.",
                worktree.branch(),
                published.worktree.branch(),
            );
            if self.is_new(
                &format!("Other work as {}", worktree.branch()),
                text.clone(),
            ) {
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
        Ok(published)
    }

    /// Publishes the branch of a worktree in the background, again and again until it has succeeded or there is no such branch.
    /// Only for branches that no other host may publish.
    pub fn publish_later(self: &Arc<Self>, worktree: WorktreeName) {
        let mut pending = lock(&self.pending);
        let is_running = !pending.is_empty();
        pending.insert(worktree);
        if is_running {
            return;
        }
        let own = Arc::clone(self);
        self.context
            .spawn(async move { own.publish_pending().await });
    }

    async fn publish_pending(&self) {
        let mut pause = RETRY_MIN;
        loop {
            tokio::select! {
                () = self.context.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(RETRY_MAX);
            let names = lock(&self.pending).clone();
            for name in names {
                let result = self.publish(&name).await;
                let is_gone = matches!(
                    result,
                    Err(StoreError::Worktree(WorktreeError::NoBranch(_)))
                );
                if is_gone || result.is_ok() {
                    lock(&self.pending).remove(&name);
                } else if matches!(result, Err(StoreError::Git(_))) {
                    // The others would wait for the same remote.
                    break;
                }
            }
            if lock(&self.pending).is_empty() {
                return;
            }
        }
    }

    /// Publishes the branches of completed tasks of this host that the crew does not have yet, in the background if the remote
    /// cannot be reached now.
    pub async fn publish_completed(self: &Arc<Self>, worktrees: Vec<WorktreeName>) {
        for name in self
            .unpublished(worktrees, BranchExchange::unpublished)
            .await
        {
            if self.publish(&name).await.is_err() {
                self.publish_later(name);
            }
        }
    }

    /// Publishes new commits of tasks that are not completed, so that the next owner of a task finds them if this host is lost.
    /// Does not reach the remote without new commits. Errors are reported.
    pub async fn publish_progress(&self, worktrees: Vec<WorktreeName>) {
        let names = self.unpublished(worktrees, BranchExchange::unpublished_work);
        for name in names.await {
            let _ = self.publish(&name).await;
        }
    }

    /// Returns those of `worktrees` that `filter` returns; none after an error.
    async fn unpublished(
        &self,
        worktrees: Vec<WorktreeName>,
        filter: fn(&BranchExchange, &[WorktreeName]) -> Result<Vec<WorktreeName>, StoreError>,
    ) -> Vec<WorktreeName> {
        if worktrees.is_empty() {
            return Vec::new();
        }
        let exchange = self.exchange.clone();
        let found = run_blocking(move || filter(&exchange, &worktrees)).await;
        found.unwrap_or_else(|error| {
            tracing::warn!("branches are not published: {error}");
            Vec::new()
        })
    }

    /// Returns the branches with the work on which a task builds, as it was last fetched; see [`BranchExchange::find_needed`].
    ///
    /// # Errors
    /// As [`BranchExchange::find_needed`].
    pub async fn find_needed(
        &self,
        task: TaskId,
        needed: Vec<NeededWork>,
        base: Option<String>,
    ) -> Result<Vec<String>, StoreError> {
        let exchange = self.exchange.clone();
        let found = run_blocking(move || exchange.find_needed(&needed, base.as_deref())).await;
        self.reported(format!("Finding what task {task} builds on"), found)
            .await
    }

    /// Returns whether the branch of a worktree here and that of the crew have diverged; see [`BranchExchange::has_diverged`].
    /// False after an error.
    pub async fn has_diverged(&self, worktree: &WorktreeName) -> bool {
        let (exchange, name) = (self.exchange.clone(), worktree.clone());
        let diverged = run_blocking(move || exchange.has_diverged(&name)).await;
        diverged.unwrap_or(false)
    }

    /// Fetches, and returns those of `worktrees` with commits that are not in what is checked out in the project directory. After
    /// an error returns all.
    pub async fn fetch_open(&self, worktrees: Vec<WorktreeName>) -> BTreeSet<WorktreeName> {
        let all: BTreeSet<WorktreeName> = worktrees.iter().cloned().collect();
        if all.is_empty() || self.fetch().await.is_err() {
            return all;
        }
        let exchange = self.exchange.clone();
        let open = run_blocking(move || exchange.open_branches(&worktrees)).await;
        open.unwrap_or(all)
    }

    /// Publishes the commit that is checked out in the project directory as the base commit, if it has moved. An error is
    /// reported to the user.
    pub async fn publish_head(&self) {
        let result = self.run(BranchExchange::publish_head).await;
        let _ = self
            .reported("Publishing the base commit".into(), result)
            .await;
    }

    /// Fetches what is new and takes over branches of worktrees that other hosts have completed, so that they can be compared and
    /// merged here; see [`BranchExchange::take_over`]. Returns the errors, which are reported too.
    pub async fn take_over(
        &self,
        wanted: Vec<(WorktreeName, Option<HostName>)>,
    ) -> BTreeMap<WorktreeName, String> {
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        if let Err(error) = self.fetch().await {
            let failed = wanted
                .into_iter()
                .map(|(name, _)| (name, error.to_string()));
            return failed.collect();
        }
        let mut failed = BTreeMap::new();
        for (name, by) in wanted {
            let (now, worktree) = (self.context.now(), name.clone());
            let result = self
                .run(move |exchange| exchange.take_over(&worktree, by.as_ref(), now))
                .await;
            let what = format!("Taking over {}", name.branch());
            if let Err(error) = self.reported(what, result).await {
                failed.insert(name, error.to_string());
            }
        }
        failed
    }

    /// Runs `work` on a thread for blocking work when all earlier operations have ended.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&BranchExchange) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let exchange = self.exchange.clone();
        let mut running = Box::pin(run_blocking(move || {
            let result = work(&exchange);
            drop(turn);
            result
        }));
        tokio::select! {
            result = &mut running => result,
            () = self.context.stop.cancelled() => {
                self.exchange.stop_flag().store(true, Ordering::SeqCst);
                running.await
            }
        }
    }

    /// Publishes a notice if the operation `what`, such as "Publishing wt/task-3", has failed with another error than the last
    /// time, or has succeeded after an error. Returns the result.
    async fn reported<T>(
        &self,
        what: String,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let notice = match &result {
            Ok(_) => lock(&self.reported)
                .remove(&what)
                .map(|_| (NoticeLevel::Info, format!("{what} works again."))),
            // Git was stopped together with the crew.
            Err(_) if self.context.stop.is_cancelled() => None,
            Err(error) => self
                .is_new(&what, error.to_string())
                .then(|| (NoticeLevel::Error, format!("{what} failed: {error}"))),
        };
        if let Some((level, text)) = notice {
            self.context.notice(level, text).await;
        }
        result
    }

    /// Remembers the error, or the other result, of the operation `what`. Returns whether it is another one than before.
    fn is_new(&self, what: &str, text: String) -> bool {
        let mut reported = lock(&self.reported);
        if reported.len() >= ERRORS_MAX && !reported.contains_key(what) {
            reported.clear();
        }
        reported.insert(what.into(), text.clone()) != Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use super::super::test_support::{TestCrew, git, repository};
    use super::*;

    fn exchange(crew: &TestCrew, remote: &Path) -> CrewExchange {
        let remote = remote.display().to_string();
        let store = BranchExchange::new(&crew.context.root, remote, "web");
        CrewExchange::new(crew.context.clone(), store)
    }

    #[tokio::test]
    async fn branches_are_published_and_errors_reported_once() {
        let mut crew = TestCrew::new();
        repository(&crew.context.root, &["a.txt"]);
        let dir = tempfile::tempdir().unwrap();
        let remote = dir.path().join("shared.git");
        let exchange = exchange(&crew, &remote);
        let name = WorktreeName::new("task-1").unwrap();
        for _ in 0..2 {
            exchange.publish(&name).await.unwrap_err();
        }
        let notices = crew.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        let begin = "Publishing wt/task-1 failed: there is no git repository at ";
        assert!(notices[0].starts_with(begin), "{notices:?}");

        let path = remote.display().to_string();
        git(dir.path(), &["init", "--quiet", "--bare", &path]);
        let published = exchange.publish(&name).await.unwrap();
        assert_eq!((&published.worktree, &published.other_work), (&name, &None));
        assert_eq!(crew.notices(), ["Publishing wt/task-1 works again."]);
        let base = git(&crew.context.root, &["rev-parse", "HEAD"]);
        exchange.publish_head().await;
        let fetched = exchange.fetch().await.unwrap();
        assert_eq!(fetched.base, Some(base));
        assert_eq!(fetched.branches.len(), 1);
        assert_eq!(fetched.branches[0].commit, published.commit);
        assert!(exchange.take_over(vec![(name, None)]).await.is_empty());
        assert_eq!(crew.notices(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn stopped_crew_stops_git_without_a_notice() {
        let mut crew = TestCrew::new();
        repository(&crew.context.root, &[]);
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--bare"]);
        let exchange = exchange(&crew, dir.path());
        exchange.check().await.unwrap();
        crew.context.stop.cancel();
        let stop = exchange.exchange.stop_flag();
        stop.store(true, Ordering::SeqCst);
        assert!(exchange.fetch().await.is_err());
        assert_eq!(crew.notices(), Vec::<String>::new());
    }
}
