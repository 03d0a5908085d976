//! The checks of tasks outside of a crew: what `crewdeck task done` runs, and which acceptance commands the user has set.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use tokio_util::sync::CancellationToken;

use super::{block_on, check_tools, now, secrets, settings, supervisor, trust};
use crate::checks::{
    AcceptanceCheck, CheckRound, CheckRunner, RoundEnd, TaskChecks, TaskChecksParts,
};
use crate::cli::GlobalOptions;
use crate::commands::{CompletionRequest, TaskGate};
use crate::config::extensions::LiveExtensions;
use crate::config::{self, LoadedSettings, Settings, acceptance};
use crate::crew::{CheckParts, TrainHost, TrainMerger, TrainRunner};
use crate::domain::checks::{CheckRecord, CheckSpec, REASON_MAX};
use crate::domain::ids::TaskId;
use crate::domain::text::{clip, one_line};
use crate::domain::worktree::{Merge, Worktree, WorktreeName, tasks_on_branches};
use crate::process::environment;
use crate::process::supervisor::is_in_agent_command;
use crate::store::{Board, WorktreeCommands, Worktrees};

/// Returns the checks of the settings for a crew in the project `root`.
pub fn parts(settings: &Settings, root: &Path) -> CheckParts {
    CheckParts {
        specs: settings.checks.clone(),
        at_once: at_once(settings),
        acceptance: Arc::new(StoredApprovals(root.to_path_buf())),
    }
}

/// Returns the maximum number of checks that run at the same time: as set, else half of the CPU cores.
fn at_once(settings: &Settings) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    settings.checks_max.unwrap_or((cores / 2).max(1))
}

/// The acceptance commands that the user has set for tasks of this project.
#[derive(Debug)]
struct StoredApprovals(PathBuf);

impl AcceptanceCheck for StoredApprovals {
    fn is_set(&self, task: TaskId) -> bool {
        acceptance::is_set(&self.0, task)
    }

    fn is_approved(&self, task: TaskId, command: &str) -> bool {
        acceptance::is_approved(&self.0, task, command)
    }
}

/// Runs the checks for `crewdeck task done`.
pub struct CommandGate<'a> {
    pub global: &'a GlobalOptions,
    pub root: &'a Path,
}

impl TaskGate for CommandGate<'_> {
    fn check(&self, request: &CompletionRequest<'_>) -> Result<Vec<CheckRecord>> {
        if request.override_reason.is_some() {
            if !request.by.is_user() {
                bail!("only the user can override checks: use --as user with --override");
            }
            refuse_in_agent_command("override checks")?;
        }
        let LoadedSettings {
            settings, project, ..
        } = settings(self.global, self.root)?;
        trust::check_checks(&project)?;
        if settings.checks.is_empty() && !acceptance::is_set(self.root, request.task.id) {
            return Ok(Vec::new());
        }
        let worktrees = Worktrees::open(self.root);
        if let Ok(name) = WorktreeName::new(&request.task.worktree)
            && self.root.join(".worktrees").join(name.as_str()).is_dir()
        {
            let message = format!("task {}: {}", request.task.id, request.task.subject);
            worktrees.commit_leftovers(&name, &message)?;
        }
        let checks = task_checks(self.root, &settings, request.board.clone(), worktrees);
        let reason = request
            .override_reason
            .map(|reason| clip(&one_line(reason.trim()), REASON_MAX));
        let round = block_on(run_checks(&checks, request))?;
        match (round, reason) {
            (Ok(round), Some(reason)) => Ok(round.overridden(&reason)),
            (Err(_), Some(reason)) => {
                block_on(async { Ok(checks.overridden_without_run(request.task, &reason).await) })
            }
            (Err(why), None) => Err(anyhow!(why)),
            (Ok(round), None) => match round.end {
                RoundEnd::Complete => Ok(round.records),
                RoundEnd::SendBack(_) | RoundEnd::AskUser(_) => {
                    Err(refusal(request.task.id, &round))
                }
            },
        }
    }

    fn check_may_set_acceptance(&self) -> Result<()> {
        refuse_in_agent_command("set the acceptance command of a task")
    }

    fn approve_acceptance(&self, task: TaskId, command: &str) -> Result<Option<String>> {
        self.check_may_set_acceptance()?;
        if command.trim().is_empty() {
            return acceptance::remove(self.root, task);
        }
        acceptance::approve(self.root, task, command)
    }

    fn merge(&self, tree: &Worktree) -> Result<Option<Merge>> {
        let board = Board::open(self.root);
        let graph = board.read()?.graph;
        let here = graph
            .tasks()
            .filter(|task| task.worktree == tree.name.as_str());
        let ids: Vec<TaskId> = here.map(|task| task.id).chain(tree.task_id).collect();
        let Some(checks) = for_merge(self.root, &ids).map_err(|why| anyhow!(why))? else {
            return Ok(None);
        };
        let task = tree.task_id.and_then(|id| board.get(id).ok());
        let host = TrainHost {
            clock: now,
            event_sender: None,
            session: None,
        };
        let runner = TrainRunner::new(host, Worktrees::open(self.root), Arc::new(checks));
        let merger = TrainMerger::new(board, runner);
        let merged = block_on(async {
            let cancel = cancelled_by_user();
            Ok(merger.merge_branch(task, &tree.name, &cancel).await)
        });
        merged?.map(Some).map_err(|why| anyhow!(why))
    }
}

