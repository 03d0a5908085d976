//! Runs crewdeck on one task and reads its events.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::task::{EvalTask, Workspace};

/// Time that crewdeck has to exit after SIGTERM, before it gets SIGKILL.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// What one run cost and how it ended.
#[derive(Debug, Default)]
pub struct RunResult {
    /// Model calls of all agents.
    pub model_calls: u64,
    /// Tool calls that failed or were rejected.
    pub failed_tool_calls: u64,
    /// Input tokens of all agents, including cached ones.
    pub input_tokens: u64,
    /// Output tokens of all agents.
    pub output_tokens: u64,
    /// Wall-clock time of the run in seconds.
    pub seconds: f64,
    /// The lead's last answer.
    pub answer: String,
    /// Why the run failed: the time limit, or, if crewdeck has exited with another code than 0 and 4, the last line of its
    /// standard error. `None` if the run has not failed.
    pub failure: Option<String>,
}

/// Runs `crewdeck run --json` with `options` in the workspace of `task`, for at most `time_limit`, and ends it then. The
/// time limit and an exit code of crewdeck are no errors: [`RunResult::failure`] names them.
///
/// # Errors
/// Fails if crewdeck cannot be started or ended.
pub fn run(
    crewdeck: &Path,
    task: &EvalTask,
    workspace: &Workspace,
    options: &[String],
    time_limit: Duration,
) -> Result<RunResult> {
    let started = Instant::now();
    let mut child = Command::new(crewdeck)
        .args([
            "run",
            "--json",
            "--tool=auto",
            "--plan=auto",
            "--shutdown=auto",
        ])
        .args(["--tools", &task.tools()])
        .args(options)
        .args(["--", &task.prompt])
        .current_dir(workspace.root())
        .env("HOME", workspace.home())
        .env_remove("XDG_CONFIG_HOME")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| crewdeck.display().to_string())?;
    let (sender, lines) = mpsc::sync_channel(1024);
    let stdout = child.stdout.take().context("stdout")?;
    let stderr = child.stderr.take().context("stderr")?;
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let errors = std::thread::spawn(move || {
        let lines = BufReader::new(stderr).lines().map_while(Result::ok);
        lines.last().unwrap_or_default()
    });
    let mut tally = Tally::default();
    let mut result = RunResult::default();
    let in_time = loop {
        let left = time_limit.saturating_sub(started.elapsed());
        match lines.recv_timeout(left) {
            Ok(line) => tally.read(&line, &mut result),
            Err(mpsc::RecvTimeoutError::Disconnected) => break true,
            Err(mpsc::RecvTimeoutError::Timeout) => break false,
        }
    };
    if !in_time {
        stop(&mut child)?;
    }
    drop(lines);
    let status = child.wait()?;
    let last_error = errors.join().unwrap_or_default();
    let _ = reader.join();
    result.seconds = started.elapsed().as_secs_f64();
    (
        result.input_tokens,
        result.output_tokens,
        result.model_calls,
    ) = tally.sum();
    result.failure = match (in_time, status.success()) {
        (false, _) => Some(format!("time limit of {} s", time_limit.as_secs())),
        (true, true) => None,
        // Exit code 4 means open tasks. The grader decides whether that is right.
        (true, false) if status.code() == Some(4) => None,
        (true, false) => Some(last_error),
    };
    Ok(result)
}

/// Sends SIGTERM to crewdeck's process group, then SIGKILL after [`SHUTDOWN_TIME`].
fn stop(child: &mut Child) -> Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let group = group.context("the process has no id")?;
    let _ = kill_process_group(group, Signal::TERM);
    let asked = Instant::now();
    while asked.elapsed() < SHUTDOWN_TIME {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = kill_process_group(group, Signal::KILL);
    Ok(())
}

/// The latest usage of each agent; every event reports the agent's total.
#[derive(Default)]
struct Tally {
    agents: std::collections::BTreeMap<String, (u64, u64, u64)>,
}

impl Tally {
    fn read(&mut self, line: &str, result: &mut RunResult) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        match text("type") {
            "usage_changed" => {
                let total = |key: &str| event["total"][key].as_u64().unwrap_or(0);
                let input = total("input") + total("cache_read") + total("cache_write");
                let calls = event["calls"].as_u64().unwrap_or(0);
                let usage = (input, total("output"), calls);
                self.agents.insert(text("agent").to_string(), usage);
            }
            "said" if text("agent") == "lead" && !text("text").trim().is_empty() => {
                result.answer = text("text").to_string();
            }
            "tool_finished" if event["outcome"] != "ok" => result.failed_tool_calls += 1,
            _ => {}
        }
    }

    fn sum(&self) -> (u64, u64, u64) {
        self.agents.values().fold((0, 0, 0), |sum, usage| {
            (sum.0 + usage.0, sum.1 + usage.1, sum.2 + usage.2)
        })
    }
}
