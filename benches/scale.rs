//! Whether the cost of a change and of an idle dashboard grows with the board: 10,000 tasks beside 100.
//!
//! `cargo bench --bench scale` prints a line for each figure with the ratio of the two boards. `-- verbs`, `-- crew` and
//! `-- idle` print one of them. Times depend on the machine: compare the ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a bench ends by them

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::process::{self, cpu_ms};
use common::pty::Screen;
use common::{SIZE, crewdeck, median, ms, script, settle};
use serde_json::json;

const SIZES: [u64; 2] = [100, 10_000];
/// Until the times of fresh files tell one version from the next.
const SETTLE: Duration = Duration::from_millis(3_500);
/// How often each verb is run.
const ROUNDS: u64 = 15;
/// Teammates of the crew, its first tasks that are not counted, and those that are.
const MATES: usize = 8;
const WARM: usize = 20;
const COUNTED: usize = 60;
/// How long the idle dashboard is watched: a look at all files of the large board is within it.
const WATCHED: Duration = Duration::from_secs(135);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts = ["verbs", "crew", "idle"];
    let named = |part: &str| wanted.iter().any(|w| w == part);
    let all = !parts.iter().any(|p| named(p));
    println!("{}", process::load());
    if all || named("verbs") {
        verbs();
    }
    if all || named("crew") {
        let [few, many] = SIZES.map(crew);
        println!(
            "a crew of {MATES}: {:.1} tasks a second at {} tasks, {:.1} at {}: x{:.2}",
            few.rate,
            SIZES[0],
            many.rate,
            SIZES[1],
            few.rate / many.rate
        );
        println!(
            "  CPU of a task: {:.1} ms at {} tasks, {:.1} ms at {}: x{:.2}",
            few.cpu,
            SIZES[0],
            many.cpu,
            SIZES[1],
            many.cpu / few.cpu
        );
    }
    if all || named("idle") {
        let [few, many] = SIZES.map(idle);
        println!(
            "idle dashboard: {few:.2} % of a core at {} tasks, {many:.2} % at {}: x{:.2}",
            SIZES[0],
            SIZES[1],
            many / few
        );
    }
    println!("{}", process::load());
}

/// A board on which every task is ready.
fn board(size: u64) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    std::fs::create_dir_all(root.join(".tasks")).unwrap();
    for id in 1..=size {
        let task = json!({
            "id": id,
            "subject": format!("Subject {id} of many"),
            "description": "What is to be done, in a few lines of text. ".repeat(5),
            "status": "pending",
            "blockedBy": [],
            "owner": "",
        });
        let text = serde_json::to_string_pretty(&task).unwrap();
        std::fs::write(root.join(format!(".tasks/task_{id}.json")), text).unwrap();
    }
    std::thread::sleep(SETTLE);
    (dir, root)
}

/// Milliseconds of each verb as a process of its own.
fn verbs() {
    let all: [&[&str]; 4] = [
        &["show"],
        &["edit", "--subject", "Another"],
        &["claim", "--as", "alice"],
        &["done", "--as", "alice"],
    ];
    let boards = SIZES.map(board);
    let took = |root: &Path, args: &[&str], id: u64| {
        let began = Instant::now();
        let done = Command::new(crewdeck())
            .args(["task", args[0], &id.to_string()])
            .args(&args[1..])
            .current_dir(root)
            .env("HOME", root)
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        ms(began.elapsed())
    };
    let mut times = vec![[Vec::new(), Vec::new()]; all.len()];
    for round in 0..ROUNDS {
        for (verb, args) in all.iter().enumerate() {
            for (at, (_, root)) in boards.iter().enumerate() {
                times[verb][at].push(took(root, args, round * 5 + 3));
            }
        }
    }
    for (args, [few, many]) in all.iter().zip(times) {
        let name = args[0];
        let (few, many) = (median(few), median(many));
        println!(
            "task {name}: {few:.1} ms at {} tasks, {many:.1} ms at {}: x{:.2}",
            SIZES[0],
            SIZES[1],
            many / few
        );
    }
}

/// What a crew completes that has no other work: the model is scripted and answers at once.
struct Work {
    /// Tasks a second.
    rate: f64,
    /// CPU time of a task in milliseconds.
    cpu: f64,
}

#[allow(clippy::cast_precision_loss)] // some thousands
fn crew(size: u64) -> Work {
    let (_dir, root) = board(size);
    let file = root.join("script.yaml");
    std::fs::write(&file, rules()).unwrap();
    let mut child = Command::new(crewdeck())
        .args(["run", "go", "--json", "--provider"])
        .arg(format!("script:{}", file.display()))
        .current_dir(&root)
        .env("HOME", &root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut claimed = 0;
    let (mut began, mut before) = (Instant::now(), 0);
    while claimed < WARM + COUNTED {
        let line = lines.next().unwrap().unwrap();
        if line.contains("claimed task #") {
            claimed += 1;
            if claimed == WARM {
                (began, before) = (Instant::now(), cpu_ms(child.id()));
            }
        }
    }
    let (took, used) = (began.elapsed(), cpu_ms(child.id()) - before);
    child.kill().unwrap();
    child.wait().unwrap();
    Work {
        rate: COUNTED as f64 / took.as_secs_f64(),
        cpu: used as f64 / COUNTED as f64,
    }
}

fn rules() -> String {
    let spawn = |n| {
        format!(
            "      - {{ tool: spawn_teammate, input: {{ name: mate{n}, role: worker, prompt: wait }} }}\n"
        )
    };
    let spawns = (1..=MATES).map(spawn).collect::<Vec<_>>().concat();
    format!(
        r#"
rules:
  - agent: lead
    when: ^go$
    calls:
{spawns}  - agent: lead
    when: Spawned
    calls: [{{ tool: bash, input: {{ command: "sleep 600" }} }}]
  - when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{{ tool: task_update, input: {{ task_id: "{{{{1}}}}", status: completed }} }}]
  - when: .
    times: 0
    say: fine
"#
    )
}

/// The share of a core that a dashboard takes in which nothing happens.
#[allow(clippy::cast_precision_loss)] // a few seconds
fn idle(size: u64) -> f64 {
    let (dir, root) = board(size);
    let provider = script(dir.path(), 100, "fine");
    let args = ["--provider", &provider];
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &args);
    settle(&screen);
    // The first looks tell the young files once more.
    std::thread::sleep(Duration::from_secs(10));
    let (began, before) = (Instant::now(), cpu_ms(screen.pid()));
    std::thread::sleep(WATCHED);
    let used = cpu_ms(screen.pid()) - before;
    let share = used as f64 / 10.0 / began.elapsed().as_secs_f64();
    screen.end();
    share
}
