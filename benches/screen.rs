//! How fast the dashboard is there, and how quiet: beside the smallest ratatui program in the same run.
//!
//! `cargo bench --bench screen` prints: first screen with 12 and with 10,000 tasks and with a long session, wake-ups,
//! output, files and memory at rest, and key echo while a reply streams at 200 tokens a second. Compare ratios of one
//! run; the times themselves depend on the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a bench ends by them

mod common;

use std::path::Path;
use std::time::Duration;

use common::pty::Screen;
use common::{
    SIZE, crewdeck, echo, files, median, median_and, process, repository, script, settle, shows,
    tell, this,
};
use crewdeck::store::Journal;
use serde_json::json;

const ROUNDS: usize = 15;
/// With so many tasks a round takes a while.
const MANY_ROUNDS: usize = 7;
const FEW: u64 = 12;
const MANY: u64 = 10_000;
/// Events of the session that is gone on with.
const LONG: u32 = 20_000;
/// Most times the smallest program's first screen.
const FIRST: f64 = 5.0;
/// Most milliseconds until the dashboard is there with many tasks, or a long session.
const FIRST_MANY: f64 = 50.0;
const IDLE: Duration = Duration::from_secs(10);
/// Most wake-ups of all threads in that time, less one.
const WAKE_UPS: u64 = 10;
/// What follows from the last change is over by then.
const CALM: Duration = Duration::from_secs(12);
const KEYS: usize = 200;
/// Between two keys: about twelve a second, faster than most people type.
const TYPING: Duration = Duration::from_millis(80);
/// A frame, in milliseconds.
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
    at_rest(dir.path(), &provider);
    demo_at_rest(dir.path());
    key_echo(dir.path(), &provider);
    println!("{}", process::load());
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

fn first_screens(dir: &Path, provider: &str) {
    let few = repository(dir, "few", FEW);
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    // In turns: what else the machine does meets both.
    for _ in 0..ROUNDS {
        floors.push(shows(&this(), dir, &[], &[(SMALLEST, "1")], &["smallest"])[0]);
        let shown = &["Lead", "Subject 1 "];
        let args = &["--provider", provider];
        ours.push(shows(crewdeck(), &few, args, &[], shown));
    }
    let floor = median(floors);
    let dashboard = median(ours.iter().map(|t| t[0]).collect());
    let board = median(ours.iter().map(|t| t[1]).collect());
    println!("first screen of the smallest ratatui program: {floor:.1} ms");
    let ratio = board / floor;
    tell(
        &format!("first screen with {FEW} tasks on it"),
        &format!("{board:.1} ms, ratio {ratio:.1}; without them {dashboard:.1} ms"),
        &format!("ratio <= {FIRST:.0}"),
        ratio <= FIRST,
    );
    let many = repository(dir, "many", MANY);
    let all = format!("{MANY} tasks");
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

/// Until the dashboard is there, and until `all` of it is.
fn many_first(what: &str, root: &Path, args: &[&str], all: &str) {
    let rounds = (0..MANY_ROUNDS).map(|_| shows(crewdeck(), root, args, &[], &["Lead", all]));
    let rounds: Vec<Vec<f64>> = rounds.collect();
    let there = median(rounds.iter().map(|t| t[0]).collect());
    let whole = median(rounds.iter().map(|t| t[1]).collect());
    tell(
        what,
        &format!("{there:.1} ms, all of it on screen after {whole:.0} ms"),
        &format!("<= {FIRST_MANY:.0} ms"),
        there <= FIRST_MANY,
    );
}

/// A journal of a long session, and the conversation that it is about.
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

fn at_rest(dir: &Path, provider: &str) {
    let root = repository(dir, "idle", FEW);
    let screen = Screen::start(&root, SIZE.0, SIZE.1, &["--provider", provider]);
    screen.wait_for("Subject 1 ");
    quiet("at rest with a fresh board", &screen, &root);
}

/// The whole demo by itself, and then its team idle for as long as one looks on.
fn demo_at_rest(dir: &Path) {
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
    quiet("at rest after the demo, teammates idle", &screen, &home);
}

/// Waits until all is calm, and then looks on for a while.
fn quiet(what: &str, screen: &Screen, dir: &Path) {
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
    tell(
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
    let (half, most) = median_and(99, echoes.collect());
    tell(
        "key echo while 200 tokens a second stream in",
        &format!("median {half:.1} ms, p99 {most:.1} ms"),
        "p99 within a frame, 33 ms",
        most <= FRAME,
    );
    screen.send("\u{3}");
    screen.wait_for("interrupted");
    screen.send("\u{1b}[27u\u{15}");
}

/// Milliseconds until a typed key stands in the composer, typed as fast as people type.
fn typed_key(screen: &mut Screen, typed: &mut String, n: usize) -> f64 {
    std::thread::sleep(TYPING);
    echo(screen, typed, n)
}
