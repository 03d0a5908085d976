//! The roof: gathers what a crew needs and joins it with a front end. Sees every floor.

pub mod assemble;
mod clock;
pub mod dashboard;
pub mod demo;
mod doctor;
mod editor;
mod errand;
mod first;
mod follow;
mod ground;
pub mod guard;
pub mod headless;
mod inputs;
mod journal;
mod keys;
mod local;
mod lock;
mod machine;
mod mouse;
mod pace;
mod replay;
mod resume;
mod screen;
mod secrets;
mod signals;
mod theme;
mod trust;
mod undecided;
mod unfinished;
mod viewing;
pub mod wire;
mod zone;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Signal, getrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, Global, Verb, manual};
use crate::config::{self, Choice, Loaded, Settings};
use crate::domain::conversation::TurnState;
use crate::domain::request::Decider;
use crate::protocol::bus;
use crate::store::{self, Board, words};
use crate::verbs::{self, Desk, Form};
use assemble::{Assembly, Blueprint, Built};
pub use clock::now;
use headless::Person;

/// The exit code when there was nothing to do.
const NOTHING: u8 = 3;
/// The exit code when a run ended with open tasks or stuck teammates.
const OPEN: u8 = 4;
/// How long threads that wait for something may hold the end up.
const ENDS_WITHIN: Duration = Duration::from_millis(300);
/// Fewest files that may be open at once.
const OPEN_FILES_MIN: u64 = 32;
/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Runs crewdeck as the command line says. The exit code comes back.
///
/// # Errors
/// Why it could not, in words that say what to do.
pub fn main(cli: Cli) -> Result<u8> {
    let form = if cli.global.json {
        Form::Json
    } else {
        Form::Text
    };
    survive_size_limits();
    match cli.verb {
        None => dashboard::main(&cli.global),
        Some(Verb::Run { prompt }) => run(&cli.global, prompt, form),
        Some(Verb::Doctor { mend, yes }) => {
            let wish = doctor::Wish::of(mend, yes);
            doctor::main(&cli.global, wish, form)
        }
        Some(Verb::Trust(options)) => trust::main(&cli.global, options),
        Some(Verb::Replay { session }) => replay::main(&cli.global, session.as_deref()),
        Some(Verb::Completions { shell }) => print(&manual::completions(shell)),
        Some(Verb::Man) => print(&manual::page()?),
        Some(verb) => {
            let root = root(&cli.global)?;
            let desk = Desk {
                root: &root,
                form,
                now: now(),
                new_id,
            };
            Ok(match verbs::run(&verb, &desk)? {
                verbs::Ended::Done => 0,
                verbs::Ended::Nothing => NOTHING,
            })
        }
    }
}

/// Prints a text of crewdeck's own as it stands.
fn print(text: &str) -> Result<u8> {
    use std::io::Write;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // Nobody reads on (`| head`): the wish was to stop.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        written => Ok(written.map(|()| 0)?),
    }
}

fn run(global: &Global, prompt: Option<String>, form: Form) -> Result<u8> {
    let (global, prompt) = told_apart(global.clone(), prompt);
    let mut blueprint = Blueprint::read(&global)?;
    trust::check(&blueprint.project)?;
    let mut said = None;
    if Person::look() == Person::Absent || form == Form::Json {
        said = blueprint.nobody_decides();
    }
    let prompt = prompt.or_else(|| blueprint.prompt());
    if prompt.as_ref().is_none_or(|p| p.trim().is_empty()) && blueprint.resume.is_none() {
        bail!("run needs a prompt: crewdeck run \"what you want done\"");
    }
    if let Some((key, address)) = wire::key_address(&blueprint) {
        headless::eprint_line(&format!("crewdeck: the key in {key} goes to {address}"));
    }
    blocked_on(async {
        let (publisher, mut inlet) = bus::bus(now);
        let publisher = publisher.redacting(secrets::redactor());
        let Assembly {
            crew,
            mut journal,
            lock,
            probe: _,
        } = match assemble::build(&blueprint, publisher).await? {
            Built::Crew(assembly) => *assembly,
            Built::Taken(holder) => bail!(
                "a crew already runs in {}{}: write to it with crewdeck mail send lead \"…\", look at it with crewdeck, or name another directory with --dir",
                blueprint.root.display(),
                holder.shown()
            ),
        };
        if let Some(said) = said {
            headless::eprint_line(&format!("crewdeck: {said}"));
        }
        if prompt.is_none() && crew.resumed() == TurnState::Ended {
            crew.stop().await?;
            bail!(
                "nothing was under way in that session: say what to do next, crewdeck run --resume \"…\""
            );
        }
        let board = Board::open(&blueprint.root);
        let ended = headless::run(&crew, &mut inlet, &mut journal, &board, prompt, form).await;
        let stopped = crew.stop().await;
        // Whoever takes the crew over finds the journal whole.
        drop(journal);
        drop(lock);
        // Why the lead could not answer says more than that the books could not be closed after it.
        let ended = ended?;
        if let headless::Ended::Failed(why) = ended {
            bail!("{why}");
        }
        stopped?;
        match ended {
            headless::Ended::Done | headless::Ended::Unread | headless::Ended::Failed(_) => Ok(0),
            headless::Ended::Open(what) => {
                headless::eprint_line(&format!("crewdeck: {what}"));
                Ok(OPEN)
            }
            headless::Ended::Interrupted => Ok(INTERRUPTED),
        }
    })
}

