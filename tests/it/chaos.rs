//! Runs a whole crew against servers where 30 % of the calls meet a fault, with every kind of server failure.
//!
//! `cargo test --test it chaos -- --ignored` runs one seed with each API, and one with three servers at once.
//! `CREWDECK_ROUNDS=20 cargo test --test it chaos -- --ignored --nocapture` runs 20 seeds of each and prints statistics.
//! `CREWDECK_SEED=7` sets the first seed.

mod encoder;
mod fault;
mod request;
mod responder;
mod run;
mod scripted_model;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use fault::{Fault, FaultPlan};
use request::Wire;
use run::RunResult;
use scripted_model::TeamModels;
use server::ObservedCall;

/// Share of the calls that meet a fault, in percent.
const PERCENT: u64 = 30;

fn env_number(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().expect(name))
}

fn run_seeds(wires: &[Wire]) {
    let first = env_number("CREWDECK_SEED", 116);
    for seed in first..first + env_number("CREWDECK_ROUNDS", 1) {
        let percent = PERCENT;
        let ran = run::run_crew(wires, FaultPlan { seed, percent });
        println!("{wires:?}, seed {seed}: {}", statistics(&ran));
        let mut violations = violations(&ran);
        if wires.len() > 1 {
            violations.extend(check_servers(&ran));
        }
        assert!(
            violations.is_empty(),
            "{wires:?}, seed {seed}:\n{}\nthe last events:\n{}",
            violations.join("\n"),
            ran.tail(12)
        );
    }
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn work_completes_despite_faults_of_the_messages_api() {
    run_seeds(&[Wire::Messages]);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn work_completes_despite_faults_of_chat_completions() {
    run_seeds(&[Wire::Completions]);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn work_completes_despite_faults_of_the_responses_api() {
    run_seeds(&[Wire::Responses]);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn work_completes_despite_faults_of_three_servers_at_once() {
    run_seeds(&Wire::ALL);
}

/// Checks that each agent has called the server of its model only, and that the calls of each server met faults.
fn check_servers(ran: &RunResult) -> Vec<String> {
    let mut out = Vec::new();
    for call in &ran.calls {
        let expected = TeamModels::wire(&call.agent);
        if call.wire != expected {
            out.push(format!("{} called {:?}", call.agent, call.wire));
        }
    }
    for wire in Wire::ALL {
        let calls = ran.calls.iter().filter(|call| call.wire == wire);
        let agents: BTreeSet<&str> = calls.clone().map(|call| call.agent.as_str()).collect();
        let faults = calls.filter(|call| call.fault.is_some()).count();
        println!("  {wire:?}: {faults} faults of the calls of {agents:?}");
        if agents.len() < 2 || faults < 5 {
            out.push(format!("{wire:?}: {faults} faults, agents {agents:?}"));
        }
    }
    if ran.agents().len() != scripted_model::TEAMMATES.len() + 1 {
        out.push(format!("only these agents: {:?}", ran.agents()));
    }
    out
}

/// Checks that each task was completed once and wrote its file, and that each stored conversation is valid.
fn check_work(ran: &RunResult, board: &[Value]) -> Vec<String> {
    let mut out = Vec::new();
    for task in board {
        let (id, owner) = (&task["id"], task["owner"].as_str().unwrap_or_default());
        let file = ran.dir.path().join(format!("out/{id}.txt"));
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if text != format!("{owner} wrote this.\n") || task["attempts"] != 1 {
            out.push(format!("{} has {text:?}, task: {task}", file.display()));
        }
    }
    let mut completions = BTreeMap::<u64, u64>::new();
    let mut last = BTreeMap::<u64, String>::new();
    for event in ran.events.iter().filter(|e| e["type"] == "board_changed") {
        for task in event["changed"].as_array().into_iter().flatten() {
            let (id, status) = (
                task["id"].as_u64().unwrap(),
                task["status"].as_str().unwrap().to_string(),
            );
            let before = last.insert(id, status.clone());
            if status == "completed" && before.as_deref() != Some("completed") {
                *completions.entry(id).or_default() += 1;
            }
        }
    }
    if completions.len() != board.len() || completions.values().any(|count| *count != 1) {
        out.push(format!("completions by task: {completions:?}"));
    }
    let conversations = crate::crash::state_check::conversations(ran.dir.path(), &mut out);
    if conversations.len() != ran.agents().len() {
        out.push(format!("stored conversations: {:?}", conversations.keys()));
    }
    out
}

fn statistics(ran: &RunResult) -> String {
    let mut kinds: BTreeMap<Fault, usize> = BTreeMap::new();
    for fault in ran.calls.iter().filter_map(|s| s.fault) {
        *kinds.entry(fault).or_default() += 1;
    }
    let faults: usize = kinds.values().sum();
    format!(
        "{} calls, {faults} faults {kinds:?}, at most {} in flight, {:.1} s, {} MiB, waits reported within {:.0} ms, longest wait: {}",
        ran.calls.len(),
        ran.max_in_flight,
        ran.seconds,
        ran.memory_kib / 1024,
        longest_report_delay(ran) * 1000.0,
        longest_wait(ran),
    )
}

/// Returns one line for each expectation that the run did not meet.
fn violations(ran: &RunResult) -> Vec<String> {
    let mut out = ran.violations.clone();
    if ran.code != Some(0) {
        out.push(format!("exit {:?}: {}", ran.code, ran.stderr));
    }
    let board = ran.board();
    let open: Vec<&Value> = board
        .iter()
        .filter(|t| t["status"] != "completed")
        .collect();
    if board.len() < scripted_model::TASKS || !open.is_empty() {
        out.push(format!("{} tasks, open: {open:?}", board.len()));
    }
    let subjects: BTreeSet<&str> = board.iter().filter_map(|t| t["subject"].as_str()).collect();
    if subjects.len() != board.len() {
        out.push(format!("a task was created twice: {board:?}"));
    }
    out.extend(check_work(ran, &board));
    for event in ran
        .events
        .iter()
        .filter(|e| e["type"] == "turn_ended" && e["reason"] != "done")
    {
        out.push(format!("a turn failed: {event}"));
    }
    for agent in ran.agents() {
        out.extend(check_waits(ran, &agent));
    }
    out.extend(check_usage(ran));
    out.extend(check_rate_limits(ran));
    // Far more than the crew and its bounded buffers need.
    if ran.memory_kib > 600 * 1024 {
        out.push(format!("{} KiB of memory", ran.memory_kib));
    }
    out
}

/// Returns the agent's calls that failed, each of which must be followed by a wait, and the events that report its
/// waits.
fn failures_and_waits<'a>(
    ran: &'a RunResult,
    agent: &str,
) -> (Vec<&'a ObservedCall>, Vec<&'a Value>) {
    let failed = ran.calls.iter().filter(|s| s.agent == agent);
    let failed: Vec<&ObservedCall> = failed
        .filter(|s| s.fault.is_some_and(Fault::fails))
        .collect();
    let waits = ran.events.iter().filter(|e| {
        e["type"] == "activity_changed"
            && e["agent"] == agent
            && e["activity"]["state"] == "backoff"
            && e["activity"]["attempt"].as_u64() > Some(0)
    });
    let mut reported = Vec::new();
    for event in waits {
        let cause = event["activity"]["cause"].as_str().unwrap_or_default();
        let next = failed.get(reported.len()).and_then(|s| s.fault);
        // While the server is not listening it does not see connections that fail.
        let is_unseen = cause.starts_with("nothing answers")
            || cause.starts_with("the connection was closed")
                && !matches!(next, Some(Fault::Reset | Fault::Away));
        if !is_unseen {
            reported.push(event);
        }
    }
    (failed, reported)
}

/// Checks that each failure is followed by exactly one wait, which names the cause and lasts at least as long as the
/// server asked for.
fn check_waits(ran: &RunResult, agent: &str) -> Vec<String> {
    let (failed, reported) = failures_and_waits(ran, agent);
    let mut out = Vec::new();
    if failed.len() != reported.len() {
        let kinds: Vec<_> = failed.iter().filter_map(|s| s.fault).collect();
        let causes: Vec<_> = reported.iter().map(|e| &e["activity"]["cause"]).collect();
        out.push(format!(
            "{agent}: {} failures {kinds:?}, {} waits {causes:?}",
            failed.len(),
            reported.len()
        ));
        return out;
    }
    for (call, event) in failed.iter().zip(reported) {
        let activity = &event["activity"];
        let cause = activity["cause"].as_str().unwrap_or_default();
        let until = activity["until"].as_f64().unwrap_or(0.0);
        let (fault, at) = (call.fault.unwrap(), event["at"].as_f64().unwrap());
        if cause.is_empty() || until < at {
            out.push(format!("{agent}: {fault:?} reported as {activity}"));
        }
        // One millisecond for the rounding of dates and floats.
        let asked = call.retry_after.map_or(0.0, |w| w.as_secs_f64());
        if until < call.finished_at + asked - 0.001 {
            let early = call.finished_at + asked - until;
            out.push(format!(
                "{agent}: {fault:?}: {early:.3} s before the announced time: {activity}"
            ));
        }
        if at - call.finished_at > 5.0 {
            out.push(format!(
                "{agent}: {fault:?} reported {:.1} s later",
                at - call.finished_at
            ));
        }
    }
    out
}

/// Checks that a refusal of a server stops new calls to it until its wait is over. Calls in the first 0.25 s are ignored and fewer than
/// [`run::CAP`] later ones are allowed, because the client may have started them before it read the refusal.
fn check_rate_limits(ran: &RunResult) -> Vec<String> {
    let refused = ran
        .calls
        .iter()
        .filter_map(|s| Some((s.wire, s.finished_at, s.retry_after?)));
    let violations = refused.filter_map(|(wire, at, wait)| {
        let quiet = at + 0.25..at + wait.as_secs_f64();
        let early = ran
            .calls
            .iter()
            .filter(|s| s.wire == wire && quiet.contains(&s.received_at))
            .count();
        (early >= run::CAP).then(|| format!("{early} calls within {wait:?} after a refusal"))
    });
    violations.collect()
}

/// Returns the longest time between a fault and the event that reports it, in seconds.
fn longest_report_delay(ran: &RunResult) -> f64 {
    let agents = ran.agents();
    let gaps = agents.iter().flat_map(|agent| {
        let (failed, reported) = failures_and_waits(ran, agent);
        let gap = |(s, e): (&ObservedCall, &Value)| e["at"].as_f64().unwrap_or(0.0) - s.finished_at;
        failed
            .into_iter()
            .zip(reported)
            .map(gap)
            .collect::<Vec<_>>()
    });
    gaps.fold(0.0, f64::max)
}

/// Describes the longest reported wait: duration, agent, number of the try and cause.
fn longest_wait(ran: &RunResult) -> String {
    let waits = ran.events.iter().filter_map(|e| {
        let until = e["activity"]["until"].as_f64()?;
        Some((until - e["at"].as_f64()?, e))
    });
    let longest = waits.max_by(|a, b| a.0.total_cmp(&b.0));
    longest.map_or_else(String::new, |(wait, event)| {
        let (agent, activity) = (&event["agent"], &event["activity"]);
        format!(
            "{wait:.1} s of {agent}, try {}: {}",
            activity["attempt"], activity["cause"]
        )
    })
}

/// Checks that token totals only grow and stay plausible.
fn check_usage(ran: &RunResult) -> Vec<String> {
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    let mut out = Vec::new();
    for event in ran.events.iter().filter(|e| e["type"] == "usage_changed") {
        let agent = event["agent"].as_str().unwrap_or_default().to_string();
        let fields = ["input", "output", "cache_read", "cache_write"];
        let parts: Option<Vec<u64>> = fields.iter().map(|f| event["total"][f].as_u64()).collect();
        let sum = parts.and_then(|p| p.iter().try_fold(0u64, |a, b| a.checked_add(*b)));
        match sum {
            Some(sum) if sum < 1 << 40 && last.get(&agent).is_none_or(|l| *l <= sum) => {
                last.insert(agent, sum);
            }
            Some(_) | None => out.push(format!("implausible token counts: {event}")),
        }
    }
    out
}
