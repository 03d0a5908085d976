//! The application layer: assembles a crew and connects it to a front end. May import every other layer.

mod acp;
pub mod assemble;
mod background;
mod blueprint;
mod checks;
mod clock;
pub mod dashboard;
pub mod demo;
mod doctor;
mod editor;
mod export;
mod external_agents;
mod external_program;
mod files;
mod frame_limiter;
mod git_setup;
pub mod headless;
mod hub;
mod hub_viewer;
mod inputs;
mod journal;
mod journal_tail;
mod keys;
mod local_server;
mod lock;
mod mcp;
pub mod mcp_serve;
mod mcp_test;
pub mod model_setup;
mod mouse;
pub mod named_models;
mod onboarding;
mod pending_requests;
mod pictures;
mod prompt_history;
mod publishing;
mod replay;
mod resume;
mod saved_layout;
mod secrets;
mod sessions;
mod signals;
pub mod supervisor;
mod team_size;
mod theme;
mod trust;
mod unfinished_work;
mod update_calls;
mod viewer_session;
mod worker;
mod worktree_commands;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Resource, Signal, getrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, GlobalOptions, Verb, manual};
use crate::commands::{self, CommandContext, OutputFormat, TaskGate};
use crate::config::{self, LoadedSettings, Settings};
use crate::crew::until;
use crate::domain::conversation::TurnState;
use crate::domain::request::Approver;
use crate::model::providers::ProviderChoice;
use crate::protocol::bus;
use crate::store::{self, Stores, os_errors};
use crate::tools::table;
use assemble::{Assembly, Built};
use blueprint::Blueprint;
pub use clock::now;
use headless::has_user;

/// Exit code for wrong usage, the same as that of the command-line parser `clap`. Also used if a file that the prompt
/// mentions cannot be attached.
const USAGE: u8 = 2;
/// Exit code of a command that found nothing to do.
const NOTHING: u8 = 3;
/// Exit code of a run that ended with open tasks or stuck teammates.
const OPEN: u8 = 4;
/// Maximum time that crewdeck waits for blocked threads before it exits.
const ENDS_WITHIN: Duration = Duration::from_millis(300);
/// The lowest limit on open files with which a crew can work.
const OPEN_FILES_MIN: u64 = 32;
/// Exit code of a run that Ctrl-C, SIGTERM or SIGHUP ended.
const INTERRUPTED: u8 = 130;

/// Runs the mode that the command line selects and returns the exit code.
///
/// # Errors
/// Returns an error for the user, with the cause and what to do.
pub fn main(cli: Cli) -> Result<u8> {
    let form = if cli.global.json {
        OutputFormat::Json
    } else {
        OutputFormat::Text
    };
    survive_size_limits();
    hub::check_verb(&cli.global, cli.verb.as_ref())?;
    match cli.verb {
        None => dashboard::main(&cli.global),
        Some(Verb::Run { prompt }) => run(&cli.global, prompt, form),
        Some(Verb::Worker(options)) => worker::main(&cli.global, options),
        Some(Verb::Acp) => acp::main(&cli.global),
        Some(Verb::Doctor { fix, yes }) => {
            let mode = doctor::FixMode::from_options(fix, yes);
            doctor::main(&cli.global, mode, form)
        }
        Some(Verb::Mcp(verb)) => mcp::main(&cli.global, verb, form),
        Some(Verb::McpServe) => Ok(mcp_serve::main()),
        Some(Verb::Trust(options)) => trust::main(&cli.global, options),
        Some(Verb::Replay { session }) => replay::main(&cli.global, session.as_deref()),
        Some(Verb::Completions { shell }) => print(&manual::completions(shell)),
        Some(Verb::Man) => print(&manual::page()?),
        Some(Verb::Files(verb)) => {
            let root = root(&cli.global)?;
            let on_hub = hub::stores(&cli.global, &root)?;
            let is_on_hub = on_hub.is_some();
            let hub_gate = hub::HubGate { root: &root };
            let file_gate = checks::CommandGate {
                global: &cli.global,
                root: &root,
            };
            let gate: &dyn TaskGate = if is_on_hub { &hub_gate } else { &file_gate };
            let context = CommandContext {
                root: &root,
                stores: on_hub.unwrap_or_else(|| Stores::open(&root)),
                is_on_hub,
                roles: assemble::roles(&root),
                external_agents: &|| external_agents::find(&root),
                gate,
                teardown: &|trees, name| worktree_commands::tear_down(&root, trees, name),
                publishing: &|| publishing::prepare(&cli.global, &root),
                crew: &|| lock::status(&root),
                format: form,
                now: now(),
                new_id,
            };
            Ok(match commands::run(&verb, &context)? {
                commands::CommandOutcome::Done => 0,
                commands::CommandOutcome::Nothing => NOTHING,
                commands::CommandOutcome::Interrupted => INTERRUPTED,
            })
        }
    }
}

/// Prints `text` to standard output unchanged, and returns the exit code.
fn print(text: &str) -> Result<u8> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // The program that reads the output has closed the pipe, as `| head` does. This is a normal end.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        written => Ok(written.map(|()| 0)?),
    }
}

