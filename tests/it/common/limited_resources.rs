//! Helpers for tests with limited resources: full disks, missing permissions, reached limits.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crewdeck::domain::chat::{Message, validate};
use crewdeck::domain::conversation::{Conversation, LogRecord};

/// A command that takes longer counts as hanging.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns whether the tests run as root, for which permission bits have no effect.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Returns a crewdeck command with `dir` as current directory and home.
pub fn crewdeck(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
    set_environment(&mut command, dir);
    command.args(args);
    command
}

/// Returns a command that starts crewdeck through another program. `before` is that program with its first arguments;
/// the path and the arguments of crewdeck follow.
pub fn crewdeck_through(before: &[&str], dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(before[0]);
    set_environment(&mut command, dir);
    command
        .args(&before[1..])
        .arg(env!("CARGO_BIN_EXE_crewdeck"))
        .args(args);
    command
}

fn set_environment(command: &mut Command, dir: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", dir)
        .env("TMPDIR", dir)
        .current_dir(dir)
        .stdin(Stdio::null());
}

/// The arguments of `crewdeck run go` with the scripted model in `script.yaml`. All requests are approved
/// automatically.
pub const RUN_ARGS: &[&str] = &[
    "run",
    "go",
    "--provider",
    "script:script.yaml",
    "--tool",
    "auto",
    "--plan",
    "auto",
    "--shutdown",
    "auto",
];

/// Writes a script with these rules to `dir`, and settings with a short idle timeout.
pub fn write_script(dir: &Path, rules: &str) {
    fs::write(dir.join("script.yaml"), format!("rules:\n{rules}")).unwrap();
    fs::create_dir_all(dir.join(".crewdeck")).unwrap();
    let settings = dir.join(".crewdeck/config.toml");
    if !settings.exists() {
        fs::write(settings, "idle_timeout_s = 1\n").unwrap();
    }
}

pub struct CommandResult {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs a command, captures its output and waits for its end. Panics if it takes longer than [`TIMEOUT`].
pub fn run_to_end(command: Command) -> CommandResult {
    wait_for_end(start(command))
}

/// Starts a command whose output [`wait_for_end`] returns.
pub fn start(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end of a command. Kills it and panics if it takes longer than [`TIMEOUT`].
pub fn wait_for_end(child: Child) -> CommandResult {
    let id = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let output = receiver.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
        let killed = Command::new("kill")
            .args(["-KILL", &id.to_string()])
            .status();
        panic!("the command hangs ({killed:?})")
    });
    CommandResult::of(&output.unwrap())
}

impl CommandResult {
    fn of(output: &Output) -> CommandResult {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        CommandResult {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Asserts that the command succeeded, or left open tasks (exit code 4).
    pub fn ok(self) -> CommandResult {
        assert!([0, 4].contains(&self.code), "{}{}", self.out, self.err);
        self.check_stderr()
    }

    /// Asserts that the command failed with a one-line error, and returns the line.
    pub fn expect_refusal(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        let run = self.check_stderr();
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        run.err
    }

    /// Asserts that stderr contains no panic and no error text of the operating system.
    fn check_stderr(self) -> CommandResult {
        for bad in ["panicked", "os error", "RUST_BACKTRACE"] {
            assert!(!self.err.contains(bad), "{bad}: {}", self.err);
        }
        self
    }

    /// Returns the stderr line that contains all of `parts`. Panics unless there is exactly one.
    pub fn only_line_with(&self, parts: &[&str]) -> &str {
        let has_all = |line: &&str| parts.iter().all(|part| line.contains(part));
        let lines: Vec<&str> = self.err.lines().filter(has_all).collect();
        assert_eq!(lines.len(), 1, "{parts:?} in:\n{}", self.err);
        lines[0]
    }
}

/// Returns the subjects on the board of `root`, in the order of the task ids. Panics if a task file is invalid.
pub fn subjects(root: &Path) -> Vec<String> {
    let mut found: Vec<(u64, String)> = files(&root.join(".tasks"))
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let task: serde_json::Value = serde_json::from_str(&text)
                .unwrap_or_else(|e| panic!("{}: {e}: {text}", path.display()));
            let subject = task["subject"].as_str().unwrap().to_string();
            (task["id"].as_u64().unwrap(), subject)
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, subject)| subject).collect()
}

