//! Floor 1: one child process with its whole group: bounded output, a time-out, an end without leftovers.
//!
//! Programs of agents run below a [guard](guard::Guard), which ends also what leaves their group, and
//! [confined](confine). Where no guard can be had, the group is what is ended.

pub mod blocking;
pub mod confine;
pub mod environment;
pub mod guard;
pub mod history;
mod keep;
mod pipe;
pub mod users;

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use confine::HistoryReach;
use guard::{Guard, Line, Outcome};
pub use keep::Keep;
use pipe::Pipe;

/// How long the group gets between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// How long output is read on after the child has exited: what it wrote last is still in the pipe.
const DRAIN: Duration = Duration::from_millis(100);
/// Most reads then: more than both pipes hold, and an end where a grandchild writes on and on.
const DRAIN_READS: usize = 256;

/// What to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where.
    pub dir: PathBuf,
    /// How long it may run.
    pub timeout: Duration,
    /// Most bytes of output that are kept: half from the start, half from the end.
    pub keep: usize,
    /// What stands between this process and the job; `None`: nothing, and only its group is ended.
    pub guard: Option<Arc<Guard>>,
    /// How far it reaches.
    pub reach: Reach,
}

/// How far a job reaches beyond its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reach {
    /// What of the repository's history it writes.
    pub history: HistoryReach,
    /// Whether it reaches the network.
    pub network: NetworkReach,
}

/// Whether a job reaches the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkReach {
    /// It does.
    #[default]
    On,
    /// It has a network of its own with nothing but a loopback; where none can be had it does not run.
    Off,
}

/// The program and arguments that run `command` in a shell.
pub fn shell(command: String) -> Vec<String> {
    let shell = if std::path::Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    };
    vec![shell.into(), "-c".into(), command]
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By a signal from elsewhere.
    Signal(i32),
    /// By its time-out.
    TimedOut,
    /// By the cancel token.
    Cancelled,
}

/// What a job left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub ended: Ended,
    /// What it wrote to standard output and error, in the order in which it arrived, cut with a mark.
    pub output: String,
    /// Whether programs that it had started still ran; they were ended too.
    pub leftovers: Leftovers,
    /// One line for the model that says where it may write, when it failed and may have been refused a write.
    pub note: Option<String>,
}

/// What is told where a job had [`Leftovers`].
pub const LEFT_RUNNING: &str =
    "[The command exited but left a program running. crewdeck killed that program.]";

/// Programs of a job's group that still ran when the job itself had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// None.
    None,
    /// Some; they were killed.
    Killed,
}

/// Runs a job. `live` hears the output as it arrives. Dropping the future ends all that it has started.
///
/// # Errors
/// When the program can not be started.
pub async fn run(
    job: &Job,
    cancel: &CancellationToken,
    mut live: impl FnMut(&[u8]) + Send,
) -> std::io::Result<Report> {
    let (mut child, mut hold) = Hold::start(job).await?;
    let mut out = Pipe::of(child.stdout.take());
    let mut err = Pipe::of(child.stderr.take());
    let mut keep = Keep::new(job.keep);
    let deadline = tokio::time::sleep(job.timeout);
    tokio::pin!(deadline);
    let outcome = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Err(Ended::Cancelled),
            () = &mut deadline => break Err(Ended::TimedOut),
            n = out.read() => out.take(n, &mut keep, &mut live),
            n = err.read() => err.take(n, &mut keep, &mut live),
            outcome = hold.ended(&mut child) => break Ok(outcome?),
        }
    };
    let (plan, running) = hold.plan();
    let outcome = match outcome {
        Err(ended) => {
            hold.end(&mut child).await;
            drain(&mut out, &mut err, &mut keep, &mut live).await;
            Outcome {
                limit: None,
                ended,
                leftovers: Leftovers::None,
            }
        }
        Ok(outcome) => {
            drain(&mut out, &mut err, &mut keep, &mut live).await;
            hold.looked_at(outcome)
        }
    };
    out.rest(&mut keep, &mut live);
    err.rest(&mut keep, &mut live);
    let output = keep.text();
    let mut notes = Vec::new();
    if let Some(limit) = &outcome.limit {
        notes.push(format!(
            "[The command and everything it started were killed: {limit}.]"
        ));
    }
    if job.reach.network == NetworkReach::Off && outcome.ended != Ended::Code(0) {
        notes.extend(confine::network_is_off(&output));
    }
    if let Some(plan) = plan {
        if outcome.ended != Ended::Code(0) {
            notes.extend(confine::where_it_may_write(&plan, &output));
        }
        if plan.is_without_hooks {
            notes.push(confine::HOOKS_SKIPPED.into());
        }
        let confinement = job.guard.as_ref().and_then(|g| g.confinement.as_ref());
        notes.extend(confinement.and_then(|c| c.warning(&plan)).map(String::from));
    }
    notes.extend(transfer(running).await);
    Ok(Report {
        ended: outcome.ended,
        output,
        leftovers: outcome.leftovers,
        note: (!notes.is_empty()).then(|| notes.join("\n")),
    })
}

