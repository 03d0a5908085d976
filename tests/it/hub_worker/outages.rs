//! Outages of the server that are longer than the life of a lease.

use std::time::{Duration, SystemTime};

use pretty_assertions::{assert_eq, assert_ne};

use crate::common::hub_project::{HubProcess, HubProject, writes_notes};
use crate::common::wait::wait_until;

/// Longer than in other tests, because the test compares times within it.
const LEASE: Duration = Duration::from_secs(5);

/// Rules of a teammate that adds a line to `beats.txt` until there is a file `stop` in its worktree.
const BEATS: &str = r"
  - when: '<(?:auto-claimed|reminder)>Task #(\d+)'
    times: 0
    calls:
      - tool: bash
        input: { command: 'until [ -e stop ]; do echo beat >> beats.txt; sleep 0.05; done' }
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
