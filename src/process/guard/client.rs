//! Crewdeck's end of a guard: starts it, hears how its program ended, and makes sure that all ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::protocol::{LINE_MAX, MARK, StartRequest, SupervisorEvent};
use super::{BY_CREWDECK, Guard, VERB, process_tree};
use crate::process::confine::{KeepsHistory, SandboxPlan};
use crate::process::history::CommandTransfer;
use crate::process::{Ended, ProcessGroup, Job, Leftovers, ended_from, environment};

/// Has git in `command` run no hooks.
fn without_hooks(command: &mut Command) {
    let count = std::env::var("GIT_CONFIG_COUNT").ok();
    let count: usize = count.and_then(|text| text.parse().ok()).unwrap_or(0);
    command
        .env("GIT_CONFIG_COUNT", (count + 1).to_string())
        .env(format!("GIT_CONFIG_KEY_{count}"), "core.hooksPath")
        .env(format!("GIT_CONFIG_VALUE_{count}"), "/dev/null");
}

/// How long a guard may take to end everything. It gives up by itself before.
const ENDS_WITHIN: Duration = Duration::from_secs(8);

/// A guard at work.
pub struct SupervisorClient {
    socket: UnixStream,
    heard: Vec<u8>,
    mark: String,
    /// The group of the program, once it is known.
    group: Option<ProcessGroup>,
    /// Where the program may write; `None`: everywhere.
    pub plan: Option<SandboxPlan>,
    /// What the history knows of the program.
    pub running: Option<CommandTransfer>,
}

/// What a guard told at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutcome {
    /// The limit for which it was ended.
    pub limit: Option<String>,
    pub ended: Ended,
    pub leftovers: Leftovers,
}

impl SupervisorClient {
    /// Starts a guard with a job; its child comes back with it.
    pub async fn start(guard: &Guard, job: &Job) -> io::Result<(Child, SupervisorClient)> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let (plan, running) = match guard.confinement.clone() {
            Some(confinement) => {
                let (dir, reach) = (job.dir.clone(), job.reach.history);
                let started = tokio::task::spawn_blocking(move || confinement.start(&dir, reach));
                let (plan, running) = started.await.map_err(io::Error::other)?;
                (Some(plan), running)
            }
            None => (None, None),
        };
        let order = StartRequest {
            argv: job.argv.clone(),
            dir: job.dir.clone(),
            plan: plan.clone(),
            mark: uuid::Uuid::now_v7().simple().to_string(),
            network: job.reach.network,
            limits: Some(guard.limits),
        };
        let mut command = Command::new(&guard.program);
        command
            .arg0("crewdeck")
            .args([VERB, BY_CREWDECK])
            .current_dir(&job.dir)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        environment::scrub(command.as_std_mut());
        for name in plan.iter().flat_map(|plan| &plan.unset) {
            command.env_remove(name);
        }
        if plan.as_ref().is_some_and(|plan| plan.is_without_hooks) {
            without_hooks(&mut command);
        }
        let child = command.spawn()?;
        // It holds the guard's end of the pair, which must be the guard's alone.
        drop(command);
        let mut line = SupervisorClient {
            socket: UnixStream::from_std(ours)?,
            heard: Vec::new(),
            mark: order.mark.clone(),
            group: None,
            plan,
            running,
        };
        let mut text = serde_json::to_vec(&order)?;
        text.push(b'\n');
        if text.len() as u64 > LINE_MAX {
            return Err(io::Error::other("the command is too long"));
        }
        line.socket.write_all(&text).await?;
        Ok((child, line))
    }

    /// Waits for the end of the program and of all that it has started. May be dropped and called again.
    pub async fn wait(&mut self, child: &mut Child) -> io::Result<JobOutcome> {
        loop {
            while let Some(told) = self.next()? {
                match told {
                    SupervisorEvent::Started {
                        pid,
                        git_is_read_only,
                    } => {
                        self.group = Some(ProcessGroup::new(u32::try_from(pid).ok()));
                        if let (Some(plan), Some(writable)) = (&mut self.plan, git_is_read_only) {
                            plan.writable = writable;
                            plan.keeps_history = KeepsHistory::ReadOnly;
                        }
                    }
                    SupervisorEvent::NotStarted { why } => return Err(io::Error::other(why)),
                    SupervisorEvent::Ended {
                        code,
                        signal,
                        left,
                        limit,
                    } => {
                        // Nothing of that group is left: its number may be somebody else's soon.
                        self.forget_group();
                        return Ok(JobOutcome {
                            limit,
                            ended: match (code, signal) {
                                (Some(code), _) => Ended::Code(code),
                                (None, Some(signal)) => Ended::Signal(signal),
                                (None, None) => Ended::Code(-1),
                            },
                            leftovers: if left {
                                Leftovers::Killed
                            } else {
                                Leftovers::None
                            },
                        });
                    }
                }
            }
            if self.socket.read_buf(&mut self.heard).await.unwrap_or(0) == 0 {
                // The guard is gone and told nothing: somebody killed it.
                let status = child.wait().await?;
                self.kill_the_rest().await;
                return Ok(JobOutcome {
                    limit: None,
                    ended: ended_from(status),
                    leftovers: Leftovers::Killed,
                });
            }
        }
    }

    /// The next line, if it is there.
    fn next(&mut self) -> io::Result<Option<SupervisorEvent>> {
        let Some(at) = self.heard.iter().position(|b| *b == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.heard.drain(..=at).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Has the guard end everything, and waits for that.
    pub async fn end(mut self, child: &mut Child) {
        // Where it fails the guard is gone.
        let _ = self.socket.shutdown().await;
        if tokio::time::timeout(ENDS_WITHIN, child.wait())
            .await
            .is_err()
        {
            let _ = child.start_kill();
            self.kill_the_rest().await;
        }
        self.forget_group();
    }

    /// Ends what a guard that is gone has left.
    async fn kill_the_rest(&mut self) {
        if let Some(group) = self.group.take() {
            group.signal(Signal::KILL);
        }
        let entry = format!("{MARK}={}", self.mark);
        let swept = tokio::task::spawn_blocking(move || process_tree::kill_marked(&entry)).await;
        if let Err(why) = swept {
            tracing::error!("what a guard has left can not be looked for: {why}");
        }
    }

    fn forget_group(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.forget();
        }
    }
}
