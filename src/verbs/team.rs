//! `crewdeck team …`

use anyhow::Result;

use super::{Desk, Ended};
use crate::cli::TeamVerb;
use crate::store::Roster;

/// Carries the verb out.
pub fn run(verb: &TeamVerb, desk: &Desk<'_>) -> Result<Ended> {
    match verb {
        TeamVerb::List => {
            let team = Roster::open(desk.root).read()?;
            desk.print(&team.members, || {
                if team.members.is_empty() {
                    return "No teammates.".into();
                }
                let lines: Vec<String> = team
                    .members
                    .iter()
                    .map(|m| format!("{} ({}): {}", m.name, m.role, m.status))
                    .collect();
                lines.join("\n")
            })?;
            Ok(Ended::Done)
        }
    }
}
