//! Measures board operations with 12, 1,000 and 10,000 tasks, and the delay until a change by another program is
//! published as an event.
//!
//! `cargo bench --bench board` prints medians. The times depend on the machine, so compare only ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use common::task_json;
use crewdeck::domain::graph::Claimer;
use crewdeck::domain::ids::Name;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Board, prepare};
use serde_json::Value;

const SIZES: [u64; 3] = [12, 1_000, 10_000];
const ROUNDS: usize = 21;
const OPENINGS: usize = 5;
/// Time after which modification times are old enough to detect every later change.
const SETTLE: Duration = Duration::from_millis(3_500);
/// Maximum milliseconds from a change by another program to its event.
const SOON: f64 = 100.0;
const WITHIN: Duration = Duration::from_secs(60);
const NOW: Timestamp = Timestamp(1.0);

/// The measurements for one board size: medians, except `whole_board`, which is measured once. `journal` is in bytes,
/// all others are in milliseconds.
struct Row {
    open: f64,
    reread: f64,
    claim: f64,
    change: f64,
    whole_board: f64,
    journal: f64,
}

fn main() {
    println!(
        "{:>7} {:>10} {:>10} {:>15} {:>16} {:>14} {:>15}",
        "tasks",
        "open",
        "read again",
        "claim+complete",
        "foreign change",
        "whole board",
        "journal/change"
    );
    let mut rows = Vec::new();
    for size in SIZES {
        let row = measure(size);
        println!(
            "{size:>7} {:>7.2} ms {:>7.2} ms {:>12.2} ms {:>13.2} ms {:>11.1} ms {:>13.0} B",
            row.open, row.reread, row.claim, row.change, row.whole_board, row.journal
        );
        rows.push(row);
    }
    let (few, many) = (&rows[0], &rows[2]);
    println!(
        "10,000 against 12 tasks: open x{:.0}, read again x{:.0}, claim+complete x{:.2}, foreign change x{:.2}, journal x{:.2}",
        many.open / few.open,
        many.reread / few.reread,
        many.claim / few.claim,
        many.change / few.change,
        many.journal / few.journal
    );
    println!(
        "with 10,000 tasks, claiming and completing one takes {:.2} of the time to read the board",
        many.claim / many.open
    );
    let slowest = rows.iter().map(|r| r.change).fold(0.0, f64::max);
    let verdict = if slowest < SOON { "yes" } else { "NO" };
    println!(
        "a change by another program is reported within {SOON} ms: {verdict} (slowest median {slowest:.1} ms)"
    );
}

fn measure(size: u64) -> Row {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    for id in 1..=size {
        write(dir.path(), id, "as made");
    }
    std::thread::sleep(SETTLE);
    let open = median(OPENINGS, || {
        let began = Instant::now();
        let reading = Board::open(dir.path()).read().unwrap();
        let took = began.elapsed();
        assert_eq!(reading.graph.len() as u64, size);
        ms(took)
    });
    let board = Board::open(dir.path());
    board.read().unwrap();
    let reread = median(OPENINGS, || {
        let began = Instant::now();
        board.read().unwrap();
        ms(began.elapsed())
    });
    let claimer = Claimer {
        name: Name::member("alice").unwrap(),
        tags: vec![],
    };
    // Resets each completed task, so that a small board does not run out of tasks.
    let claim = median(ROUNDS, || {
        let began = Instant::now();
        let task = board.claim(None, &claimer, NOW).unwrap().unwrap();
        board.complete(task.id, &claimer.name, NOW).unwrap();
        let took = began.elapsed();
        board
            .query(|graph| assert!(graph.get(task.id).is_some()))
            .unwrap();
        write(dir.path(), task.id.0, "again");
        // Reads the reset file before the next claim.
        board.get(task.id).unwrap();
        ms(took)
    });
    let mut run = Run::start(dir.path());
    let whole_board = run.whole_board(size);
    let mut journal = Vec::new();
    let change = median(ROUNDS, || {
        let id = size / 2 + 1;
        let subject = format!("changed {}", journal.len());
        let began = Instant::now();
        write(dir.path(), id, &subject);
        let line = run.wait_for_event(&subject);
        journal.push(line.bytes());
        // Keeps the rounds from running in step with the interval in which events are merged.
        std::thread::sleep(Duration::from_millis(37));
        ms(line.at.duration_since(began))
    });
    journal.sort_by(f64::total_cmp);
    Row {
        open,
        reread,
        claim,
        change,
        whole_board,
        journal: journal[journal.len() / 2],
    }
}

/// Writes a task file in place and without the lock, as learn-claude-code does. Every third task is blocked by the one
/// before it.
fn write(root: &Path, id: u64, subject: &str) {
    let blocked_by = if id.is_multiple_of(3) { id - 1 } else { 0 };
    let text = task_json(id, &format!("{subject}: task {id} of many"), blocked_by);
    std::fs::write(root.join(format!(".tasks/task_{id}.json")), text).unwrap();
}

/// A headless crew whose lead responds very slowly, and the `board_changed` events that it prints as JSON lines.
struct Run {
    child: Child,
    lines: Receiver<Line>,
    began: Instant,
}

struct Line {
    at: Instant,
    text: String,
}

impl Line {
    fn bytes(&self) -> f64 {
        f64::from(u32::try_from(self.text.len()).unwrap() + 1)
    }
}

impl Run {
    fn start(root: &Path) -> Run {
        let script = root.join("script.yaml");
        let words = "word ".repeat(600);
        std::fs::write(&script, format!("pace: 1\nrules:\n  - say: \"{words}\"\n")).unwrap();
        let began = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_crewdeck"))
            .args(["run", "go", "--json", "--provider"])
            .arg(format!("script:{}", script.display()))
            .current_dir(root)
            .env("HOME", root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for text in out.lines().map_while(Result::ok) {
                let at = Instant::now();
                if text.contains("\"board_changed\"") && sender.send(Line { at, text }).is_err() {
                    return;
                }
            }
        });
        Run {
            child,
            lines,
            began,
        }
    }

    /// Waits until events have reported `size` tasks. Returns the milliseconds from the start of crewdeck to the last
    /// of these events.
    fn whole_board(&mut self, size: u64) -> f64 {
        let mut reported = 0;
        loop {
            let line = self.lines.recv_timeout(WITHIN).unwrap();
            let event: Value = serde_json::from_str(&line.text).unwrap();
            reported += event["changed"].as_array().unwrap().len() as u64;
            if reported == size {
                return ms(line.at.duration_since(self.began));
            }
        }
    }

    fn wait_for_event(&mut self, text: &str) -> Line {
        loop {
            let line = self.lines.recv_timeout(WITHIN).unwrap();
            if line.text.contains(text) {
                return line;
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn median(rounds: usize, mut once: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..rounds).map(|_| once()).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}
