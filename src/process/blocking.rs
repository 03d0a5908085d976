//! One short child that this thread waits for: bounded output, a deadline, an end with its whole group.

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

use super::{Ended, GRACE, Group, Keep, ended, environment};

/// How often it is asked whether the child has ended while its pipes stay open.
const LOOK: Duration = Duration::from_millis(20);
/// Most bytes of standard error that are kept: half from the start, half from the end.
const STDERR_MAX: usize = 16 * 1024;
/// Bytes that are read at once.
const CHUNK: usize = 16 * 1024;
/// Most reads of a pipe in a row: more than the system lets a pipe hold by default.
const READS: usize = 64;

/// What to run.
#[derive(Debug, Clone)]
pub struct Errand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where.
    pub dir: PathBuf,
    /// Its standard input, which must be empty; `None`: nothing. A file that carries a lock is held until
    /// the child ends, also when this process is killed before; it writes into files then.
    pub stdin: Option<Arc<File>>,
    /// Variables to set, and with `None` to take away.
    pub env: Vec<(&'static str, Option<OsString>)>,
    /// How long it may run.
    pub timeout: Duration,
    /// It is ended before when this becomes true.
    pub stop: Option<Arc<AtomicBool>>,
    /// Most bytes of standard output that are kept, from the start.
    pub keep: usize,
}

/// What an errand brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// How it ended.
    pub ended: Ended,
    /// The start of standard output.
    pub stdout: Vec<u8>,
    /// How many bytes of standard output are missing at its end.
    pub lost: u64,
    /// Standard error, cut with a mark.
    pub stderr: String,
}

