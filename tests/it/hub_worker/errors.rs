//! Starts that fail: one line that says what to do, and nothing is left behind.

use std::process::Command;

use crewdeck::domain::host::HostPresence;
use pretty_assertions::{assert_eq, assert_ne};

use super::WORKING_LEAD;
use crate::common::hub_project::{HANGS, HubProject, HubServer, free_port};
use crate::common::project::RunResult;
use crate::common::repository::git;

/// Runs a command that fails, and returns the only line that it prints.
pub(super) fn failure(command: &mut Command) -> String {
    let ran = RunResult(command.output().unwrap());
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
    let errors = ran.err();
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.starts_with("crewdeck: "), "{errors}");
    errors
}

pub(super) fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is missing in: {text}");
}

/// Returns the command of a worker in the clone `alpha` for the crew at `url`.
fn worker_at(project: &HubProject, url: &str) -> Command {
    let provider = project.write_script("alpha", HANGS);
    let args = ["--provider", provider.as_str(), "worker", "--hub", url];
    project.command("alpha", &args)
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worker_needs_a_hub_a_model_a_secret_and_a_clone() {
    let project = HubProject::new(&["alpha"]);
    project.add_task(&["First"]);
    let provider = project.write_script("alpha", HANGS);
    let mut without_hub = project.command("alpha", &["--provider", &provider, "worker"]);
    assert_contains(&failure(&mut without_hub), "--hub nats://");
    let url = project.server.url();
    let missing = ["--provider", "script:missing.yaml", "worker", "--hub", &url];
    let error = failure(&mut project.command("alpha", &missing));
    assert_contains(&error, "the script missing.yaml cannot be read");

    let worker = || project.worker_command("alpha", HANGS, &[]);
    let error = failure(worker().env_remove("CREWDECK_HUB_SECRET"));
    assert_contains(&error, "set CREWDECK_HUB_SECRET");
    let error = failure(worker().env("CREWDECK_HUB_SECRET", "another secret of a crew"));
    assert_contains(&error, "is not the secret of this crew");
    let error = failure(worker().env("CREWDECK_HUB_SECRET", "short"));
    assert_contains(&error, "must have 16 to 4096 bytes");

    let elsewhere = tempfile::tempdir().unwrap();
    let error = failure(worker().current_dir(elsewhere.path()));
    assert_contains(&error, "start the worker in a clone of the project");

    assert_eq!(project.hosts(), Vec::new());
    assert_eq!(project.task(1).owner, "");
    project.assert_no_worktrees("alpha");
    project.wait_until_ended();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn worker_needs_a_remote_that_it_can_push_to() {
    let project = HubProject::new(&["alpha"]);
    project.add_task(&["First"]);
    let dir = project.dir("alpha");
    let missing = dir.join("missing.git").display().to_string();
    git(&dir, &["remote", "set-url", "origin", &missing]);
    let error = failure(&mut project.worker_command("alpha", HANGS, &[]));
    assert_contains(&error, "the worker cannot send the results of its tasks");
    git(&dir, &["remote", "remove", "origin"]);
    let error = failure(&mut project.worker_command("alpha", HANGS, &[]));
    assert_contains(&error, "there is no git remote of this name");
    assert_contains(&error, "Set hub.remote");
    let home = tempfile::tempdir().unwrap();
    let mut without_setting = project.worker_command("alpha", HANGS, &[]);
    let error = failure(without_setting.env("HOME", home.path()));
    assert_contains(&error, "set hub.remote in your settings");

    assert_ne!(project.presence("alpha"), Some(HostPresence::Present));
    assert_eq!(project.task(1).owner, "");
    project.assert_no_worktrees("alpha");
    project.wait_until_ended();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn name_of_a_host_and_place_of_the_lead_are_used_once() {
    let project = HubProject::new(&["alpha", "beta"]);
    let lead = project.start_lead("Wait.", WORKING_LEAD, &["--tool", "auto"]);
    lead.wait_for_event("with the hosts", |event| event["type"] == "hosts_changed");
    let mut worker = project.start_worker("alpha", HANGS, &[]);
    project.wait_for_member("alpha-1");

    let (provider, url) = (project.write_script("beta", HANGS), project.server.url());
    let args = ["--provider", provider.as_str(), "--hub", url.as_str()];
    let in_beta = |more: &[&str]| project.command("beta", &[&args[..], more].concat());
    let error = failure(&mut in_beta(&["worker", "--name", "ALPHA"]));
    assert_contains(&error, "works for this crew as the host ALPHA");
    assert_contains(
        &error,
        "choose another name for this host (a worker: --name",
    );
    let error = failure(&mut in_beta(&["run", "Wait."]));
    assert_contains(&error, "leads this crew already");
    let error = failure(&mut project.worker_command("alpha", HANGS, &[]));
    assert_contains(&error, "start the worker in another clone");

    // Those that were first are not disturbed.
    assert!(worker.is_running());
    assert_eq!(project.presence("alpha"), Some(HostPresence::Present));
    assert_eq!(project.hosts().len(), 2);
    project.assert_no_worktrees("beta");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn unusable_servers_are_reported() {
    let project = HubProject::new(&["alpha"]);
    let plain = HubServer::without_jetstream();
    let error = failure(&mut worker_at(&project, &plain.url()));
    assert_contains(&error, "has no JetStream");
    let unused = format!("nats://127.0.0.1:{}/web", free_port());
    let error = failure(&mut worker_at(&project, &unused));
    assert_contains(&error, "cannot be reached");
    project.assert_no_worktrees("alpha");
    project.wait_until_ended();
}
