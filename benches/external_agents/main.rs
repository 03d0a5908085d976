//! Measures what external agents cost crewdeck, beside its own agents: memory, CPU while they stream, time from their
//! output to the screen, a crew of both that works, and agents that are configured but not used.
//!
//! `cargo bench --bench external_agents` prints each measurement; `-- memory`, `-- cpu`, `-- latency`, `-- crew` and
//! `-- unused` run one part. The agents run `tests/it/external/agent.py`. Their own memory and CPU are not counted.
//! Times depend on the machine, so compare only ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

#[path = "../common/mod.rs"]
mod common;
mod latency;
mod setup;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::pty::Screen;
use common::{
    SIZE, crewdeck, median, ms, process, report, repository, settle, task_json, time_until_shown,
};
use serde_json::json;
use setup::{ARGS, Family, Setup, configure, rules};

/// Maximum additional private memory of crewdeck for each external agent, in MiB.
const MEMORY: f64 = 1.0;
/// Maximum CPU time of crewdeck for external agents that stream, as a multiple of the time for its own.
const CPU: f64 = 2.0;
/// Maximum time until the first screen with unused external agents, as a multiple of the time without.
const FIRST: f64 = 1.2;

const ROUNDS: usize = 15;
/// Pause between two outputs of an agent that streams, and outputs per second.
const PAUSE_MS: u64 = 30;
const PACE: u64 = 1000 / PAUSE_MS;
/// Duration of a CPU measurement.
const WATCHED: Duration = Duration::from_secs(10);
/// Tasks of the crew that works.
const TASKS: u64 = 32;
/// Maximum time for whatever a crew is to do.
const WITHIN: Duration = Duration::from_secs(180);

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts: [(&str, fn()); 5] = [
        ("memory", memory),
        ("cpu", cpu),
        ("latency", latency::latency),
        ("crew", crew),
        ("unused", unused),
    ];
    let is_named = |part: &str| wanted.iter().any(|word| word == part);
    let all = !parts.iter().any(|(part, _)| is_named(part));
    println!("{}", process::load());
    for (part, run) in parts {
        if all || is_named(part) {
            run();
        }
    }
    println!("{}", process::load());
}

fn total_pss(pids: &[u32]) -> f64 {
    pids.iter().map(|pid| process::pss_mib(*pid)).sum()
}

/// Compares the memory of crewdeck with idle teammates: external ones, its own, and none.
fn memory() {
    let measure = |own: usize, external: usize| {
        let setup = Setup::new(own, external, "work");
        let screen = setup.start(external, own + external + 1);
        settle(&screen);
        let family = Family::of(screen.pid());
        assert_eq!(family.agents.len(), external, "one program for each agent");
        let private = process::private_mib(screen.pid());
        println!(
            "memory with {own} own and {external} external teammates: crewdeck {private:.1} MiB private, {:.1} MiB PSS; \
             {} supervisors {:.1} MiB, {} MCP servers of the crew {:.1} MiB, the agents {:.1} MiB PSS",
            process::pss_mib(screen.pid()),
            family.supervisors.len(),
            total_pss(&family.supervisors),
            family.servers.len(),
            total_pss(&family.servers),
            total_pss(&family.agents),
        );
        screen.kill();
        private
    };
    let none = measure(0, 0);
    measure(0, 1);
    measure(0, 4);
    let external = measure(0, 8);
    let own = measure(8, 0);
    let (external, own) = ((external - none) / 8.0, (own - none) / 8.0);
    report(
        "private memory of crewdeck for each external teammate",
        &format!("{external:.2} MiB, {own:.2} MiB for each of its own"),
        &format!("at most {MEMORY:.1} MiB"),
        external <= MEMORY,
    );
}

/// Compares the CPU time of crewdeck while teammates stream: external ones, and its own.
#[allow(clippy::cast_precision_loss)] // some thousands
fn cpu() {
    let prompt = format!("stream 5000 {PAUSE_MS}");
    let measure = |own: usize, external: usize, prompt: &str| {
        let setup = Setup::new(own, external, prompt);
        let screen = setup.start(external, 1);
        std::thread::sleep(Duration::from_secs(2));
        let family = Family::of(screen.pid());
        let used = |pids: &[u32]| pids.iter().map(|pid| process::cpu_ms(*pid)).sum::<u64>();
        let crewdeck = [screen.pid()];
        let before = (
            used(&crewdeck),
            used(&family.supervisors),
            used(&family.agents),
        );
        std::thread::sleep(WATCHED);
        let share = |now: u64, before: u64| (now - before) as f64 / ms(WATCHED) * 100.0;
        let own_share = share(used(&crewdeck), before.0);
        println!(
            "CPU with {own} own and {external} external teammates ({prompt}): crewdeck {own_share:.1} % of a core, \
             supervisors {:.1} %, the agents {:.1} %",
            share(used(&family.supervisors), before.1),
            share(used(&family.agents), before.2),
        );
        screen.kill();
        own_share
    };
    measure(0, 8, "work");
    measure(0, 1, &prompt);
    for count in [4, 8] {
        let external = measure(0, count, &prompt);
        let own = measure(count, 0, &prompt);
        report(
            &format!(
                "CPU of crewdeck while {count} external teammates stream {PACE} pieces a second"
            ),
            &format!(
                "{external:.1} % of a core, {own:.1} % with its own: ratio {:.2}",
                external / own
            ),
            &format!("ratio <= {CPU}"),
            external / own <= CPU,
        );
    }
}

