//! `examples/hub/try`: a lead and two workers on one machine, with real processes, a real hub and a git remote.

use std::process::{Command, Stdio};

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn both_workers_of_the_example_do_a_part_of_the_tasks() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/hub/try");
    assert!(std::env::var_os("CREWDECK_NATS_SERVER").is_some());
    let output = Command::new(script)
        .arg("--check")
        .env("CREWDECK_BIN", env!("CARGO_BIN_EXE_crewdeck"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("12 of 12 tasks"), "{text}\n{errors}");
    print!("{text}");
}
