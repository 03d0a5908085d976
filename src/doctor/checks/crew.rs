//! The crew: whether one runs here.

use crate::doctor::{Crew, Finding, Place};
use crate::store;

/// Says who holds the root's lock.
pub fn look(place: &Place) -> Vec<Finding> {
    let text = match &place.crew {
        Crew::None if !store::is_used(&place.root) => {
            "none runs here, and none has left anything here".to_string()
        }
        Crew::None => "none runs here".into(),
        Crew::Runs(Some(pid)) => format!("one runs here (process {pid})"),
        Crew::Runs(None) => "one runs here".into(),
    };
    vec![Finding::ok("crew", text)]
}
