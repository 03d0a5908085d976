//! What sixteen agents cost that stream at the same time, and whether a long conversation stays as fast as a short one.
//!
//! `cargo bench --bench load` prints a line for each figure with its goal:
//!
//! - CPU of the whole process, and how soon a typed key is shown, while the lead and fifteen teammates stream a hundred
//!   tokens a second each, beside the smallest ratatui program on the same machine at the same time;
//! - memory after as many tokens as they would stream within an hour, as fast as they come;
//! - frames of a conversation of 10,000 cells beside one of 100.
//!
//! `cargo bench --bench load -- stream`, `-- hour` and `-- pane` print one of them. Only the model is scripted: tools,
//! files, the bus, the journal and the transcripts are those of a real crew. Times depend on the machine and on who
//! else works on it: compare the ratios of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a bench ends by them

#[path = "../common/mod.rs"]
mod common;
mod crew;
mod pane;
mod smallest;

use std::time::{Duration, Instant};

use common::process::{self, cpu_ms, pss_mib};
use common::{echo, median_and};
use crew::{AGENTS, Busy};

/// What each agent streams, in tokens a second.
const PACE: u64 = 100;
/// How long the CPU is watched.
const WATCHED: Duration = Duration::from_secs(30);
/// Keys that are typed, and the time between two of them: faster than most people type.
const KEYS: usize = 300;
const TYPING: Duration = Duration::from_millis(80);
/// What an agent streams within an hour, in tokens, and how much faster than real time it does so here.
const HOUR: u64 = PACE * 3600;
const FASTER: u64 = 100;

fn main() {
    if smallest::is_asked_for() {
        smallest::run();
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts = ["stream", "hour", "pane"];
    let named = |part: &str| wanted.iter().any(|w| w == part);
    let all = !parts.iter().any(|p| named(p));
    println!("{}", process::load());
    if all || named("pane") {
        pane::print();
    }
    if all || named("stream") {
        stream();
    }
    if all || named("hour") {
        hour();
    }
    println!("{}", process::load());
}

fn stream() {
    let mut busy = Busy::start(PACE);
    busy.wait_until_all_stream();
    let (began, before, frames) = (Instant::now(), cpu_ms(busy.pid()), busy.frames());
    let rates = busy.during(WATCHED);
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)] // some ten thousand
    let share = (cpu_ms(busy.pid()) - before) as f64 / 10.0 / seconds;
    #[allow(clippy::cast_precision_loss)] // a few hundred
    let frames = (busy.frames() - frames) as f64 / seconds;
    println!(
        "{AGENTS} agents stream: {share:.1} % of a core (goal: 20 %), {frames:.1} frames a second (goal: 10 to 30)"
    );
    println!(
        "  tokens a second of an agent: {:.0} to {:.0}, median {:.0} (goal: {PACE}), {} agents answered",
        rates[0],
        rates[rates.len() - 1],
        rates[rates.len() / 2],
        rates.len(),
    );
    let mut floor = smallest::start();
    let mut theirs = Vec::new();
    let mut ours = Vec::new();
    let (mut typed, mut typed_there) = (String::new(), String::new());
    for n in 0..KEYS {
        std::thread::sleep(TYPING);
        ours.push(echo(busy.screen(), &mut typed, n));
        theirs.push(echo(&mut floor, &mut typed_there, n));
    }
    let ((median, p99), (their_median, their_p99)) = (median_and(99, ours), median_and(99, theirs));
    println!(
        "key echo meanwhile: median {median:.1} ms, p99 {p99:.1} ms (goal: 16 ms); smallest ratatui program {their_median:.1} ms, {their_p99:.1} ms"
    );
    println!("memory: {:.1} MiB (PSS)", pss_mib(busy.pid()));
}

#[allow(clippy::cast_precision_loss)] // a few millions
fn hour() {
    let mut busy = Busy::start(PACE * FASTER);
    busy.wait_until_all_stream();
    let at_first = pss_mib(busy.pid());
    let (began, before) = (Instant::now(), cpu_ms(busy.pid()));
    let tokens = busy.until_tokens(HOUR * AGENTS as u64);
    let took = began.elapsed();
    let used = cpu_ms(busy.pid()) - before;
    println!(
        "an hour of {AGENTS} agents: {:.1} M tokens in {:.0} s, {:.1} s of CPU; {:.1} MiB (PSS), at first {at_first:.1} MiB (goal: 64 MiB)",
        tokens as f64 / 1e6,
        took.as_secs_f64(),
        used as f64 / 1000.0,
        pss_mib(busy.pid()),
    );
    // For who wants to look at the process with other tools.
    if let Some(seconds) = std::env::var("CREWDECK_BENCH_HOLD")
        .ok()
        .and_then(|s| s.parse().ok())
    {
        println!("process {} is held for {seconds} s", busy.pid());
        std::thread::sleep(Duration::from_secs(seconds));
    }
}
