//! How soon a task that another process writes is on the screen.
//!
//! `cargo bench --bench files` prints the median and the slowest of a hundred, for a file that is renamed into its
//! place and for `crewdeck task add`, which takes the lock. The clock runs from the moment at which the change is on
//! disk until the words are in the terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a bench ends by them

mod common;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use common::pty::Screen;
use common::{
    SIZE, crewdeck, median_and, ms, process, repository, script, settle, tell, write_task,
};

const ROUNDS: u64 = 120;
const FEW: u64 = 4;
/// Most milliseconds that a change may take in 99 of 100 rounds.
const SOON: f64 = 50.0;
/// Between two rounds, not in step with the merging of events or with frames.
const APART: Duration = Duration::from_millis(137);

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let provider = script(dir.path(), 200, "Hello.");
    println!("{}", process::load());
    let root = repository(dir.path(), "files", FEW);
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", &provider]);
    screen.wait_for("Subject 1 ");
    settle(&screen);

    let renamed = (0..ROUNDS).map(|n| {
        std::thread::sleep(APART);
        let subject = format!("Round {n} ends");
        write_task(&root, 1, &subject);
        let began = Instant::now();
        screen.wait_for(&subject);
        ms(began.elapsed())
    });
    figures("a task file renamed into its place", renamed.collect());

    let id = add(&root, "Added for this");
    let edited = (0..ROUNDS).map(|n| {
        std::thread::sleep(APART);
        let subject = format!("Edit {n} ends");
        crewdeck_task(&root, &["edit", &id, "--subject", &subject]);
        screen.wait_for(&subject);
        since_written(&root, &id)
    });
    figures("a task that `crewdeck task edit` changes", edited.collect());

    let added = (0..ROUNDS).map(|n| {
        std::thread::sleep(APART);
        let subject = format!("New {n} ends");
        let id = add(&root, &subject);
        screen.wait_for(&subject);
        let took = since_written(&root, &id);
        // The board stays as small as it is, so that the next one is in view.
        std::fs::remove_file(root.join(format!(".tasks/task_{id}.json"))).unwrap();
        screen.wait("the task is gone", |text| !text.contains(&subject));
        took
    });
    figures("a task that `crewdeck task add` makes", added.collect());
    println!("{}", process::load());
}

fn figures(what: &str, all: Vec<f64>) {
    let rounds = all.len();
    let (half, most) = median_and(99, all);
    tell(
        &format!("{what}, until it is on the screen"),
        &format!("median {half:.1} ms, p99 {most:.1} ms of {rounds} rounds"),
        &format!("p99 < {SOON:.0} ms"),
        most < SOON,
    );
}

/// Milliseconds since the file of a task was put into its place, by the times of the file system: they tick in a few
/// milliseconds.
fn since_written(root: &Path, id: &str) -> f64 {
    let meta = std::fs::metadata(root.join(format!(".tasks/task_{id}.json"))).unwrap();
    // To rename a file changes the file, and not its content: that was written, and brought to the disk, before.
    let placed = Duration::from_secs(meta.ctime().unsigned_abs())
        + Duration::from_nanos(meta.ctime_nsec().unsigned_abs());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    ms(now.unwrap().saturating_sub(placed))
}

/// Adds a task; its number comes back.
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
