//! Teammates that were stopped in the middle of a turn, and whose task others have taken before their worker started again.

use std::path::Path;

use crewdeck::domain::host::HostPresence;
use pretty_assertions::assert_eq;

use super::kills::COMMITS_A_PART;
use crate::common::hub_project::{HubProject, head_subject, writes_notes};
use crate::common::repository::git;

/// Options of the worker whose teammate is stopped. No other worker of the tests has the tag.
const OPTIONS: &[&str] = &["--tags", "late"];

/// The first rule of a teammate that goes on with an unfinished turn in the folder in which its commands run.
const GOES_ON: &str = r#"
  - when: stopped in the middle of this turn
    calls:
      - tool: bash
        input: { command: "echo rest > rest.txt && git add rest.txt && git commit -qm Rest" }
"#;

/// Returns a project in which the worker `alpha` was killed in the middle of the turn about task 1.
fn project_with_killed_worker(hosts: &[&str]) -> HubProject {
    // The life of a lease is shorter than for users, so that the worker is soon lost.
    let project = HubProject::with_lease(hosts, 3);
    let task = project.add_task(&["First"]);
    let worker = project.start_worker("alpha", COMMITS_A_PART, OPTIONS);
    project.wait_until_begun(task);
    HubProject::wait_for_commit(&project.worktree("alpha", task), "Part");
    worker.kill();
    project
}

/// Returns what a command that runs in `folder` could change: the commits of the folder and of `main`, and changed files.
fn git_state(folder: &Path) -> [String; 2] {
    [
        git(folder, &["rev-parse", "HEAD", "main"]),
        git(folder, &["status", "--porcelain"]),
    ]
}

/// Starts the worker `alpha` again, and checks that its teammate leaves task 1 to its new owner, and works on another task.
fn check_that_the_task_is_left(project: &HubProject) {
    let (clone, worktree) = (project.dir("alpha"), project.worktree("alpha", 1));
    let before = [git_state(&clone), git_state(&worktree)];
    let (task, published) = (project.task(1), project.published("wt/task-1"));
    let rules = format!("{GOES_ON}{}", writes_notes(0));
    let _again = project.start_worker("alpha", &rules, OPTIONS);
    let later = project.add_task(&["Later", "--tag", "late"]);
    assert_eq!(project.wait_until_completed(later).owner, "alpha-1");

    assert_eq!([git_state(&clone), git_state(&worktree)], before);
    assert_eq!(head_subject(&worktree), "Part");
    assert_eq!(project.task(1), task);
    assert_eq!(project.published("wt/task-1"), published);
    // It has read why, and its only completion is the one of the other task.
    let conversation = project.conversation("alpha", "alpha-1");
    for (text, is_expected) in [
        ("task #1 was offered again, so it is no longer yours", true),
        ("stopped in the middle of this turn", false),
    ] {
        assert_eq!(conversation.contains(text), is_expected, "{conversation}");
    }
    assert_eq!(project.completions("alpha"), 1);
    let mut events = project.journal("alpha").into_iter();
    let has_gone_on = events.any(|event| event.to_string().contains("rest.txt"));
    assert!(!has_gone_on, "a command of the old turn has run");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn restarted_worker_leaves_a_task_that_another_host_has_done() {
    let project = project_with_killed_worker(&["alpha", "beta"]);
    let _other = project.start_worker("beta", &writes_notes(0), &[]);
    let done = project.wait_until_completed(1);
    assert_eq!((done.owner.as_str(), done.attempts), ("beta-1", 2));
    assert_eq!(project.presence("alpha"), Some(HostPresence::Lost));
    check_that_the_task_is_left(&project);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn restarted_worker_leaves_a_task_that_the_user_has_done() {
    let project = project_with_killed_worker(&["alpha"]);
    project.wait_for_host("alpha", "is not lost", |host| {
        host.presence == HostPresence::Lost
    });
    for args in [
        &["release", "1", "--as", "user", "--force"][..],
        &["claim", "1", "--as", "user"],
        &["done", "1", "--as", "user"],
    ] {
        project.json(&[&["task"][..], args].concat());
    }
    check_that_the_task_is_left(&project);
}