/// Compares a crew of eight own and eight external teammates with one of sixteen own, which complete the same tasks.
fn crew() {
    let measure = |own: usize, external: usize| {
        let setup = Setup::new(own, external, "work");
        for id in 1..=TASKS {
            let mut task: serde_json::Value =
                serde_json::from_str(&task_json(id, &format!("Subject {id}"), 0)).unwrap();
            let is_external = external > 0 && id.is_multiple_of(2);
            task["tags"] = json!([if is_external { "external" } else { "own" }]);
            let file = setup.root.join(format!(".tasks/task_{id}.json"));
            std::fs::write(file, task.to_string()).unwrap();
        }
        let began = Instant::now();
        let mut child = Command::new(crewdeck())
            .args(["run", "begin", "--tool", "auto"])
            .args(ARGS)
            .current_dir(&setup.root)
            .env("HOME", &setup.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut peak, mut used) = (0_f64, 0);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < WITHIN, "the crew does not finish");
            peak = peak.max(process::private_mib(child.id()));
            used = used.max(process::cpu_ms(child.id()));
            std::thread::sleep(Duration::from_millis(20));
        };
        let seconds = began.elapsed().as_secs_f64();
        let done = (1..=TASKS).filter(|id| {
            let file = setup.root.join(format!(".tasks/task_{id}.json"));
            let text = std::fs::read_to_string(file).unwrap();
            text.contains("\"status\": \"completed\"")
        });
        let done = done.count();
        println!(
            "{own} own and {external} external teammates: {done} of {TASKS} tasks in {seconds:.1} s ({status}), \
             crewdeck at most {peak:.1} MiB private, {used} ms of CPU"
        );
        (done, peak, seconds)
    };
    let (_, own_peak, own_seconds) = measure(16, 0);
    let (done, peak, seconds) = measure(8, 8);
    report(
        "crew of 8 own and 8 external teammates",
        &format!(
            "{done} tasks; beside 16 own: time x{:.2}, memory of crewdeck x{:.2}",
            seconds / own_seconds,
            peak / own_peak
        ),
        &format!("{TASKS} tasks, at most {MEMORY:.1} MiB more for each external teammate"),
        done as u64 == TASKS && peak - own_peak <= MEMORY * 8.0,
    );
}

/// Compares the first screen and an idle dashboard with five external agents that are not used, and with none.
#[allow(clippy::cast_precision_loss)] // some thousands
fn unused() {
    let dir = tempfile::tempdir().unwrap();
    let roots = [("none", 0), ("five", 5)].map(|(name, count)| {
        let root = repository(dir.path(), name, 12);
        configure(&root, count, &root.join("agent.log"));
        std::fs::write(root.join("rules.yaml"), rules(0, 0, "")).unwrap();
        root
    });
    let mut times = [Vec::new(), Vec::new()];
    // Alternates, so that other load affects both.
    for _ in 0..ROUNDS {
        for (root, times) in roots.iter().zip(&mut times) {
            times.push(time_until_shown(crewdeck(), root, ARGS, &[], &["Subject 1 "])[0]);
        }
    }
    let [none, five] = times.map(median);
    report(
        "first screen with 5 external agents that are not used",
        &format!(
            "{five:.1} ms, {none:.1} ms without: ratio {:.2}",
            five / none
        ),
        &format!("ratio <= {FIRST}"),
        five / none <= FIRST,
    );
    let idle = roots.each_ref().map(|root| {
        let screen = Screen::start(root, SIZE.0, SIZE.1, ARGS);
        screen.wait_for("Subject 1 ");
        settle(&screen);
        // Threads for blocking work end after 10 s without work.
        std::thread::sleep(Duration::from_secs(12));
        let threads = std::fs::read_dir(format!("/proc/{}/task", screen.pid())).unwrap();
        let processes = process::family(screen.pid()).len();
        let wake_ups = process::wake_ups(screen.pid(), WATCHED);
        let private = process::private_mib(screen.pid());
        screen.kill();
        (threads.count(), processes, wake_ups, private)
    });
    let [none, five] = idle;
    report(
        "idle with 5 external agents that are not used",
        &format!(
            "{} threads, {} processes, {:.1} wake-ups a second, {:.1} MiB private; without: {}, {}, {:.1}, {:.1} MiB",
            five.0,
            five.1,
            five.2 as f64 / WATCHED.as_secs_f64(),
            five.3,
            none.0,
            none.1,
            none.2 as f64 / WATCHED.as_secs_f64(),
            none.3
        ),
        "no more threads and processes",
        five.0 <= none.0 && five.1 <= none.1,
    );
}
