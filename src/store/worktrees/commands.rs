//! Runs the commands that the settings name for worktrees: `setup` in a new worktree, `teardown` before a removal. They
//! run like commands of agents: under the supervisor, in the sandbox, with the worktree as their directory. The worktree
//! lock is not held meanwhile.
//!
//! The text of the commands comes from the settings that the user has approved, never from a file of the worktree. The
//! registry marks a worktree in which the setup command has not ended. If crewdeck is killed, the command runs again. The
//! teardown command is run in `teardown.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Worktrees;
use super::command_environment::CACHE_VARIABLE;
use super::merge::check_clean;
use crate::domain::redact::Redactor;
use crate::domain::sandbox::Network;
use crate::domain::text::{clip, count_noun, one_line};
use crate::domain::worktree::{PathSummary, WorktreeName, WorktreePhase, WorktreeSettings};
use crate::process::supervisor::Supervisor;
use crate::process::{
    self, AddedEnvironment, CommandSpec, ContentOrigin, HeadTailBuffer, HistoryReach, JobExit,
    JobReport, LEFTOVERS_KILLED_NOTE, NETWORK_WITHHELD, Reach, WatchedRun, approved_network,
};
use crate::store::git::head;
use crate::store::{StoreError, atomic, os_errors, regular_file};

/// Maximum size of the output of a command that is kept, in bytes: half from the start, half from the end.
const OUTPUT_MAX: usize = 128 * 1024;
/// Maximum size of a log that is read, in bytes. More than [`OUTPUT_MAX`], because invalid UTF-8 and notes add to it.
const LOG_MAX: u64 = 1024 * 1024;
/// Maximum length of the end of the output that is shown to agents, in bytes.
const SHOWN_MAX: usize = 3000;
/// Maximum length of the reason of a failure, in characters.
const REASON_MAX: usize = 300;
/// Maximum length of the last line of the output in a message, in characters.
const LINE_MAX: usize = 200;

/// The commands for worktrees, and how they run.
#[derive(Debug, Clone, Default)]
pub struct WorktreeCommands {
    pub settings: WorktreeSettings,
    /// The supervisor of the commands of agents. With `None`, the commands run without a supervisor.
    pub supervisor: Option<Arc<Supervisor>>,
    /// Maximum number of setup commands that a crew runs at the same time; 0 counts as 1.
    pub at_once: usize,
    /// Why the teardown command that the project's settings name does not run, as a sentence for the user; `None` if it
    /// runs or there is none.
    pub withheld: Option<String>,
}

/// How a command for a worktree has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCommandResult {
    /// Why the command failed, in a few words, such as `exit code 1`; `None` if it succeeded.
    pub failure: Option<String>,
    /// Whether the command exited and left programs running, which were then killed.
    pub had_leftovers: bool,
    /// Whether the command asked for the network and did not get it, because agents may have written what it runs.
    pub is_network_withheld: bool,
    /// The output with notes at its end, without secrets.
    pub output: String,
    /// Where the notes begin in `output`, in bytes.
    notes_at: usize,
    /// The files that the command has changed or created, and that git does not ignore.
    pub changed: PathSummary,
}

impl WorktreeCommandResult {
    /// Returns the last line that the command has printed, or of the notes if it has printed nothing, shortened. Returns
    /// `None` if there is neither.
    pub fn last_line(&self) -> Option<String> {
        let last = |text: &str| {
            let mut lines = text.lines().rev().map(str::trim);
            let line = lines.find(|line| !line.is_empty())?;
            Some(one_line(&clip(line, LINE_MAX)))
        };
        let printed = self.output.get(..self.notes_at).unwrap_or_default();
        last(printed).or_else(|| last(&self.output))
    }

    /// Returns a text that says why the command failed, such as `exit code 1: no space left`; `None` if it succeeded.
    pub fn failure_text(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        let limits = self.limits_text();
        Some(match self.last_line() {
            Some(line) => format!("{failure}{limits}: {line}"),
            None => format!("{failure}{limits}"),
        })
    }

    /// Returns what the user must know about how the command ran, as the end of a sentence; empty if there is nothing.
    pub fn limits_text(&self) -> String {
        if self.is_network_withheld {
            format!(", {NETWORK_WITHHELD}")
        } else {
            String::new()
        }
    }

    /// Returns the result of a command that was not started.
    fn not_started(why: String) -> WorktreeCommandResult {
        WorktreeCommandResult {
            failure: Some(why),
            had_leftovers: false,
            is_network_withheld: false,
            output: String::new(),
            notes_at: 0,
            changed: PathSummary::default(),
        }
    }
}

