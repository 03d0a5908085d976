//! Outages of the server that are longer than the life of a lease.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crewdeck::domain::host::HostPresence;
use crewdeck::domain::task::{Task, TaskStatus};
use pretty_assertions::{assert_eq, assert_ne};
use serde_json::Value;

use crate::common::hub_project::{HubProcess, HubProject, HubServer, is_finished, writes_notes};
use crate::common::wait::wait_until;

/// Longer than in other tests, because the test compares times within it.
const LEASE: Duration = Duration::from_secs(5);

/// Rules of a teammate that adds a line to `beats.txt` until there is a file `stop` in its worktree.
const BEATS: &str = r"
  - when: '<(?:auto-claimed|reminder)>Task #(\d+)'
    times: 0
    calls:
      - tool: bash
        input: { command: 'until [ -e stop ]; do echo beat >> beats.txt; sleep 0.1; done' }
      - { tool: task_update, input: { task_id: '{{1}}', status: completed } }
  - times: 0
    say: I go on.
";

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn workers_stop_their_agents_while_the_server_is_frozen_and_join_again() {
    let hosts = ["alpha", "beta"];
    let project = HubProject::with_lease(&hosts, LEASE.as_secs());
    let tasks = hosts.map(|host| project.add_task(&["Beat", "--tag", host]));
    let mut workers = hosts.map(|host| project.start_worker(host, BEATS, &["--tags", host]));
    let folders = [0, 1].map(|at| project.worktree(hosts[at], tasks[at]));
    for folder in &folders {
        wait_until("an agent does not work", || {
            folder.join("beats.txt").exists()
        });
    }
    let before: Vec<_> = hosts.iter().map(|host| session(&project, host)).collect();

    let frozen_at = SystemTime::now();
    project.server.freeze();
    std::thread::sleep(LEASE + Duration::from_secs(2));
    for folder in &folders {
        let beat = std::fs::metadata(folder.join("beats.txt")).unwrap();
        let last = beat.modified().unwrap();
        // The server gives the tasks to others when the leases have ended, which is not before this time.
        assert!(last < frozen_at + LEASE, "{last:?} {frozen_at:?}");
        std::fs::write(folder.join("stop"), "").unwrap();
    }
    project.server.thaw();

    for (host, task) in hosts.iter().zip(tasks) {
        assert_eq!(
            project.wait_until_completed(task).owner,
            format!("{host}-1")
        );
        assert_eq!(project.completions(host), 1, "{host}");
        let branch = format!("wt/task-{task}");
        assert!(!project.published_file(&branch, "beats.txt").is_empty());
    }
    let after: Vec<_> = hosts.iter().map(|host| session(&project, host)).collect();
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(before, after);
    }
    assert!(workers.iter_mut().all(HubProcess::is_running));
}

