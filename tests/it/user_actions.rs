//! User actions on the board in a real terminal and a real repository: claim, complete, release, and take a task from a working
//! teammate.

use std::process::Command;

use serde_json::Value;

use crate::common::project::{Project, git};
use crate::common::pty::Screen;
use crate::common::wait::{wait_for, wait_until};

/// In this script, alice works on the first task until the user takes it from her, and then still tries to complete it.
const TASKS: &str = r#"
rules:
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: Dig the bed } }
      - { tool: task_create, input: { subject: Water it } }
      - { tool: spawn_teammate, input: { name: alice, role: gardener, prompt: Work } }
  - agent: lead
    when: ^alone$
    calls:
      - { tool: task_create, input: { subject: Dig the bed } }
      - { tool: task_create, input: { subject: Water it, blocked_by: [1] } }
  - agent: alice
    when: 'auto-claimed>Task #1'
    calls: [{ tool: bash, input: { command: "echo half > bed; sleep 600" } }]
  - agent: alice
    when: I have taken task .1
    calls:
      - { tool: task_update, input: { task_id: 1, status: completed } }
      - { tool: claim_task, input: {} }
  - agent: alice
    when: Water it
    times: 0
    fault: { hang: true }
  - when: .
    times: 0
    say: fine
"#;

fn repository() -> Project {
    let project = Project::repository(&[
        (".gitignore", "script.yaml\n.config/\n"),
        ("script.yaml", TASKS),
    ]);
    project.write("script.yaml", TASKS);
    project
}

fn start_dashboard(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    let screen = Screen::start(project.path(), 160, 45, &args);
    screen.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
    screen
}

/// Opens a dashboard without teammates and with two tasks, of which the first blocks the second. The focus is on the
/// panes.
fn start_with_two_tasks(project: &Project) -> Screen {
    let mut screen = start_dashboard(project, &[]);
    screen.send_and_wait_for("alone\r", "#2 Water it");
    screen.send_and_wait_for("\x1b", "i to write");
    screen
}

fn task(project: &Project, id: u64) -> Value {
    project.json(&["task", "show", &id.to_string()])
}

/// Waits until `accepts` returns true for task `id`, and returns the task.
fn wait_for_task(project: &Project, id: u64, accepts: impl Fn(&Value) -> bool) -> Value {
    wait_for(&format!("a change of task {id}"), || {
        Some(task(project, id)).filter(&accepts)
    })
}

/// Quits the dashboard from any state. Panics if it fails or does not restore the terminal.
fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Opens the event log, waits until it shows `words`, and closes it.
fn expect_event_log_entry(screen: &mut Screen, words: &str) {
    screen.send_and_wait_for("@", "╭ Event log");
    screen.wait_for(words);
    screen.send_until_gone("\x1b", "╭ Event log");
}

#[test]
fn user_takes_a_task_from_a_working_teammate() {
    let project = repository();
    let mut screen = start_dashboard(&project, &[]);
    screen.send("go\r");
    let bed = project.file(".worktrees/task-1/bed");
    wait_until("the work of alice", || bed.exists());
    screen.send_and_wait_for("\x1b", "i to write");
    screen.send_and_wait_for("3gC", "#1 is owned by alice: u releases it.");
    screen.send_and_wait_for("u", "Release alice's task #1 (Dig the bed)?");
    screen.wait_for(".worktrees/task-1 is kept");
    screen.send_until_gone("n", "Release alice's task");
    assert_eq!(task(&project, 1)["owner"], "alice");
    screen.send_and_wait_for("u", "Release alice's task");
    screen.send("y");
    let taken = wait_for_task(&project, 1, |t| t["owner"] == "");
    assert_eq!(
        (&taken["status"], &taken["taken_from"][0]),
        (&"pending".into(), &"alice".into())
    );
    // Alice is stopped and informed. Completing task 1 is refused, and she claims the other one.
    wait_for_task(&project, 2, |t| t["owner"] == "alice");
    let first = task(&project, 1);
    assert_eq!(
        (&first["owner"], &first["status"]),
        (&"".into(), &"pending".into())
    );
    expect_event_log_entry(&mut screen, "is back on the board: you took it from alice");
    // The user continues her work in the same worktree.
    screen.send("gC");
    screen.wait_for("You claimed #1. Its worktree .worktrees/task-1 contains the earlier work.");
    wait_for_task(&project, 1, |t| t["owner"] == "user");
    screen.send_and_wait_for("Y", "Copied the path of #1's worktree");
    std::fs::write(&bed, "whole\n").unwrap();
    screen.send("d");
    wait_for_task(&project, 1, |t| {
        t["status"] == "completed" && t["owner"] == "user"
    });
    expect_event_log_entry(&mut screen, "you completed #1 Dig the bed");
    assert_eq!(git(&project, &["show", "wt/task-1:bed"]).trim(), "whole");
    assert_eq!(
        git(&project, &["log", "-1", "--format=%s", "wt/task-1"]).trim(),
        "task #1: Dig the bed"
    );
    quit(screen);
}

