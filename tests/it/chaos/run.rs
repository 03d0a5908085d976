//! One run of crewdeck against the fake servers, and its result.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fault::{FaultPlan, hash_number};
use super::request::Wire;
use super::scripted_model::TeamModels;
use super::server::{FakeServer, ObservedCall};

/// The limit for concurrent model calls of the team, which each server checks.
pub const CAP: usize = 4;
/// A run that takes longer counts as hanging.
const DEADLINE: Duration = Duration::from_secs(180);

pub struct RunResult {
    pub code: Option<i32>,
    pub stderr: String,
    pub events: Vec<Value>,
    pub calls: Vec<ObservedCall>,
    pub violations: Vec<String>,
    /// Largest number of concurrent calls to one server.
    pub max_in_flight: usize,
    pub seconds: f64,
    pub memory_kib: u64,
    pub dir: tempfile::TempDir,
}

/// Runs a crew against one server for each of `wires`, with these faults, until it ends. With several, each has a named
/// model.
#[allow(clippy::too_many_lines)] // one crew, from its start to its checks
pub fn run_crew(wires: &[Wire], faults: FaultPlan) -> RunResult {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let team = match wires {
        [_] => TeamModels::One,
        _ => TeamModels::Three,
    };
    let open = |wire: Wire| {
        let mut faults = faults;
        if team == TeamModels::Three {
            // Each server begins with other kinds of faults.
            faults.seed = hash_number((faults.seed, wire.provider()));
        }
        runtime.block_on(FakeServer::open(wire, team, faults, CAP))
    };
    let servers: Vec<FakeServer> = wires.iter().map(|wire| open(*wire)).collect();
    let dir = tempfile::tempdir().unwrap();
    let key_variable = |wire: Wire| format!("{}_API_KEY", wire.provider().to_uppercase());
    let key = |wire: Wire| format!("sk-played-{}", wire.provider());
    let mut settings = format!("calls_max = {CAP}\nmodel_timeout_s = 1\n");
    let mut args: Vec<String> = ["run", "--json", "Have twenty notes written."]
        .map(String::from)
        .into();
    args.extend(["--tool".into(), "auto".into()]);
    for (wire, server) in wires.iter().zip(&servers) {
        let (name, url) = (wire.provider(), server.url(*wire));
        match team {
            TeamModels::One => {
                args.extend(["--provider", name, "--base-url", &url].map(String::from));
                args.extend(["--model", "played"].map(String::from));
            }
            TeamModels::Three => settings.push_str(&format!(
                "[models.{name}]\nprovider = '{name}'\nbase_url = '{url}'\nmodel = 'played'\nkey_var = '{}'\n",
                key_variable(*wire)
            )),
        }
    }
    if team == TeamModels::Three {
        let [lead, teammate] = [TeamModels::wire("lead"), Wire::Completions].map(Wire::provider);
        settings.push_str(&format!(
            "[use]\nlead = '{lead}'\nteammate = '{teammate}'\n"
        ));
    }
    // The user's settings, because a project may not choose servers.
    let folder = dir.path().join(".config/crewdeck");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    let keys = Wire::ALL.map(|wire| (key_variable(wire), key(wire)));
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(args)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", dir.path())
        .envs(keys)
        // With one server, the key of Responses comes from the variable of OpenAI.
        .envs((wires == [Wire::Responses]).then(|| ("OPENAI_API_KEY", key(Wire::Responses))))
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (pid, memory) = (child.id(), Arc::new(AtomicU64::new(0)));
    let has_ended = Arc::new(AtomicBool::new(false));
    let (peak, ended) = (Arc::clone(&memory), Arc::clone(&has_ended));
    let watcher = std::thread::spawn(move || {
        while !ended.load(Ordering::SeqCst) {
            peak.fetch_max(peak_memory_kib(pid), Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let (lines, received) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || {
        stdout
            .lines()
            .map_while(Result::ok)
            .for_each(|l| drop(lines.send(l)));
    });
    let mut stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    let (mut events, mut violations) = (Vec::new(), Vec::new());
    loop {
        let left = DEADLINE.saturating_sub(began.elapsed());
        match received.recv_timeout(left) {
            Ok(line) => events.push(serde_json::from_str(&line).unwrap()),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                violations.push(format!("the run did not end within {DEADLINE:?}"));
                child.kill().unwrap();
                break;
            }
        }
    }
    let code = child.wait().unwrap().code();
    let seconds = began.elapsed().as_secs_f64();
    has_ended.store(true, Ordering::SeqCst);
    watcher.join().unwrap();
    runtime.shutdown_background();
    let (mut calls, mut max_in_flight) = (Vec::new(), 0);
    for server in &servers {
        let mut log = server.log.lock().unwrap();
        violations.append(&mut log.violations);
        calls.append(&mut log.calls);
        max_in_flight = max_in_flight.max(log.max_in_flight);
    }
    RunResult {
        code,
        stderr: errors.join().unwrap(),
        events,
        calls,
        violations,
        max_in_flight,
        seconds,
        memory_kib: memory.load(Ordering::SeqCst),
        dir,
    }
}

/// Returns the peak memory of a process, in KiB; zero if the system does not report it.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let figure = line.and_then(|l| l.split_whitespace().next()?.parse().ok());
    figure.unwrap_or(0)
}

impl RunResult {
    /// Reads the board from disk.
    pub fn board(&self) -> Vec<Value> {
        let out = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
            .args(["task", "list", "--json"])
            .current_dir(self.dir.path())
            .env_clear()
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        serde_json::from_slice(&out.stdout).unwrap_or_default()
    }

    /// Returns the agents that called the model.
    pub fn agents(&self) -> BTreeSet<String> {
        self.calls.iter().map(|s| s.agent.clone()).collect()
    }

    /// Returns the last `count` events, without deltas, as lines of at most 300 characters.
    pub fn tail(&self, count: usize) -> String {
        let all: Vec<String> = (self.events.iter())
            .filter(|e| !e["type"].as_str().unwrap_or_default().ends_with("_delta"))
            .map(|e| e.to_string().chars().take(300).collect())
            .collect();
        all[all.len().saturating_sub(count)..].join("\n")
    }
}