fn session(project: &HubProject, host: &str) -> String {
    project.wait_until_present(host).session
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worker_waits_for_a_server_that_is_down() {
    let mut project = HubProject::with_lease(&["alpha"], 2);
    let mut worker = project.start_worker("alpha", &writes_notes(0), &[]);
    project.wait_for_member("alpha-1");
    project.server.kill();
    // The session ends after two seconds, and the worker tries to join again two seconds later.
    std::thread::sleep(Duration::from_secs(8));
    assert!(worker.is_running(), "{}", worker.log());
    project.server.start_again();
    let task = project.add_task(&["First"]);
    assert_eq!(project.wait_until_completed(task).owner, "alpha-1");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worker_that_waits_for_a_server_ends_at_a_signal() {
    let mut project = HubProject::with_lease(&["alpha"], 2);
    let mut worker = project.start_worker("alpha", &writes_notes(0), &[]);
    project.wait_for_member("alpha-1");
    project.server.kill();
    worker.wait_for_log("Joining again");
    worker.terminate();
    let code = worker.wait();
    assert!([0, 130].contains(&code), "{code}: {}", worker.log());
    project.wait_until_ended();
}

/// Number of teammates of a large worker.
const SLOTS: u16 = 12;
/// The last tasks wait until teammates have completed others.
const TASKS: u64 = 16;
/// The life of a lease of users.
const USER_LEASE: Duration = Duration::from_secs(15);

/// Returns the tasks that teammates on a host have completed, once for each success.
fn completed_tasks(project: &HubProject, host: &str) -> Vec<u64> {
    let events = project.journal(host).into_iter();
    let completed = events.filter(|event| is_finished(event, "task_update", "ok"));
    let tasks = completed.map(|event| {
        let task: Value = serde_json::from_str(event["output"].as_str().unwrap()).unwrap();
        task["id"].as_u64().unwrap()
    });
    tasks.collect()
}

/// Checks that a worker whose teammates all work does so again after the server was away for a second more than the life of
/// a lease: it keeps its tasks, and each of them is done once. `stop` begins the outage, and `start` ends it.
fn check_that_a_large_worker_joins_again(
    mut project: HubProject,
    life: Duration,
    stop: impl FnOnce(&mut HubServer),
    start: impl FnOnce(&mut HubServer),
) {
    for _ in 0..TASKS {
        project.add_task(&["Beat"]);
    }
    let mut worker = project.start_worker_with_slots(SLOTS, "alpha", BEATS, &[]);
    let folders = (1..=TASKS).map(|task| project.worktree("alpha", task));
    let folders: Vec<PathBuf> = folders.collect();
    let in_work = || {
        let begun = folders.iter().filter(|f| f.join("beats.txt").exists());
        begun.collect::<Vec<&PathBuf>>()
    };
    let let_end = |folder: &PathBuf| std::fs::write(folder.join("stop"), "").unwrap();
    wait_until("not all teammates work", || {
        in_work().len() == usize::from(SLOTS)
    });
    let (tasks, before) = (project.tasks(), session(&project, "alpha"));

    stop(&mut project.server);
    // Every second teammate completes its task, for which it needs the server.
    in_work().into_iter().step_by(2).for_each(let_end);
    std::thread::sleep(life + Duration::from_secs(1));
    start(&mut project.server);
    project.wait_for_host("alpha", "does not join again", |host| {
        host.presence == HostPresence::Present && host.session != before
    });
    let mut last = Vec::new();
    wait_until("not all tasks are completed", || {
        in_work().into_iter().for_each(let_end);
        std::thread::sleep(Duration::from_millis(100));
        last = project.tasks();
        last.iter().all(|task| task.status == TaskStatus::Completed)
    });

    assert!(worker.is_running(), "{}", worker.log());
    for (before, after) in tasks.iter().zip(&last) {
        let of = |task: &Task| (task.id, task.attempts);
        assert_eq!(of(after), (before.id, 1));
        if !before.owner.is_empty() {
            assert_eq!(after.owner, before.owner, "{}", after.id);
        }
    }
    let branches: BTreeSet<String> = (1..=TASKS).map(|task| format!("wt/task-{task}")).collect();
    let published = project.published_branches();
    assert_eq!(published.into_iter().collect::<BTreeSet<_>>(), branches);
    worker.terminate();
    assert_eq!(worker.wait(), 0, "{}", worker.log());
    let completed = completed_tasks(&project, "alpha");
    let different: BTreeSet<&u64> = completed.iter().collect();
    assert_eq!(different.len(), completed.len(), "{completed:?}");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn large_worker_joins_again_after_a_frozen_server() {
    check_that_a_large_worker_joins_again(
        HubProject::new(&["alpha"]),
        USER_LEASE,
        |server| server.freeze(),
        |server| server.thaw(),
    );
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn large_worker_joins_again_after_a_restart_of_the_server() {
    let life = Duration::from_secs(3);
    check_that_a_large_worker_joins_again(
        HubProject::with_lease(&["alpha"], life.as_secs()),
        life,
        HubServer::kill,
        HubServer::start_again,
    );
}
