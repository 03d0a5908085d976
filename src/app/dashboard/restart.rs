//! Starts the dashboard, and restarts it when the setup page requires it, or when the user chooses the demo or another
//! session.

use anyhow::{Context, Result};

use super::Dashboard;
use super::onboarding::RestartState;
use crate::app::blueprint::Blueprint;
use crate::app::sessions::resume_command;
use crate::app::signals::Signals;
use crate::app::{block_on, describe_error, print};
use crate::cli::GlobalOptions;
use crate::domain::hook::SessionEndReason;

/// The text that is printed at the end of a demo in a temporary repository, which is then deleted.
const AFTER_DEMO: &str = "Next: change to a git repository of your own and run crewdeck.\n";

pub(super) enum ExitReason {
    /// The user quit, or a signal or the loss of the terminal ended the dashboard. The first value is the id of the
    /// session that this process ran; `None` if its crew had not started or another process ran the crew. The second
    /// value is the cause.
    Quit(Option<String>, SessionEndReason),
    /// The user wants to resume the session with this id, or to start a new session (`None`).
    StartSession(Option<String>, Box<RestartState>),
    /// The user chose the demo on the setup page.
    StartDemo(Box<RestartState>),
    /// The dashboard restarts and repeats the startup checks.
    Restart(Box<RestartState>),
}

impl ExitReason {
    /// Returns the reason for the end of the session that hooks receive.
    pub(super) fn of_session(&self) -> SessionEndReason {
        match self {
            ExitReason::Quit(_, reason) => *reason,
            ExitReason::StartSession(Some(_), _) => SessionEndReason::Resume,
            ExitReason::StartSession(None, _)
            | ExitReason::StartDemo(_)
            | ExitReason::Restart(_) => SessionEndReason::Other,
        }
    }
}

/// Runs the dashboard until the user leaves, and returns the exit code.
///
/// # Errors
/// Fails if the dashboard cannot start, if the terminal cannot be read or written, or if the crew cannot write its state
/// files at the end. The terminal is restored before the error is returned.
pub fn main(global: &GlobalOptions) -> Result<u8> {
    let mut options = global.clone();
    let mut blueprint = Blueprint::read(&options)?;
    let mut kept = RestartState::default();
    loop {
        let before = std::mem::take(&mut kept);
        blueprint.waits_for_hub = true;
        let left = block_on(async {
            let dashboard = Dashboard::open(&blueprint, &options, before)?;
            Box::pin(dashboard.stay(&blueprint)).await
        })?;
        let (from, is_demo_start) = match left {
            ExitReason::Quit(..) if blueprint.is_temporary() => return print(AFTER_DEMO),
            ExitReason::Quit(session, _) => {
                let command = session.and_then(|id| resume_command(&options, &blueprint.root, &id));
                return match command {
                    Some(command) => print(&format!("To resume this session: {command}\n")),
                    None => Ok(0),
                };
            }
            ExitReason::Restart(from) => (from, false),
            ExitReason::StartSession(session, from) => {
                options.resume.clone_from(&session);
                if blueprint.is_demo() && session.is_some() {
                    // Keep the blueprint, whose demo repository contains the session. Reading the options again could
                    // create another repository.
                    blueprint.resume = session;
                    kept = *from;
                    continue;
                }
                (from, false)
            }
            ExitReason::StartDemo(from) => {
                options = GlobalOptions {
                    demo: true,
                    dir: None,
                    provider: None,
                    resume: None,
                    ..options
                };
                (from, true)
            }
        };
        kept = *from;
        match block_on(read(options.clone(), kept.signals.as_mut()))? {
            None => return Ok(0),
            Some(Ok(mut read)) => {
                read.keep_reports_of(&blueprint);
                blueprint = read;
            }
            Some(Err(error)) if is_demo_start => return Err(error),
            Some(Err(error)) => {
                kept.keep_settings_error(&describe_error(&error));
                blueprint.resume.clone_from(&options.resume);
            }
        }
    }
}

/// Reads the configuration for the next start, on another thread because git may be slow. Returns the result of the
/// reading, or `None` if a signal arrives first.
async fn read(
    global: GlobalOptions,
    signals: Option<&mut Signals>,
) -> Result<Option<Result<Blueprint>>> {
    let reading = tokio::task::spawn_blocking(move || Blueprint::read(&global));
    let ended = async {
        match signals {
            Some(signals) => signals.any().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = ended => Ok(None),
        read = reading => Ok(Some(read.context("the settings could not be read")?)),
    }
}
