//! Runs child processes with bounded output and a timeout. When the process ends, everything that it has started is
//! killed.
//!
//! Agents' commands run under a [supervisor](supervisor::Supervisor), which also kills processes that left their
//! process group, and in a [sandbox], as far as the operating system and the settings allow. Without a supervisor, only
//! the process group is killed.

mod added_environment;
mod approved_network;
pub mod blocking;
pub mod browser;
mod disk;
pub mod environment;
mod head_tail_buffer;
pub mod history;
mod log_tail;
mod pipe;
pub mod sandbox;
pub mod separate_output;
mod service;
pub mod session_variables;
pub mod supervisor;
pub mod users;

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

pub use added_environment::AddedEnvironment;
pub use approved_network::{
    ApprovedNetwork, ContentOrigin, NETWORK_WITHHELD, approved_network, depends_on_origin,
};
pub use disk::{WatchedRun, run_watched};
pub use head_tail_buffer::HeadTailBuffer;
pub use log_tail::LogTail;
use pipe::OutputPipe;
pub use sandbox::HistoryReach;
pub use service::{ServiceProcess, ServiceSpec, ServiceStreams};
use supervisor::{JobOutcome, Supervisor, SupervisorClient};

/// Maximum time between SIGTERM and SIGKILL when a job is killed.
const GRACE: Duration = Duration::from_millis(500);
/// Time to wait for more output after the child has exited, because its last output may still be in the pipe. A
/// supervisor gives the processes that its program leaves running the same time to exit.
const DRAIN: Duration = Duration::from_millis(100);
/// Maximum number of reads, from both pipes together, after the child has exited. This many reads empty both pipes. The
/// number is limited because a process that the child has started may never stop writing.
const DRAIN_READS: usize = 256;

#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program, followed by its arguments.
    pub argv: Vec<String>,
    pub dir: PathBuf,
    pub timeout: Duration,
    /// Maximum number of bytes of output to keep. [`run`] keeps half of them from the start and half from the end;
    /// [`separate_output::run_separate`] keeps this many from the start of each stream.
    pub keep: usize,
    /// The supervisor that runs the job. When the job ends, the supervisor kills everything that the job has started.
    /// `None`: only the job's process group is killed, there is no sandbox, and `reach` restricts nothing.
    pub supervisor: Option<Arc<Supervisor>>,
    pub reach: Reach,
    pub added: AddedEnvironment,
}

/// The standard input of a job, and its additional environment variables.
pub struct JobInput {
    pub stdin: OwnedFd,
    /// Environment variables to add to the inherited ones. Inherited variables that look like secrets are removed.
    pub env: BTreeMap<String, String>,
}

/// What a job can access besides files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// Where the job writes git history.
    pub history: HistoryReach,
    pub network: NetworkReach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkReach {
    #[default]
    On,
    /// The job runs in a network namespace that has only a loopback interface. If such a namespace cannot be created,
    /// the job does not run. Without a supervisor, this restricts nothing.
    Off,
}

/// Returns the program and arguments that run `command` in a shell: `/bin/bash` if it exists, otherwise `/bin/sh`.
pub fn shell(command: String) -> Vec<String> {
    let shell = if std::path::Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    };
    vec![shell.into(), "-c".into(), command]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobExit {
    /// The program exited by itself, with this exit code.
    Code(i32),
    /// A signal with this number ended the program, for example SIGKILL (9) after the job has exceeded a limit.
    Signal(i32),
    TimedOut,
    Cancelled,
}

/// Writes how a program ended, as a few words for an error message.
impl fmt::Display for JobExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobExit::Code(code) => write!(f, "exit code {code}"),
            JobExit::Signal(signal) => write!(f, "signal {signal}"),
            JobExit::TimedOut | JobExit::Cancelled => f.write_str("killed"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    pub ended: JobExit,
    /// Standard output and standard error, in order of arrival. If the output was too long, a marker replaces the
    /// middle.
    pub output: String,
    /// Whether the job exited by itself and left processes running, which were then killed. False if the job timed out,
    /// was cancelled or exceeded a limit; true if its supervisor was killed.
    pub had_leftovers: bool,
    /// Notes for the model, one per line, for example about an exceeded limit, a denied write, or git changes that were
    /// not applied. `None` if there are none.
    pub note: Option<String>,
}

/// Added to a tool result if processes that the command had left running were killed.
pub const LEFTOVERS_KILLED_NOTE: &str =
    "[The command exited but left a program running. crewdeck killed that program.]";

