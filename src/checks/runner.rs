//! Runs single checks: with a limit on how many run at once, in the sandbox, with bounded output, and never twice on the
//! same content.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};
use tokio_util::sync::CancellationToken;

use super::cache::LentCache;
use crate::domain::checks::{CheckOutcome, CheckRecord, CheckSpec, failing_part};
use crate::domain::ids::Name;
use crate::domain::redact::Redactor;
use crate::domain::sandbox::Network;
use crate::domain::timestamp::Timestamp;
use crate::process::{
    self, AddedEnvironment, CommandSpec, ContentOrigin, HeadTailBuffer, HistoryReach, JobExit,
    NETWORK_WITHHELD, Reach, WatchedRun, approved_network,
};
use crate::store::{
    CACHE_VARIABLE, CHECK_LOG_MAX, CheckStore, StoredCheck, WorktreeCommands, Worktrees, os_errors,
};

/// Maximum number of bytes of the output that are searched for signs that the sandbox has denied a write.
const NOTED_MAX: usize = 16 * 1024;
/// The program that lowers the priority of a check, so that it runs beside other work.
const NICE: &str = "/usr/bin/nice";
/// Exit codes of a shell whose command cannot be executed or is not found. They say nothing about the content.
const NOT_EXECUTED: [i32; 2] = [126, 127];
/// SIGHUP, SIGINT, SIGKILL and SIGTERM. Other programs and the kernel send them; a program that crashes gets other ones.
const SENT_SIGNALS: [i32; 4] = [1, 2, 9, 15];

/// What a check runs on, and for whom.
#[derive(Debug, Clone)]
pub struct CheckTarget {
    /// The agent or user that wants to complete the task.
    pub by: Name,
    pub place: CheckPlace,
    /// The hash of the content; empty if the content is not committed, so that no result is kept.
    pub tree: String,
}

/// Where a check runs.
#[derive(Debug, Clone)]
pub enum CheckPlace {
    /// In this folder, as it is.
    Folder(PathBuf),
    /// In a new checkout of a commit, which is deleted afterwards. So the result is one of exactly this content.
    Checkout {
        worktrees: Worktrees,
        commit: String,
    },
}

impl CheckTarget {
    /// Returns the store of the checkouts in which the check runs; `None` if it runs in a folder as it is.
    fn worktrees(&self) -> Option<&Worktrees> {
        match &self.place {
            CheckPlace::Folder(_) => None,
            CheckPlace::Checkout { worktrees, .. } => Some(worktrees),
        }
    }

    /// Returns what identifies the content: its hash, or its folder.
    fn content(&self) -> String {
        match &self.place {
            CheckPlace::Folder(dir) if self.tree.is_empty() => dir.display().to_string(),
            CheckPlace::Folder(_) | CheckPlace::Checkout { .. } => self.tree.clone(),
        }
    }
}

/// The result of a check, and the failing part of its output; empty if the check is green.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRun {
    pub record: CheckRecord,
    pub excerpt: String,
    /// Whether the run has ended for a reason outside of the content, such as a full disk or an interruption.
    pub is_external: bool,
}

type KeyLocks = HashMap<(String, String), Weak<AsyncMutex<()>>>;

/// Runs the checks of a project.
#[derive(Debug)]
pub struct CheckRunner {
    /// The setup of the settings, which also prepares the checkouts of checks, and the supervisor of the checks.
    commands: WorktreeCommands,
    root: PathBuf,
    store: CheckStore,
    redactor: Redactor,
    slots: Semaphore,
    /// The commands that run or wait, each with its content. A second run on the same content waits and then finds the
    /// result of the first.
    running: Mutex<KeyLocks>,
    clock: fn() -> Timestamp,
}