/// Runs an errand and waits. Variables that hold secrets are taken away.
///
/// # Errors
/// When the program can not be started.
pub fn run(errand: &Errand) -> std::io::Result<Brought> {
    let files = match errand.stdin {
        Some(_) => Files(Some((tempfile::tempfile()?, tempfile::tempfile()?))),
        None => Files(None),
    };
    let mut command = Command::new(&errand.program);
    command
        .args(&errand.args)
        .current_dir(&errand.dir)
        .stdin(match &errand.stdin {
            Some(file) => Stdio::from(file.try_clone()?),
            None => Stdio::null(),
        })
        .stdout(files.stdio(Pipe::Out)?)
        .stderr(files.stdio(Pipe::Err)?);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    environment::scrub(&mut command);
    for (name, value) in &errand.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command.spawn()?;
    let group = Group::new(Some(child.id()));
    let mut pipes = Pipes::of(&mut child)?;
    let mut heard = Heard::new(errand.keep);
    let ended = wait(&mut child, &group, &mut pipes, &mut heard, errand)?;
    drop(group);
    files.read(&mut heard)?;
    Ok(Brought {
        ended,
        stdout: heard.stdout,
        lost: heard.lost,
        stderr: heard.stderr.text(),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pipe {
    Out,
    Err,
}

/// Where a child writes that goes on when this process is killed: into files that nobody else sees. A pipe that nobody
/// reads any more would end it in the middle of its work.
struct Files(Option<(File, File)>);

impl Files {
    fn stdio(&self, which: Pipe) -> std::io::Result<Stdio> {
        Ok(match (&self.0, which) {
            (None, Pipe::Out | Pipe::Err) => Stdio::piped(),
            (Some((out, _)), Pipe::Out) => Stdio::from(out.try_clone()?),
            (Some((_, err)), Pipe::Err) => Stdio::from(err.try_clone()?),
        })
    }

    fn read(self, heard: &mut Heard) -> std::io::Result<()> {
        let Some((out, err)) = self.0 else {
            return Ok(());
        };
        for (which, mut file) in [(Pipe::Out, out), (Pipe::Err, err)] {
            file.rewind()?;
            let mut bytes = vec![0; CHUNK];
            loop {
                match file.read(&mut bytes)? {
                    0 => break,
                    n => heard.take(which, &bytes[..n]),
                }
            }
        }
        Ok(())
    }
}

fn wait(
    child: &mut Child,
    group: &Group,
    pipes: &mut Pipes,
    heard: &mut Heard,
    errand: &Errand,
) -> std::io::Result<Ended> {
    let deadline = Instant::now() + errand.timeout;
    let is_stopped = || matches!(&errand.stop, Some(stop) if stop.load(Ordering::SeqCst));
    loop {
        let now = Instant::now();
        // In this order: what a child wrote before it ended lies in its pipes by then, and is read, however late this
        // thread gets to it. Who else holds them open is not waited for.
        let ended_as = child.try_wait()?;
        pipes.read(heard)?;
        if let Some(status) = ended_as {
            return Ok(ended(status));
        }
        if now >= deadline || is_stopped() {
            group.signal(Signal::TERM);
            let last = now + GRACE;
            while child.try_wait()?.is_none() && Instant::now() < last {
                thread::sleep(LOOK);
            }
            group.signal(Signal::KILL);
            child.wait()?;
            pipes.read(heard)?;
            return Ok(if now >= deadline {
                Ended::TimedOut
            } else {
                Ended::Cancelled
            });
        }
        pipes.wait()?;
    }
}

/// The reading ends of a child's output that is not yet at its end. They block nobody.
struct Pipes(Vec<(Pipe, File)>);

impl Pipes {
    fn of(child: &mut Child) -> std::io::Result<Pipes> {
        let out = child.stdout.take().map(|p| (Pipe::Out, OwnedFd::from(p)));
        let err = child.stderr.take().map(|p| (Pipe::Err, OwnedFd::from(p)));
        let open = |(which, end): (Pipe, OwnedFd)| {
            rustix::io::ioctl_fionbio(&end, true)?;
            Ok((which, File::from(end)))
        };
        let ends = [out, err].into_iter().flatten();
        ends.map(open).collect::<std::io::Result<_>>().map(Pipes)
    }

    /// Reads what lies in them.
    fn read(&mut self, heard: &mut Heard) -> std::io::Result<()> {
        let mut bytes = vec![0; CHUNK];
        let mut at = 0;
        'pipes: while let Some((which, pipe)) = self.0.get_mut(at) {
            for _ in 0..READS {
                match pipe.read(&mut bytes) {
                    Ok(0) => {
                        self.0.remove(at);
                        continue 'pipes;
                    }
                    Ok(n) => heard.take(*which, &bytes[..n]),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Waits until there is more to read, or the child could have ended.
    fn wait(&self) -> std::io::Result<()> {
        if self.0.is_empty() {
            // Without pipes, or with both closed, it is about to end.
            thread::sleep(Duration::from_millis(1));
            return Ok(());
        }
        let ends = self.0.iter();
        let mut ends: Vec<PollFd> = ends.map(|(_, p)| PollFd::new(p, PollFlags::IN)).collect();
        let within = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK.subsec_nanos().into(),
        };
        match poll(&mut ends, Some(&within)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What was heard so far, within bounds.
struct Heard {
    stdout: Vec<u8>,
    keep: usize,
    lost: u64,
    stderr: Keep,
}

impl Heard {
    fn new(keep: usize) -> Heard {
        Heard {
            stdout: Vec::new(),
            keep,
            lost: 0,
            stderr: Keep::new(STDERR_MAX),
        }
    }

    fn take(&mut self, pipe: Pipe, bytes: &[u8]) {
        match pipe {
            Pipe::Out => {
                let room = self.keep.saturating_sub(self.stdout.len()).min(bytes.len());
                self.stdout.extend_from_slice(&bytes[..room]);
                self.lost += (bytes.len() - room) as u64;
            }
            Pipe::Err => self.stderr.push(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn errand(script: &str) -> Errand {
        Errand {
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
    fn output_is_bounded_and_streams_are_told_apart() {
        // With something that it holds, and so writing into files, and without.
        for stdin in [None, Some(Arc::new(tempfile::tempfile().unwrap()))] {
            let brought = run(&Errand {
                stdin,
                ..errand("echo \"$SET$HOME\"; printf 1234567890; echo bad >&2; exit 3")
            })
            .unwrap();
            assert_eq!(
                brought,
                Brought {
                    ended: Ended::Code(3),
                    stdout: b"here\n12345".to_vec(),
                    lost: 5,
                    stderr: "bad\n".into(),
                }
            );
        }
    }

    #[test]
    fn what_a_child_wrote_is_whole_however_late_it_is_read() {
        let errand = Errand {
            keep: 100_000,
            ..errand("printf %60000d 7; printf %3000d 7 >&2")
        };
        thread::scope(|scope| {
            let runs: Vec<_> = (0..300)
                .map(|_| scope.spawn(|| run(&errand).unwrap()))
                .collect();
            for brought in runs.into_iter().map(|run| run.join().unwrap()) {
                assert_eq!(brought.ended, Ended::Code(0));
                assert_eq!(
                    (brought.stdout.len(), brought.stderr.len()),
                    (60_000, 3_000)
                );
            }
        });
    }

    #[test]
    fn the_deadline_ends_the_whole_group() {
        let brought = run(&Errand {
            timeout: Duration::from_millis(300),
            keep: 100,
            ..errand("sleep 600 & echo $!; wait")
        })
        .unwrap();
        assert_eq!(brought.ended, Ended::TimedOut);
        let text = String::from_utf8(brought.stdout).unwrap();
        let pid: i32 = text.trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
            assert!(Instant::now() < until, "the grandchild lives on");
            thread::yield_now();
        }
    }

    #[test]
    fn a_wish_to_stop_ends_the_whole_group_before_the_deadline() {
        let stop = Arc::new(AtomicBool::new(false));
        let dir = tempfile::tempdir().unwrap();
        let begun = dir.path().join("begun");
        let errand = Errand {
            stop: Some(Arc::clone(&stop)),
            timeout: Duration::from_secs(600),
            ..errand(&format!("touch '{}'; sleep 600 & wait", begun.display()))
        };
        let running = thread::spawn(move || run(&errand).unwrap().ended);
        let until = Instant::now() + Duration::from_secs(10);
        while !begun.exists() {
            assert!(Instant::now() < until, "it never began");
            thread::yield_now();
        }
        stop.store(true, Ordering::SeqCst);
        assert_eq!(running.join().unwrap(), Ended::Cancelled);
    }

    /// In a container nobody may collect it: ended is what counts.
    fn is_zombie(pid: rustix::process::Pid) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .is_ok_and(|stat| stat.contains(") Z "))
    }

    #[test]
    fn somebody_who_holds_the_pipe_open_is_not_waited_for() {
        let started = Instant::now();
        let brought = run(&errand("sleep 600 & echo done")).unwrap();
        assert_eq!(
            (brought.ended, brought.stdout),
            (Ended::Code(0), b"done\n".to_vec())
        );
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
