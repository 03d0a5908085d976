//! A copy of the clone of a worker.

use std::path::Path;
use std::process::Command;

use crewdeck::domain::host::HostPresence;
use crewdeck::store::DirectoryHost;
use pretty_assertions::{assert_eq, assert_ne};

use super::errors::{assert_contains, failure};
use super::kills::COMMITS_A_PART;
use super::process::LoggedProcess;
use crate::common::hub_project::{HubProject, head_subject, writes_notes};
use crate::common::repository::git;
use crate::common::wait::wait_until;

fn changed_files(folder: &Path) -> String {
    git(folder, &["status", "--porcelain"])
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn copied_clone_does_not_continue_for_the_original() {
    let project = HubProject::with_lease(&["alpha"], 3);
    let task = project.add_task(&["First"]);
    let worker = project.start_worker("alpha", COMMITS_A_PART, &[]);
    project.wait_until_begun(task);
    let original = project.worktree("alpha", task);
    HubProject::wait_for_commit(&original, "Part");
    worker.kill();
    let mut copying = Command::new("cp");
    copying
        .arg("-a")
        .args([project.dir("alpha"), project.dir("copy")]);
    assert!(copying.status().unwrap().success());
    project.write_settings("copy", "");
    assert!(DirectoryHost::read(&project.dir("alpha")).is_some());
    assert_eq!(DirectoryHost::read(&project.dir("copy")), None);

    // The original continues. The copy can neither take its name nor its tasks.
    let worker = project.start_worker("alpha", COMMITS_A_PART, &[]);
    wait_until("the part is not published", || {
        project.published("wt/task-1").is_some()
    });
    let claim = project.task(task).claim;
    let (host, member) = (
        project.wait_until_present("alpha"),
        project.wait_for_member("alpha-1"),
    );
    let provider = project.write_script("copy", &writes_notes(0));
    let url = project.server.url();
    let args = [
        "--provider",
        &provider,
        "--hub",
        &url,
        "worker",
        "--slots",
        "1",
    ];
    let as_alpha = || project.command("copy", &[&args[..], &["--name", "alpha"]].concat());
    let error = failure(&mut as_alpha());
    assert_contains(&error, "works for this crew as the host alpha");
    assert_eq!(project.wait_until_present("alpha").session, host.session);
    assert_eq!(project.task(task).claim, claim);
    assert_eq!(changed_files(&original), "");

    // When the original is lost, the copy may have its name. It offers the task again, and begins a new conversation and a new
    // worktree.
    worker.kill();
    project.wait_for_host("alpha", "is not lost", |host| {
        host.presence == HostPresence::Lost
    });
    let lock = project
        .dir("alpha")
        .join(".git/worktrees/task-1/index.lock");
    std::fs::write(&lock, "").unwrap();
    let _copy = LoggedProcess::start(as_alpha(), project.dir("copy.log"));
    let done = project.wait_until_completed(task);
    assert_eq!((done.owner.as_str(), done.attempts), ("alpha-1", 2));
    assert_ne!(project.member("alpha-1").unwrap().session, member.session);
    let branch = format!("wt/{}", done.worktree);
    assert_eq!(project.published_file(&branch, "part.txt"), "part");
    let note = project.published_file(&branch, "notes/1.txt");
    assert_eq!(note, "Written by alpha-1.");

    // The files and the branch of the original are untouched.
    assert!(lock.exists());
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(head_subject(&original), "Part");
    assert_eq!(changed_files(&original), "");
    assert!(!project.worktree("copy", task).join("notes").exists());
    assert!(!project.dir("copy").join("notes").exists());
}