/// Returns a token that is cancelled when the user presses Ctrl+C.
fn cancelled_by_user() -> CancellationToken {
    let cancel = CancellationToken::new();
    let interrupted = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.cancel();
        }
    });
    cancel
}

/// Returns the checks for merges of the branches of `tasks` by a process that runs no crew; `None` if no check could apply
/// to a task whose work is on them.
///
/// # Errors
/// Fails if the settings cannot be used, or the project has checks that the user has not decided about.
pub fn for_merge(root: &Path, tasks: &[TaskId]) -> Result<Option<TaskChecks>, String> {
    let find = || -> Result<Option<TaskChecks>> {
        let LoadedSettings {
            settings, project, ..
        } = config::load(root, check_tools)?;
        trust::check_checks(&project)?;
        let board = Board::open(root);
        let is_set = |task: &TaskId| acceptance::is_set(root, *task);
        if settings.checks.is_empty()
            && !tasks_on_branches(&board.read()?.graph, tasks)
                .iter()
                .any(is_set)
        {
            return Ok(None);
        }
        environment::set_allowed(settings.pass_env.iter().flatten().cloned());
        environment::set_withheld(secrets::header_variables(&settings.models));
        Ok(Some(task_checks(
            root,
            &settings,
            board,
            Worktrees::open(root),
        )))
    };
    find().map_err(|error| format!("{error:#}"))
}

fn task_checks(root: &Path, settings: &Settings, board: Board, worktrees: Worktrees) -> TaskChecks {
    let extensions = LiveExtensions::load(root);
    let approved = extensions.last().trust.approved_files();
    let commands = WorktreeCommands {
        settings: settings.worktree.clone(),
        supervisor: supervisor::supervisor(root, settings, &approved).map(Arc::new),
        ..WorktreeCommands::default()
    };
    let CheckParts {
        specs,
        at_once,
        acceptance,
    } = parts(settings, root);
    TaskChecks::new(TaskChecksParts {
        root: root.to_path_buf(),
        specs,
        runner: CheckRunner::new(root, commands, secrets::redactor(), at_once, now),
        acceptance,
        board,
        worktrees: Some(worktrees),
    })
}

/// Runs the checks until they end or the user presses Ctrl+C. A user who overrides them is not asked about a branch without changes; the checks run nevertheless.
async fn run_checks(
    checks: &TaskChecks,
    request: &CompletionRequest<'_>,
) -> Result<Result<CheckRound, String>> {
    let cancel = cancelled_by_user();
    let mut round = checks.run(request.task, request.by, &cancel).await;
    let is_questioned = round
        .as_ref()
        .is_ok_and(|round| round.end != RoundEnd::Complete && round.failed.is_empty());
    if is_questioned && request.override_reason.is_some() {
        // The question is stored now, and not asked a second time.
        let task = request.board.get(request.task.id)?;
        round = checks.run(&task, request.by, &cancel).await;
    }
    if cancel.is_cancelled() {
        let id = request.task.id;
        bail!("the checks of task {id} were interrupted: the task is not completed");
    }
    Ok(round)
}

/// Fails in a command of an agent: what only the user may do must not be possible by a command line.
fn refuse_in_agent_command(what: &str) -> Result<()> {
    if is_in_agent_command() {
        bail!("only the user can {what}, and this command was started by an agent");
    }
    Ok(())
}

/// Returns the error about a task whose checks are not green.
fn refusal(id: TaskId, round: &CheckRound) -> anyhow::Error {
    let number = id.0;
    if round.failed.is_empty() {
        return anyhow!(
            "task {id} is not completed: its branch has no change of its own. If nothing needs to be changed, run the command again"
        );
    }
    let is_failed = |record: &&CheckRecord| {
        let mut failed = round.failed.iter();
        failed.any(|spec: &CheckSpec| spec.name == record.name)
    };
    let lines = round.records.iter().filter(is_failed).map(|record| {
        let log = match record.log.as_str() {
            "" => String::new(),
            log => format!(" (output: {log})"),
        };
        format!("check {} {}{log}", record.name, record.outcome)
    });
    let lines: Vec<String> = lines.collect();
    anyhow!(
        "task {id} is not completed: {}. Fix the cause, or override: crewdeck task done {number} --as user --override \"REASON\"",
        lines.join(", ")
    )
}