fn run(global: &GlobalOptions, prompt: Option<String>, form: OutputFormat) -> Result<u8> {
    let (global, prompt) = split_resume_prompt(global.clone(), prompt);
    let mut blueprint = Blueprint::read(&global)?;
    trust::check(&blueprint.project)?;
    trust::report(&blueprint.extensions.last());
    let mut notice = None;
    if !has_user() || form == OutputFormat::Json {
        notice = blueprint.decide_without_user();
    }
    let prompt = prompt.or_else(|| blueprint.prompt());
    if prompt.as_ref().is_none_or(|p| p.trim().is_empty()) && blueprint.resume.is_none() {
        bail!("run needs a prompt: crewdeck run \"what you want done\"");
    }
    if let Some((key, address)) = model_setup::key_address(&blueprint) {
        headless::eprint_key_address(&key, &address);
    }
    block_on(async {
        let (event_sender, mut events) = bus::bus(now);
        let event_sender = event_sender.with_redactor(secrets::redactor());
        let Assembly {
            crew,
            mut journal,
            lock,
            stores,
            host: _,
            probe: _,
        } = match Box::pin(assemble::build(&blueprint, event_sender)).await? {
            Built::Crew(assembly) => *assembly,
            Built::RunsElsewhere(holder) => bail!(
                "a crew already runs in {}{}: send it a message with crewdeck mail send lead \"…\", watch it with crewdeck, or choose another directory with --dir",
                blueprint.root.display(),
                holder.format_process()
            ),
            Built::LedElsewhere(led) => bail!(led),
        };
        if let Some(notice) = notice {
            headless::eprint_line(&format!("crewdeck: {notice}"));
        }
        if prompt.is_none() && crew.resumed_state() == TurnState::Ended {
            crew.stop().await?;
            bail!(
                "the session has no unfinished turn to continue: add a prompt (crewdeck run --resume \"…\")"
            );
        }
        let board = stores.board;
        let prompt = prompt.map(|text| headless::prompt(&blueprint.root, text));
        let ended = headless::run(&crew, &mut events, &mut journal, &board, prompt, form).await;
        let stopped = crew.stop().await;
        for problem in stopped.iter().flatten() {
            headless::eprint_line(&format!("warning: {problem}"));
        }
        // The journal must be complete before another process can take the lock.
        drop(journal);
        drop(lock);
        // If both the lead and the shutdown failed, report the failure of the lead, because it is the cause.
        let ended = ended?;
        if let headless::RunOutcome::Failed(why) = ended {
            bail!("{why}");
        }
        stopped?;
        match ended {
            headless::RunOutcome::Done
            | headless::RunOutcome::OutputClosed
            | headless::RunOutcome::Failed(_) => Ok(0),
            headless::RunOutcome::Rejected(why) => {
                headless::eprint_line(&format!("crewdeck: {why}"));
                Ok(USAGE)
            }
            headless::RunOutcome::Open(what) => {
                headless::eprint_line(&format!("crewdeck: {what}"));
                Ok(OPEN)
            }
            headless::RunOutcome::Interrupted => Ok(INTERRUPTED),
        }
    })
}

/// Handles `run --resume TEXT` where TEXT cannot be a session id: TEXT becomes the prompt, and the newest session is
/// resumed. Returns all other options and prompts unchanged.
fn split_resume_prompt(
    mut global: GlobalOptions,
    prompt: Option<String>,
) -> (GlobalOptions, Option<String>) {
    match global.resume.take() {
        Some(text) if prompt.is_none() && !text.is_empty() && !resume::is_id(&text) => {
            global.resume = Some(String::new());
            (global, Some(text))
        }
        session => {
            global.resume = session;
            (global, prompt)
        }
    }
}

/// Returns an error and its causes on one line. If a cause is a known system error, the line also says what to do.
pub fn describe_error(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| match cause.downcast_ref() {
        Some(system) => os_errors::explain(system),
        None => cause.to_string(),
    });
    words.collect::<Vec<_>>().join(": ")
}

/// Handles SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) fails with an error instead of killing
/// this process. Child processes keep the default action.
fn survive_size_limits() {
    if open_files() < OPEN_FILES_MIN {
        // With so few open files, creating the runtime below can fail. `check_open_files` reports the problem later, if
        // the command needs an async runtime.
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    if let Ok(runtime) = runtime {
        let _in_it = runtime.enter();
        let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    }
}

/// Returns this process's limit on open files; `u64::MAX` if there is none.
fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Fails if the limit on open files is too low for a small crew.
fn check_open_files() -> Result<()> {
    let limit = open_files();
    if limit < OPEN_FILES_MIN {
        bail!(
            "the limit on open files is {limit}, and a crew needs at least {OPEN_FILES_MIN}: raise it (ulimit -n 1024) and start crewdeck again"
        );
    }
    Ok(())
}

/// Runs `work` on an async runtime and returns its result. The runtime has two threads, which are enough because the
/// work mostly waits for IO. Fails without running `work` if the limit on open files is too low, or if the runtime
/// cannot be started.
fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    check_open_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("crewdeck cannot start its worker threads")?;
    let done = runtime.block_on(work);
    // Do not wait longer for a thread that is blocked on terminal input.
    runtime.shutdown_timeout(ENDS_WITHIN);
    done
}