impl CheckRunner {
    /// Creates a runner for the project in `root` that runs at most `at_once` checks at the same time. The
    /// checkouts of checks are prepared as `commands` says. Without a supervisor, checks run without a sandbox.
    pub fn new(
        root: &Path,
        commands: WorktreeCommands,
        redactor: Redactor,
        at_once: usize,
        clock: fn() -> Timestamp,
    ) -> CheckRunner {
        CheckRunner {
            commands,
            root: root.to_path_buf(),
            store: CheckStore::open(root),
            redactor,
            slots: Semaphore::new(at_once.max(1)),
            running: Mutex::default(),
            clock,
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the result of an earlier run of the check on the same content; `None` if there is none.
    pub async fn find(&self, spec: &CheckSpec, target: &CheckTarget) -> Option<CheckRun> {
        if target.tree.is_empty() {
            return None;
        }
        let (store, run, tree) = (self.store.clone(), spec.run.clone(), target.tree.clone());
        let found = tokio::task::spawn_blocking(move || store.find(&run, &tree)).await;
        let stored = found.ok().flatten()?;
        Some(CheckRun {
            record: CheckRecord {
                outcome: stored.outcome,
                seconds: stored.seconds,
                log: stored.log,
                ..CheckRecord::running(&spec.name, target.by.as_str(), stored.at, &target.tree)
            },
            excerpt: stored.excerpt,
            is_external: false,
        })
    }

    /// Forgets the red result of the check on this content, so that it runs again.
    pub async fn forget(&self, spec: &CheckSpec, tree: &str) {
        let (store, run, tree) = (self.store.clone(), spec.run.clone(), tree.to_string());
        let forgotten = tokio::task::spawn_blocking(move || store.forget(&run, &tree)).await;
        if let Ok(Err(error)) = forgotten {
            tracing::warn!(
                "the result of check {} cannot be deleted: {error}",
                spec.name
            );
        }
    }

    /// Returns the result of the check. Runs the check unless there is a result of an earlier run on the same content.
    /// Waits while too many checks run, and while the same check runs on the same content. A check that may be retried
    /// runs a second time if the first run fails. If `cancel` is cancelled, the check is killed and counts as stopped.
    pub async fn run(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        cancel: &CancellationToken,
    ) -> CheckRun {
        let turn = async {
            let only_one = self.lock(spec, target).await;
            if let Some(found) = self.find(spec, target).await {
                return Err(found);
            }
            // The semaphore is never closed.
            Ok((only_one, self.slots.acquire().await.ok()))
        };
        let turn = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return CheckRun {
                    is_external: true,
                    ..self.ended(spec, target, CheckOutcome::Stopped, "[interrupted]")
                };
            }
            turn = turn => turn,
        };
        let _turn = match turn {
            Ok(turn) => turn,
            Err(found) => return found,
        };
        let mut run = self.run_in_place(spec, target, cancel).await;
        if spec.retry && run.record.is_failed() && !cancel.is_cancelled() {
            run = self.run_in_place(spec, target, cancel).await;
        }
        self.keep(spec, &run).await;
        run
    }