/// Returns the result of a command that does not run, because `CREWDECK_CACHE` is missing in its environment: a path that
/// begins with an empty variable would be one in the root of the file system.
pub(super) fn without_cache(added: &AddedEnvironment) -> Option<WorktreeCommandResult> {
    if added.variables.contains_key(CACHE_VARIABLE) {
        return None;
    }
    let why = format!("not run, because the folder for {CACHE_VARIABLE} cannot be created");
    Some(WorktreeCommandResult::not_started(why))
}

impl WorktreeCommands {
    /// Returns the network setting for the commands: that of teammates.
    fn network_rule(&self) -> Network {
        let supervisor = self.supervisor.as_deref();
        supervisor.map_or(Network::On, |supervisor| supervisor.network.teammate)
    }

    /// Runs a command in the directory `dir`. `origin` says who has written the files there. Returns `None` if the command
    /// was cancelled.
    pub(super) async fn run(
        &self,
        command: &str,
        (dir, origin): (PathBuf, ContentOrigin),
        added: AddedEnvironment,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Option<WorktreeCommandResult> {
        let timeout = self.settings.timeout();
        let network = approved_network(self.network_rule(), command, origin);
        let job = CommandSpec {
            argv: process::shell(command.to_string()),
            dir,
            timeout,
            keep: OUTPUT_MAX,
            supervisor: self.supervisor.clone(),
            reach: Reach {
                history: HistoryReach::Private,
                network: network.reach,
            },
            added,
        };
        // Secrets are redacted before the output is shortened, because a shortened secret would not be recognized.
        let mut clean = redactor.stream();
        let mut keep = HeadTailBuffer::new(OUTPUT_MAX);
        let live = |bytes: &[u8]| keep.push(&clean.push(bytes));
        let WatchedRun { report, is_filling } =
            Box::pin(process::run_watched(&job, cancel, live)).await;
        keep.push(&clean.end());
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                let why = format!("cannot be started: {}", os_errors::explain(&error));
                return Some(WorktreeCommandResult {
                    is_network_withheld: network.is_withheld,
                    ..WorktreeCommandResult::not_started(why)
                });
            }
        };
        let failure = match report.ended {
            JobExit::Cancelled if is_filling => {
                Some("killed, because the disk was almost full".into())
            }
            JobExit::Cancelled => return None,
            _ => failure(&report, timeout),
        };
        let printed = keep.text();
        Some(WorktreeCommandResult {
            failure,
            had_leftovers: report.had_leftovers,
            is_network_withheld: network.is_withheld,
            notes_at: printed.len(),
            output: with_notes(printed, &report),
            changed: PathSummary::default(),
        })
    }
}

/// Returns the end of an output that models are shown. Begins with a whole line.
pub(super) fn output_end(output: &str) -> &str {
    let text = output.trim_end();
    let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_MAX));
    // A cut line is left out.
    match text[start..].split_once('\n') {
        Some((_, rest)) if start > 0 => rest,
        _ => &text[start..],
    }
}

fn failure(report: &JobReport, timeout: Duration) -> Option<String> {
    match report.ended {
        JobExit::Code(0) => None,
        JobExit::TimedOut => Some(format!(
            "killed after {}, see the setting worktree.setup_timeout",
            count_noun(
                usize::try_from(timeout.as_secs()).unwrap_or(usize::MAX),
                "second"
            )
        )),
        JobExit::Code(_) | JobExit::Signal(_) | JobExit::Cancelled => {
            Some(report.ended.to_string())
        }
    }
}

fn with_notes(mut output: String, report: &JobReport) -> String {
    let leftovers = report.had_leftovers.then_some(LEFTOVERS_KILLED_NOTE);
    for note in leftovers.into_iter().chain(report.note.as_deref()) {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(note);
        output.push('\n');
    }
    output
}

