//! `crewdeck about`.

use anyhow::Result;

use super::{CommandContext, CommandOutcome};

pub fn run(context: &CommandContext<'_>) -> Result<CommandOutcome> {
    let version = env!("CARGO_PKG_VERSION");
    context.print(&version, || format!("crewdeck {version}"))?;
    Ok(CommandOutcome::Done)
}
