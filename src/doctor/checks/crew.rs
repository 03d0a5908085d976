//! Checks whether a crew is running in the root.

use crate::doctor::{Crew, DoctorContext, Finding};
use crate::store;

/// Reports whether a crew is running, with its process id.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let text = match &context.crew {
        Crew::None if !store::has_state(&context.root) => {
            "no crew is running or has been running here".to_string()
        }
        Crew::None => "no crew is running".into(),
        Crew::Runs(Some(pid)) => format!("a crew is running (process {pid})"),
        Crew::Runs(None) => "a crew is running".into(),
    };
    vec![Finding::ok("crew", text)]
}
