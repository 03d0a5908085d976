//! Helpers of the benchmarks: result lines, a repository with a board, scripted models, and screen timing.
#![allow(dead_code)] // each benchmark uses only some of it

pub mod process;
#[path = "../../tests/it/common/pty.rs"]
pub mod pty;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use pty::Screen;
use serde_json::json;

/// The terminal size in columns and rows.
pub const SIZE: (u16, u16) = (160, 45);
/// Time without output after which a screen counts as settled.
const STILL: Duration = Duration::from_millis(700);

pub fn report(what: &str, measured: &str, goal: &str, is_met: bool) {
    let verdict = if is_met { "met" } else { "MISSED" };
    println!("{what}: {measured} (goal {goal}: {verdict})");
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns the median and the `share`th percentile. `all` must not be empty.
pub fn median_and(share: usize, mut all: Vec<f64>) -> (f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = (all.len() * share).div_ceil(100).saturating_sub(1);
    (all[all.len() / 2], all[at.min(all.len() - 1)])
}

pub fn median(all: Vec<f64>) -> f64 {
    median_and(50, all).0
}

pub fn crewdeck() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crewdeck"))
}

/// Returns the path of this benchmark, which also contains the minimal program to compare with.
pub fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Creates a git repository with one commit and a board of `tasks` tasks in the new folder `name` of `dir`. Returns its
/// path.
pub fn repository(dir: &Path, name: &str, tasks: u64) -> PathBuf {
    let root = dir.join(name);
    std::fs::create_dir(&root).unwrap();
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&root).status();
        assert!(done.unwrap().success(), "git {args:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@localhost"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "Begin"]);
    std::fs::create_dir(root.join(".tasks")).unwrap();
    for id in 1..=tasks {
        write_task(&root, id, &format!("Subject {id} of many"));
    }
    root
}

/// Writes a task to a temporary file and renames it, as other programs do. Every third task is blocked by the one
/// before it.
pub fn write_task(root: &Path, id: u64, subject: &str) {
    let temporary = root.join(format!(".tasks/.tmp-{id}"));
    let blocked_by = if id.is_multiple_of(3) { id - 1 } else { 0 };
    std::fs::write(&temporary, task_json(id, subject, blocked_by)).unwrap();
    std::fs::rename(temporary, root.join(format!(".tasks/task_{id}.json"))).unwrap();
}

/// Returns the content of a task file. If `blocked_by` is 0, the task is ready.
pub fn task_json(id: u64, subject: &str, blocked_by: u64) -> String {
    let blocked_by: Vec<u64> = (blocked_by > 0).then_some(blocked_by).into_iter().collect();
    let task = json!({
        "id": id,
        "subject": subject,
        "description": "What is to be done, in a few lines of text. ".repeat(5),
        "status": "pending",
        "blockedBy": blocked_by,
        "owner": "",
    });
    serde_json::to_string_pretty(&task).unwrap()
}

/// Writes a script whose lead says `words` at `pace` tokens per second. Returns the provider name.
pub fn script(dir: &Path, pace: u32, words: &str) -> String {
    let file = dir.join("script.yaml");
    let text = format!("pace: {pace}\nrules:\n  - say: \"{words}\"\n");
    std::fs::write(&file, text).unwrap();
    format!("script:{}", file.display())
}

/// Starts a program and waits for each of `words` on the screen, in this order. Returns the milliseconds from the start
/// until each was there. Then ends the program.
pub fn time_until_shown(
    program: &Path,
    dir: &Path,
    args: &[&str],
    environment: &[(&str, &str)],
    words: &[&str],
) -> Vec<f64> {
    let began = Instant::now();
    let mut screen = Screen::start_program(program, dir, SIZE.0, SIZE.1, args, environment);
    let times = words.iter().map(|words| {
        screen.wait_for(words);
        ms(began.elapsed())
    });
    let times = times.collect();
    screen.send("\u{3}\u{3}q");
    screen.wait_for_exit();
    times
}

/// Waits until the screen has had no output for [`STILL`].
pub fn settle(screen: &Screen) {
    let mut before = 0;
    loop {
        std::thread::sleep(STILL);
        let now = screen.raw().len();
        if now == before {
            return;
        }
        before = now;
    }
}

/// Lists all files and folders below `dir` with size and modification time, sorted. Two lists differ if anything was
/// written in between.
pub fn files(dir: &Path) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let mut out = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                todo.push(entry.path());
            }
            out.push((entry.path(), meta.len(), meta.modified().ok()));
        }
    }
    out.sort();
    out
}

/// Types the `n`th key, counted from 0, and returns the milliseconds until its character is on the screen. `typed` is the
/// text in the composer. Both are cleared before each key whose number is a multiple of 20.
pub fn echo(screen: &mut Screen, typed: &mut String, n: usize) -> f64 {
    if n.is_multiple_of(20) {
        screen.send("\u{15}");
        let before = std::mem::take(typed);
        screen.wait("the line is empty", |t| {
            before.is_empty() || !t.contains(&before)
        });
    }
    let character = char::from(b'A' + u8::try_from(n % 26).unwrap_or(0));
    typed.push(character);
    let began = Instant::now();
    screen.send(&character.to_string());
    screen.wait_for(typed);
    ms(began.elapsed())
}

/// Returns the number of finished turns in the journals of all sessions.
pub fn turns(root: &Path) -> usize {
    let sessions = std::fs::read_dir(root.join(".crewdeck/sessions"));
    let journals = sessions.into_iter().flatten().flatten().map(|session| {
        let text = std::fs::read_to_string(session.path().join("journal.jsonl"));
        text.unwrap_or_default().matches("\"turn_ended\"").count()
    });
    journals.sum()
}
