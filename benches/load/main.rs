//! Measures sixteen agents that stream at the same time, and long conversations compared with short ones.
//!
//! `cargo bench --bench load` prints each measurement with its goal:
//!
//! - `stream`: CPU use and key echo while the lead and fifteen teammates stream 100 tokens per second each, compared
//!   with a minimal ratatui program that runs at the same time;
//! - `hour`: memory after the tokens of one hour, streamed as fast as possible;
//! - `pane`: frame times of a conversation with 10,000 cells and with 100.
//!
//! `cargo bench --bench load -- stream` runs one part. Only the model is scripted: tools, files, the bus, the journal
//! and the transcripts are those of a real crew. Times depend on the machine and its load, so compare only ratios of
//! one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)] // a failed benchmark panics

#[path = "../common/mod.rs"]
mod common;
mod crew;
mod pane;
mod smallest;

use std::time::{Duration, Instant};

use common::process::{self, cpu_ms, pss_mib};
use common::{echo, median_and};
use crew::{AGENTS, StreamingCrew};

/// Tokens per second that each agent streams.
const PACE: u64 = 100;
/// Duration of the CPU measurement.
const WATCHED: Duration = Duration::from_secs(30);
const KEYS: usize = 300;
/// Pause between two keys: faster than most people type.
const TYPING: Duration = Duration::from_millis(80);
/// Tokens of an agent per hour.
const HOUR: u64 = PACE * 3600;
/// How much faster than in real time the part `hour` runs.
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
    let mut crew = StreamingCrew::start(PACE);
    crew.wait_until_all_stream();
    let (began, before, frames) = (Instant::now(), cpu_ms(crew.pid()), crew.frames());
    let rates = crew.run_for(WATCHED);
    let seconds = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)] // some ten thousand
    let share = (cpu_ms(crew.pid()) - before) as f64 / 10.0 / seconds;
    #[allow(clippy::cast_precision_loss)] // a few hundred
    let frames = (crew.frames() - frames) as f64 / seconds;
    println!(
        "{AGENTS} agents stream: {share:.1} % of a core (goal: 20 %), {frames:.1} frames per second (goal: 10 to 30)"
    );
    println!(
        "  tokens per second and agent: {:.0} to {:.0}, median {:.0} (goal: {PACE}), {} agents responded",
        rates[0],
        rates[rates.len() - 1],
        rates[rates.len() / 2],
        rates.len(),
    );
    let mut minimal = smallest::start();
    let mut minimal_times = Vec::new();
    let mut times = Vec::new();
    let (mut typed, mut minimal_typed) = (String::new(), String::new());
    for n in 0..KEYS {
        std::thread::sleep(TYPING);
        times.push(echo(crew.screen(), &mut typed, n));
        minimal_times.push(echo(&mut minimal, &mut minimal_typed, n));
    }
    let (median, p99) = median_and(99, times);
    let (minimal_median, minimal_p99) = median_and(99, minimal_times);
    println!(
        "key echo meanwhile: median {median:.1} ms, p99 {p99:.1} ms (goal: 16 ms); minimal ratatui program: median {minimal_median:.1} ms, p99 {minimal_p99:.1} ms"
    );
    println!("memory: {:.1} MiB (PSS)", pss_mib(crew.pid()));
}

#[allow(clippy::cast_precision_loss)] // a few millions
fn hour() {
    let mut crew = StreamingCrew::start(PACE * FASTER);
    crew.wait_until_all_stream();
    let at_first = pss_mib(crew.pid());
    let (began, before) = (Instant::now(), cpu_ms(crew.pid()));
    let tokens = crew.run_until_tokens(HOUR * AGENTS as u64);
    let took = began.elapsed();
    let used = cpu_ms(crew.pid()) - before;
    println!(
        "an hour of {AGENTS} agents: {:.1} M tokens in {:.0} s, {:.1} s of CPU; {:.1} MiB (PSS), at first {at_first:.1} MiB (goal: 64 MiB)",
        tokens as f64 / 1e6,
        took.as_secs_f64(),
        used as f64 / 1000.0,
        pss_mib(crew.pid()),
    );
    // Keeps the process running to inspect it with other tools.
    if let Some(seconds) = std::env::var("CREWDECK_BENCH_HOLD")
        .ok()
        .and_then(|s| s.parse().ok())
    {
        println!("process {} keeps running for {seconds} s", crew.pid());
        std::thread::sleep(Duration::from_secs(seconds));
    }
}
