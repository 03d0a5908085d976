//! Checks whether a crew is running in the root.

use crate::doctor::{CrewPresence, DoctorContext, Finding};
use crate::store;

/// Reports whether a crew is running, with its process id if it is known. If none is running, also reports whether one
/// has run in the root before. Never warns.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    let may_have_run = store::may_have_run(&context.root);
    vec![Finding::ok("crew", describe(&context.crew, may_have_run))]
}

fn describe(crew: &CrewPresence, may_have_run: bool) -> String {
    match crew {
        CrewPresence::None if !may_have_run => {
            "no crew is running, and none has run in this directory".to_string()
        }
        CrewPresence::None => "no crew is running".into(),
        CrewPresence::Runs(Some(pid)) => format!("a crew is running (process {pid})"),
        CrewPresence::Runs(None) => "a crew is running".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_with_settings_alone_has_had_no_crew() {
        let dir = tempfile::tempdir().unwrap();
        let text = || describe(&CrewPresence::None, store::may_have_run(dir.path()));
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        std::fs::write(dir.path().join(".crewdeck/config.toml"), "").unwrap();
        assert!(text().ends_with("none has run in this directory"));
        std::fs::write(dir.path().join(".crewdeck/.lock"), "").unwrap();
        assert_eq!(text(), "no crew is running");
    }
}
