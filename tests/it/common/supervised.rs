//! Runs commands as agents do: with a real supervisor.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crewdeck::domain::sandbox::{CommandLimits, NetworkRules};
use crewdeck::process::sandbox::{GitDirs, Sandbox};
use crewdeck::process::session_variables::SessionVariables;
use crewdeck::process::supervisor::Supervisor;
use crewdeck::process::{self, AddedEnvironment, CommandSpec, JobReport, Reach};
use tokio_util::sync::CancellationToken;

/// Returns the path of crewdeck, which also runs as the supervisor.
pub fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_crewdeck").into()
}

/// Returns whether a test of the sandbox can run. `missing` names what this machine lacks for it. If
/// `CREWDECK_TESTS_NEED_SANDBOX` is set, panics instead of returning false.
pub fn check_available(missing: Option<String>) -> bool {
    let Some(missing) = missing else { return true };
    let is_needed = std::env::var_os("CREWDECK_TESTS_NEED_SANDBOX").is_some();
    assert!(!is_needed, "the sandbox is not available: {missing}");
    eprintln!("skipped, the sandbox is not available: {missing}");
    false
}

pub const NO_LIMITS: CommandLimits = CommandLimits {
    processes: None,
    memory_mb: None,
};
use super::wait::{wait_for, wait_until};

pub fn unconfined_supervisor() -> Arc<Supervisor> {
    Arc::new(Supervisor {
        program: program(),
        sandbox: None,
        network: NetworkRules::default(),
        limits: NO_LIMITS,
        variables: SessionVariables::default(),
    })
}

/// Returns a supervisor with the sandbox of a crew in `root`. `temp` are its temporary folders, `write` further folders
/// that commands may write to.
pub fn sandboxed_supervisor(root: &Path, temp: &[PathBuf], write: &[PathBuf]) -> Arc<Supervisor> {
    let git = crewdeck::store::git_dirs(root).map(|(own, common)| GitDirs { own, common });
    Arc::new(Supervisor {
        program: program(),
        sandbox: Some(Sandbox::new(root, git, temp, write)),
        network: NetworkRules::default(),
        limits: NO_LIMITS,
        variables: SessionVariables::default(),
    })
}

/// Returns a job for a shell command with the defaults of an agent.
pub fn job(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> CommandSpec {
    CommandSpec {
        argv: process::shell(command.into()),
        dir: dir.to_path_buf(),
        timeout: Duration::from_secs(60),
        keep: 50_000,
        supervisor: Some(Arc::clone(supervisor)),
        reach: Reach::default(),
        added: AddedEnvironment::default(),
    }
}

/// Runs a shell command with the defaults of [`job`] and waits for its end.
pub fn run(supervisor: &Arc<Supervisor>, dir: &Path, command: &str) -> JobReport {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = job(supervisor, dir, command);
    let report = runtime.block_on(process::run(&job, &CancellationToken::new(), |_| {}));
    report.unwrap()
}

/// A `sleep` command with a unique duration, which identifies its processes.
pub struct Sleep(String);

impl Sleep {
    pub fn new() -> Sleep {
        let unique = unique_seconds();
        Sleep(format!("1000.{unique}"))
    }

    pub fn command(&self) -> String {
        format!("sleep {}", self.0)
    }

    /// Returns the ids of all processes that have the unique duration as an argument.
    pub fn sleepers(&self) -> Vec<i32> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|e| e.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                line.split(|b| *b == 0)
                    .any(|word| word == self.0.as_bytes())
            })
            .collect()
    }

    /// Waits until a process of the command runs, and returns its id.
    pub fn wait_for_one(&self) -> i32 {
        wait_for(&format!("a process that sleeps {}", self.0), || {
            self.sleepers().first().copied()
        })
    }

    /// Waits until no process of the command runs any more.
    pub fn wait_for_none(&self) {
        wait_until(&format!("no process that sleeps {}", self.0), || {
            self.sleepers().is_empty()
        });
    }
}

static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

fn unique_seconds() -> u128 {
    // Digits only, as `sleep` expects.
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    now.as_nanos() * 100_000_000
        + u128::from(std::process::id() % 100_000) * 1000
        + u128::from(count % 1000)
}

pub fn parent_of(pid: i32) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Sends `signal`, a number or a name such as `STOP`, to a process.
pub fn kill(signal: &str, pid: i32) {
    let sent = std::process::Command::new("kill")
        .args([format!("-{signal}"), pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}
