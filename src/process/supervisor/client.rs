//! The client of a supervisor process: starts it, receives how the program ended, and kills the processes that remain.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::protocol::{LINE_MAX, MARK, StartRequest, SupervisorEvent};
use super::{BY_CREWDECK, Supervisor, VERB, WITH_STDIN, process_tree, stdin_passing};
use crate::process::added_environment::add_git_setting;
use crate::process::history::CommandTransfer;
use crate::process::sandbox::{HistoryProtection, HistoryReach, SandboxPlan};
use crate::process::{
    CommandSpec, JobExit, JobInput, NetworkReach, ProcessGroup, ServiceSpec, ended_from,
    environment,
};

/// Returns the command that starts a supervisor in `dir`, without crewdeck's secrets in its environment.
fn supervisor_command(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg0("crewdeck")
        .args([VERB, BY_CREWDECK])
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    environment::scrub(command.as_std_mut());
    command
}

fn new_mark() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// Maximum time that a supervisor may take to kill all processes of a command. After that time, crewdeck kills the
/// supervisor and the processes itself. The supervisor's own timeouts are shorter, except after a fork bomb.
const END_TIMEOUT: Duration = Duration::from_secs(8);

pub struct SupervisorClient {
    socket: UnixStream,
    received: Vec<u8>,
    mark: String,
    /// The process group of the program; `None` until the program has started.
    group: Option<ProcessGroup>,
    pub plan: Option<SandboxPlan>,
    /// Copies the program's git changes to the repository. Must be finished when the program has ended. `None` if the
    /// program has no private history.
    pub running: Option<CommandTransfer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// The limit for which the job was killed, as a clause for the model that begins with "the command"; `None` if it
    /// exceeded no limit.
    pub limit: Option<String>,
    pub ended: JobExit,
    pub had_leftovers: bool,
}

impl SupervisorClient {
    /// Starts a supervisor that runs `job`, with an empty standard input if it has no `input`. Returns the supervisor's
    /// process and its client.
    ///
    /// # Errors
    /// Fails if the supervisor cannot be started. If the supervisor cannot start the program, [`Self::wait`] fails
    /// instead.
    pub async fn start(
        supervisor: &Supervisor,
        job: &CommandSpec,
        input: Option<JobInput>,
    ) -> io::Result<(Child, SupervisorClient)> {
        let (plan, running) = match supervisor.sandbox.clone() {
            Some(confinement) => {
                let (dir, reach) = (job.dir.clone(), job.reach.history);
                let started = tokio::task::spawn_blocking(move || confinement.start(&dir, reach));
                let (plan, running) = started.await.map_err(io::Error::other)?;
                (Some(plan), running)
            }
            None => (None, None),
        };
        let (stdin, mut env) = match input {
            Some(input) => (Some(input.stdin), input.env),
            // With `PATH` or a setting of git in a folder that agents can write, an approved git command could run a
            // program of an agent with access to the history.
            None if job.reach.history == HistoryReach::Repository => (None, BTreeMap::new()),
            None => (None, BTreeMap::clone(&supervisor.variables.current())),
        };
        job.added.add_to(&mut env);
        if plan.as_ref().is_some_and(|plan| plan.is_without_hooks) {
            add_git_setting(&mut env, "core.hooksPath", "/dev/null");
        }
        let request = StartRequest {
            argv: job.argv.clone(),
            dir: job.dir.clone(),
            plan: plan.clone(),
            mark: new_mark(),
            network: job.reach.network,
            limits: Some(supervisor.limits),
            env,
        };
        let mut command = supervisor_command(&supervisor.program, &job.dir);
        for name in plan.iter().flat_map(|plan| &plan.unset) {
            command.env_remove(name);
        }
        let (child, mut client) = SupervisorClient::spawn(command, &request, stdin).await?;
        client.plan = plan;
        client.running = running;
        Ok((child, client))
    }

    /// Starts a supervisor that runs `service` outside of the sandbox, with `stdin` as its standard input. `program` is
    /// the program that runs as the supervisor. Returns the supervisor's process and its client.
    ///
    /// # Errors
    /// Fails in the same cases as [`Self::start`].
    pub async fn start_service(
        program: &Path,
        service: &ServiceSpec,
        stdin: OwnedFd,
    ) -> io::Result<(Child, SupervisorClient)> {
        let request = StartRequest {
            argv: service.argv.clone(),
            dir: service.dir.clone(),
            plan: None,
            mark: new_mark(),
            network: NetworkReach::On,
            limits: None,
            env: service.env.clone(),
        };
        let command = supervisor_command(program, &service.dir);
        SupervisorClient::spawn(command, &request, Some(stdin)).await
    }

