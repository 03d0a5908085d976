//! The end of a worker by signals.

use std::time::{Duration, Instant};

use crewdeck::domain::host::HostPresence;
use crewdeck::domain::task::TaskStatus;
use crewdeck::domain::team::MemberStatus;
use pretty_assertions::assert_eq;

use crate::common::hub_project::{HANGS, HubProject, writes_notes};
use crate::common::repository::git;

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn terminated_worker_finishes_its_task_and_leaves() {
    let project = HubProject::new(&["alpha"]);
    let (first, second) = (project.add_task(&["First"]), project.add_task(&["Second"]));
    let mut worker = project.start_worker("alpha", &writes_notes(1500), &[]);
    project.wait_until_begun(first);

    worker.terminate();
    project.wait_for_host("alpha", "does not drain", |host| host.info.is_draining);
    assert_eq!(worker.wait(), 0, "{}", worker.log());

    let log = worker.log();
    let last = "crewdeck: worker alpha has ended: 1 task completed, 0 returned to the board";
    assert_eq!(log.lines().last(), Some(last), "{log}");

    let done = project.task(first);
    assert_eq!(
        (done.status, done.owner.as_str()),
        (TaskStatus::Completed, "alpha-1")
    );
    let left = project.task(second);
    assert_eq!(
        (left.status, left.owner.as_str(), left.attempts),
        (TaskStatus::Pending, "", 0)
    );
    let branch = git(&project.dir("alpha"), &["rev-parse", "wt/task-1"]);
    assert_eq!(project.published("wt/task-1"), Some(branch));
    assert_eq!(
        project.published_file("wt/task-1", "notes/1.txt"),
        "Written by alpha-1."
    );
    assert_eq!(project.presence("alpha"), Some(HostPresence::Left));
    let member = project.member("alpha-1").unwrap();
    assert_eq!(member.status, MemberStatus::Shutdown);
    project.wait_until_ended();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn idle_worker_ends_at_the_first_signal() {
    let project = HubProject::new(&["alpha"]);
    let mut worker = project.start_worker("alpha", HANGS, &[]);
    project.wait_for_member("alpha-1");
    worker.terminate();
    assert_eq!(worker.wait(), 0, "{}", worker.log());
    assert_eq!(project.presence("alpha"), Some(HostPresence::Left));
    project.assert_no_worktrees("alpha");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn second_signal_ends_the_worker_and_offers_its_task_again() {
    let project = HubProject::new(&["alpha"]);
    let task = project.add_task(&["First"]);
    let mut worker = project.start_worker("alpha", HANGS, &[]);
    project.wait_until_begun(task);

    worker.terminate();
    worker.wait_for_log("claims no more tasks");
    // The task is not finished, so the worker goes on.
    std::thread::sleep(Duration::from_secs(1));
    assert!(worker.is_running());
    let began = Instant::now();
    worker.terminate();
    assert_eq!(worker.wait(), 130, "{}", worker.log());
    let took = began.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let log = worker.log();
    let last = "crewdeck: worker alpha has ended: 0 tasks completed, 1 returned to the board (#1)";
    assert_eq!(log.lines().last(), Some(last), "{log}");

    let task = project.task(task);
    assert_eq!(
        (task.status, task.owner.as_str(), task.claim),
        (TaskStatus::Pending, "", None)
    );
    assert_eq!(project.published_branches(), Vec::<String>::new());
    assert_eq!(project.presence("alpha"), Some(HostPresence::Left));
    project.wait_until_ended();
}
