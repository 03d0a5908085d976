//! What the benches of the screen share: figures beside their goals, a repository with a board, and what the system
//! knows of a process.
#![allow(dead_code)] // each bench uses some of it

pub mod process;
#[path = "../../tests/common/pty.rs"]
pub mod pty;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use pty::Screen;
use serde_json::json;

/// The size of the terminal in all of them: columns and rows.
pub const SIZE: (u16, u16) = (160, 45);
/// How long a screen must have been still before it counts as settled.
const STILL: Duration = Duration::from_millis(700);

/// One line a figure: what was measured, beside its goal, and whether it is met.
pub fn tell(what: &str, measured: &str, goal: &str, is_met: bool) {
    let verdict = if is_met { "met" } else { "MISSED" };
    println!("{what}: {measured} (goal {goal}: {verdict})");
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The median of measured times, and the one that `share` of a hundred do not exceed.
pub fn median_and(share: usize, mut all: Vec<f64>) -> (f64, f64) {
    all.sort_by(f64::total_cmp);
    let at = (all.len() * share).div_ceil(100).saturating_sub(1);
    (all[all.len() / 2], all[at.min(all.len() - 1)])
}

pub fn median(all: Vec<f64>) -> f64 {
    median_and(50, all).0
}

/// The program that is measured.
pub fn crewdeck() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_crewdeck"))
}

/// This bench itself, which is the smallest program as well.
pub fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// A git repository with one commit, and a board of `tasks`.
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

/// A task as another program writes it: beside its place, and then renamed. Every third waits for the one before it.
pub fn write_task(root: &Path, id: u64, subject: &str) {
    let blocked_by: Vec<u64> = if id.is_multiple_of(3) {
        vec![id - 1]
    } else {
        vec![]
    };
    let task = json!({
        "id": id,
        "subject": subject,
        "description": "What is to be done, in a few lines of text. ".repeat(5),
        "status": "pending",
        "blockedBy": blocked_by,
        "owner": "",
    });
    let text = serde_json::to_string_pretty(&task).unwrap();
    let temporary = root.join(format!(".tasks/.tmp-{id}"));
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(temporary, root.join(format!(".tasks/task_{id}.json"))).unwrap();
}

/// A script whose lead says `words`, which come at `pace` tokens a second.
pub fn script(dir: &Path, pace: u32, words: &str) -> String {
    let file = dir.join("script.yaml");
    let text = format!("pace: {pace}\nrules:\n  - say: \"{words}\"\n");
    std::fs::write(&file, text).unwrap();
    format!("script:{}", file.display())
}

/// Milliseconds until each of `words` was on the screen, from the start of the program. It is ended then.
pub fn shows(
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
    screen.end();
    times
}

/// Waits until nothing was written for a while.
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

/// Every file below `dir` with its size and the time of its last change, sorted: what was written meanwhile is
/// another list.
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

/// Milliseconds until a typed key stands on the screen, the `n`th that is typed; `typed` is what the line holds.
pub fn echo(screen: &mut Screen, typed: &mut String, n: usize) -> f64 {
    if n.is_multiple_of(20) {
        screen.send("\u{15}");
        let before = std::mem::take(typed);
        screen.wait("the line is empty", |t| {
            before.is_empty() || !t.contains(&before)
        });
    }
    let letter = char::from(b'A' + u8::try_from(n % 26).unwrap_or(0));
    typed.push(letter);
    let began = Instant::now();
    screen.send(&letter.to_string());
    screen.wait_for(typed);
    ms(began.elapsed())
}