/// Returns the project directory: the top level of the git repository that contains the chosen directory, or else the
/// chosen directory itself. For the worktree of a task, returns the root that the worktree belongs to. Fails as
/// [`start_dir`] does.
fn root(global: &GlobalOptions) -> Result<PathBuf> {
    Ok(store::find_root(&start_dir(global)?))
}

/// Returns the directory of the option `--dir`, or else the one in which crewdeck was started, as an absolute path.
/// Fails if it is not an accessible directory.
fn start_dir(global: &GlobalOptions) -> Result<PathBuf> {
    let dir = match &global.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()
            .context("the current directory no longer exists: change to another one")?,
    };
    let dir = dir
        .canonicalize()
        .with_context(|| format!("{} is not an accessible directory", dir.display()))?;
    if !dir.is_dir() {
        bail!(
            "{} is not a directory: choose one with --dir",
            dir.display()
        );
    }
    Ok(dir)
}

/// Returns a new id: a UUIDv7 without hyphens. Later ids of this process are greater than earlier ones.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// Returns a random number from 0 to 1.
pub fn jitter() -> f64 {
    // The last bytes of a UUIDv7 are random.
    let random = uuid::Uuid::now_v7().as_u128() & u128::from(u32::MAX);
    u32::try_from(random).map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX))
}

impl Blueprint {
    /// Sets approvers for a run without a user at the terminal, so that no request is left to the user. Budgets and
    /// questions are denied. For plans, shutdowns and tools, the approver `ask` is replaced by `deny`. In the demo, it
    /// is replaced by `auto`, unless a setting chose `ask`.
    ///
    /// Returns a notice if an approver of plans, shutdowns or tools was replaced, because the user can choose these
    /// three with options; otherwise returns `None`.
    fn decide_without_user(&mut self) -> Option<String> {
        let is_demo = self.choice == Some(ProviderChoice::Demo);
        let set = [
            self.settings.plan,
            self.settings.shutdown,
            self.settings.tool,
        ];
        // No option sets the approvers of budgets and questions, so the notice does not name them. The end of the run
        // reports a budget that was reached.
        self.approvers.budget = Approver::Deny;
        self.approvers.question = Approver::Deny;
        let (mut approved, mut denied) = (Vec::new(), Vec::new());
        for ((name, approver), set) in [
            ("--plan", &mut self.approvers.plan),
            ("--shutdown", &mut self.approvers.shutdown),
            ("--tool", &mut self.approvers.tool),
        ]
        .into_iter()
        .zip(set)
        {
            if *approver != Approver::Ask {
                continue;
            }
            if is_demo && set.is_none() {
                *approver = Approver::Auto;
                approved.push(name);
            } else {
                *approver = Approver::Deny;
                denied.push(name);
            }
        }
        let parts = [("approved", approved), ("denied", denied)];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(word, names)| {
                format!(
                    "{word} (change it with {} ask|lead|auto|deny)",
                    names.join(", ")
                )
            })
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "without a terminal, crewdeck cannot ask the user, so requests are {}",
                parts.join(", others are ")
            )
        })
    }
}

/// Returns an error if `settings`, which come from a file, contain an invalid tool name. The error begins with the name
/// of the setting, `tools`.
fn check_tools(settings: &Settings) -> Result<(), String> {
    let names = settings.tools.as_deref().map(table::narrow);
    names
        .transpose()
        .map(drop)
        .map_err(|why| format!("tools: {why}"))
}

/// Loads the settings for `root`. The server address in an environment variable overrides settings files, and options
/// override both. Fails if a settings file is invalid, or if a tool name in the settings or options is unknown.
fn settings(global: &GlobalOptions, root: &Path) -> Result<LoadedSettings> {
    let LoadedSettings {
        settings: files,
        project,
        allow_file,
    } = config::load(root, check_tools)?;
    if let Some(names) = &global.tools {
        table::narrow(names).map_err(|why| anyhow!("--tools: {why}"))?;
    }
    let options = Settings {
        provider: global.provider.clone(),
        model: global.model.clone(),
        base_url: global.base_url.clone(),
        tools: global.tools.clone(),
        plan: global.plan.map(Approver::from),
        shutdown: global.shutdown.map(Approver::from),
        tool: global.tool.map(Approver::from),
        ..Settings::default()
    };
    let environment = Settings {
        base_url: model_setup::address(&files.clone().overlaid(options.clone())),
        ..Settings::default()
    };
    let mut settings = files.overlaid(environment).overlaid(options);
    if global.model.is_some() || global.provider.is_some() || global.base_url.is_some() {
        // These options select the lead's model, so the setting does not.
        settings.r#use.lead = None;
    }
    Ok(LoadedSettings {
        settings,
        project,
        allow_file,
    })
}
