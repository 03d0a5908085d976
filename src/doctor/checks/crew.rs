//! Checks whether a crew is running in the root.

use crate::doctor::{Crew, Finding, Place};
use crate::store;

/// Reports whether a crew is running, with its process id.
pub fn run(context: &Place) -> Vec<Finding> {
    let text = match &context.crew {
        Crew::None if !store::is_used(&context.root) => {
            "no crew is running or has been running here".to_string()
        }
        Crew::None => "no crew is running".into(),
        Crew::Runs(Some(pid)) => format!("a crew is running (process {pid})"),
        Crew::Runs(None) => "a crew is running".into(),
    };
    vec![Finding::ok("crew", text)]
}
