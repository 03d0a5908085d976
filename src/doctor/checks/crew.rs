//! The crew: whether one runs here.

use crate::doctor::{Crew, Finding, Place};

/// Says who holds the root's lock.
pub fn look(place: &Place) -> Vec<Finding> {
    let text = match &place.crew {
        Crew::None => "none runs here".to_string(),
        Crew::Runs(Some(pid)) => format!("one runs here (process {pid})"),
        Crew::Runs(None) => "one runs here".into(),
    };
    vec![Finding::ok("crew", text)]
}
