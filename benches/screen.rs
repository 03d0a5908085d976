//! Measures the start-up time, idle activity and key echo of the dashboard, compared with a minimal ratatui program.
//!
//! `cargo bench --bench screen` prints: first screen with 12 tasks, with 10,000 tasks and with a long session;
//! wake-ups, output, files and memory when idle; key echo while a reply streams at 200 tokens per second. Times depend
//! on the machine, so compare only ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::path::Path;
use std::time::Duration;

use common::pty::Screen;
use common::{
    SIZE, crewdeck, echo, files, median, median_and, process, report, repository, script, settle,
    this, time_until_shown,
};
use crewdeck::store::Journal;
use serde_json::json;

const ROUNDS: usize = 15;
/// Number of rounds with many tasks or a long session, which take longer than others.
const MANY_ROUNDS: usize = 7;
const FEW: u64 = 12;
const MANY: u64 = 10_000;
/// Events of the resumed session.
const LONG: u32 = 20_000;
/// Maximum time until the dashboard's first screen, as a multiple of the minimal program's time.
const FIRST: f64 = 5.0;
/// Maximum milliseconds until the dashboard appears with many tasks or a long session.
const FIRST_MANY: f64 = 50.0;
/// Duration of the idle measurement.
const IDLE: Duration = Duration::from_secs(10);
/// The number of wake-ups of all threads during [`IDLE`] must stay below this.
const WAKE_UPS: u64 = 10;
/// Pause after which no late effect of the last change disturbs the idle measurement.
const CALM: Duration = Duration::from_secs(12);
const KEYS: usize = 200;
/// Pause between two keys: about twelve per second, faster than most people type.
const TYPING: Duration = Duration::from_millis(80);
/// Milliseconds per frame.
const FRAME: f64 = 33.4;
const SMALLEST: &str = "CREWDECK_BENCH_SMALLEST";

fn main() {
    if std::env::var_os(SMALLEST).is_some() {
        smallest();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let words = "word ".repeat(60_000);
    let provider = script(dir.path(), 200, words.trim_end());
    println!("{}", process::load());
    first_screens(dir.path(), &provider);
    idle_dashboard(dir.path(), &provider);
    idle_demo(dir.path());
    key_echo(dir.path(), &provider);
    println!("{}", process::load());
}

/// The minimal program: draws one frame, then waits for a key.
fn smallest() {
    let mut terminal = ratatui::init();
    terminal
        .draw(|frame| frame.render_widget("smallest", frame.area()))
        .unwrap();
    let _ = crossterm::event::read();
    ratatui::restore();
}

fn first_screens(dir: &Path, provider: &str) {
    let few = repository(dir, "few", FEW);
    let (mut minimal_times, mut times) = (Vec::new(), Vec::new());
    // Alternates, so that other load affects both.
    for _ in 0..ROUNDS {
        minimal_times
            .push(time_until_shown(&this(), dir, &[], &[(SMALLEST, "1")], &["smallest"])[0]);
        let shown = &["Lead", "Subject 1 "];
        let args = &["--provider", provider];
        times.push(time_until_shown(crewdeck(), &few, args, &[], shown));
    }
    let minimal = median(minimal_times);
    let dashboard = median(times.iter().map(|t| t[0]).collect());
    let board = median(times.iter().map(|t| t[1]).collect());
    println!("first screen of a minimal ratatui program: {minimal:.1} ms");
    let ratio = board / minimal;
    report(
        &format!("first screen with {FEW} tasks shown"),
        &format!("{board:.1} ms, ratio {ratio:.1}; before the tasks {dashboard:.1} ms"),
        &format!("ratio <= {FIRST:.0}"),
        ratio <= FIRST,
    );
    let many = repository(dir, "many", MANY);
    let all = format!("/{MANY} done");
    many_first(
        &format!("first screen with {MANY} tasks"),
        &many,
        &["--provider", provider],
        &all,
    );
    let long = repository(dir, "long", FEW);
    let session = "0190abcdef000000";
    record(&long, session);
    many_first(
        &format!("first screen of a session of {LONG} events"),
        &long,
        &["--provider", provider, "--resume", session],
        "Subject 1 ",
    );
}

/// Measures how long it takes until the dashboard appears, and until it shows `all`.
fn many_first(what: &str, root: &Path, args: &[&str], all: &str) {
    let rounds =
        (0..MANY_ROUNDS).map(|_| time_until_shown(crewdeck(), root, args, &[], &["Lead", all]));
    let rounds: Vec<Vec<f64>> = rounds.collect();
    let first = median(rounds.iter().map(|t| t[0]).collect());
    let complete = median(rounds.iter().map(|t| t[1]).collect());
    report(
        what,
        &format!("{first:.1} ms, complete after {complete:.0} ms"),
        &format!("<= {FIRST_MANY:.0} ms"),
        first <= FIRST_MANY,
    );
}

/// Writes the journal of a long session and an empty transcript.
fn record(root: &Path, session: &str) {
    crewdeck::store::prepare(root).unwrap();
    let mut journal = Journal::open(root, session).unwrap();
    for seq in 1..=LONG {
        let text = format!("Event {seq}: {}", "some words of an answer ".repeat(8));
        let line = json!({"seq": seq, "at": 1.0e9 + f64::from(seq), "type": "notice", "level": "info", "text": text});
        journal.append(&line.to_string()).unwrap();
    }
    let log = root.join(format!(".transcripts/{session}-lead.jsonl"));
    std::fs::write(log, "").unwrap();
}

fn idle_dashboard(dir: &Path, provider: &str) {
    let root = repository(dir, "idle", FEW);
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("Subject 1 ");
    measure_idle("idle with a new board", &screen, &root);
}

/// Runs the whole demo, then measures the idle dashboard.
fn idle_demo(dir: &Path) {
    let home = dir.join("demo");
    let settings = home.join(".config/crewdeck");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "idle_timeout_s = 0\n").unwrap();
    let mut args = vec!["--demo", "--speed", "20"];
    for who in ["--plan", "--tool", "--shutdown"] {
        args.extend([who, "auto"]);
    }
    let screen = Screen::start(&home, SIZE.0, SIZE.1, &args);
    screen.wait_for("That was the demo");
    measure_idle("idle after the demo", &screen, &home);
}

