//! Runs the commands that the settings name for worktrees: `setup` in a new worktree, `teardown` before a removal. They
//! run like commands of agents: under the supervisor, in the sandbox, with the worktree as their directory. The worktree
//! lock is not held meanwhile.
//!
//! The text of the commands comes from the settings that the user has approved, never from a file of the worktree. The
//! registry marks a worktree in which the setup command has not ended. If crewdeck is killed, the command runs again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Worktrees;
use crate::domain::redact::Redactor;
use crate::domain::sandbox::{Network, asks_for_network};
use crate::domain::text::{clip, count_noun, one_line};
use crate::domain::worktree::{WorktreeName, WorktreeSettings};
use crate::process::supervisor::Supervisor;
use crate::process::{
    self, AddedEnvironment, CommandSpec, HeadTailBuffer, HistoryReach, JobExit, JobReport,
    LEFTOVERS_KILLED_NOTE, NetworkReach, Reach,
};
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
}

/// How a command for a worktree has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeCommandResult {
    /// Why the command failed, in a few words, such as `exit code 1`; `None` if it succeeded.
    pub failure: Option<String>,
    /// Whether the command exited and left programs running, which were then killed.
    pub had_leftovers: bool,
    /// The output with notes at its end, without secrets.
    pub output: String,
}

impl WorktreeCommandResult {
    /// Returns the last line of the output that is not empty, shortened; `None` if there is none.
    pub fn last_line(&self) -> Option<String> {
        let mut lines = self.output.lines().rev().map(str::trim);
        let line = lines.find(|line| !line.is_empty())?;
        Some(one_line(&clip(line, LINE_MAX)))
    }

    /// Returns a text that says why the command failed, such as `exit code 1: no space left`; `None` if it succeeded.
    pub fn failure_text(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        Some(match self.last_line() {
            Some(line) => format!("{failure}: {line}"),
            None => failure.clone(),
        })
    }
}

impl WorktreeCommands {
    /// Returns how the command can access the network: as commands of teammates. The user has approved a command in the
    /// settings that asks for the network.
    fn network(&self, command: &str) -> NetworkReach {
        let supervisor = self.supervisor.as_deref();
        match supervisor.map_or(Network::On, |supervisor| supervisor.network.teammate) {
            Network::On => NetworkReach::On,
            Network::Ask if asks_for_network(command) => NetworkReach::On,
            Network::Ask | Network::Off => NetworkReach::Off,
        }
    }

    /// Runs a command in the directory `dir`. Returns `None` if it was cancelled.
    pub(super) async fn run(
        &self,
        command: &str,
        dir: PathBuf,
        added: AddedEnvironment,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Option<WorktreeCommandResult> {
        let timeout = self.settings.timeout();
        let job = CommandSpec {
            argv: process::shell(command.to_string()),
            dir,
            timeout,
            keep: OUTPUT_MAX,
            supervisor: self.supervisor.clone(),
            reach: Reach {
                history: HistoryReach::Private,
                network: self.network(command),
            },
            added,
        };
        // Secrets are redacted before the output is shortened, because a shortened secret would not be recognized.
        let mut clean = redactor.stream();
        let mut keep = HeadTailBuffer::new(OUTPUT_MAX);
        let ended = process::run(&job, cancel, |bytes| keep.push(&clean.push(bytes))).await;
        keep.push(&clean.end());
        let report = match ended {
            Ok(report) => report,
            Err(error) => {
                return Some(WorktreeCommandResult {
                    failure: Some(format!("cannot be started: {}", os_errors::explain(&error))),
                    had_leftovers: false,
                    output: String::new(),
                });
            }
        };
        if report.ended == JobExit::Cancelled {
            return None;
        }
        Some(WorktreeCommandResult {
            failure: failure(&report, timeout),
            had_leftovers: report.had_leftovers,
            output: with_notes(keep.text(), &report),
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
    /// Runs the setup command in the worktree `name`, and writes its output to a log; see [`Worktrees::setup_log`]. Changes
    /// nothing in the registry: see [`Worktrees::finish_setup`]. Returns `None` if there is no setup command, or if it
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
        let dir = self.root.join(".worktrees").join(name.as_str());
        let result = commands.run(command, dir, added, redactor, cancel).await?;
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

    /// Runs the teardown command in a worktree that is about to be removed. Returns what the user must know: that the
    /// command failed, and why. Returns `None` if it succeeded, or if there is no teardown command or no folder.
    ///
    /// Call [`Worktrees::check_remove`] first, so that the command does not run before a removal that is refused.
    pub async fn run_teardown(
        &self,
        name: &WorktreeName,
        commands: &WorktreeCommands,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let command = commands.settings.teardown.as_deref()?;
        let dir = self.root.join(".worktrees").join(name.as_str());
        if !dir.is_dir() {
            return None;
        }
        let (store, wanted) = (self.clone(), name.clone());
        let added = tokio::task::spawn_blocking(move || store.command_environment(&wanted)).await;
        let added = added.ok().and_then(Result::ok).unwrap_or_default().1;
        let result = commands.run(command, dir, added, redactor, cancel).await;
        let Some(result) = result else {
            return Some(format!(
                "The teardown of worktree {name} was interrupted. The worktree is removed nevertheless."
            ));
        };
        result.failure_text().map(|why| {
            format!(
                "The teardown of worktree {name} failed ({why}). The worktree is removed nevertheless."
            )
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
            supervisor: None,
        };
        let dir = tempfile::tempdir().unwrap();
        let redactor = Redactor::new([("API_KEY".to_string(), "hunter2-hunter2".to_string())]);
        let (added, cancel) = (AddedEnvironment::default(), CancellationToken::new());
        let dir = dir.path().to_path_buf();
        let result = commands.run(command, dir, added, &redactor, &cancel).await;
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

    #[tokio::test]
    async fn cancelled_command_has_no_result() {
        let commands = WorktreeCommands::default();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let (added, redactor) = (AddedEnvironment::default(), Redactor::new([]));
        let ran = commands.run("sleep 600", "/".into(), added, &redactor, &cancel);
        assert_eq!(ran.await, None);
    }

    #[test]
    fn end_of_the_log_begins_with_a_whole_line() {
        let dir = tempfile::tempdir().unwrap();
        let trees = Worktrees::open(dir.path());
        assert_eq!(trees.setup_log_end(&name()), "");
        fs::create_dir(dir.path().join(".worktrees")).unwrap();
        let lines: String = (0..1000).map(|n| format!("línea {n}\n")).collect();
        fs::write(trees.setup_log(&name()), lines).unwrap();
        let end = trees.setup_log_end(&name());
        assert!(end.len() <= SHOWN_MAX && end.starts_with("línea "), "{end}");
        assert!(end.ends_with("línea 999"), "{end}");
        fs::write(trees.setup_log(&name()), "one\ntwo\n").unwrap();
        assert_eq!(trees.setup_log_end(&name()), "one\ntwo");
    }
}
