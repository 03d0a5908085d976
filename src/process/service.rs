//! Runs a program that serves until it is ended, such as an MCP server, with pipes for its standard streams.
//!
//! The program is not sandboxed and has network access. Its environment contains no secrets of crewdeck. Under a
//! supervisor, the program and everything that it has started are killed when crewdeck ends, even if crewdeck is
//! killed.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::net::unix::pipe::Sender;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::supervisor::SupervisorClient;
use super::{JobExit, JobHandle, ProcessGroup, environment};
use crate::domain::text::{clip, one_line};

/// What to start: a program that runs until it is ended, with its directory, environment and supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSpec {
    /// The program, followed by its arguments.
    pub argv: Vec<String>,
    pub dir: PathBuf,
    /// Environment variables to add to the inherited ones. Inherited variables that look like secrets are removed.
    pub env: BTreeMap<String, String>,
    /// The program that runs as the supervisor. `None`: only the process group is killed at the end.
    pub supervisor: Option<PathBuf>,
}

impl ServiceSpec {
    /// Returns the error message for a program that could not be started because of `error`: one line of at most 300
    /// characters, without control characters.
    pub fn start_error(&self, error: &io::Error) -> String {
        let program = self.argv.first().map_or("", String::as_str);
        let text = error.to_string();
        // The supervisor's message already begins with the name of the program.
        let text = text.strip_prefix(&format!("{program}: ")).unwrap_or(&text);
        clip(&one_line(&format!("cannot start {program}: {text}")), 300)
    }
}

/// The standard streams of a running program. The caller must keep reading its output, because the program blocks when
/// a pipe is full.
pub struct ServiceStreams {
    pub stdin: Sender,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// A running program. Dropping it kills the program and everything that it has started; without a supervisor, only the
/// program's process group.
pub struct ServiceProcess {
    child: Child,
    handle: JobHandle,
}

impl ServiceProcess {
    /// Starts a program.
    ///
    /// # Errors
    /// Fails if no process can be started. Under a supervisor, `start` succeeds even if the program itself cannot be
    /// started; [`ServiceProcess::wait`] then returns the error.
    pub async fn start(spec: &ServiceSpec) -> io::Result<(ServiceProcess, ServiceStreams)> {
        let (reader, writer) = io::pipe()?;
        let stdin = Sender::from_owned_fd(OwnedFd::from(writer))?;
        let (mut child, handle) = match &spec.supervisor {
            Some(supervisor) => {
                let (child, client) =
                    SupervisorClient::start_service(supervisor, spec, reader.into()).await?;
                (child, JobHandle::Supervised(Box::new(client)))
            }
            None => {
                let child = spawn_unsupervised(spec, reader.into())?;
                let group = ProcessGroup::new(child.id());
                (child, JobHandle::ProcessGroup(group))
            }
        };
        let streams = child.stdout.take().zip(child.stderr.take());
        let (stdout, stderr) = streams.ok_or_else(|| io::Error::other("no output pipes"))?;
        let streams = ServiceStreams {
            stdin,
            stdout,
            stderr,
        };
        Ok((ServiceProcess { child, handle }, streams))
    }

    /// Waits until the program and everything that it has started have ended; without a supervisor, only until the
    /// program has ended. Cancel-safe. Must not be called again after it has returned.
    ///
    /// # Errors
    /// Fails if the program could not be started.
    pub async fn wait(&mut self) -> io::Result<JobExit> {
        Ok(self.handle.wait(&mut self.child).await?.ended)
    }

    /// Kills the program and everything that it has started (without a supervisor, its process group): SIGTERM, and
    /// SIGKILL half a second later to what is left. Waits until the program has exited or, without a supervisor, until
    /// SIGKILL was sent.
    pub async fn end(mut self) {
        self.handle.end(&mut self.child).await;
    }
}

fn spawn_unsupervised(spec: &ServiceSpec, stdin: OwnedFd) -> io::Result<Child> {
    let Some((program, args)) = spec.argv.split_first() else {
        return Err(io::Error::other("the command is empty"));
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(&spec.dir)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    environment::scrub(command.as_std_mut());
    command.envs(&spec.env);
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn program_without_a_supervisor_reads_its_input_until_it_is_closed() {
        let spec = ServiceSpec {
            argv: ["sh", "-c", "cat; echo $EXTRA >&2"]
                .map(String::from)
                .into(),
            dir: "/".into(),
            env: BTreeMap::from([("EXTRA".to_string(), "set".to_string())]),
            supervisor: None,
        };
        let (mut process, mut streams) = ServiceProcess::start(&spec).await.unwrap();
        streams.stdin.write_all(b"hello").await.unwrap();
        drop(streams.stdin);
        let (mut out, mut err) = (String::new(), String::new());
        streams.stdout.read_to_string(&mut out).await.unwrap();
        streams.stderr.read_to_string(&mut err).await.unwrap();
        assert_eq!((out.as_str(), err.as_str()), ("hello", "set\n"));
        assert_eq!(process.wait().await.unwrap(), JobExit::Code(0));
    }
}
