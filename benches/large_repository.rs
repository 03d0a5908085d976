//! Compares a repository of 100,000 files with an empty one, and measures the completion of files in it.
//!
//! `cargo bench --bench large_repository` prints for both: first screen, key echo, and activity when idle; and for the
//! large one the time from the key `@` to its first matches, the key echo while the files are read, and the time of a
//! query in the complete list. Times depend on the machine, so compare only figures of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::pty::Screen;
use common::{
    SIZE, crewdeck, echo, median, median_and, ms, process, report, repository, script, settle,
    time_until_shown,
};

const FILES: usize = 100_000;
const FILES_PER_FOLDER: usize = 100;
const FOLDERS_PER_FOLDER: usize = 50;
const ROUNDS: usize = 11;
const KEYS: usize = 100;
/// Pause between two typed keys.
const TYPING: Duration = Duration::from_millis(80);
/// Milliseconds per frame.
const FRAME: f64 = 33.4;
/// Duration of the idle measurement.
const IDLE: Duration = Duration::from_secs(10);
/// Pause after which no late effect of the last change disturbs the idle measurement.
const CALM: Duration = Duration::from_secs(12);

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let provider = script(dir.path(), 200, "Hello.");
    let empty = repository(dir.path(), "empty", 4);
    let large = repository(dir.path(), "large", 4);
    fill(&large);
    println!("{}", process::load());
    let roots = [("an empty repository", &empty), ("100,000 files", &large)];
    first_screens(roots, &provider);
    for (what, root) in roots {
        echo_and_idle(what, root, &provider);
    }
    matches(&large, &provider);
    println!("{}", process::load());
}

fn path_of(n: usize) -> PathBuf {
    let folder = n / FILES_PER_FOLDER;
    let (top, below) = (folder / FOLDERS_PER_FOLDER, folder % FOLDERS_PER_FOLDER);
    PathBuf::from(format!("area{top:02}/module{below:02}/file{n:06}.rs"))
}

/// Writes [`FILES`] files and commits them.
fn fill(root: &Path) {
    for n in 0..FILES {
        let path = root.join(path_of(n));
        if n % FILES_PER_FOLDER == 0 {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        std::fs::write(path, format!("fn number_{n}() {{}}\n")).unwrap();
    }
    for args in [
        &["add", "."][..],
        &["commit", "--quiet", "--message", "Files"],
    ] {
        let done = Command::new("git").args(args).current_dir(root).status();
        assert!(done.unwrap().success(), "git {args:?}");
    }
}

fn first_screens(roots: [(&str, &PathBuf); 2], provider: &str) {
    let mut times = [Vec::new(), Vec::new()];
    // Alternates, so that other load affects both.
    for _ in 0..ROUNDS {
        for ((_, root), times) in roots.iter().zip(&mut times) {
            let args = &["--provider", provider];
            times.push(time_until_shown(
                crewdeck(),
                root,
                args,
                &[],
                &["Lead", "Subject 1 "],
            ));
        }
    }
    for ((what, _), times) in roots.iter().zip(times) {
        let first = median(times.iter().map(|t| t[0]).collect());
        let board = median(times.iter().map(|t| t[1]).collect());
        println!("first screen with {what}: {first:.1} ms, with the tasks {board:.1} ms");
    }
}

fn echo_and_idle(what: &str, root: &Path, provider: &str) {
    let mut screen = Screen::start(root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("Subject 1 ");
    settle(&screen);
    let mut typed = String::new();
    let echoes = (0..KEYS).map(|n| {
        std::thread::sleep(TYPING);
        echo(&mut screen, &mut typed, n)
    });
    let (median, p99) = median_and(99, echoes.collect());
    println!("key echo with {what}: median {median:.1} ms, p99 {p99:.1} ms");
    screen.send("\u{15}");
    settle(&screen);
    std::thread::sleep(CALM);
    let pid = screen.pid();
    let before = process::cpu_ms(pid);
    let wake_ups = process::wake_ups(pid, IDLE);
    println!(
        "{} s idle with {what}: {wake_ups} wake-ups, {} ms of CPU, {:.1} MiB (PSS)",
        IDLE.as_secs(),
        process::cpu_ms(pid) - before,
        process::pss_mib(pid)
    );
}

fn matches(root: &Path, provider: &str) {
    let (mut first, mut complete, mut reading, mut queries) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut memory = 0.0_f64;
    for round in 0..ROUNDS {
        let mut screen = Screen::start(root, SIZE.0, SIZE.1, &["--provider", provider]);
        screen.wait_for("Subject 1 ");
        settle(&screen);
        screen.send("see ");
        screen.wait_for("see");
        std::thread::sleep(TYPING);
        let began = Instant::now();
        screen.send("@");
        screen.wait_for("@area00/");
        first.push(ms(began.elapsed()));
        // A file of the last folder, which is read late.
        let last = FILES - 1 - round;
        let name = path_of(last);
        let name = name.file_name().unwrap().to_str().unwrap();
        let mut text = String::from("see @");
        for character in name.chars() {
            // Faster than people type, and slower than the frame rate.
            std::thread::sleep(TYPING / 2);
            text.push(character);
            let sent = Instant::now();
            screen.send(&character.to_string());
            screen.wait_for(&text);
            reading.push(ms(sent.elapsed()));
        }
        let whole = format!("@{}", path_of(last).display());
        screen.wait(&whole, |text| {
            text.contains(&whole) && !text.contains("reading files")
        });
        complete.push(ms(began.elapsed()));
        // Another query in the complete list.
        let other = path_of(round * 997 + 5);
        let other_name = other.file_stem().unwrap().to_str().unwrap();
        screen.send(&format!(
            "\u{15}see @{}",
            &other_name[..other_name.len() - 1]
        ));
        settle(&screen);
        let sent = Instant::now();
        screen.send(&other_name[other_name.len() - 1..]);
        let shown = format!("@{}", other.display());
        screen.wait(&shown, |text| {
            let mut rows = text.lines().filter(|line| line.contains("@area"));
            rows.next().is_some_and(|row| row.contains(&shown))
        });
        queries.push(ms(sent.elapsed()));
        memory = memory.max(process::pss_mib(screen.pid()));
        screen.send("\u{3}\u{3}");
        screen.kill();
    }
    let worst = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let (worst_first, worst_query) = (worst(&first), worst(&queries));
    let first = median(first);
    report(
        &format!("first matches after @ with {FILES} files"),
        &format!("median {first:.1} ms, worst {worst_first:.1} ms of {ROUNDS}"),
        "median within a frame, 33 ms",
        first <= FRAME,
    );
    let (reading_median, reading_p99) = median_and(99, reading);
    report(
        "key echo while the files are read",
        &format!("median {reading_median:.1} ms, p99 {reading_p99:.1} ms"),
        "p99 within a frame, 33 ms",
        reading_p99 <= FRAME,
    );
    println!(
        "the list is complete, and the match in the last folder is shown: median {:.0} ms after @",
        median(complete)
    );
    let query = median(queries);
    report(
        "a query in the complete list, from its last key",
        &format!("median {query:.1} ms, worst {worst_query:.1} ms"),
        "median within a frame, 33 ms",
        query <= FRAME,
    );
    println!("memory with the list: {memory:.1} MiB (PSS)");
}
