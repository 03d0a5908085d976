//! Runs a short command and blocks until it exits. Output is bounded. The command's process group is killed at a
//! deadline, and when the command has exited.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use super::{GRACE, HeadTailBuffer, JobExit, ProcessGroup, ended_from, environment};

/// Maximum interval between two checks of whether the child has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum size of the part of standard error that is kept, in bytes: half from the start, half from the end.
const STDERR_MAX: usize = 16 * 1024;
/// Maximum number of bytes of one read.
const CHUNK: usize = 16 * 1024;
/// Maximum number of consecutive reads of one pipe. Without this limit, a child that never stops writing would delay
/// the timeout. These reads together can empty a full pipe of the default size (64 KiB).
const READS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub struct BlockingCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub dir: PathBuf,
    /// A file to use as standard input, from its current position; `None` means `/dev/null`. The child inherits the file. A lock on the
    /// file is therefore held until the child exits, even if this process is killed. If a file is given, output is
    /// collected in temporary files instead of pipes.
    pub stdin: Option<Arc<File>>,
    /// Environment variables to set or, with `None`, to remove.
    pub env: Vec<(&'static str, Option<OsString>)>,
    pub timeout: Duration,
    /// A flag that cancels the command when it becomes true. `None`: the command cannot be cancelled.
    pub stop: Option<Arc<AtomicBool>>,
    /// Maximum number of bytes of standard output to keep. Later bytes are dropped.
    pub keep: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    pub ended: JobExit,
    /// The start of standard output, at most [`BlockingCommand::keep`] bytes.
    pub stdout: Vec<u8>,
    /// The number of bytes that were dropped from the end of standard output.
    pub lost: u64,
    /// Standard error. If it was longer than 16 KiB, a marker replaces the middle.
    pub stderr: String,
}

