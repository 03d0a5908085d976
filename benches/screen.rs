//! How fast and how quiet the dashboard is, beside the smallest ratatui program in the same run.
//!
//! `cargo bench --bench screen` prints: first screen, memory, idle CPU and output, and key echo while a reply
//! streams at 200 tokens a second. Compare ratios of one run; the times themselves depend on the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../tests/common/pty.rs"]
#[allow(dead_code)] // the tests use more of it
mod pty;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pty::Screen;

const ROUNDS: usize = 15;
const IDLE: Duration = Duration::from_secs(10);
const KEYS: usize = 200;
/// Between two keys: about twelve a second, faster than most people type.
const TYPING: Duration = Duration::from_millis(80);
const SMALLEST: &str = "CREWDECK_BENCH_SMALLEST";

fn main() {
    if std::env::var_os(SMALLEST).is_some() {
        smallest();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.yaml");
    let words = "word ".repeat(60_000);
    std::fs::write(
        &script,
        format!("pace: 200\nrules:\n  - say: \"{words}\"\n"),
    )
    .unwrap();
    let provider = format!("script:{}", script.display());

    let floor = median(ROUNDS, || {
        first_screen(&this(), &[], &[(SMALLEST, "1")], "smallest")
    });
    let ours = median(ROUNDS, || {
        first_screen(
            Path::new(env!("CARGO_BIN_EXE_crewdeck")),
            &["--provider", &provider],
            &[],
            "Lead",
        )
    });
    println!(
        "first screen: {ours:.1} ms, smallest ratatui program {floor:.1} ms, ratio {:.1}",
        ours / floor
    );

    let mut screen = Screen::start(
        &project(dir.path(), "idle"),
        160,
        45,
        &["--provider", &provider],
    );
    screen.wait_for("script");
    settle(&screen);
    let (bytes, cpu, switches) = (
        screen.raw().len(),
        cpu_ms(screen.pid()),
        switches(screen.pid()),
    );
    std::thread::sleep(IDLE);
    println!(
        "idle for {} s: {} bytes written, {} ms of CPU, {} wake-ups, {:.1} MiB (PSS)",
        IDLE.as_secs(),
        screen.raw().len() - bytes,
        cpu_ms(screen.pid()) - cpu,
        self::switches(screen.pid()) - switches,
        pss_mib(screen.pid()),
    );

    screen.send("go\r");
    screen.wait_for("word word");
    let mut typed = String::new();
    let mut echoes: Vec<f64> = (0..KEYS)
        .map(|n| echo(&mut screen, &mut typed, n))
        .collect();
    echoes.sort_by(f64::total_cmp);
    println!(
        "key echo while 200 tokens a second stream in: median {:.1} ms, p99 {:.1} ms (a frame is 33 ms)",
        echoes[KEYS / 2],
        echoes[KEYS * 99 / 100],
    );
    screen.send("\u{3}");
    screen.wait_for("interrupted");
    screen.send("\u{1b}[27u\u{15}");
}

/// The smallest program: one frame, then it waits for a key.
fn smallest() {
    let mut terminal = ratatui::init();
    terminal
        .draw(|frame| frame.render_widget("smallest", frame.area()))
        .unwrap();
    let _ = crossterm::event::read();
    ratatui::restore();
}

fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn project(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir(&path).unwrap();
    path
}

/// Milliseconds until the words are on the screen.
fn first_screen(program: &Path, args: &[&str], environment: &[(&str, &str)], words: &str) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let mut screen = Screen::start_program(program, dir.path(), 160, 45, args, environment);
    screen.wait_for(words);
    let took = began.elapsed().as_secs_f64() * 1000.0;
    screen.send("\u{3}\u{3}q");
    screen.end();
    took
}

fn median(rounds: usize, mut run: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..rounds).map(|_| run()).collect();
    all.sort_by(f64::total_cmp);
    all[rounds / 2]
}

/// Milliseconds until a typed key stands in the composer, typed as fast as people type.
fn echo(screen: &mut Screen, typed: &mut String, n: usize) -> f64 {
    std::thread::sleep(TYPING);
    if n.is_multiple_of(20) {
        screen.send("\u{15}");
        let before = std::mem::take(typed);
        screen.wait("the composer is empty", |t| {
            before.is_empty() || !t.contains(&before)
        });
    }
    let letter = char::from(b'A' + u8::try_from(n % 26).unwrap_or(0));
    typed.push(letter);
    let began = Instant::now();
    screen.send(&letter.to_string());
    screen.wait_for(typed);
    began.elapsed().as_secs_f64() * 1000.0
}

/// Waits until nothing was written for a while.
fn settle(screen: &Screen) {
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_millis(700));
        let now = screen.raw().len();
        if now == before {
            return;
        }
        before = now;
    }
}

fn stat(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// CPU time of the process so far, user and system, in milliseconds (the kernel counts ticks of 10 ms).
fn cpu_ms(pid: u32) -> u64 {
    let text = stat(pid, "stat");
    let behind = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> = behind
        .split_whitespace()
        .filter_map(|f| f.parse().ok())
        .collect();
    // utime and stime are fields 14 and 15; the state letter is not a number, so they are 10 and 11 here.
    (fields.get(10).unwrap_or(&0) + fields.get(11).unwrap_or(&0)) * 10
}

/// How often its threads were woken.
fn switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .flatten()
        .map(|task| {
            let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = text
                .lines()
                .find(|l| l.starts_with("voluntary_ctxt_switches"));
            line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok())
                .unwrap_or(0)
        })
        .sum()
}

fn pss_mib(pid: u32) -> f64 {
    let text = stat(pid, "smaps_rollup");
    let line = text.lines().find(|l| l.starts_with("Pss:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
