//! The git commands that copy the changes of a private history to the repository. They run outside the sandbox, only on
//! folders that crewdeck chooses.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use super::refs::RefChange;
use crate::process::environment;

/// Maximum time that a git command may take. After that time, the command is killed.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The option that ends the options of a git command. It precedes arguments that an agent may have chosen, so that git
/// does not read these as options.
const END_OF_OPTIONS: &str = "--end-of-options";
/// Maximum number of bytes that are kept of the end of git's standard error.
const STDERR_MAX: usize = 4096;
/// The size of a full pipe, in bytes.
const PIPE_MAX: u64 = 64 * 1024;
/// Maximum pause between two checks of whether git has exited.
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// Returns a `git` command for the repository `common`, whose standard error is a pipe that [`wait`] reads. Standard
/// input and output are `/dev/null`. Hooks, automatic maintenance and replace refs are disabled. If a ref is locked,
/// the command waits up to 2 s for the lock.
pub fn command(common: &Path) -> Command {
    let mut command = Command::new("git");
    environment::scrub(&mut command);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(["-c", "core.fsmonitor=false"])
        .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(["-c", "core.filesRefLockTimeout=2000"])
        .args(["-c", "core.packedRefsTimeout=2000"])
        .env("GIT_DIR", common)
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// Returns the setting `core.hooksPath` of the git folder `own`, in which git has expanded a leading `~`. The path may
/// be relative. Returns `None` if the setting is missing or git fails.
pub fn hooks_path(own: &Path) -> Option<PathBuf> {
    let git = command(own);
    // Takes the environment of [`command`], but not its arguments, which override the setting that is read here.
    let mut plain = Command::new(git.get_program());
    for (name, value) in git.get_envs() {
        match value {
            Some(value) => plain.env(name, value),
            None => plain.env_remove(name),
        };
    }
    let output = plain
        .args(["config", "--type=path", "--get", "core.hooksPath"])
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim_end_matches('\n');
    (!text.is_empty()).then(|| text.into())
}

/// Waits until a git command exits. If git failed, the inner error is the last line of its standard error.
///
/// # Errors
/// Fails with [`io::ErrorKind::TimedOut`] if git was killed after [`TIMEOUT`]. A timeout does not mean that git's input
/// was invalid.
pub fn wait(mut child: Child) -> io::Result<Result<(), String>> {
    let ended = wait_for_exit(&mut child);
    if ended.is_err() {
        // Ignores errors: git may have exited in the meantime.
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

fn wait_for_exit(child: &mut Child) -> io::Result<Result<(), String>> {
    let until = Instant::now() + TIMEOUT;
    let mut pause = Duration::from_micros(200);
    let mut stderr = child.stderr.take().map(StderrTail::new).transpose()?;
    let status = loop {
        let ended = child.try_wait()?;
        // Read while git runs: git would wait for a reader if its messages filled the pipe.
        if let Some(stderr) = &mut stderr {
            stderr.read()?;
        }
        if let Some(status) = ended {
            break status;
        }
        if Instant::now() >= until {
            let why = "git did not finish within 120 s";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    };
    if status.success() {
        return Ok(Ok(()));
    }
    let text = stderr.map(|stderr| stderr.bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Ok(Err(last.unwrap_or("git failed").trim().to_string()))
}

/// The end of what a git command has written to standard error.
struct StderrTail {
    pipe: File,
    /// The last bytes, at most [`STDERR_MAX`] after each read.
    bytes: Vec<u8>,
}

impl StderrTail {
    fn new(pipe: ChildStderr) -> io::Result<StderrTail> {
        let pipe = OwnedFd::from(pipe);
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(StderrTail {
            pipe: File::from(pipe),
            bytes: Vec::new(),
        })
    }

    /// Reads what is in the pipe, without waiting for more. Reads at most the size of a full pipe, so that the timeout
    /// of git is checked between two reads.
    fn read(&mut self) -> io::Result<()> {
        let read = (&mut self.pipe).take(PIPE_MAX).read_to_end(&mut self.bytes);
        let surplus = self.bytes.len().saturating_sub(STDERR_MAX);
        self.bytes.drain(..surplus);
        match read {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

pub fn is_ancestor(common: &Path, old: &str, new: &str) -> io::Result<bool> {
    let child = command(common)
        .args(["merge-base", "--is-ancestor", END_OF_OPTIONS, old, new])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Returns whether git can write objects to the repository. Tries it by writing the empty blob.
pub fn can_write(common: &Path) -> bool {
    let child = command(common)
        .args(["hash-object", "-w", "--stdin"])
        .spawn();
    child.and_then(wait).is_ok_and(|done| done.is_ok())
}

/// Returns whether the repository `common` has all objects that `new` reaches. Objects that a ref of this repository
/// reaches are assumed to exist. Returns false if git fails.
pub fn is_connected(common: &Path, new: &str) -> io::Result<bool> {
    let child = command(common)
        .args([
            "rev-list",
            "--objects",
            "--quiet",
            "--not",
            "--all",
            "--not",
        ])
        .args([END_OF_OPTIONS, new])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Returns whether `hash` names a commit in the repository or in the object folder `private`. Returns false if git
/// fails.
pub fn is_commit(common: &Path, private: &Path, hash: &str) -> io::Result<bool> {
    let child = command(common)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", private)
        .args([
            "cat-file",
            "-e",
            END_OF_OPTIONS,
            &format!("{hash}^{{commit}}"),
        ])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Returns whether `new` reaches commits that no ref of the repository reaches. Also returns true if git fails.
pub fn has_new_commits(common: &Path, new: &str) -> io::Result<bool> {
    let mut list = tempfile::tempfile()?;
    let child = command(common)
        .args(["rev-list", "--max-count=1", "--not", "--all", "--not"])
        .args([END_OF_OPTIONS, new])
        .stdout(Stdio::from(list.try_clone()?))
        .spawn()?;
    let done = wait(child)?;
    list.rewind()?;
    // If git fails, assumes that there are new commits.
    Ok(done.is_err() || !io::read_to_string(list)?.is_empty())
}

/// Creates, updates or deletes a ref, but only if the ref still has the old value of `change`. If git refuses the
/// change, the inner error is git's message.
pub fn update_ref(common: &Path, change: &RefChange) -> io::Result<Result<(), String>> {
    let mut git = command(common);
    git.args(["update-ref", "-m", "crewdeck: from a command of an agent"]);
    // An empty old value means that the ref must not exist.
    let old = change.old.as_deref().unwrap_or("");
    match &change.new {
        Some(new) => git.args([END_OF_OPTIONS, &change.name, new, old]),
        None => git.args(["-d", END_OF_OPTIONS, &change.name, old]),
    };
    wait(git.spawn()?)
}

/// Returns the objects among `names` that the repository does not have.
pub fn missing_objects(common: &Path, names: &[String]) -> io::Result<BTreeSet<String>> {
    let (mut list, mut answers) = (tempfile::tempfile()?, tempfile::tempfile()?);
    list.write_all((names.join("\n") + "\n").as_bytes())?;
    list.rewind()?;
    let child = command(common)
        .args(["cat-file", "--batch-check=%(objectname)"])
        .stdin(Stdio::from(list))
        .stdout(Stdio::from(answers.try_clone()?))
        .spawn()?;
    wait(child)?.map_err(io::Error::other)?;
    answers.rewind()?;
    let text = io::read_to_string(answers)?;
    // git prints `NAME missing` for a missing object.
    let existing: BTreeSet<&str> = text.lines().filter(|line| !line.contains(' ')).collect();
    let all = names
        .iter()
        .filter(|name| !existing.contains(name.as_str()));
    Ok(all.cloned().collect())
}