#[test]
fn release_with_force_takes_a_task_from_its_owner() {
    let project = repository();
    let mut screen = start_dashboard(&project, &[]);
    screen.send("go\r");
    let bed = project.file(".worktrees/task-1/bed");
    wait_until("the work of alice", || bed.exists());
    let release = ["task", "release", "1", "--as"];
    let with = |more: &[&'static str]| [&release[..], more].concat();
    let why = project.expect_refusal(&with(&["user"]));
    assert!(
        why.contains("belongs to alice") && why.contains("--force releases the task"),
        "{why}"
    );
    let why = project.expect_refusal(&with(&["bob"]));
    assert!(
        why.contains("belongs to alice") && !why.contains("--force"),
        "{why}"
    );
    let why = project.expect_refusal(&with(&["bob", "--force"]));
    assert!(why.contains("use --as user"), "{why}");
    assert_eq!(task(&project, 1)["owner"], "alice");
    let taken = project.json(&with(&["user", "--force"]));
    assert_eq!(
        (&taken["status"], &taken["owner"], &taken["taken_from"][0]),
        (&"pending".into(), &"".into(), &"alice".into())
    );
    // Alice is stopped and informed, and claims the other one.
    wait_for_task(&project, 2, |t| t["owner"] == "alice");
    assert_eq!(task(&project, 1)["owner"], "");
    // For a task without an owner, --force changes nothing.
    let again = project.json(&with(&["user", "--force"]));
    assert_eq!(again["owner"], "");
    quit(screen);
}

#[test]
fn user_claim_gets_a_worktree_and_survives_a_kill() {
    let project = repository();
    let mut screen = start_with_two_tasks(&project);
    screen.send_and_wait_for("3gC", "You claimed #1. Its worktree is .worktrees/task-1.");
    assert!(project.file(".worktrees/task-1/.git").exists());
    expect_event_log_entry(&mut screen, "you claimed #1 Dig the bed");
    // The second task is still blocked.
    screen.send_and_wait_for("lC", "#2 waits for #1.");
    let killed = Command::new("kill")
        .args(["-9", &screen.pid().to_string()])
        .status();
    assert!(killed.unwrap().success());
    drop(screen);
    let doctor = project.run(&["doctor"]).out();
    assert!(!doctor.contains("#1"), "{doctor}");
    for more in [&["--resume"][..], &[]] {
        let mut screen = start_dashboard(&project, more);
        screen.wait_for("@you");
        assert_eq!(task(&project, 1)["owner"], "user");
        screen.send_and_wait_for("\x1b", "i to write");
        screen.send("3g");
        screen.wait_for("d complete");
        quit(screen);
    }
    // A claim as the user from the command line also gets a worktree.
    project.json(&["task", "done", "1", "--as", "user"]);
    let screen = start_dashboard(&project, &[]);
    project.json(&["task", "claim", "2", "--as", "user"]);
    screen.wait_for("You claimed #2. Its worktree is .worktrees/task-2.");
    let refusal = project.expect_refusal(&["task", "claim", "2", "--as", "alice"]);
    assert!(refusal.contains("claimed by user"), "{refusal}");
    project.json(&["task", "release", "2", "--as", "user"]);
    assert_eq!(task(&project, 2)["owner"], "");
    quit(screen);
}

#[test]
fn claim_after_worktree_removal_creates_a_new_worktree() {
    let project = repository();
    let mut screen = start_with_two_tasks(&project);
    let tree = project.file(".worktrees/task-1/.git");
    screen.send("3g");
    let exists = |expected: bool| {
        wait_until("the worktree to change", || tree.exists() == expected);
    };
    for _ in 0..2 {
        screen.send("C");
        exists(true);
        screen.wait_for("u release");
        wait_for_task(&project, 1, |t| t["worktree"] == "task-1");
        screen.send_and_wait_for("u", "W remove worktree");
        screen.send_and_wait_for("W", "Remove .worktrees/task-1");
        screen.send("y");
        exists(false);
        screen.wait_for("C claim");
    }
    quit(screen);
}

#[test]
fn worktree_removal_names_losses_before_it_confirms() {
    let project = repository();
    let mut screen = start_with_two_tasks(&project);
    screen.send_and_wait_for("3gC", "You claimed #1. Its worktree is .worktrees/task-1.");
    screen.send_and_wait_for("W", "Worktree not removed: you have #1 in progress there.");
    let tree = project.file(".worktrees/task-1");
    std::fs::write(tree.join("bed"), "dug\n").unwrap();
    screen.send("d");
    wait_for_task(&project, 1, |t| t["status"] == "completed");
    screen.wait_for("1 unmerged");
    std::fs::write(tree.join("notes"), "mine\n").unwrap();
    // The command line refuses. The dashboard names what would be lost and asks again.
    let refusal = project.expect_refusal(&["worktree", "remove", "task-1"]);
    assert!(refusal.contains("1 uncommitted file (notes)"), "{refusal}");
    screen.send_and_wait_for("W", "Remove .worktrees/task-1");
    screen.wait_for("1 unmerged commit");
    screen.send_and_wait_for("y", "Lost for good: 1 uncommitted file (notes).");
    screen.wait_for("Kept on the branch wt/task-1: 1 unmerged commit");
    // Files added after the question are not removed.
    std::fs::write(tree.join("more"), "mine too\n").unwrap();
    screen.send_and_wait_for("X", "it now has 2 uncommitted files");
    assert!(tree.join("notes").exists());
    let mut viewer = start_viewer(&project);
    viewer.send_and_wait_for("\x1b", "i to write");
    viewer.send_and_wait_for("3gW", "Remove .worktrees/task-1");
    viewer.send_and_wait_for("y", "Lost for good: 2 uncommitted files (more, notes).");
    viewer.send_and_wait_for("X", "its commits are on the branch wt/task-1");
    assert!(!tree.exists());
    assert_eq!(git(&project, &["show", "wt/task-1:bed"]).trim(), "dug");
    quit(viewer);
    quit(screen);
}

#[test]
fn worktree_of_a_killed_crew_is_reused_on_resume() {
    let project = repository();
    let mut screen = start_with_two_tasks(&project);
    screen.send_and_wait_for("3gC", "You claimed #1. Its worktree is .worktrees/task-1.");
    screen.kill();
    // As if killed a moment earlier: the worktree exists, and its task does not name it yet.
    let file = project.file(".tasks/task_1.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let cut = text.replace("\"worktree\": \"task-1\"", "\"worktree\": \"\"");
    assert_ne!(cut, text);
    std::fs::write(&file, cut).unwrap();
    let screen = start_dashboard(&project, &["--resume"]);
    screen.wait_for("You claimed #1. Its worktree is .worktrees/task-1.");
    wait_for_task(&project, 1, |t| t["worktree"] == "task-1");
    assert!(!project.file(".worktrees/task-1-2").exists());
    quit(screen);
}

/// Opens a second dashboard in the same project, which becomes a viewer.
fn start_viewer(project: &Project) -> Screen {
    let provider = format!("script:{}", project.file("script.yaml").display());
    let screen = Screen::start(project.path(), 160, 45, &["--provider", &provider]);
    screen.wait_for("viewer · crew runs in process");
    screen.wait_for("1 unmerged");
    screen
}
