//! Workers and leads that are killed, and start again or not.

use std::time::{Duration, Instant};

use crewdeck::domain::host::{HostKind, HostPresence};
use crewdeck::store::sessions;
use pretty_assertions::{assert_eq, assert_ne};

use super::WORKING_LEAD;
use crate::common::hub_project::{HubProject, head_subject, writes_notes};

/// Rules of a teammate that commits a part of its task, and then waits forever.
pub(super) const COMMITS_A_PART: &str = r#"
  - when: '<auto-claimed>Task #'
    calls:
      - tool: bash
        input: { command: "echo part > part.txt && git add part.txt && git commit -qm Part" }
  - times: 0
    fault: { hang: true }
"#;

/// Rules of a teammate that continues a task after a restart.
const COMMITS_THE_REST: &str = r#"
  - when: 'stopped in the middle of this turn|<(?:auto-claimed|reminder)>Task #1'
    calls:
      - tool: bash
        input: { command: "echo rest > rest.txt && git add rest.txt && git commit -qm Rest" }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - times: 0
    say: I go on.
"#;

/// A life of a lease that is shorter than for users.
const LEASE_SECONDS: u64 = 3;

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn killed_worker_continues_its_task_after_a_restart() {
    let project = HubProject::new(&["alpha"]);
    let task = project.add_task(&["First"]);
    let worker = project.start_worker("alpha", COMMITS_A_PART, &[]);
    project.wait_until_begun(task);
    HubProject::wait_for_commit(&project.worktree("alpha", task), "Part");
    let (member, host) = (
        project.wait_for_member("alpha-1"),
        project.hosts().remove(0),
    );

    worker.kill();
    let began = Instant::now();
    let _worker = project.start_worker("alpha", COMMITS_THE_REST, &[]);
    let done = project.wait_until_completed(task);

    // It did not wait until the lease of the killed process ended.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(12), "{took:?}");
    assert_eq!(
        (done.owner.as_str(), done.worktree.as_str(), done.attempts),
        ("alpha-1", "task-1", 1)
    );
    assert_eq!(project.published_file("wt/task-1", "part.txt"), "part");
    assert_eq!(project.published_file("wt/task-1", "rest.txt"), "rest");
    assert_eq!(project.member("alpha-1").unwrap().session, member.session);
    let hosts = project.hosts();
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    assert_eq!(hosts[0].presence, HostPresence::Present);
    assert_ne!(hosts[0].session, host.session);
    assert_eq!(project.completions("alpha"), 1);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn task_of_a_lost_worker_is_done_by_another_one() {
    let project = HubProject::with_lease(&["alpha", "beta"], LEASE_SECONDS);
    let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    let task = project.add_task(&["First"]);
    let killed = project.start_worker("alpha", COMMITS_A_PART, &["--tags", "late"]);
    project.wait_until_begun(task);
    HubProject::wait_for_commit(&project.worktree("alpha", task), "Part");
    let _other = project.start_worker("beta", &writes_notes(0), &[]);
    project.wait_for_member("beta-1");

    killed.kill();
    let done = project.wait_until_completed(task);
    assert_eq!((done.owner.as_str(), done.attempts), ("beta-1", 2));
    assert_eq!(project.presence("alpha"), Some(HostPresence::Lost));
    lead.wait_for_event("about the lost host", |event| {
        let hosts = event["hosts"].as_array();
        let mut hosts = hosts.into_iter().flatten();
        event["type"] == "hosts_changed"
            && hosts.any(|host| host["name"] == "alpha" && host["presence"] == "lost")
    });
    lead.wait_for_event("with the notice", |event| {
        let text = event["text"].as_str().unwrap_or_default();
        event["type"] == "notice"
            && text.starts_with("Host alpha is lost: task #1 is offered again")
    });
    let published = project.published("wt/task-1");
    assert!(published.is_some());
    assert_eq!(
        project.published_file("wt/task-1", "notes/1.txt"),
        "Written by beta-1."
    );
    assert_eq!(head_subject(&project.worktree("alpha", task)), "Part");

    // The lost host comes back too late: it leaves the task alone, and works on another one.
    let late = project.add_task(&["Later", "--tag", "late"]);
    let rules = format!("{LATE_COMPLETION}{}", writes_notes(0));
    let _again = project.start_worker("alpha", &rules, &["--tags", "late"]);
    assert_eq!(project.wait_until_completed(late).owner, "alpha-1");
    let done = project.task(task);
    assert_eq!((done.owner.as_str(), done.attempts), ("beta-1", 2));
    assert_eq!(project.published("wt/task-1"), published);
    assert_eq!(project.published_branches(), ["wt/task-1", "wt/task-2"]);
    assert_eq!(head_subject(&project.worktree("alpha", task)), "Part");
    assert_eq!(project.completions("beta"), 1);
    assert_eq!(project.completions("alpha"), 1);
}

/// Rules of a teammate that completes task 1 when it is started again.
const LATE_COMPLETION: &str = r"
  - when: stopped in the middle of this turn
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
";

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn lead_that_waits_for_workers_stays_when_one_is_lost() {
    let project = HubProject::with_lease(&["alpha", "beta"], LEASE_SECONDS);
    let task = project.add_task(&["First"]);
    let killed = project.start_worker("alpha", COMMITS_A_PART, &[]);
    project.wait_until_begun(task);
    let _other = project.start_worker("beta", &writes_notes(1000), &[]);
    project.wait_for_member("beta-1");
    let rules = "
  - times: 0
    say: I wait for the workers.
";
    let mut lead = project.start_lead("Wait.", rules, &["--tool", "auto"]);
    lead.wait_for_event("with the answer of the lead", |event| {
        event["type"] == "turn_ended" && event["agent"] == "lead"
    });
    killed.kill();
    // It ends when the task is completed, and not when its owner is lost.
    assert_eq!(lead.wait(), 0, "{}", lead.log());
    assert_eq!(project.wait_until_completed(task).owner, "beta-1");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn restarted_lead_leads_at_once_and_merges_the_work_of_workers() {
    let project = HubProject::new(&["alpha"]);
    let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    let is_lead = |kind: HostKind| kind == HostKind::Lead;
    lead.wait_for_event("with the host of the lead", |event| {
        event["type"] == "hosts_changed"
    });
    let hosts = project.hosts();
    let before = hosts.iter().find(|host| is_lead(host.info.kind)).unwrap();
    lead.kill();
    let _worker = project.start_worker("alpha", &writes_notes(0), &[]);
    let task = project.add_task(&["First"]);
    project.wait_until_completed(task);

    let began = Instant::now();
    let mut lead = project.start_lead("Merge it.", MERGES, &["--tool", "auto", "--resume"]);
    let name = before.info.name.as_str();
    project.wait_for_host(name, "does not lead again", |host| {
        host.session != before.session && host.presence == HostPresence::Present
    });
    // It did not wait until the lease of the killed process ended.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(lead.wait(), 0, "{}", lead.log());
    let dir = project.dir("lead");
    let merged = std::fs::read_to_string(dir.join("notes/1.txt"));
    assert_eq!(merged.unwrap(), "Written by alpha-1.\n");
    assert_eq!(sessions(&dir).unwrap().len(), 1);
    assert_eq!(project.task(task).attempts, 1);
}

/// Rules of a lead that merges task 1 when its branch was fetched.
const MERGES: &str = "
  - when: Merge it
    delay_ms: 2000
    calls: [{ tool: merge_worktree, input: { task_id: 1 } }]
  - times: 0
    say: I go on.
";