/// In `run --resume WORDS` the words are the prompt, unless they can only be a session's id.
fn told_apart(mut global: Global, prompt: Option<String>) -> (Global, Option<String>) {
    match global.resume.take() {
        Some(words) if prompt.is_none() && !words.is_empty() && !resume::is_id(&words) => {
            global.resume = Some(String::new());
            (global, Some(words))
        }
        wish => {
            global.resume = wish;
            (global, prompt)
        }
    }
}

/// An error and what led to it, on one line, with what to do where that is known.
pub fn in_words(error: &anyhow::Error) -> String {
    let words = error.chain().map(|cause| match cause.downcast_ref() {
        Some(system) => words::why(system),
        None => cause.to_string(),
    });
    words.collect::<Vec<_>>().join(": ")
}

/// Where a file may not grow (`ulimit -f`), the system would kill this process; with a listener of its own for that
/// signal the writing fails instead, and that is told. Children are killed as ever.
fn survive_size_limits() {
    if open_files() < OPEN_FILES_MIN {
        // What follows says so, or needs fewer.
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

/// How many files this process may have open.
fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Checks that as many files may be open as a small crew needs: with fewer nothing would work, one by one.
fn check_open_files() -> Result<()> {
    let most = open_files();
    if most < OPEN_FILES_MIN {
        bail!(
            "only {most} files may be open at once, and a crew needs {OPEN_FILES_MIN} at least: raise the limit (ulimit -n 1024) and start crewdeck again"
        );
    }
    Ok(())
}

/// Runs `work` on an async runtime of two threads: most of the time all of it waits.
fn blocked_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    check_open_files()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the async runtime can not be started")?;
    let done = runtime.block_on(work);
    // A thread that waits for a key of the person must not hold the end up.
    runtime.shutdown_timeout(ENDS_WITHIN);
    done
}

/// Waits until `wake`; for ever without one.
async fn until(wake: Option<tokio::time::Instant>) {
    match wake {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// The root of the crew: the git top level above the directory, else the directory.
fn root(global: &Global) -> Result<PathBuf> {
    let dir = match &global.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().context("the current directory is gone")?,
    };
    let dir = dir
        .canonicalize()
        .with_context(|| format!("{} is not a directory that can be entered", dir.display()))?;
    if !dir.is_dir() {
        bail!("{} is not a directory: name one with --dir", dir.display());
    }
    Ok(store::root_of(&dir))
}

/// A new id: short enough to read, ordered by time.
pub fn new_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// A random number in 0..1.
pub fn jitter() -> f64 {
    // The last bytes of such an id are random.
    let random = uuid::Uuid::now_v7().as_u128() & u128::from(u32::MAX);
    u32::try_from(random).map_or(0.5, |n| f64::from(n) / f64::from(u32::MAX))
}

impl Blueprint {
    /// `ask` becomes `deny` where nobody can be asked; what there is to say about it comes back. The demo approves its own
    /// requests where nothing else is set.
    fn nobody_decides(&mut self) -> Option<String> {
        let is_demo = self.choice == Some(Choice::Demo);
        let set = [
            self.settings.plan,
            self.settings.shutdown,
            self.settings.tool,
        ];
        // No option sets this one: the end of the run says which ceiling was reached.
        self.deciders.ceiling = Decider::Deny;
        self.deciders.question = Decider::Deny;
        let (mut approved, mut denied) = (Vec::new(), Vec::new());
        for ((name, decider), set) in [
            ("--plan", &mut self.deciders.plan),
            ("--shutdown", &mut self.deciders.shutdown),
            ("--tool", &mut self.deciders.tool),
        ]
        .into_iter()
        .zip(set)
        {
            if *decider != Decider::Ask {
                continue;
            }
            if is_demo && set.is_none() {
                *decider = Decider::Auto;
                approved.push(name);
            } else {
                *decider = Decider::Deny;
                denied.push(name);
            }
        }
        let parts = [("approved", approved), ("denied", denied)];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(word, names)| {
                format!("{word} ({} ask|lead|auto|deny sets it)", names.join(", "))
            })
            .collect();
        (!parts.is_empty()).then(|| {
            format!(
                "nobody is here to ask, so requests are {}",
                parts.join(", others are ")
            )
        })
    }
}

/// The settings for `root`: the files, the environment over them, the options over both.
fn settings(global: &Global, root: &Path) -> Result<Loaded> {
    let Loaded {
        settings: files,
        project,
    } = config::load(root)?;
    let options = Settings {
        provider: global.provider.clone(),
        model: global.model.clone(),
        base_url: global.base_url.clone(),
        tools: global.tools.clone(),
        plan: global.plan.map(Decider::from),
        shutdown: global.shutdown.map(Decider::from),
        tool: global.tool.map(Decider::from),
        ..Settings::default()
    };
    let environment = Settings {
        base_url: wire::address(&files.clone().overlaid(options.clone())),
        ..Settings::default()
    };
    Ok(Loaded {
        settings: files.overlaid(environment).overlaid(options),
        project,
    })
}