/// Returns the conversation of an agent. Panics if it is invalid, or if its log does not have exactly `torn` damaged
/// lines.
pub fn conversation(root: &Path, agent: &str, torn: usize) -> Vec<Message> {
    let log = files(&root.join(".transcripts"))
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(&format!("-{agent}.jsonl")))
        .unwrap();
    let text = fs::read_to_string(log).unwrap();
    let mut damaged_lines = 0;
    let mut records: Vec<LogRecord> = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(_) => damaged_lines += 1,
        }
    }
    assert_eq!(damaged_lines, torn, "{text}");
    let messages = Conversation::from_records(records).messages;
    validate(&messages).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    messages
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|e| e.unwrap().path()).collect()
}

/// A folder on a file system of its own in a mount namespace. Dropping this value ends both.
pub struct SmallDisk {
    holder: Child,
    /// The command and arguments that start a program inside the namespace.
    pub enter_command: Vec<String>,
    /// The folder, as a path inside the namespace.
    pub dir: PathBuf,
    /// The folder, as a path outside the namespace.
    pub outside_path: PathBuf,
    _dir: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a tmpfs of `kib` KiB. Returns `None` and prints a note if this machine does not support it.
    pub fn new(kib: u32) -> Option<SmallDisk> {
        SmallDisk::mounted(&format!(
            "mount -t tmpfs -o size={kib}k,mode=777 none \"$1\""
        ))
    }

    /// Runs the shell command `mount` in a new mount namespace, with a new folder as `$1`. Returns `None` and prints a
    /// note if this machine has no mount namespaces.
    pub fn mounted(mount: &str) -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let script = format!("{mount} && echo ready && exec cat");
        for (new, enter) in [
            (&["-m"][..], &["-m"][..]),
            (&["-Ur", "-m"], &["-U", "-m", "--preserve-credentials"]),
        ] {
            let spawned = Command::new("unshare")
                .args(new)
                .args(["sh", "-c", &script, "sh"])
                .arg(&path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn();
            let Ok(mut holder) = spawned else { continue };
            let mut line = String::new();
            let mut out = BufReader::new(holder.stdout.take().unwrap());
            if out.read_line(&mut line).is_ok() && line == "ready\n" {
                let pid = holder.id().to_string();
                let mut inside: Vec<String> = ["nsenter", "-t", &pid].map(String::from).to_vec();
                inside.extend(enter.iter().map(ToString::to_string));
                let enter_dir = ["sh", "-c", "cd \"$0\" && exec \"$@\""];
                inside.extend(enter_dir.map(String::from));
                inside.push(path.display().to_string());
                let seen = Path::new("/proc").join(&pid).join("root");
                let seen = seen.join(path.strip_prefix("/").unwrap());
                return Some(SmallDisk {
                    holder,
                    enter_command: inside,
                    dir: path,
                    outside_path: seen,
                    _dir: dir,
                });
            }
            let _ = holder.kill();
            let _ = holder.wait();
        }
        // Written directly to stderr, because the test harness hides the `eprintln!` output of passing tests.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: this machine has no mount namespaces (unshare -m, unshare -Ur -m)"
        );
        None
    }

    /// Returns a crewdeck command inside the namespace.
    pub fn crewdeck(&self, args: &[&str]) -> Command {
        let before: Vec<&str> = self.enter_command.iter().map(String::as_str).collect();
        let mut command = crewdeck_through(&before, Path::new("/"), args);
        command.env("HOME", &self.dir).env("TMPDIR", &self.dir);
        command
    }

    pub fn fill(&self) {
        let mut file = fs::File::create(self.outside_path.join("fill")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
    }

    /// Frees the space that [`SmallDisk::fill`] has used.
    pub fn make_room(&self) {
        fs::remove_file(self.outside_path.join("fill")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The holder ends with its input, and the namespace with its mount ends with the holder.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
