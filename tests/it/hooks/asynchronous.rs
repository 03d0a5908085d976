//! Hooks that are not waited for, and those of the session end, which always are.

use std::path::Path;

use crewdeck::domain::hook::{HookInput, HookOutcome, SessionEndReason};
use serde_json::{Value, json};

use super::{Setup, stop};
use crate::common::project::Project;
use crate::common::supervised::Sleep;
use crate::common::wait::wait_until;

#[test]
fn asynchronous_hook_is_not_waited_for() {
    let setup = Setup::new(
        Project::new(),
        &json!({"Stop": [{"hooks": [{"command": "while [ ! -e go ]; do sleep 0.01; done; touch done; exit 2", "async": true}]}]}),
    );
    assert_eq!(setup.run(&stop()), HookOutcome::default());
    assert!(!setup.project.file("done").exists());
    setup.project.write("go", "");
    wait_for(&setup.project.file("done"));
}

#[test]
fn problems_of_asynchronous_hooks_are_reported() {
    let setup = Setup::new(
        Project::new(),
        &json!({"Stop": [{"hooks": [{"command": "echo broken >&2; exit 1", "async": true}]}]}),
    );
    assert_eq!(setup.run(&stop()), HookOutcome::default());
    wait_until("the problem", || !setup.late.lock().unwrap().is_empty());
    let late = setup.late.lock().unwrap();
    assert!(
        late.len() == 1 && late[0].contains("exited with code 1: broken"),
        "{late:?}"
    );
}

#[test]
fn asynchronous_hooks_are_limited_and_end_with_the_crew() {
    let sleep = Sleep::new();
    let hooks: Vec<Value> = (0..17)
        .map(|n| json!({"command": format!("{} # {n}", sleep.command()), "async": true}))
        .collect();
    let setup = Setup::new(Project::new(), &json!({"Stop": [{"hooks": hooks}]}));
    let problems = setup.run(&stop()).problems;
    assert!(
        problems.len() == 1 && problems[0].contains("16 asynchronous hooks"),
        "{problems:?}"
    );
    sleep.wait_for_one();
    setup.stop.cancel();
    sleep.wait_for_none();
    assert_eq!(*setup.late.lock().unwrap(), [""; 0]);
}

#[test]
fn hooks_of_the_session_end_are_waited_for() {
    let setup = Setup::new(
        Project::new(),
        &json!({"SessionEnd": [{"matcher": "clear", "hooks": [{"command": "touch done", "async": true}]}]}),
    );
    let end = |reason| {
        setup.run(&HookInput::SessionEnd { reason });
        setup.project.file("done").exists()
    };
    assert!(!end(SessionEndReason::Quit));
    assert!(end(SessionEndReason::Clear));
}

fn wait_for(path: &Path) {
    wait_until(&path.display().to_string(), || path.exists());
}
