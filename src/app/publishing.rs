//! What `crewdeck worktree pr` needs from the settings, and how Ctrl-C stops it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};

use super::signals::Signals;
use super::{external_agents, model_setup, secrets, settings};
use crate::cli::GlobalOptions;
use crate::commands::Publishing;
use crate::config::acceptance;
use crate::config::extensions::Extensions;
use crate::process::environment;

/// Reads the settings of the project `root`, lets programs have the variables that the settings allow, and listens for
/// signals.
///
/// # Errors
/// Fails if the settings cannot be used, or the listener cannot be started.
pub fn prepare(global: &GlobalOptions, root: &Path) -> Result<Publishing> {
    let settings = settings(global, root)?.settings;
    environment::set_allowed(settings.pass_env.iter().flatten().cloned());
    environment::set_withheld(secrets::header_variables(&settings.models));
    let mut known = secrets::of_models(&settings.models, model_setup::variable);
    known.extend(secrets::of_servers(&Extensions::load(root).servers));
    known.extend(external_agents::secrets(&settings));
    Ok(Publishing {
        redactor: secrets::redactor().with(known),
        checks: settings.checks,
        is_acceptance_set: acceptance::is_approved,
        stop: stop_on_signals()?,
    })
}

/// Returns a flag that becomes true at SIGINT, SIGTERM, SIGHUP and the loss of the terminal, which then do not end crewdeck:
/// programs in process groups of their own, such as git during a push, would go on without it.
fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("crewdeck cannot listen for signals")?;
    // The handlers are there before the first program starts.
    let mut signals = {
        let _entered = runtime.enter();
        Signals::listen().context("crewdeck cannot listen for signals")?
    };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(signals.any());
            flag.store(true, Ordering::SeqCst);
        })
        .context("crewdeck cannot listen for signals")?;
    Ok(stop)
}
