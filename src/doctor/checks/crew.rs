//! Checks whether a crew is running in the root.

use crate::doctor::{CrewPresence, DoctorContext, Finding};
use crate::store;

/// Reports whether a crew is running, with its process id if it is known, or that none has run in the root. Never warns.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let text = match &context.crew {
        CrewPresence::None if !store::has_state(&context.root) => {
            "no crew is running, and none has run in this directory".to_string()
        }
        CrewPresence::None => "no crew is running".into(),
        CrewPresence::Runs(Some(pid)) => format!("a crew is running (process {pid})"),
        CrewPresence::Runs(None) => "a crew is running".into(),
    };
    vec![Finding::ok("crew", text)]
}