/// Runs a job and passes its output to `live` as it arrives. Kills the job when its timeout has passed or `cancel` is
/// cancelled. Dropping the future kills everything that the job has started.
///
/// # Errors
/// Fails if the program cannot be started. A job that fails, is killed or times out is not an error.
pub async fn run(
    job: &CommandSpec,
    cancel: &CancellationToken,
    mut live: impl FnMut(&[u8]) + Send,
) -> std::io::Result<JobReport> {
    let (mut child, mut handle) = JobHandle::start(job, None).await?;
    let mut out = OutputPipe::of(child.stdout.take());
    let mut err = OutputPipe::of(child.stderr.take());
    let mut buffer = HeadTailBuffer::new(job.keep);
    let deadline = tokio::time::sleep(job.timeout);
    tokio::pin!(deadline);
    let outcome = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Err(JobExit::Cancelled),
            () = &mut deadline => break Err(JobExit::TimedOut),
            n = out.read() => out.forward(n, &mut buffer, &mut live),
            n = err.read() => err.forward(n, &mut buffer, &mut live),
            outcome = handle.wait(&mut child) => break Ok(outcome?),
        }
    };
    let (plan, running) = handle.plan();
    let outcome = match outcome {
        Err(ended) => {
            handle.end(&mut child).await;
            drain(&mut out, &mut err, &mut buffer, &mut live).await;
            JobOutcome {
                limit: None,
                ended,
                had_leftovers: false,
            }
        }
        Ok(outcome) => {
            drain(&mut out, &mut err, &mut buffer, &mut live).await;
            handle.with_leftovers(outcome)
        }
    };
    out.flush(&mut buffer, &mut live);
    err.flush(&mut buffer, &mut live);
    let output = buffer.text();
    let mut notes = Vec::new();
    if let Some(limit) = &outcome.limit {
        notes.push(format!(
            "[The command and everything it started were killed: {limit}.]"
        ));
    }
    if job.reach.network == NetworkReach::Off && outcome.ended != JobExit::Code(0) {
        notes.extend(sandbox::network_off_note(&output));
    }
    if let Some(plan) = plan {
        if outcome.ended != JobExit::Code(0) {
            notes.extend(sandbox::write_denied_note(&plan, &output));
        }
        if plan.is_without_hooks {
            notes.push(sandbox::HOOKS_SKIPPED.into());
        }
        let confinement = job.supervisor.as_ref().and_then(|g| g.sandbox.as_ref());
        notes.extend(confinement.and_then(|c| c.warning(&plan)).map(String::from));
    }
    notes.extend(transfer(running).await);
    Ok(JobReport {
        ended: outcome.ended,
        output,
        had_leftovers: outcome.had_leftovers,
        note: (!notes.is_empty()).then(|| notes.join("\n")),
    })
}

/// Copies the git changes of a command from its private history to the repository. `running` is `None` if the command
/// had no private history. Returns a note for the model, or `None` if there is nothing to report.
async fn transfer(running: Option<history::CommandTransfer>) -> Option<String> {
    let running = running?;
    let done = tokio::task::spawn_blocking(move || running.finish()).await;
    match done {
        Ok(Ok(transferred)) => transferred.note(),
        Ok(Err(why)) => Some(format!(
            "[Commits and other git changes of this command are not in the repository yet: {why}. They are saved, and \
             crewdeck tries again with the next command in this directory.]"
        )),
        Err(why) => {
            tracing::error!("the git changes of a command were not transferred: {why}");
            None
        }
    }
}

/// A running job, and the means to kill it with everything it has started.
enum JobHandle {
    /// A job without a supervisor. To kill the job, its process group is killed. This misses processes that have left
    /// the group.
    ProcessGroup(ProcessGroup),
    /// A job with a supervisor, which kills all descendants.
    Supervised(Box<SupervisorClient>),
}

impl JobHandle {
    async fn start(
        job: &CommandSpec,
        input: Option<JobInput>,
    ) -> std::io::Result<(Child, JobHandle)> {
        if let Some(supervisor) = &job.supervisor {
            let (child, client) = SupervisorClient::start(supervisor, job, input).await?;
            return Ok((child, JobHandle::Supervised(Box::new(client))));
        }
        let Some((program, args)) = job.argv.split_first() else {
            return Err(std::io::Error::other("the command is empty"));
        };
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&job.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        environment::scrub(command.as_std_mut());
        let mut env = BTreeMap::new();
        if let Some(input) = input {
            command.stdin(Stdio::from(input.stdin));
            env = input.env;
        }
        job.added.add_to(&mut env);
        command.envs(&env);
        let child = command.spawn()?;
        let group = ProcessGroup::new(child.id());
        Ok((child, JobHandle::ProcessGroup(group)))
    }

