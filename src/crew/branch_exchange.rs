//! Exchanges the branches of worktrees with the other hosts of the crew: one operation at a time, and with notices about
//! errors.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::domain::text::clip;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::NoticeLevel;
use crate::store::{BranchExchange, FetchedBranches, Published, StoreError};

/// Maximum number of operations whose last error is remembered. With more, all are forgotten and can be reported again.
const ERRORS_MAX: usize = 200;
/// Maximum length of the names of branches in a notice, in characters.
const NAMES_MAX: usize = 160;

/// The exchange of branches of one host. Git is stopped when the crew stops.
pub struct CrewExchange {
    context: Arc<CrewContext>,
    exchange: BranchExchange,
    /// Locked while an operation runs, also if its caller has gone away.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The last reported error of each operation that fails, by the name of the operation.
    reported: Mutex<BTreeMap<String, String>>,
}

impl CrewExchange {
    pub fn new(context: Arc<CrewContext>, exchange: BranchExchange) -> CrewExchange {
        CrewExchange {
            context,
            exchange,
            turn: Arc::default(),
            reported: Mutex::default(),
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

    /// Fetches the branches of the crew, so that a new worktree starts from the published base commit and the work of the other
    /// hosts.
    ///
    /// # Errors
    /// As [`BranchExchange::fetch`].
    pub async fn before_claim(&self) -> Result<FetchedBranches, StoreError> {
        let result = self.run(BranchExchange::fetch).await;
        self.reported("Fetching the branches of the crew".into(), result)
            .await
    }

    /// Publishes the branch of a worktree. Call this when the work is committed, before the task is recorded as completed: until
    /// it has succeeded, no other host has the work. After an error, it can be called again.
    ///
    /// # Errors
    /// As [`BranchExchange::publish`].
    pub async fn on_completed(&self, worktree: &WorktreeName) -> Result<Published, StoreError> {
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
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        Ok(published)
    }

    /// Publishes the commit that is checked out in the project directory as the base commit, if it has moved. An error is
    /// reported to the user.
    pub async fn publish_head(&self) {
        let result = self.run(BranchExchange::publish_head).await;
        let _ = self
            .reported("Publishing the base commit".into(), result)
            .await;
    }

    /// Fetches what is new and takes over the branches of worktrees of other hosts: for their merge, for a task that builds on
    /// them, or to continue the work of a lost host. Branches that the crew does not have are left out.
    ///
    /// # Errors
    /// As [`BranchExchange::fetch`] and [`BranchExchange::take_over`]. The branches before the error are taken over.
    pub async fn take_over(&self, worktrees: Vec<WorktreeName>) -> Result<(), StoreError> {
        if worktrees.is_empty() {
            return Ok(());
        }
        let now = self.context.now();
        let names: Vec<String> = worktrees.iter().map(WorktreeName::branch).collect();
        let result = self
            .run(move |exchange| {
                exchange.fetch()?;
                for name in &worktrees {
                    exchange.take_over(name, now)?;
                }
                Ok(())
            })
            .await;
        let what = format!("Taking over {}", clip(&names.join(", "), NAMES_MAX));
        self.reported(what, result).await
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
                .is_new(&what, error)
                .then(|| (NoticeLevel::Error, format!("{what} failed: {error}"))),
        };
        if let Some((level, text)) = notice {
            self.context.notice(level, text).await;
        }
        result
    }

    /// Remembers the error of the operation `what`. Returns whether it is another one than before.
    fn is_new(&self, what: &str, error: &StoreError) -> bool {
        let mut reported = lock(&self.reported);
        if reported.len() >= ERRORS_MAX && !reported.contains_key(what) {
            reported.clear();
        }
        let text = error.to_string();
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
            exchange.on_completed(&name).await.unwrap_err();
        }
        let notices = crew.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        let begin = "Publishing wt/task-1 failed: there is no git repository at ";
        assert!(notices[0].starts_with(begin), "{notices:?}");

        let path = remote.display().to_string();
        git(dir.path(), &["init", "--quiet", "--bare", &path]);
        let published = exchange.on_completed(&name).await.unwrap();
        assert_eq!((&published.worktree, &published.other_work), (&name, &None));
        assert_eq!(crew.notices(), ["Publishing wt/task-1 works again."]);
        let base = git(&crew.context.root, &["rev-parse", "HEAD"]);
        exchange.publish_head().await;
        let fetched = exchange.before_claim().await.unwrap();
        assert_eq!(fetched.base, Some(base));
        assert_eq!(fetched.branches.len(), 1);
        assert_eq!(fetched.branches[0].commit, published.commit);
        exchange.take_over(vec![name]).await.unwrap();
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
        assert!(exchange.before_claim().await.is_err());
        assert_eq!(crew.notices(), Vec::<String>::new());
    }
}
