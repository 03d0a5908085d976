//! Checks the named models: whether each has its key, and valid headers. Contacts no server.

use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "models";

pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let models = context.named_models.iter();
    models
        .map(|(name, state)| match state {
            Ok(server) => Finding::ok(CHECK, format!("{name}: {server}")),
            Err(why) => {
                let text = format!("{name} cannot be used: {why}");
                Finding::warn(CHECK, text, "agents that use this model do not start")
            }
        })
        .collect()
}