    /// Locks the command on the content of `target`.
    async fn lock(&self, spec: &CheckSpec, target: &CheckTarget) -> OwnedMutexGuard<()> {
        let place = target.content();
        let lock = {
            let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, lock| lock.strong_count() > 0);
            let entry = all.entry((spec.run.clone(), place)).or_default();
            let lock = entry.upgrade().unwrap_or_default();
            *entry = Arc::downgrade(&lock);
            lock
        };
        lock.lock_owned().await
    }

    fn ended(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        outcome: CheckOutcome,
        text: &str,
    ) -> CheckRun {
        let by = target.by.as_str();
        CheckRun {
            record: CheckRecord {
                outcome,
                ..CheckRecord::running(&spec.name, by, self.now(), &target.tree)
            },
            excerpt: text.into(),
            is_external: false,
        }
    }

    /// Runs the check in its folder, or in a new checkout that is deleted afterwards.
    async fn run_in_place(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        cancel: &CancellationToken,
    ) -> CheckRun {
        let (root, worktrees) = (self.root.clone(), target.worktrees().cloned());
        // Until the check has ended. Before the checkout, because build tools compare times.
        let lent = move || LentCache::lend(&root, worktrees.as_ref());
        let lent = tokio::task::spawn_blocking(lent).await;
        let cache = match lent.map_err(std::io::Error::other).flatten() {
            Ok(cache) => cache,
            Err(error) => {
                let text = format!("[the folder for {CACHE_VARIABLE} cannot be created: {error}]");
                return self.not_begun(spec, target, &text);
            }
        };
        let run = self
            .run_with_cache(spec, target, cache.added.clone(), cancel)
            .await;
        // May delete a large folder.
        let _ = tokio::task::spawn_blocking(move || drop(cache)).await;
        run
    }

    /// As [`CheckRunner::run_in_place`]. `added` are the additions to the environment of the check.
    async fn run_with_cache(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        added: AddedEnvironment,
        cancel: &CancellationToken,
    ) -> CheckRun {
        let (worktrees, commit) = match &target.place {
            CheckPlace::Folder(dir) => {
                return self.run_once(spec, target, (dir, added), cancel).await;
            }
            CheckPlace::Checkout { worktrees, commit } => (worktrees.clone(), commit.clone()),
        };
        let (key, store) = (CheckStore::key(&spec.run, &target.tree), worktrees.clone());
        let made = tokio::task::spawn_blocking(move || store.check_out(&key, &commit)).await;
        let dir = match made.map_err(|e| e.to_string()) {
            Ok(Ok(dir)) => dir,
            Ok(Err(error)) => return self.no_checkout(spec, target, &error.to_string()),
            Err(error) => return self.no_checkout(spec, target, &error),
        };
        let run = self
            .run_in_checkout(spec, target, (&worktrees, &dir, added), cancel)
            .await;
        let deleted = tokio::task::spawn_blocking(move || worktrees.delete_checkout(&dir)).await;
        if let Ok(Err(error)) = deleted {
            tracing::warn!(
                "the checkout of check {} cannot be deleted: {error}",
                spec.name
            );
        }
        run
    }

    /// Prepares the checkout in `dir` and runs the check in it. `added` are the additions to the environment of both.
    async fn run_in_checkout(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        (worktrees, dir, added): (&Worktrees, &Path, AddedEnvironment),
        cancel: &CancellationToken,
    ) -> CheckRun {
        // The time of a check includes the setup of its checkout.
        let began = Instant::now();
        let prepared = worktrees
            .prepare_checkout(dir, &self.commands, added.clone(), (&self.redactor, cancel))
            .await;
        let mut run = match prepared {
            Ok(()) => self.run_once(spec, target, (dir, added), cancel).await,
            Err(why) => {
                let text = format!("[the checkout cannot be prepared by worktree.setup: {why}]");
                self.ended(spec, target, CheckOutcome::NotStarted, &text)
            }
        };
        run.record.seconds = round_tenths(began.elapsed());
        run
    }

    fn no_checkout(&self, spec: &CheckSpec, target: &CheckTarget, why: &str) -> CheckRun {
        let text = format!("[the content cannot be checked out: {why}]");
        self.not_begun(spec, target, &text)
    }

    /// Returns the result of a check that was not started for a reason outside of its content.
    fn not_begun(&self, spec: &CheckSpec, target: &CheckTarget, text: &str) -> CheckRun {
        CheckRun {
            is_external: true,
            ..self.ended(spec, target, CheckOutcome::NotStarted, text)
        }
    }

    async fn run_once(
        &self,
        spec: &CheckSpec,
        target: &CheckTarget,
        (dir, added): (&Path, AddedEnvironment),
        cancel: &CancellationToken,
    ) -> CheckRun {
        let began = Instant::now();
        let (reach, is_withheld) = self.reach(spec, &target.by);
        let cache = added.variables.get(CACHE_VARIABLE).map(PathBuf::from);
        let command = CommandSpec {
            argv: argv(&spec.run),
            dir: dir.to_path_buf(),
            timeout: Duration::from_secs(spec.timeout_s),
            keep: NOTED_MAX,
            reach,
            supervisor: self.commands.supervisor.clone(),
            added,
        };
        // Secrets are redacted before the output is shortened, because a shortened secret would not be recognized.
        let mut clean = self.redactor.stream();
        let mut keep = HeadTailBuffer::new(CHECK_LOG_MAX);
        let live = |bytes: &[u8]| keep.push(&clean.push(bytes));
        let WatchedRun { report, is_filling } =
            Box::pin(process::run_watched(&command, cancel, live)).await;
        keep.push(&clean.end());
        let mut output = keep.text().trim_end().to_string();
        if is_filling && let CheckPlace::Checkout { worktrees, .. } = &target.place {
            let store = worktrees.clone();
            let delete = move || store.delete_check_caches(cache.as_deref());
            // What cannot be deleted is deleted by the next check that fills the disk.
            let _ = tokio::task::spawn_blocking(delete).await;
        }
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                let why = os_errors::explain(&error);
                let text = format!("[the shell cannot be started: {why}]");
                return self.not_begun(spec, target, &text);
            }
        };
        if let Some(note) = &report.note {
            output.push_str(&format!("\n{note}"));
        }
        if is_withheld && report.ended != JobExit::Code(0) {
            output.push_str(&format!("\n[The check ran {NETWORK_WITHHELD}.]"));
        }
        let is_external = is_filling
            || match report.ended {
                JobExit::Signal(signal) => SENT_SIGNALS.contains(&signal),
                JobExit::Cancelled => true,
                JobExit::Code(_) | JobExit::TimedOut => false,
            };
        let (outcome, end) = outcome_of(report.ended, is_filling, spec.timeout_s);
        output.push_str(&end);
        let mut run = self.ended(spec, target, outcome, "");
        run.is_external = is_external;
        run.record.seconds = round_tenths(began.elapsed());
        run.record.log = self.write_log(spec, target, output.clone()).await;
        if outcome != CheckOutcome::Green {
            run.excerpt = failing_part(&output);
        }
        run
    }

    /// Returns what a check can access: a private copy of the git history, and the network if commands of `by` can. Also
    /// returns whether the check asks for the network and does not get it. A check always runs what agents may have
    /// written: the content of the branch, and the cache that the checks of all branches share.
    fn reach(&self, spec: &CheckSpec, by: &Name) -> (Reach, bool) {
        let supervisor = self.commands.supervisor.as_deref();
        let rule = supervisor.map_or(Network::On, |supervisor| supervisor.network.of(by));
        let network = approved_network(rule, &spec.run, ContentOrigin::Agents);
        let reach = Reach {
            history: HistoryReach::Private,
            network: network.reach,
        };
        (reach, network.is_withheld)
    }

    /// Writes the log of a check and returns its path, relative to the project root; empty if it cannot be written.
    async fn write_log(&self, spec: &CheckSpec, target: &CheckTarget, output: String) -> String {
        let (store, run) = (self.store.clone(), spec.run.clone());
        let place = target.content();
        let written =
            tokio::task::spawn_blocking(move || store.write_log(&run, &place, &output)).await;
        match written {
            Ok(Ok(log)) => log,
            Ok(Err(error)) => {
                tracing::warn!("the log of check {} cannot be written: {error}", spec.name);
                String::new()
            }
            Err(_) => String::new(),
        }
    }

    /// Stores a result that holds for its content.
    async fn keep(&self, spec: &CheckSpec, run: &CheckRun) {
        let record = &run.record;
        let is_final = matches!(record.outcome, CheckOutcome::Green | CheckOutcome::Red);
        if record.tree.is_empty() || !is_final {
            return;
        }
        let stored = StoredCheck {
            run: spec.run.clone(),
            tree: record.tree.clone(),
            outcome: record.outcome,
            at: record.at,
            seconds: record.seconds,
            log: record.log.clone(),
            excerpt: run.excerpt.clone(),
        };
        let store = self.store.clone();
        let saved = tokio::task::spawn_blocking(move || store.save(&stored)).await;
        if let Ok(Err(error)) = saved {
            tracing::warn!(
                "the result of check {} cannot be stored: {error}",
                spec.name
            );
        }
    }
}

