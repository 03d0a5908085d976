//! The few git commands of a transfer, run outside of the sandbox on folders that crewdeck names itself.

use std::collections::BTreeSet;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::refs::Change;
use crate::process::environment;

/// How long one of them may run.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Stands before names and values that a command may have written: none of them is an option of git.
const VALUES: &str = "--end-of-options";
/// The longest pause between two looks at whether it has ended.
const PAUSE_MAX: Duration = Duration::from_millis(10);

/// `git` on the repository `common`, with no hooks, no housekeeping and no replaced objects. It waits
/// a little for the locks of others.
pub fn command(common: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    environment::scrub(&mut command);
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

/// The folder of hooks that the settings name for the git folder `own`; `None`: its own `hooks`.
pub fn hooks_path(own: &Path) -> Option<PathBuf> {
    let git = command(own);
    // Without the settings that [`command`] adds.
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

/// Waits for a child, and ends it when it takes too long. Returns whether it succeeded, and its last complaint.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] when it was ended: it says nothing on what it worked on then.
pub fn wait(mut child: Child) -> io::Result<Result<(), String>> {
    let until = Instant::now() + TIMEOUT;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            let why = "git did not end in time";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    };
    if status.success() {
        return Ok(Ok(()));
    }
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        use io::Read;
        let _ = (&mut stderr).take(4096).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Ok(Err(last.unwrap_or("git failed").trim().to_string()))
}

/// Whether the commit `new` has `old` in its history.
pub fn is_ancestor(common: &Path, old: &str, new: &str) -> io::Result<bool> {
    let child = command(common)
        .args(["merge-base", "--is-ancestor", VALUES, old, new])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Whether objects can be written into the repository, tried with the empty one.
pub fn can_write(common: &Path) -> bool {
    let child = command(common)
        .args(["hash-object", "-w", "--stdin"])
        .spawn();
    child.and_then(wait).is_ok_and(|done| done.is_ok())
}

/// Whether all objects that `new` needs and no branch has are there.
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
        .args([VALUES, new])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Whether a hash names a commit of the repository or of the folder `private` of objects.
pub fn is_commit(common: &Path, private: &Path, hash: &str) -> io::Result<bool> {
    let child = command(common)
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", private)
        .args(["cat-file", "-e", VALUES, &format!("{hash}^{{commit}}")])
        .spawn()?;
    Ok(wait(child)?.is_ok())
}

/// Whether `new` has commits that no ref leads to.
pub fn has_new_commits(common: &Path, new: &str) -> io::Result<bool> {
    let mut list = tempfile::tempfile()?;
    let child = command(common)
        .args(["rev-list", "--max-count=1", "--not", "--all", "--not"])
        .args([VALUES, new])
        .stdout(Stdio::from(list.try_clone()?))
        .spawn()?;
    let done = wait(child)?;
    list.rewind()?;
    // Where git cannot tell, they are worth keeping.
    Ok(done.is_err() || !io::read_to_string(list)?.is_empty())
}

/// Creates, moves or deletes a ref, if it still has its old value. Returns why git refuses.
pub fn update_ref(common: &Path, change: &Change) -> io::Result<Result<(), String>> {
    let mut git = command(common);
    git.args(["update-ref", "-m", "crewdeck: from a command of an agent"]);
    // No value at all: it must not be there yet.
    let old = change.old.as_deref().unwrap_or("");
    match &change.new {
        Some(new) => git.args([VALUES, &change.name, new, old]),
        None => git.args(["-d", VALUES, &change.name, old]),
    };
    wait(git.spawn()?)
}

/// Which of these objects the repository does not have.
pub fn missing(common: &Path, names: &[String]) -> io::Result<BTreeSet<String>> {
    let (mut list, mut told) = (tempfile::tempfile()?, tempfile::tempfile()?);
    list.write_all((names.join("\n") + "\n").as_bytes())?;
    list.rewind()?;
    let child = command(common)
        .args(["cat-file", "--batch-check=%(objectname)"])
        .stdin(Stdio::from(list))
        .stdout(Stdio::from(told.try_clone()?))
        .spawn()?;
    wait(child)?.map_err(io::Error::other)?;
    told.rewind()?;
    let text = io::read_to_string(told)?;
    // One that is missing is told with a word behind its name.
    let are: BTreeSet<&str> = text.lines().filter(|line| !line.contains(' ')).collect();
    let all = names.iter().filter(|name| !are.contains(name.as_str()));
    Ok(all.cloned().collect())
}
