//! Starts that fail before or after the host has joined, and the names that hosts get without `--name`.

use crewdeck::domain::host::{HostName, HostPresence};
use crewdeck::store::machine_name;
use pretty_assertions::assert_eq;

use super::WORKING_LEAD;
use super::errors::{assert_contains, failure};
use super::process::LoggedProcess;
use crate::common::hub_project::{HANGS, HubProject};

/// Arguments of a start that fails because its model cannot be used: of a worker before it joins, of a lead afterwards.
const NO_MODEL: [&str; 2] = ["--provider", "script:/missing/script.yaml"];

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn failed_start_leaves_the_hub_at_once() {
    let project = HubProject::new(&["alpha", "beta", "gamma"]);
    let url = project.server.url();
    let start = |clone: &str, more: &[&str]| {
        let args = [&NO_MODEL[..], &["--hub", &url], more].concat();
        let error = failure(&mut project.command(clone, &args));
        assert_contains(&error, "/missing/script.yaml");
    };
    start("alpha", &["worker", "--name", "beta"]);
    assert_eq!(project.hosts(), []);
    start("gamma", &["run", "Wait."]);
    let hosts = project.hosts();
    let hosts: Vec<_> = hosts.iter().map(|host| host.presence).collect();
    assert_eq!(hosts, [HostPresence::Left]);

    // Other clones do not wait for leases: they would end with an error.
    let _worker = project.start_worker("beta", HANGS, &[]);
    let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    project.wait_for_member("beta-1");
    lead.wait_for_event("with the hosts", |event| event["type"] == "hosts_changed");
}

/// Starts a worker without a name in a clone.
fn start_unnamed(project: &HubProject, clone: &str) -> LoggedProcess {
    let (provider, url) = (project.write_script(clone, HANGS), project.server.url());
    let args = ["--provider", &provider, "--hub", &url, "worker"];
    let command = project.command(clone, &[&args[..], &["--slots", "1"]].concat());
    LoggedProcess::start(command, project.dir(&format!("{clone}-unnamed.log")))
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn hosts_of_one_machine_get_different_names_and_keep_them() {
    let project = HubProject::new(&["alpha", "beta", "gamma"]);
    let start = |clone: &str| start_unnamed(&project, clone);
    let machine = HostName::similar_to(&machine_name()).to_string();
    let numbered = |number: u8| {
        let start: String = machine.chars().take(28).collect();
        format!("{start}-{number}")
    };
    // They are started at the same time.
    let workers = ["alpha", "beta"].map(start);
    let names = [workers[0].host_name(), workers[1].host_name()];
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, [machine.clone(), numbered(2)]);
    for worker in workers {
        assert_eq!(worker.terminate(), 0);
    }

    // A new directory takes none of the names, although both hosts have left.
    let third = start("gamma");
    assert_eq!(third.host_name(), numbered(3));
    let again = ["beta", "alpha"].map(start);
    assert_eq!(again[0].host_name(), names[1]);
    assert_eq!(again[1].host_name(), names[0]);
    let present = project.hosts();
    let present = present.iter().map(|host| (host.presence, host.info.slots));
    let present: Vec<_> = present.collect();
    assert_eq!(present, [(HostPresence::Present, 1); 3]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn lead_and_worker_that_start_together_get_different_names() {
    let project = HubProject::new(&["alpha"]);
    let worker = start_unnamed(&project, "alpha");
    let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    lead.wait_for_event("with the hosts", |event| event["type"] == "hosts_changed");
    worker.host_name();
    let hosts = project.hosts();
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    let mut hosts = hosts.iter();
    assert!(hosts.all(|host| host.presence == HostPresence::Present));
}
