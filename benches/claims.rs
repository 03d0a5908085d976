//! Measures the time from a task's creation by another process to its claim by an idle teammate.
//!
//! 200 tasks and 8 idle teammates, with and without worktrees. `cargo bench --bench claims`.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)] // a failed benchmark panics

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crewdeck::domain::graph::NewTask;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::Board;
use serde_json::Value;

const TASKS: usize = 200;
const TEAMMATES: usize = 8;

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
}

fn script() -> String {
    let spawn = |n| {
        format!(
            "      - {{ tool: spawn_teammate, input: {{ name: worker{n}, role: worker, prompt: wait }} }}\n"
        )
    };
    let spawns = (1..=TEAMMATES).map(spawn).collect::<Vec<_>>().concat();
    format!(
        r#"
rules:
  - agent: lead
    when: ^go$
    calls:
{spawns}  - agent: lead
    when: Spawned
    calls: [{{ tool: bash, input: {{ command: "touch ready; while [ ! -e stop ]; do sleep 0.05; done" }} }}]
  - when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{{ tool: task_update, input: {{ task_id: "{{{{1}}}}", status: completed }} }}]
  - when: .
    times: 0
    say: fine
"#
    )
}

/// Creates tasks at intervals of `gap` while teammates wait for work. Returns the milliseconds from the creation of
/// each task to its claim, sorted.
fn measure(root: &Path, gap: Duration) -> Vec<f64> {
    let file = root.join("script.yaml");
    std::fs::write(&file, script()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(["run", "go", "--json", "--provider"])
        .arg(format!("script:{}", file.display()))
        .current_dir(root)
        .env("HOME", root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let events = std::thread::spawn(move || {
        let lines = BufReader::new(out).lines();
        lines
            .map(|l| serde_json::from_str::<Value>(&l.unwrap()).unwrap())
            .collect::<Vec<_>>()
    });
    while !root.join("ready").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
    let board = Board::open(root);
    let mut written = Vec::new();
    for n in 0..TASKS {
        let new = NewTask {
            subject: format!("task {n}"),
            ..NewTask::default()
        };
        let task = board.create(new, Timestamp(now())).unwrap();
        written.push((task.id, now()));
        std::thread::sleep(gap);
    }
    while board.read().unwrap().graph.done() < TASKS {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::write(root.join("stop"), "").unwrap();
    child.wait().unwrap();
    let events = events.join().unwrap();
    let mut waits: Vec<f64> = written
        .iter()
        .map(|(id, at)| {
            let words = format!("claimed task {id}:");
            let claimed = events
                .iter()
                .find(|e| e["what"].as_str().is_some_and(|w| w.starts_with(&words)))
                .unwrap();
            (claimed["at"].as_f64().unwrap() - at).max(0.0) * 1000.0
        })
        .collect();
    waits.sort_by(f64::total_cmp);
    waits
}

fn report(what: &str, waits: &[f64]) {
    let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
    println!(
        "{what}: {} tasks, {TEAMMATES} idle teammates: median {:.1} ms, p95 {:.1} ms, longest {:.1} ms",
        waits.len(),
        at(50),
        at(95),
        at(100)
    );
}

fn main() {
    let plain = tempfile::tempdir().unwrap();
    report(
        "without worktrees",
        &measure(plain.path(), Duration::from_millis(30)),
    );
    let repository = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let done = Command::new("git")
            .args(args)
            .current_dir(repository.path())
            .status();
        assert!(done.unwrap().success());
    };
    git(&["init", "--quiet"]);
    git(&["config", "user.name", "bench"]);
    git(&["config", "user.email", "bench@localhost"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "start"]);
    report(
        "with worktrees",
        &measure(repository.path(), Duration::from_millis(200)),
    );
}
