//! `crewdeck doctor`: what was found, what is left behind, and what can be mended. A new check is one file in
//! `checks/` and its line in `TABLE`.
//!
//! A check gathers facts through the store's doors, or takes those that the roof has gathered ([`Place`]), and judges
//! them by a pure rule. It changes nothing; what may be changed is named as a [`Mend`], which loses nothing. What could
//! lose something is never a `Mend`: the finding names the command for the person.

mod checks;
mod finding;
mod mend;
pub mod print;
mod words;

use std::path::PathBuf;

use crate::domain::stamp::Stamp;
pub use checks::environment::EnvironmentFacts;
pub use checks::model::{Asked, ModelFacts, Offer};
pub use checks::sandbox::SandboxFacts;
pub use checks::settings::SettingsFacts;
pub use finding::{Finding, Level};
pub use mend::Mend;

/// Where the checks look, and what the roof has found out for them.
#[derive(Debug)]
pub struct Place {
    /// The root.
    pub root: PathBuf,
    /// The time.
    pub now: Stamp,
    /// Whether a crew runs here.
    pub crew: Crew,
    /// The settings files.
    pub settings: SettingsFacts,
    /// The model that would be used.
    pub model: ModelFacts,
    /// What holds the commands of agents.
    pub sandbox: SandboxFacts,
    /// Which variables they do not see.
    pub environment: EnvironmentFacts,
}

/// Whether a crew runs in the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Crew {
    /// None does.
    None,
    /// One does: its process, where it has said so.
    Runs(Option<String>),
}

/// Every check, in the order of the lines. Damaged files come after the checks that set files aside.
const TABLE: &[fn(&Place) -> Vec<Finding>] = &[
    checks::settings::look,
    checks::model::look,
    checks::git::look,
    checks::terminal::look,
    checks::sandbox::look,
    checks::environment::look,
    checks::watches::look,
    checks::disk::look,
    checks::crew::look,
    checks::team::look,
    checks::tasks::look,
    checks::requests::look,
    checks::mail::look,
    checks::leftovers::look,
    checks::worktrees::look,
    checks::files::look,
    checks::records::look,
];

/// Runs every check. Where no crew has left anything, those that look for it say nothing.
pub fn examine(place: &Place) -> Vec<Finding> {
    TABLE.iter().flat_map(|look| look(place)).collect()
}
