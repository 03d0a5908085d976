//! `crewdeck task done` does not get around the checks; overrides and acceptance commands are the user's.

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{project, settings, task};
use crate::common::project::git;
use crate::common::repository::NOW;
use crewdeck::domain::ids::TaskId;
use crewdeck::store::{Board, NewWorktree, Worktrees};

/// Returns the arguments that complete task 1, with `more` after `--as`.
fn done_1<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["task", "done", "1", "--as"], more].concat()
}

#[test]
fn task_done_runs_the_checks_and_only_the_user_overrides_them() {
    let project = project("");
    project.write_user_settings(&settings("test -e ok"));
    for subject in ["one", "two", "three"] {
        project.run(&["task", "add", subject]);
    }
    project.json(&["task", "start", "1", "--as", "bob"]);
    let refused = project.expect_refusal(&done_1(&["bob"]));
    assert!(
        refused.contains("task #1 is not completed: check test red")
            && refused.contains(".crewdeck/checks/")
            && refused.contains("--override"),
        "{refused}"
    );
    assert_eq!(task(&project, 1)["status"], "in_progress");
    let refused = project.expect_refusal(&done_1(&["bob", "--override", "known"]));
    assert!(refused.contains("only the user can override"), "{refused}");
    let refused = project.expect_refusal(&done_1(&["user", "--override", " "]));
    assert!(refused.contains("needs a reason"), "{refused}");
    let done = project.json(&done_1(&["user", "--override", "known failure"]));
    assert_eq!(done["status"], "completed");
    assert_eq!(done["owner"], "bob");
    assert_eq!(done["checks"][0]["override"], "known failure");
    let shown = project.run(&["task", "show", "1"]).out();
    assert!(shown.contains("overridden: known failure"), "{shown}");
    let listed = project.run(&["task", "list"]).out();
    assert!(listed.contains("(checks overridden: test)"), "{listed}");
    project.write("ok", "");
    let refused = project.expect_refusal(&["task", "done", "2", "--as", "bob"]);
    assert!(refused.contains("bob has not claimed it"), "{refused}");
    project.json(&["task", "start", "2", "--as", "bob"]);
    let done = project.json(&["task", "done", "2", "--as", "bob"]);
    assert_eq!(done["checks"][0]["outcome"], "green");
}

#[test]
fn override_of_checks_that_cannot_run_names_the_content() {
    let project = project("");
    project.write_user_settings(&settings("true"));
    project.run(&["task", "add", "one"]);
    project.json(&["task", "start", "1", "--as", "bob"]);
    let (trees, board) = (Worktrees::open(project.path()), Board::open(project.path()));
    let new = NewWorktree {
        task: TaskId(1),
        ..NewWorktree::default()
    };
    let tree = trees.create(&new, NOW).unwrap().worktree.name;
    board.bind(TaskId(1), &tree, NOW).unwrap();
    project.write(".worktrees/task-1/b.txt", "new\n");
    trees.commit_leftovers(&tree, "work").unwrap();
    // Another commit is checked out, so the checks do not run.
    let detach = ["-C", ".worktrees/task-1", "switch", "--quiet", "--detach"];
    git(&project, &detach);
    project.expect_refusal(&done_1(&["bob"]));
    let done = project.json(&done_1(&["user", "--override", "known failure"]));
    assert_eq!(done["checks"][0]["outcome"], "not_started");
    let content = git(&project, &["rev-parse", "wt/task-1^{tree}"]);
    assert_eq!(done["checks"][0]["tree"], content.trim());
}

#[test]
fn commands_of_agents_cannot_override() {
    let project = project(
        r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "crewdeck task done 1 --as user --override lie; crewdeck task edit 1 --accept true" } }
  - say: done
    times: 0
"#,
    );
    // Without the sandbox, only the check of the caller is left.
    let text = format!("sandbox = \"off\"\n{}", settings("false"));
    project.write_user_settings(&text);
    project.run(&["task", "add", "one"]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let args = ["run", "begin", "--provider", "script:script.yaml", "--json"];
    let mut command = project.command(&[&args[..], &["--tool", "auto"]].concat());
    let output = command.env("PATH", path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut finished =
        events.filter(|e: &Value| e["type"] == "tool_finished" && e["tool"] == "bash");
    let output = finished.next().unwrap()["output"].to_string();
    let refusals = output.matches("was started by an agent").count();
    assert_eq!(refusals, 2, "{output}");
    assert_eq!(task(&project, 1)["status"], "pending");
}

#[test]
fn unapproved_checks_of_a_project_do_not_run() {
    let project = project("");
    project.write(".crewdeck/config.toml", &settings("touch ran; false"));
    project.run(&["task", "add", "one"]);
    let done = ["task", "done", "1", "--as", "user"];
    let refused = project.expect_refusal(&done);
    assert!(refused.contains("crewdeck trust"), "{refused}");
    assert!(!project.file("ran").exists());
    assert_eq!(project.run(&["trust", "--ignore", "--yes"]).code(), 0);
    assert_eq!(project.json(&done)["status"], "completed");
    assert!(!project.file("ran").exists());
}

#[test]
fn acceptance_command_runs_only_if_the_user_has_set_it() {
    let project = project("");
    let added = project.json(&["task", "add", "one", "--accept", "test -e ok"]);
    assert_eq!(added["acceptance"], "test -e ok");
    let done = ["task", "done", "1", "--as", "user"];
    let refused = project.expect_refusal(&done);
    assert!(refused.contains("check acceptance red"), "{refused}");
    // Without the command in its file, the task is not completed either.
    let file = project.file(".tasks/task_1.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("test -e ok", "")).unwrap();
    let refused = project.expect_refusal(&done);
    assert!(
        refused.contains("check acceptance not started"),
        "{refused}"
    );
    std::fs::write(&file, text).unwrap();
    project.write("ok", "");
    assert_eq!(project.json(&done)["status"], "completed");
    // A command in a task file that another program or the repository brings neither runs nor blocks the task.
    project.write(
        ".tasks/task_2.json",
        r#"{"id":2,"subject":"two","acceptance":"touch ran"}"#,
    );
    project.json(&["task", "done", "2", "--as", "user"]);
    assert!(!project.file("ran").exists());
    project.json(&["task", "add", "three", "--accept", "false"]);
    let done = ["task", "done", "3", "--as", "user"];
    project.expect_refusal(&done);
    let edited = project.json(&["task", "edit", "3", "--accept", ""]);
    assert_eq!(edited["acceptance"], Value::Null);
    assert_eq!(project.run(&done).code(), 0);
}
