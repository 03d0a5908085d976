//! Starts the dashboard, and restarts it when the setup page asks for a new start or for the demo.

use anyhow::{Context, Result};

use super::onboarding::RestartState;
use super::{Dashboard, ExitReason};
use crate::app::assemble::Blueprint;
use crate::app::signals::Signals;
use crate::app::{block_on, describe_error};
use crate::cli::GlobalOptions;

/// Runs the dashboard until the user leaves, and returns the exit code.
///
/// # Errors
/// Fails if the dashboard cannot start. The terminal is restored before that.
pub fn main(global: &GlobalOptions) -> Result<u8> {
    let mut blueprint = Blueprint::read(global)?;
    let mut kept = RestartState::default();
    loop {
        let before = std::mem::take(&mut kept);
        let left = block_on(async { Dashboard::open(&blueprint, before)?.stay(&blueprint).await })?;
        let (from, restart) = match left {
            ExitReason::Quit => return Ok(0),
            ExitReason::Restart(from) => (from, Restart::Same),
            ExitReason::StartDemo(from) => (from, Restart::Demo),
        };
        kept = *from;
        let options = match restart {
            Restart::Same => global.clone(),
            Restart::Demo => GlobalOptions {
                demo: true,
                dir: None,
                provider: None,
                resume: None,
                ..global.clone()
            },
        };
        match (block_on(read(options, kept.signals.as_mut()))?, restart) {
            (None, Restart::Same | Restart::Demo) => return Ok(0),
            (Some(Ok(read)), Restart::Same | Restart::Demo) => blueprint = read,
            (Some(Err(error)), Restart::Same) => kept.status_message = Some(describe_error(&error)),
            (Some(Err(error)), Restart::Demo) => return Err(error),
        }
    }
}

/// Which options the restart uses.
#[derive(Clone, Copy)]
enum Restart {
    /// The options of the previous start.
    Same,
    /// The options of the demo.
    Demo,
}

/// Reads the configuration for the next start, which may wait for git. Returns `None` if a signal arrives meanwhile.
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
