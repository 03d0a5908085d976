//! A world with too little of something: a disk that is full, rights that are missing, a limit that is reached.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Message, check};
use crewdeck::domain::conversation::{Conversation, Record};

/// How long a command may take. Only one that hangs takes so long.
const WITHIN: Duration = Duration::from_secs(120);

/// Whether the tests run as root, whom permission bits do not bind.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// crewdeck in `dir`, which is its home too.
pub fn crewdeck(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
    surroundings(&mut command, dir);
    command.args(args);
    command
}

/// crewdeck started by another program: `before` are its words, and crewdeck's follow.
pub fn crewdeck_by(before: &[&str], dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(before[0]);
    surroundings(&mut command, dir);
    command
        .args(&before[1..])
        .arg(env!("CARGO_BIN_EXE_crewdeck"))
        .args(args);
    command
}

fn surroundings(command: &mut Command, dir: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", dir)
        .env("TMPDIR", dir)
        .current_dir(dir)
        .stdin(Stdio::null());
}

/// The words for `crewdeck run go` with the script `script.yaml` beside it; nobody is asked.
pub const RUN: &[&str] = &[
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

/// Writes the rules of a script into `dir`, and that resting teammates leave soon.
pub fn script(dir: &Path, rules: &str) {
    fs::write(dir.join("script.yaml"), format!("rules:\n{rules}")).unwrap();
    fs::create_dir_all(dir.join(".crewdeck")).unwrap();
    let settings = dir.join(".crewdeck/config.toml");
    if !settings.exists() {
        fs::write(settings, "idle_timeout_s = 1\n").unwrap();
    }
}

/// What a command left.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end, which must come.
pub fn ran(command: Command) -> Ran {
    end_of(start(command))
}

/// Starts a command whose words are kept.
pub fn start(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end of a command, which must come.
pub fn end_of(child: Child) -> Ran {
    let id = child.id();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(child.wait_with_output()));
    let output = told.recv_timeout(WITHIN).unwrap_or_else(|_| {
        let killed = Command::new("kill")
            .args(["-KILL", &id.to_string()])
            .status();
        panic!("it hangs ({killed:?})")
    });
    Ran::of(&output.unwrap())
}

impl Ran {
    fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// It ended well, though tasks may be open (4).
    pub fn ok(self) -> Ran {
        assert!([0, 4].contains(&self.code), "{}{}", self.out, self.err);
        self.tidy()
    }

    /// It refused, with one line that says why; that line.
    pub fn refused(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{}", self.err);
        let run = self.tidy();
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        run.err
    }

    /// Nothing panicked, and no error is left in the words of the system.
    fn tidy(self) -> Ran {
        for bad in ["panicked", "os error", "RUST_BACKTRACE"] {
            assert!(!self.err.contains(bad), "{bad}: {}", self.err);
        }
        self
    }

    /// The one line of its progress that holds all of `parts`.
    pub fn line(&self, parts: &[&str]) -> &str {
        let fits = |line: &&str| parts.iter().all(|part| line.contains(part));
        let lines: Vec<&str> = self.err.lines().filter(fits).collect();
        assert_eq!(lines.len(), 1, "{parts:?} in:\n{}", self.err);
        lines[0]
    }
}

/// Waits until `is_so`.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + WITHIN;
    while !is_so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The subjects on the board of `root`; each file must be whole.
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

/// The conversation of an agent: each line of its log whole but those of `torn`, valid for a server.
pub fn conversation(root: &Path, agent: &str, torn: usize) -> Vec<Message> {
    let log = files(&root.join(".transcripts"))
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(&format!("-{agent}.jsonl")))
        .unwrap();
    let text = fs::read_to_string(log).unwrap();
    let mut bad = 0;
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(_) => bad += 1,
        }
    }
    assert_eq!(bad, torn, "{text}");
    let messages = Conversation::of(records).messages;
    check(&messages).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    messages
}

/// The files of a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|e| e.unwrap().path()).collect()
}

/// A file system of its own, in a mount namespace that ends with this value.
pub struct SmallDisk {
    holder: Child,
    /// The words with which a program is started in there.
    pub inside: Vec<String>,
    /// The folder as programs in there name it.
    pub dir: PathBuf,
    /// The same as it is seen from here.
    pub seen: PathBuf,
    _dir: tempfile::TempDir,
}

impl SmallDisk {
    /// A disk of that many KiB; `None`, and a word about it, where this machine can not make one.
    pub fn new(kib: u32) -> Option<SmallDisk> {
        SmallDisk::mounted(&format!(
            "mount -t tmpfs -o size={kib}k,mode=777 none \"$1\""
        ))
    }

    /// A folder that `mount`, a shell command, makes of `$1`.
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
                    inside,
                    dir: path,
                    seen,
                    _dir: dir,
                });
            }
            let _ = holder.kill();
            let _ = holder.wait();
        }
        // Straight to standard error: the test harness keeps what a test that passes prints to itself.
        let _ = writeln!(
            std::io::stderr(),
            "passed over: this machine gives no mount namespace (unshare -m, unshare -Ur -m)"
        );
        None
    }

    /// crewdeck in there.
    pub fn crewdeck(&self, args: &[&str]) -> Command {
        let before: Vec<&str> = self.inside.iter().map(String::as_str).collect();
        let mut command = crewdeck_by(&before, Path::new("/"), args);
        command.env("HOME", &self.dir).env("TMPDIR", &self.dir);
        command
    }

    /// Fills it up to the last byte.
    pub fn fill(&self) {
        let mut file = fs::File::create(self.seen.join("fill")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        while file.write_all(&[0]).is_ok() {}
    }

    /// Makes room again.
    pub fn make_room(&self) {
        fs::remove_file(self.seen.join("fill")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // It ends with its input; then the mount is gone with its namespace.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