/// Waits until the screen is quiet, then reports what an idle dashboard still does: wake-ups, output and written files.
fn measure_idle(what: &str, screen: &Screen, dir: &Path) {
    settle(screen);
    std::thread::sleep(CALM);
    let pid = screen.pid();
    let (bytes, cpu, before) = (screen.raw().len(), process::cpu_ms(pid), files(dir));
    let wake_ups = process::wake_ups(pid, IDLE);
    let bytes = screen.raw().len() - bytes;
    let cpu = process::cpu_ms(pid) - cpu;
    let after = files(dir);
    let written: Vec<_> = after.iter().filter(|f| !before.contains(f)).collect();
    for (path, ..) in &written {
        println!("  written meanwhile: {}", path.display());
    }
    let seconds = IDLE.as_secs();
    report(
        &format!("{seconds} s {what}"),
        &format!(
            "{wake_ups} wake-ups, {bytes} bytes and {} files written, {cpu} ms of CPU, {:.1} MiB (PSS)",
            written.len(),
            process::pss_mib(pid),
        ),
        &format!("< {WAKE_UPS} wake-ups, nothing written"),
        wake_ups < WAKE_UPS && bytes == 0 && written.is_empty(),
    );
}

fn key_echo(dir: &Path, provider: &str) {
    let root = repository(dir, "echo", FEW);
    let mut screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("script");
    screen.send("go\r");
    screen.wait_for("word word");
    let mut typed = String::new();
    let echoes = (0..KEYS).map(|n| typed_key(&mut screen, &mut typed, n));
    let (median, p99) = median_and(99, echoes.collect());
    report(
        "key echo while 200 tokens per second stream in",
        &format!("median {median:.1} ms, p99 {p99:.1} ms"),
        "p99 within a frame, 33 ms",
        p99 <= FRAME,
    );
    screen.send("\u{3}");
    screen.wait_for("interrupted");
    screen.send("\u{1b}[27u\u{15}");
}

/// Types a key after a pause and returns the milliseconds until it is in the composer.
fn typed_key(screen: &mut Screen, typed: &mut String, n: usize) -> f64 {
    std::thread::sleep(TYPING);
    echo(screen, typed, n)
}