impl Worktrees {
    /// Runs the setup command in the worktree `name`, writes its output to a log (see [`Worktrees::setup_log`]), and finds
    /// the files that it has changed. Changes nothing in the registry: see [`Worktrees::finish_setup`]. Returns `None` if there is no setup command, or if it
    /// was cancelled.
    pub async fn run_setup(
        &self,
        name: &WorktreeName,
        commands: &WorktreeCommands,
        added: AddedEnvironment,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Option<WorktreeCommandResult> {
        let command = commands.settings.setup.as_deref()?;
        let result = match without_cache(&added) {
            Some(failed) => failed,
            None => {
                let origin = self.origin_for(name, commands, command).await;
                let place = (self.path_of(name), origin);
                let before = self.uncommitted_files(name).await;
                let ran = Box::pin(commands.run(command, place, added, redactor, cancel));
                let mut result = ran.await?;
                if let (Some(before), Some(after)) = (before, self.uncommitted_files(name).await) {
                    for path in after.difference(&before) {
                        result.changed.add(path);
                    }
                }
                result
            }
        };
        let (path, text) = (self.setup_log(name), result.output.clone());
        let written = tokio::task::spawn_blocking(move || atomic::write(&path, text.as_bytes()));
        if let Ok(Err(error)) = written.await {
            tracing::warn!("the log of the setup of worktree {name} is not written: {error}");
        }
        Some(result)
    }

    /// Records in the registry that the setup command of a worktree has ended. `failure` says why it failed; `None` if it
    /// succeeded.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be read or written.
    pub fn finish_setup(
        &self,
        name: &WorktreeName,
        failure: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut work = self.begin_change()?;
        work.index.change(name, |tree| {
            tree.setup_pending = false;
            if tree.phase == WorktreePhase::TornDown {
                tree.phase = WorktreePhase::Used;
            }
            tree.setup_error = one_line(&clip(failure.unwrap_or_default(), REASON_MAX));
        })?;
        work.save()
    }

    /// Returns the path of the log of the setup command in a worktree. The file is removed with the worktree.
    pub fn setup_log(&self, name: &WorktreeName) -> PathBuf {
        log_path(&self.root.join(".worktrees"), name)
    }

    /// Returns the end of the log of the setup command in a worktree; empty if there is no log.
    pub fn setup_log_end(&self, name: &WorktreeName) -> String {
        let text = regular_file::read_text(&self.setup_log(name), LOG_MAX).unwrap_or_default();
        output_end(&text).to_string()
    }

    /// Forgets that a worktree is still to be set up. Called when the work in it begins or continues while the settings
    /// name nothing to do. Otherwise a later session with other settings would set it up in the middle of the work.
    ///
    /// # Errors
    /// When there is no worktree with that name, or the registry cannot be read or written.
    pub fn forget_setup(&self, name: &WorktreeName) -> Result<(), StoreError> {
        if !self.read()?.index.find(name)?.setup_pending {
            return Ok(());
        }
        let mut work = self.begin_change()?;
        work.index.change(name, |tree| {
            tree.setup_pending = false;
            if tree.phase == WorktreePhase::TornDown {
                tree.phase = WorktreePhase::Used;
            }
        })?;
        work.save()
    }

    /// Returns who has written the files that the setup command `command` finds in a worktree. Runs git only if the network
    /// access of the command depends on it.
    async fn origin_for(
        &self,
        name: &WorktreeName,
        commands: &WorktreeCommands,
        command: &str,
    ) -> ContentOrigin {
        if !process::depends_on_origin(commands.network_rule(), command) {
            return ContentOrigin::Agents;
        }
        let (store, wanted) = (self.clone(), name.clone());
        let found = tokio::task::spawn_blocking(move || store.content_origin(&wanted)).await;
        match found {
            Ok(Ok(origin)) => origin,
            Ok(Err(error)) => {
                tracing::warn!("the origin of the content of worktree {name} is unknown: {error}");
                ContentOrigin::Agents
            }
            Err(_) => ContentOrigin::Agents,
        }
    }

    /// Returns who has written the files in a worktree whose setup has not ended yet. Before that, no agent works in it. So
    /// the files are those of the base branch, unless branches of other tasks were merged into it or the worktree was used
    /// before. A worktree with uncommitted files counts as used, in case the end of an earlier setup was not recorded.
    fn content_origin(&self, name: &WorktreeName) -> Result<ContentOrigin, StoreError> {
        let work = self.read()?;
        let tree = work.index.find(name)?;
        if tree.phase == WorktreePhase::TornDown || !tree.setup_pending {
            return Ok(ContentOrigin::Agents);
        }
        let (git, _) = work.valid_folder(&tree.name)?;
        let Some(here) = head(&git)? else {
            return Ok(ContentOrigin::Agents);
        };
        let base = work.base_of(tree)?.1;
        let is_base = git.succeeds(&["merge-base", "--is-ancestor", &here.commit, &base])?
            && check_clean(&tree.name, &git).is_ok();
        Ok(if is_base {
            ContentOrigin::BaseBranch
        } else {
            ContentOrigin::Agents
        })
    }
}

fn log_path(dir: &Path, name: &WorktreeName) -> PathBuf {
    dir.join(format!(".setup-{name}.log"))
}

/// Deletes the log of the setup command of a worktree that does not exist. A log that remains is harmless: the next
/// setup in a worktree of that name replaces it.
pub(super) fn remove_log(dir: &Path, name: &WorktreeName) {
    let _ = fs::remove_file(log_path(dir, name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn name() -> WorktreeName {
        WorktreeName::new("task-1").unwrap()
    }

    async fn run(command: &str, timeout: u64) -> WorktreeCommandResult {
        let commands = WorktreeCommands {
            settings: WorktreeSettings {
                setup_timeout: Some(timeout),
                ..WorktreeSettings::default()
            },
            ..WorktreeCommands::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let redactor = Redactor::new([("API_KEY".to_string(), "hunter2-hunter2".to_string())]);
        let (added, cancel) = (AddedEnvironment::default(), CancellationToken::new());
        let place = (dir.path().to_path_buf(), ContentOrigin::BaseBranch);
        let result = commands
            .run(command, place, added, &redactor, &cancel)
            .await;
        result.unwrap()
    }

    #[tokio::test]
    async fn failure_names_the_exit_code_and_the_last_line() {
        let failed = run("echo one; echo 'two hunter2-hunter2'; echo; exit 3", 60).await;
        let text = failed.failure_text().unwrap();
        assert!(text.starts_with("exit code 3: two "), "{text}");
        assert!(!failed.output.contains("hunter2"), "{}", failed.output);
        let done = run("echo done", 60).await;
        assert_eq!((done.failure_text(), done.output), (None, "done\n".into()));
        assert_eq!(
            run("exit 1", 60).await.failure_text().as_deref(),
            Some("exit code 1")
        );
    }

    #[tokio::test]
    async fn hanging_command_is_killed_and_endless_output_is_cut() {
        let result = run("sleep 600", 1).await;
        let text = result.failure_text().unwrap();
        assert!(text.starts_with("killed after 1 second,"), "{text}");
        let result = run("yes | head -c 1000000; exit 2", 60).await;
        assert!(result.output.len() < 200_000, "{}", result.output.len());
        assert!(result.output.contains("bytes cut here"));
    }

    #[test]
    fn cause_of_a_failure_is_not_a_note() {
        let report = JobReport {
            ended: JobExit::Code(1),
            output: String::new(),
            had_leftovers: true,
            note: Some("a note about the git folder".into()),
        };
        let result = |printed: &str| WorktreeCommandResult {
            failure: failure(&report, Duration::from_secs(1)),
            had_leftovers: true,
            is_network_withheld: false,
            output: with_notes(printed.to_string(), &report),
            notes_at: printed.len(),
            changed: PathSummary::default(),
        };
        let text = result("building\nno space left\n").failure_text();
        assert_eq!(text.as_deref(), Some("exit code 1: no space left"));
        let text = result("").failure_text().unwrap();
        assert_eq!(text, "exit code 1: a note about the git folder");
    }

    #[tokio::test]
    async fn cancelled_command_has_no_result() {
        let commands = WorktreeCommands::default();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (added, redactor) = (AddedEnvironment::default(), Redactor::new([]));
        let place = ("/".into(), ContentOrigin::BaseBranch);
        let ran = commands.run("sleep 600", place, added, &redactor, &cancel);
        assert_eq!(ran.await, None);
    }

    #[tokio::test]
    async fn setup_without_its_cache_folder_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("made");
        let commands = WorktreeCommands {
            settings: WorktreeSettings {
                setup: Some(format!("touch {}", made.display())),
                ..WorktreeSettings::default()
            },
            ..WorktreeCommands::default()
        };
        let trees = Worktrees::open(dir.path());
        let (added, cancel) = (AddedEnvironment::default(), CancellationToken::new());
        let (tree, redactor) = (name(), Redactor::new([]));
        let ran = trees.run_setup(&tree, &commands, added, &redactor, &cancel);
        assert_eq!(
            ran.await.unwrap().failure_text().as_deref(),
            Some("not run, because the folder for CREWDECK_CACHE cannot be created")
        );
        assert!(!made.exists());
    }

    #[test]
    fn end_of_the_log_begins_with_a_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let trees = Worktrees::open(dir.path());
        assert_eq!(trees.setup_log_end(&name()), "");
        fs::create_dir(dir.path().join(".worktrees")).unwrap();
        let lines: Vec<String> = (0..1000).map(|n| format!("línea {n}\n")).collect();
        let lines = lines.concat();
        fs::write(trees.setup_log(&name()), lines).unwrap();
        let end = trees.setup_log_end(&name());
        assert!(end.len() <= SHOWN_MAX && end.starts_with("línea "), "{end}");
        assert!(end.ends_with("línea 999"), "{end}");
        fs::write(trees.setup_log(&name()), "one\ntwo\n").unwrap();
        assert_eq!(trees.setup_log_end(&name()), "one\ntwo");
    }
}
