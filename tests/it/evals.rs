//! Checks the eval tasks themselves: each grader rejects the untouched start and accepts the control solution.

#[path = "../../evals/run.rs"]
mod run;
#[path = "../../evals/task.rs"]
mod task;

use std::path::Path;
use std::time::Duration;

use task::{Workspace, tasks_of_checkout};

/// Time limit of a control run; far more than it needs, so that a busy machine does not fail the test.
const LIMIT: Duration = Duration::from_secs(120);

fn crewdeck() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crewdeck"))
}

#[test]
fn thirty_tasks_cover_every_kind() {
    let tasks = tasks_of_checkout().unwrap();
    assert_eq!(tasks.len(), 30);
    for kind in "fix rename add delete refactor find run board team".split(' ') {
        assert!(tasks.iter().any(|task| task.kind == kind), "{kind}");
    }
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn graders_reject_the_untouched_start() {
    for task in tasks_of_checkout().unwrap() {
        let workspace = Workspace::create(&task).unwrap();
        let reason = workspace.grade(&task, crewdeck(), "").unwrap();
        assert!(reason.is_some(), "{} passes without a solution", task.name);
    }
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn graders_accept_the_control_solution() {
    for task in tasks_of_checkout().unwrap() {
        let workspace = Workspace::create(&task).unwrap();
        let provider = workspace.control_provider(&task).unwrap();
        let options = [format!("--provider={provider}")];
        let ran = run::run(crewdeck(), &task, &workspace, &options, LIMIT).unwrap();
        assert_eq!(ran.failure, None, "{}: {ran:?}", task.name);
        let reason = workspace.grade(&task, crewdeck(), &ran.answer).unwrap();
        assert_eq!(reason, None, "{}: {ran:?}", task.name);
        assert!(ran.model_calls > 0 && ran.seconds > 0.0, "{}", task.name);
    }
}