    /// Waits until the job has ended. Cancel-safe: the call can be dropped and repeated without losing an event.
    async fn wait(&mut self, child: &mut Child) -> std::io::Result<JobOutcome> {
        match self {
            JobHandle::ProcessGroup(_) => Ok(JobOutcome {
                limit: None,
                ended: ended_from(child.wait().await?),
                had_leftovers: false,
            }),
            JobHandle::Supervised(client) => client.wait(child).await,
        }
    }

    /// Returns the sandbox plan, and the value that copies the job's git changes to the repository when the job has
    /// ended. The plan is `None` if the job is not sandboxed. The second value is `None` if the job has no private
    /// history. It is moved out of the handle, so it is also `None` in a second call.
    fn plan(
        &mut self,
    ) -> (
        Option<sandbox::SandboxPlan>,
        Option<history::CommandTransfer>,
    ) {
        match self {
            JobHandle::ProcessGroup(_) => (None, None),
            JobHandle::Supervised(client) => (client.plan.clone(), client.running.take()),
        }
    }

    /// Kills a running job with everything it has started: SIGTERM, and SIGKILL to what is left after [`GRACE`]. Waits
    /// until the job has exited; without a supervisor, does not wait for the effect of SIGKILL.
    async fn end(self, child: &mut Child) {
        match self {
            JobHandle::ProcessGroup(group) => {
                group.signal(Signal::TERM);
                let _ = tokio::time::timeout(GRACE, child.wait()).await;
                drop(group);
            }
            JobHandle::Supervised(client) => client.end(child).await,
        }
    }

    /// Kills the processes that are still in the process group of a job without a supervisor. Must be called after the
    /// job has ended and its output is read. Returns `outcome`, in which `had_leftovers` is set if there were such
    /// processes. For a job with a supervisor, which has already killed them, returns `outcome` unchanged.
    fn with_leftovers(self, outcome: JobOutcome) -> JobOutcome {
        match self {
            JobHandle::ProcessGroup(group) if group.is_alive() => JobOutcome {
                had_leftovers: true,
                ..outcome
            },
            JobHandle::ProcessGroup(_) | JobHandle::Supervised(_) => outcome,
        }
    }
}

/// A process group that is killed when the value is dropped.
struct ProcessGroup {
    id: Option<Pid>,
}

impl ProcessGroup {
    /// Returns the process group of the child with the process id `child`, which was started as the leader of a new
    /// group. Without an id, the value signals and kills nothing.
    fn new(child: Option<u32>) -> ProcessGroup {
        let id = child
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        ProcessGroup { id }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // Fails only if the group has no processes left, which is the goal.
            let _ = kill_process_group(id, signal);
        }
    }

    /// Prevents the kill on drop. Must be called once the whole group has ended, because the group's id may be reused
    /// from then on.
    fn forget(&mut self) {
        self.id = None;
    }

    fn is_alive(&self) -> bool {
        self.id
            .is_some_and(|id| test_kill_process_group(id).is_ok())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn ended_from(status: ExitStatus) -> JobExit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => JobExit::Code(code),
        (None, Some(signal)) => JobExit::Signal(signal),
        (None, None) => JobExit::Code(-1),
    }
}

/// Reads the output that is still in the pipes: until both are closed, [`DRAIN`] has passed and no output is ready, or
/// [`DRAIN_READS`] reads were made. Does not wait until the pipes close, because a grandchild may keep them open.
async fn drain<A: AsyncRead + Unpin, B: AsyncRead + Unpin>(
    out: &mut OutputPipe<A>,
    err: &mut OutputPipe<B>,
    buffer: &mut HeadTailBuffer,
    live: &mut impl FnMut(&[u8]),
) {
    let until = tokio::time::Instant::now() + DRAIN;
    for _ in 0..DRAIN_READS {
        if !out.is_open() && !err.is_open() {
            return;
        }
        tokio::select! {
            // Reads come first: buffered data is read even if the deadline has passed.
            biased;
            n = out.read() => out.forward(n, buffer, live),
            n = err.read() => err.forward(n, buffer, live),
            () = tokio::time::sleep_until(until) => return,
        }
    }
}

#[cfg(test)]
mod tests;
