//! A crew that is killed while a check runs.

use std::process::Stdio;

use pretty_assertions::assert_eq;

use super::{Counter, WRITES_BAD, project, task, with_bob};
use crate::common::process_tree::find_by_variable;
use crate::common::wait::wait_until;

#[test]
fn unfinished_check_runs_again_after_a_kill() {
    let again = r"
  - agent: bob
    when: ended before this call
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
";
    let project = project(&with_bob(&format!("{WRITES_BAD}{again}")));
    let counter = Counter::new();
    let go = counter.0.path().join("go");
    let check = format!("test -e {} || sleep 300", go.display());
    project.write_user_settings(&counter.settings(&check));
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let mut command = project.command(&[&args[..], &["--tool", "auto"]].concat());
    let mark = project.path().display().to_string();
    command.env("CHECKS_TEST", &mark);
    let mut crew = command.stdout(Stdio::null()).spawn().unwrap();
    wait_until("the check runs", || counter.runs() == 1);
    assert_eq!(task(&project, 1)["checks"][0]["outcome"], "running");
    crew.kill().unwrap();
    crew.wait().unwrap();
    wait_until("no process is left", || {
        find_by_variable("CHECKS_TEST", &mark).is_empty()
    });
    std::fs::write(&go, "").unwrap();
    let args = ["run", "--resume", "--provider", "script:script.yaml"];
    let resumed = project.run(&[&args[..], &["--json", "--tool", "auto"]].concat());
    let (out, task) = (resumed.out(), task(&project, 1));
    assert_eq!(task["status"], "completed", "{out}{}", resumed.err());
    assert_eq!(task["checks"][0]["outcome"], "green");
    assert!(
        out.contains("The checks of task #1 were cut off and run again"),
        "{out}"
    );
    assert_eq!(counter.runs(), 2);
    // Of the first crew's checkout, nothing is left either.
    let checkouts = std::fs::read_dir(project.file(".crewdeck/checks/trees"));
    assert_eq!(checkouts.unwrap().count(), 0);
}