/// Transfers what a command has added to the history of its repository. Returns what the model must know about it.
async fn transfer(running: Option<history::Running>) -> Option<String> {
    let running = running?;
    let done = tokio::task::spawn_blocking(move || running.finish()).await;
    match done {
        Ok(Ok(transferred)) => transferred.note(),
        Ok(Err(why)) => Some(format!(
            "[Commits and other git changes of this command are not in the repository yet: {why}. They are kept, and \
             the next command in this directory tries again.]"
        )),
        Err(why) => {
            tracing::error!("the git changes of a command were not transferred: {why}");
            None
        }
    }
}

/// What ends a job with all that it has started.
enum Hold {
    /// Its process group, which a program can leave.
    Group(Group),
    /// A guard, which finds also that one.
    Guard(Box<Line>),
}

impl Hold {
    async fn start(job: &Job) -> std::io::Result<(Child, Hold)> {
        if let Some(guard) = &job.guard {
            let (child, line) = Line::start(guard, job).await?;
            return Ok((child, Hold::Guard(Box::new(line))));
        }
        let Some((program, args)) = job.argv.split_first() else {
            return Err(std::io::Error::other("no program was named"));
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
        let child = command.spawn()?;
        let group = Group::new(child.id());
        Ok((child, Hold::Group(group)))
    }

    /// Waits until the job has ended. May be dropped and called again.
    async fn ended(&mut self, child: &mut Child) -> std::io::Result<Outcome> {
        match self {
            Hold::Group(_) => Ok(Outcome {
                limit: None,
                ended: ended(child.wait().await?),
                leftovers: Leftovers::None,
            }),
            Hold::Guard(line) => line.ended(child).await,
        }
    }

    /// Where the job may write; `None`: everywhere. With what the history knows of it.
    fn plan(&mut self) -> (Option<confine::Plan>, Option<history::Running>) {
        match self {
            Hold::Group(_) => (None, None),
            Hold::Guard(line) => (line.plan.clone(), line.running.take()),
        }
    }

    /// Ends a job that runs, with all that it has started.
    async fn end(self, child: &mut Child) {
        match self {
            Hold::Group(group) => {
                group.signal(Signal::TERM);
                let _ = tokio::time::timeout(GRACE, child.wait()).await;
                drop(group);
            }
            Hold::Guard(line) => line.end(child).await,
        }
    }

    /// What a job that has ended left in its group, now that its output is read, is ended.
    fn looked_at(self, outcome: Outcome) -> Outcome {
        match self {
            Hold::Group(group) if group.is_alive() => Outcome {
                leftovers: Leftovers::Killed,
                ..outcome
            },
            Hold::Group(_) | Hold::Guard(_) => outcome,
        }
    }
}

/// Kills the group when dropped, whatever happened to the future that ran it.
struct Group {
    id: Option<Pid>,
}

impl Group {
    /// The group of a child that was started as the head of its own.
    fn new(child: Option<u32>) -> Group {
        let id = child
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Group { id }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // It fails only when nobody of the group is left, and that is the wish.
            let _ = kill_process_group(id, signal);
        }
    }

    /// All of it has ended: its number is no longer its own.
    fn forget(&mut self) {
        self.id = None;
    }

    fn is_alive(&self) -> bool {
        self.id
            .is_some_and(|id| test_kill_process_group(id).is_ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn ended(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Code(-1),
    }
}

/// Reads what is still in the pipes; not until they close, since a grandchild may hold them open.
async fn drain<A: AsyncRead + Unpin, B: AsyncRead + Unpin>(
    out: &mut Pipe<A>,
    err: &mut Pipe<B>,
    keep: &mut Keep,
    live: &mut impl FnMut(&[u8]),
) {
    let until = tokio::time::Instant::now() + DRAIN;
    for _ in 0..DRAIN_READS {
        if !out.is_open() && !err.is_open() {
            return;
        }
        tokio::select! {
            // Whatever lies there is read, also when this comes late.
            biased;
            n = out.read() => out.take(n, keep, live),
            n = err.read() => err.take(n, keep, live),
            () = tokio::time::sleep_until(until) => return,
        }
    }
}

#[cfg(test)]
mod tests;
