//! The `crewdeck team` subcommands.

use anyhow::Result;

use super::table::lines;
use super::{CommandContext, CommandOutcome};
use crate::cli::TeamVerb;

pub fn run(verb: &TeamVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    match verb {
        TeamVerb::List => {
            let team = context.stores.roster.read()?;
            context.print(&team.members, || {
                if team.members.is_empty() {
                    return "No teammates.".into();
                }
                let members = team.members.iter();
                lines(members.map(|m| format!("{} ({}): {}", m.name, m.role, m.status)))
            })?;
            Ok(CommandOutcome::Done)
        }
    }
}
