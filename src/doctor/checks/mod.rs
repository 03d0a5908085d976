//! The checks of `crewdeck doctor`, one per file. Each check gathers facts and turns them into findings with a pure
//! function.

pub mod budgets;
pub mod crew;
pub mod disk;
pub mod environment;
pub mod files;
pub mod git;
pub mod leftovers;
pub mod mail;
pub mod model;
mod named_models;
pub mod records;
pub mod requests;
pub mod roles;
pub mod sandbox;
pub mod settings;
pub mod task_checks;
pub mod tasks;
pub mod team;
pub mod terminal;
pub mod watches;
pub mod worktrees;

use super::{CrewPresence, DoctorContext, Finding};
use crate::store;

/// All checks in the order of the report. `files` comes after the checks that rename damaged files, because it reports
/// the renamed files.
pub const TABLE: &[fn(&DoctorContext) -> Vec<Finding>] = &[
    settings::run,
    roles::run,
    model::run,
    named_models::run,
    budgets::run,
    task_checks::run,
    git::run,
    terminal::run,
    sandbox::run,
    environment::run,
    watches::run,
    disk::run,
    crew::run,
    team::run,
    tasks::run,
    requests::run,
    mail::run,
    leftovers::run,
    worktrees::run,
    files::run,
    records::run,
];

/// Decides whether a check is skipped. Returns `None` if the check must run. Otherwise returns its result: no findings
/// if the root has no crew state, or one finding that says that the running crew does the check.
fn skip_check(check: &'static str, context: &DoctorContext) -> Option<Vec<Finding>> {
    if !store::has_state(&context.root) {
        return Some(Vec::new());
    }
    match context.crew {
        CrewPresence::Runs(_) => Some(vec![Finding::ok(check, "checked by the running crew")]),
        CrewPresence::None => None,
    }
}

fn unreadable(check: &'static str, error: &store::StoreError) -> Finding {
    Finding::fail(
        check,
        error.to_string(),
        "fix the cause that the message names, then run crewdeck doctor again",
    )
}
