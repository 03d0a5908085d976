//! Measures the time until a task that another process writes is on the screen.
//!
//! `cargo bench --bench files` prints the median and the 99th percentile for a renamed file and for `crewdeck task
//! edit` and `add`, which take the lock. The time runs from the change on disk to the text in the terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use common::pty::Screen;
use common::{
    SIZE, crewdeck, median_and, ms, process, report, repository, script, settle, write_task,
};

const ROUNDS: u64 = 120;
const FEW: u64 = 4;
/// Goal for the 99th percentile of the times, in milliseconds.
const SOON: f64 = 50.0;
/// Pause between two rounds. Not a multiple of the frame time or of the time in which events are merged, so that the
/// rounds do not run in step with them.
const PAUSE: Duration = Duration::from_millis(137);

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let provider = script(dir.path(), 200, "Hello.");
    println!("{}", process::load());
    let root = repository(dir.path(), "files", FEW);
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", &provider]);
    screen.wait_for("Subject 1 ");
    settle(&screen);

    let renamed = (0..ROUNDS).map(|n| {
        std::thread::sleep(PAUSE);
        let subject = format!("Round {n} ends");
        write_task(&root, 1, &subject);
        let began = Instant::now();
        screen.wait_for(&subject);
        ms(began.elapsed())
    });
    print_figures("a task file renamed into place", renamed.collect());

    let id = add(&root, "Added for this");
    let edited = (0..ROUNDS).map(|n| {
        std::thread::sleep(PAUSE);
        let subject = format!("Edit {n} ends");
        crewdeck_task(&root, &["edit", &id, "--subject", &subject]);
        screen.wait_for(&subject);
        since_written(&root, &id)
    });
    print_figures("a task changed by `crewdeck task edit`", edited.collect());

    let added = (0..ROUNDS).map(|n| {
        std::thread::sleep(PAUSE);
        let subject = format!("New {n} ends");
        let id = add(&root, &subject);
        screen.wait_for(&subject);
        let took = since_written(&root, &id);
        // Keeps the board small, so that the next task is in view.
        std::fs::remove_file(root.join(format!(".tasks/task_{id}.json"))).unwrap();
        screen.wait("the task is gone", |text| !text.contains(&subject));
        took
    });
    print_figures("a task created by `crewdeck task add`", added.collect());
    println!("{}", process::load());
}

fn print_figures(what: &str, all: Vec<f64>) {
    let rounds = all.len();
    let (median, p99) = median_and(99, all);
    report(
        &format!("{what}, until it is on the screen"),
        &format!("median {median:.1} ms, p99 {p99:.1} ms of {rounds} rounds"),
        &format!("p99 < {SOON:.0} ms"),
        p99 < SOON,
    );
}

/// Returns the milliseconds since a task file was renamed into place. File system times have a resolution of a few
/// milliseconds.
fn since_written(root: &Path, id: &str) -> f64 {
    let meta = std::fs::metadata(root.join(format!(".tasks/task_{id}.json"))).unwrap();
    // A rename updates the ctime. The mtime is from the write before it.
    let renamed = Duration::from_secs(meta.ctime().unsigned_abs())
        + Duration::from_nanos(meta.ctime_nsec().unsigned_abs());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    ms(now.unwrap().saturating_sub(renamed))
}

fn add(root: &Path, subject: &str) -> String {
    let text = crewdeck_task(root, &["add", subject, "--json"]);
    let task: serde_json::Value = serde_json::from_str(&text).unwrap();
    task["id"].to_string()
}

fn crewdeck_task(root: &Path, args: &[&str]) -> String {
    let out = Command::new(crewdeck())
        .arg("task")
        .args(args)
        .current_dir(root)
        .env("HOME", root)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}
