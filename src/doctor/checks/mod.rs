//! The checks, one a file. Each gathers its facts and has a pure rule that makes findings of them.

pub mod crew;
pub mod disk;
pub mod environment;
pub mod files;
pub mod git;
pub mod leftovers;
pub mod mail;
pub mod model;
pub mod records;
pub mod requests;
pub mod sandbox;
pub mod settings;
pub mod tasks;
pub mod team;
pub mod terminal;
pub mod watches;
pub mod worktrees;

use super::{Crew, Finding, Place};
use crate::store;

/// What a check says without looking, where there is nothing to look at: nothing of a crew lies here (the check of the
/// crew says so), or a crew runs and sees to it itself.
fn left_to_others(check: &'static str, place: &Place) -> Option<Vec<Finding>> {
    if !store::is_used(&place.root) {
        return Some(Vec::new());
    }
    match place.crew {
        Crew::Runs(_) => Some(vec![Finding::ok(
            check,
            "the crew that runs here sees to it",
        )]),
        Crew::None => None,
    }
}

/// A finding for something that could not be looked at.
fn unreadable(check: &'static str, error: &store::StoreError) -> Finding {
    Finding::fail(
        check,
        error.to_string(),
        "mend it or move it away, then look again",
    )
}