/// Runs a command and waits until it exits. Kills its process group when its timeout has passed or its flag `stop` is
/// set. Processes of the group that are left when the command exits are killed too. Environment variables that look
/// like secrets are removed.
///
/// # Errors
/// Fails if the program cannot be started, or its output cannot be read. A command that fails, times out or is stopped
/// is not an error.
pub fn run(spec: &BlockingCommand) -> std::io::Result<CommandOutput> {
    let files = match spec.stdin {
        Some(_) => OutputFiles(Some((tempfile::tempfile()?, tempfile::tempfile()?))),
        None => OutputFiles(None),
    };
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .current_dir(&spec.dir)
        .stdin(match &spec.stdin {
            Some(file) => Stdio::from(file.try_clone()?),
            None => Stdio::null(),
        })
        .stdout(files.stdio(OutputStream::Out)?)
        .stderr(files.stdio(OutputStream::Err)?);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    environment::scrub(&mut command);
    for (name, value) in &spec.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.spawn()?;
    let group = ProcessGroup::new(Some(child.id()));
    let mut pipes = OutputPipes::of(&mut child)?;
    let mut captured = CapturedOutput::new(spec.keep);
    let ended = wait(&mut child, &group, &mut pipes, &mut captured, spec)?;
    drop(group);
    files.read(&mut captured)?;
    Ok(CommandOutput {
        ended,
        stdout: captured.stdout,
        lost: captured.lost,
        stderr: captured.stderr.text(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputStream {
    Out,
    Err,
}

/// Temporary files for the output of a child that must survive this process; `None` if pipes are used. Pipes would kill
/// the child when this process ends: writing to a pipe without a reader raises SIGPIPE.
struct OutputFiles(Option<(File, File)>);

impl OutputFiles {
    fn stdio(&self, which: OutputStream) -> std::io::Result<Stdio> {
        Ok(match (&self.0, which) {
            (None, OutputStream::Out | OutputStream::Err) => Stdio::piped(),
            (Some((out, _)), OutputStream::Out) => Stdio::from(out.try_clone()?),
            (Some((_, err)), OutputStream::Err) => Stdio::from(err.try_clone()?),
        })
    }

    fn read(self, captured: &mut CapturedOutput) -> std::io::Result<()> {
        let Some((out, err)) = self.0 else {
            return Ok(());
        };
        for (which, mut file) in [(OutputStream::Out, out), (OutputStream::Err, err)] {
            file.rewind()?;
            let mut bytes = vec![0; CHUNK];
            loop {
                match file.read(&mut bytes)? {
                    0 => break,
                    n => captured.take(which, &bytes[..n]),
                }
            }
        }
        Ok(())
    }
}

fn wait(
    child: &mut Child,
    group: &ProcessGroup,
    pipes: &mut OutputPipes,
    captured: &mut CapturedOutput,
    spec: &BlockingCommand,
) -> std::io::Result<JobExit> {
    let deadline = Instant::now() + spec.timeout;
    let is_stopped = || matches!(&spec.stop, Some(stop) if stop.load(Ordering::SeqCst));
    loop {
        let now = Instant::now();
        // The exit is checked before the read: once the child has exited, all its output is in the pipes. Other
        // processes that keep the pipes open are not waited for.
        let exit_status = child.try_wait()?;
        pipes.read(captured)?;
        if let Some(status) = exit_status {
            return Ok(ended_from(status));
        }
        if now >= deadline || is_stopped() {
            group.signal(Signal::TERM);
            let last = now + GRACE;
            while child.try_wait()?.is_none() && Instant::now() < last {
                thread::sleep(POLL_INTERVAL);
            }
            group.signal(Signal::KILL);
            child.wait()?;
            pipes.read(captured)?;
            return Ok(if now >= deadline {
                JobExit::TimedOut
            } else {
                JobExit::Cancelled
            });
        }
        pipes.wait()?;
    }
}

/// The non-blocking read ends of the child's output pipes that are still open.
struct OutputPipes(Vec<(OutputStream, File)>);

impl OutputPipes {
    fn of(child: &mut Child) -> std::io::Result<OutputPipes> {
        let out = child
            .stdout
            .take()
            .map(|p| (OutputStream::Out, OwnedFd::from(p)));
        let err = child
            .stderr
            .take()
            .map(|p| (OutputStream::Err, OwnedFd::from(p)));
        let open = |(which, end): (OutputStream, OwnedFd)| {
            rustix::io::ioctl_fionbio(&end, true)?;
            Ok((which, File::from(end)))
        };
        let ends = [out, err].into_iter().flatten();
        ends.map(open)
            .collect::<std::io::Result<_>>()
            .map(OutputPipes)
    }

    /// Reads all available bytes into `captured`, at most [`READS_MAX`] reads per pipe.
    fn read(&mut self, captured: &mut CapturedOutput) -> std::io::Result<()> {
        let mut bytes = vec![0; CHUNK];
        let mut at = 0;
        'pipes: while let Some((which, pipe)) = self.0.get_mut(at) {
            for _ in 0..READS_MAX {
                match pipe.read(&mut bytes) {
                    Ok(0) => {
                        self.0.remove(at);
                        continue 'pipes;
                    }
                    Ok(n) => captured.take(*which, &bytes[..n]),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Waits until a pipe has more to read, at most [`POLL_INTERVAL`]. Without an open pipe, waits 1 ms.
    fn wait(&self) -> std::io::Result<()> {
        if self.0.is_empty() {
            // With no pipe open the child is about to exit, or it writes into files.
            thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        let ends = self.0.iter();
        let mut ends: Vec<PollFd> = ends.map(|(_, p)| PollFd::new(p, PollFlags::IN)).collect();
        let within = Timespec {
            tv_sec: 0,
            tv_nsec: POLL_INTERVAL.subsec_nanos().into(),
        };
        match poll(&mut ends, Some(&within)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The captured standard output and standard error, both bounded.
struct CapturedOutput {
    stdout: Vec<u8>,
    keep: usize,
    lost: u64,
    stderr: HeadTailBuffer,
}

impl CapturedOutput {
    fn new(keep: usize) -> CapturedOutput {
        CapturedOutput {
            stdout: Vec::new(),
            keep,
            lost: 0,
            stderr: HeadTailBuffer::new(STDERR_MAX),
        }
    }

    fn take(&mut self, pipe: OutputStream, bytes: &[u8]) {
        match pipe {
            OutputStream::Out => {
                let room = self.keep.saturating_sub(self.stdout.len()).min(bytes.len());
                self.stdout.extend_from_slice(&bytes[..room]);
                self.lost += (bytes.len() - room) as u64;
            }
            OutputStream::Err => self.stderr.push(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shell_script(script: &str) -> BlockingCommand {
        BlockingCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            dir: "/".into(),
            stdin: None,
            env: vec![("SET", Some("here".into())), ("HOME", None)],
            timeout: Duration::from_secs(20),
            stop: None,
            keep: 10,
        }
    }

    #[test]
    fn output_is_bounded_per_stream() {
        // Through pipes, and through files.
        for stdin in [None, Some(Arc::new(tempfile::tempfile().unwrap()))] {
            let output = run(&BlockingCommand {
                stdin,
                ..shell_script("echo \"$SET$HOME\"; printf 1234567890; echo bad >&2; exit 3")
            })
            .unwrap();
            assert_eq!(
                output,
                CommandOutput {
                    ended: JobExit::Code(3),
                    stdout: b"here\n12345".to_vec(),
                    lost: 5,
                    stderr: "bad\n".into(),
                }
            );
        }
    }

    #[test]
    fn output_is_complete_when_read_after_exit() {
        let spec = BlockingCommand {
            keep: 100_000,
            ..shell_script("printf %60000d 7; printf %3000d 7 >&2")
        };
        thread::scope(|scope| {
            let runs: Vec<_> = (0..300)
                .map(|_| scope.spawn(|| run(&spec).unwrap()))
                .collect();
            for output in runs.into_iter().map(|run| run.join().unwrap()) {
                assert_eq!(output.ended, JobExit::Code(0));
                assert_eq!((output.stdout.len(), output.stderr.len()), (60_000, 3_000));
            }
        });
    }

    #[test]
    fn deadline_kills_the_process_group() {
        let output = run(&BlockingCommand {
            timeout: Duration::from_millis(300),
            keep: 100,
            ..shell_script("sleep 600 & echo $!; wait")
        })
        .unwrap();
        assert_eq!(output.ended, JobExit::TimedOut);
        let text = String::from_utf8(output.stdout).unwrap();
        let pid: i32 = text.trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
            assert!(Instant::now() < until, "the grandchild is still running");
            thread::yield_now();
        }
    }

    #[test]
    fn stop_flag_kills_the_process_group_before_the_deadline() {
        let stop = Arc::new(AtomicBool::new(false));
        let dir = tempfile::tempdir().unwrap();
        let started = dir.path().join("started");
        let spec = BlockingCommand {
            stop: Some(Arc::clone(&stop)),
            timeout: Duration::from_secs(600),
            ..shell_script(&format!("touch '{}'; sleep 600 & wait", started.display()))
        };
        let running = thread::spawn(move || run(&spec).unwrap().ended);
        let until = Instant::now() + Duration::from_secs(10);
        while !started.exists() {
            assert!(Instant::now() < until, "the command did not start");
            thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
        assert_eq!(running.join().unwrap(), JobExit::Cancelled);
    }

    /// Returns whether the process has exited but was not reaped. In a container without an init process this state may
    /// last.
    fn is_zombie(pid: rustix::process::Pid) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn grandchild_that_keeps_the_pipe_open_is_not_waited_for() {
        let started = Instant::now();
        let output = run(&shell_script("sleep 600 & echo done")).unwrap();
        assert_eq!(
            (output.ended, output.stdout),
            (JobExit::Code(0), b"done\n".to_vec())
        );
        assert!(started.elapsed() < Duration::from_secs(120));
    }
}
