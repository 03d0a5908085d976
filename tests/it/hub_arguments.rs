//! `crewdeck worker` with arguments that it cannot use: it ends before it uses the hub. No server is necessary.

use pretty_assertions::assert_eq;

use crate::common::project::{Project, RunResult};

/// Runs a worker without a usable model for a crew on a hub that cannot be reached.
fn run_without_model(options: &[&str]) -> RunResult {
    let project = Project::git();
    let hub = "nats://127.0.0.1:1/web";
    let args = ["--provider", "script:missing.yaml", "worker", "--hub", hub];
    let mut command = project.command(&[&args[..], options].concat());
    command.env("CREWDECK_HUB_SECRET", "a secret of the crew web");
    RunResult(command.output().unwrap())
}

#[test]
fn worker_checks_its_model_before_it_uses_the_hub() {
    let ran = run_without_model(&[]);
    assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
    let errors = ran.err();
    let expected = "crewdeck: the script missing.yaml cannot be read: ";
    assert!(errors.starts_with(expected), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn worker_warns_of_tags_with_a_space() {
    let errors = run_without_model(&["--tags", "gpu,a b"]).err();
    let expected = "warning: the tag 'a b' contains a space. Tags are separated by commas, such as --tags gpu,rust";
    assert_eq!(errors.lines().next(), Some(expected), "{errors}");
}
