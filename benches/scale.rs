//! Compares a board of 10,000 tasks with one of 100: task commands, a working crew, and an idle dashboard. Also compares a
//! team of 1,000 agents on 50 hosts with one of 50 agents on as many hosts, and the dashboard of the lead of a crew on a
//! hub with 1,000 agents on 50 hosts, 100 agents on 50 hosts, and 20 agents on one.
//!
//! `cargo bench --bench scale` prints each measurement with the ratio of the two boards or teams. `-- commands`, `-- crew`,
//! `-- idle`, `-- hosts` and `-- hub` run one part. The part `hub` needs `CREWDECK_NATS_SERVER`, the path of a
//! `nats-server`, and is skipped without it. Times depend on the machine, so compare only ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;
#[path = "common/hub_dashboard.rs"]
mod hub_dashboard;
#[path = "common/team_frames.rs"]
mod team_frames;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::process::{self, cpu_ms};
use common::pty::Screen;
use common::{SIZE, crewdeck, median, ms, script, settle, task_json};

const SIZES: [u64; 2] = [100, 10_000];
/// Time after which modification times are old enough to detect every later change.
const SETTLE: Duration = Duration::from_millis(3_500);
/// How often each task command is run on each board.
const ROUNDS: u64 = 15;
const TEAMMATES: usize = 8;
/// Number of claimed tasks before the measurement.
const WARM: usize = 20;
/// Number of claimed tasks over which the throughput is measured.
const COUNTED: usize = 60;
/// Duration of the idle measurement. Long enough to include a full scan of the large board.
const WATCHED: Duration = Duration::from_secs(135);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts = ["commands", "crew", "idle", "hosts", "hub"];
    let named = |part: &str| wanted.iter().any(|w| w == part);
    let all = !parts.iter().any(|p| named(p));
    println!("{}", process::load());
    if all || named("commands") {
        verbs();
    }
    if all || named("crew") {
        let [few, many] = SIZES.map(crew);
        println!(
            "a crew of {TEAMMATES}: {:.1} tasks per second with {} tasks, {:.1} with {}: x{:.2}",
            few.rate,
            SIZES[0],
            many.rate,
            SIZES[1],
            few.rate / many.rate
        );
        println!(
            "  CPU per task: {:.1} ms with {} tasks, {:.1} ms with {}: x{:.2}",
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
            "idle dashboard: {few:.2} % of a core with {} tasks, {many:.2} % with {}: x{:.2}",
            SIZES[0],
            SIZES[1],
            many / few
        );
    }
    if all || named("hosts") {
        team_frames::print();
    }
    if all || named("hub") {
        hub_dashboard::print();
    }
    println!("{}", process::load());
}

/// Creates a board on which every task is ready.
fn board(size: u64) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    std::fs::create_dir_all(root.join(".tasks")).unwrap();
    for id in 1..=size {
        let text = task_json(id, &format!("Subject {id} of many"), 0);
        std::fs::write(root.join(format!(".tasks/task_{id}.json")), text).unwrap();
    }
    std::thread::sleep(SETTLE);
    (dir, root)
}

/// Prints how long each task command takes, including the start of its process.
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
            "task {name}: {few:.1} ms with {} tasks, {many:.1} ms with {}: x{:.2}",
            SIZES[0],
            SIZES[1],
            many / few
        );
    }
}

/// The throughput of a crew with a scripted model that responds immediately.
struct Throughput {
    /// Tasks per second.
    rate: f64,
    /// CPU milliseconds per task.
    cpu: f64,
}

#[allow(clippy::cast_precision_loss)] // some thousands
fn crew(size: u64) -> Throughput {
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
    Throughput {
        rate: COUNTED as f64 / took.as_secs_f64(),
        cpu: used as f64 / COUNTED as f64,
    }
}

fn rules() -> String {
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

/// Returns the CPU use, in percent of a core, of an idle dashboard with `size` tasks.
#[allow(clippy::cast_precision_loss)] // a few seconds
fn idle(size: u64) -> f64 {
    let (dir, root) = board(size);
    let provider = script(dir.path(), 100, "fine");
    let args = ["--provider", &provider];
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &args);
    settle(&screen);
    // The first scans report recent files again.
    std::thread::sleep(Duration::from_secs(10));
    let (began, before) = (Instant::now(), cpu_ms(screen.pid()));
    std::thread::sleep(WATCHED);
    let used = cpu_ms(screen.pid()) - before;
    let share = used as f64 / 10.0 / began.elapsed().as_secs_f64();
    screen.kill();
    share
}