/// Returns the program and arguments of a check: a shell with a low priority.
fn argv(run: &str) -> Vec<String> {
    let shell = process::shell(run.to_string());
    if !Path::new(NICE).exists() {
        return shell;
    }
    let nice = [NICE, "-n", "10"].map(String::from);
    nice.into_iter().chain(shell).collect()
}

/// Returns the outcome of a command, and the line at the end of its output that says how it ended.
fn outcome_of(ended: JobExit, is_filling: bool, timeout_s: u64) -> (CheckOutcome, String) {
    match ended {
        JobExit::Code(0) => (CheckOutcome::Green, String::new()),
        JobExit::Code(code) if NOT_EXECUTED.contains(&code) => (
            CheckOutcome::NotStarted,
            format!("\n[exit code {code}: the command cannot be executed]"),
        ),
        JobExit::Code(code) => (CheckOutcome::Red, format!("\n[exit code {code}]")),
        JobExit::Signal(signal) => (
            CheckOutcome::Stopped,
            format!("\n[ended by signal {signal}]"),
        ),
        JobExit::TimedOut => (
            CheckOutcome::TimedOut,
            format!(
                "\n[time limit of {timeout_s} s: the command and every process it started were killed]"
            ),
        ),
        JobExit::Cancelled if is_filling => (
            CheckOutcome::Stopped,
            "\n[the disk is almost full: the command was killed]".into(),
        ),
        JobExit::Cancelled => (CheckOutcome::Stopped, "\n[interrupted]".into()),
    }
}

fn round_tenths(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