    /// Starts a supervisor with `command`, and sends it `request`. If `stdin` is given, passes it to the supervisor
    /// first.
    async fn spawn(
        mut command: Command,
        request: &StartRequest,
        stdin: Option<OwnedFd>,
    ) -> io::Result<(Child, SupervisorClient)> {
        let mut text = serde_json::to_vec(request)?;
        text.push(b'\n');
        if text.len() as u64 > LINE_MAX {
            return Err(io::Error::other(format!(
                "the command and its environment exceed {} MiB: put the command into a script file",
                LINE_MAX / 1024 / 1024
            )));
        }
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        if let Some(stdin) = stdin {
            command.arg(WITH_STDIN);
            stdin_passing::send(&ours, &stdin)?;
        }
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let child = command.spawn()?;
        // Closes this process's copy of the supervisor's socket.
        drop(command);
        let mut client = SupervisorClient {
            socket: UnixStream::from_std(ours)?,
            received: Vec::new(),
            mark: request.mark.clone(),
            group: None,
            plan: None,
            running: None,
        };
        client.socket.write_all(&text).await?;
        Ok((child, client))
    }

    /// Waits until the program and everything it has started have ended. If the supervisor is killed, kills the
    /// program. The result then says how the supervisor ended, and `had_leftovers` is true. Cancel-safe: the call can
    /// be dropped and repeated without losing an event.
    ///
    /// # Errors
    /// Fails if the supervisor could not start the program, or sent an invalid event.
    pub async fn wait(&mut self, child: &mut Child) -> io::Result<JobOutcome> {
        loop {
            while let Some(event) = self.next_event()? {
                match event {
                    SupervisorEvent::Started {
                        pid,
                        git_is_read_only,
                    } => {
                        self.group = Some(ProcessGroup::new(u32::try_from(pid).ok()));
                        if let (Some(plan), Some(writable)) = (&mut self.plan, git_is_read_only) {
                            plan.writable = writable;
                            plan.keeps_history = HistoryProtection::ReadOnly;
                        }
                    }
                    SupervisorEvent::NotStarted { why } => return Err(io::Error::other(why)),
                    SupervisorEvent::Ended {
                        code,
                        signal,
                        left,
                        limit,
                    } => {
                        // The group is empty, so its id may be reused.
                        self.forget_group();
                        return Ok(JobOutcome {
                            limit,
                            ended: match (code, signal) {
                                (Some(code), _) => JobExit::Code(code),
                                (None, Some(signal)) => JobExit::Signal(signal),
                                (None, None) => JobExit::Code(-1),
                            },
                            had_leftovers: left,
                        });
                    }
                }
            }
            if self.socket.read_buf(&mut self.received).await.unwrap_or(0) == 0 {
                // The supervisor was killed.
                let status = child.wait().await?;
                self.kill_leftovers().await;
                return Ok(JobOutcome {
                    limit: None,
                    ended: ended_from(status),
                    had_leftovers: true,
                });
            }
        }
    }

    /// Removes the next complete line from the received bytes and decodes it; `None` if no complete line was received.
    fn next_event(&mut self) -> io::Result<Option<SupervisorEvent>> {
        let Some(at) = self.received.iter().position(|b| *b == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.received.drain(..=at).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Makes the supervisor kill everything that the program has started, and waits until all these processes have
    /// ended. If this takes longer than `END_TIMEOUT`, kills the supervisor and the processes directly.
    pub async fn end(mut self, child: &mut Child) {
        // Fails if the supervisor has already ended.
        let _ = self.socket.shutdown().await;
        if tokio::time::timeout(END_TIMEOUT, child.wait())
            .await
            .is_err()
        {
            let _ = child.start_kill();
            self.kill_leftovers().await;
        }
        self.forget_group();
    }

    /// Kills the program and the processes that it has started, without the supervisor.
    async fn kill_leftovers(&mut self) {
        if let Some(group) = self.group.take() {
            group.signal(Signal::KILL);
        }
        let entry = format!("{MARK}={}", self.mark);
        let result = tokio::task::spawn_blocking(move || process_tree::kill_marked(&entry)).await;
        if let Err(why) = result {
            tracing::error!("cannot search for processes of a killed supervisor: {why}");
        }
    }

    fn forget_group(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.forget();
        }
    }
}
