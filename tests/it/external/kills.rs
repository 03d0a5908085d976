//! Kills crewdeck, an external agent, its MCP server or its supervisor with `kill -9` while a crew of external agents and
//! of crewdeck's own agents works. All tasks must be completed once, with their results, and no process may be left.
//!
//! ```sh
//! CREWDECK_ROUNDS=100 cargo test --test it external::kills -- --ignored --nocapture
//! CREWDECK_SEED=17 cargo test --test it external::kills -- --ignored --nocapture
//! ```

mod round;

use std::time::Duration;

use round::{Moment, Outcome, Plan, Target};

/// Number of rounds of the long test if `CREWDECK_ROUNDS` is not set: one for each target.
const DEFAULT_ROUNDS: u64 = 4;
/// Minimum share of the rounds in which an external agent ran at the moment of the kill, in percent.
const HITS_MIN: usize = 70;

/// Runs a round for each plan and prints a table. Panics with the seeds of all failed rounds.
fn run_rounds(plans: &[Plan]) {
    let mut outcomes = Vec::new();
    let mut failed = Vec::new();
    for plan in plans {
        let outcome = round::run(plan);
        println!("{plan:?}: {}", outcome.summary());
        if !outcome.findings.is_empty() {
            let text = outcome.findings.join("\n  ");
            eprintln!("{plan:?}, left in {}:\n  {text}", outcome.dir);
            failed.push(plan.seed);
        }
        outcomes.push((plan, outcome));
    }
    let mut untold = Vec::new();
    for target in Target::ALL {
        let of_target = outcomes.iter().filter(|(plan, _)| plan.target == target);
        let of_target: Vec<&Outcome> = of_target.map(|(_, outcome)| outcome).collect();
        print_row(target, &of_target);
        let told = of_target.iter().filter(|outcome| outcome.is_told).count();
        let is_agents = target != Target::Crewdeck;
        if is_agents && of_target.len() >= 4 && told * 2 < of_target.len() {
            untold.push((target, told));
        }
    }
    assert!(
        failed.is_empty(),
        "seeds {failed:?}: run one with CREWDECK_SEED=N"
    );
    // Most kills hit the process of an agent that works, and the user must learn of it.
    assert!(untold.is_empty(), "too few kills were reported: {untold:?}");
    let hits = outcomes.iter().filter(|(_, outcome)| outcome.is_hit);
    let share = hits.count() * 100 / outcomes.len();
    assert!(
        share >= HITS_MIN,
        "only {share} % of the kills came while an external agent ran"
    );
}

fn print_row(target: Target, outcomes: &[&Outcome]) {
    if outcomes.is_empty() {
        return;
    }
    let hits = outcomes.iter().filter(|outcome| outcome.is_hit).count();
    let told = outcomes.iter().filter(|outcome| outcome.is_told).count();
    let sorted = |time: fn(&Outcome) -> Option<Duration>| {
        let mut all: Vec<u128> = outcomes
            .iter()
            .filter_map(|outcome| time(outcome))
            .map(|time| time.as_millis())
            .collect();
        all.sort_unstable();
        match (all.first(), all.get(all.len() / 2), all.last()) {
            (Some(first), Some(middle), Some(last)) => format!("{first}/{middle}/{last} ms"),
            _ => "-".to_string(),
        }
    };
    println!(
        "{target:?}: {} kills, {hits} while an external agent ran, {told} reported as a failed turn; min/median/max: \
         killed after {}, nothing left after {}, whole round {}",
        outcomes.len(),
        sorted(|outcome| outcome.killed_after),
        sorted(|outcome| outcome.cleaned_after),
        sorted(|outcome| Some(outcome.duration)),
    );
}

#[test]
fn crew_with_external_agents_continues_after_a_kill() {
    let plan = |seed, target| Plan {
        seed,
        target,
        moment: Moment::AtWork {
            tasks: 2,
            then: Duration::from_millis(60),
        },
        is_stubborn: false,
    };
    run_rounds(&[plan(1, Target::Crewdeck), plan(2, Target::Agent)]);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn crew_with_external_agents_is_killed_at_any_moment() {
    let env_number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (first, count) = match (env_number("CREWDECK_SEED"), env_number("CREWDECK_ROUNDS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(DEFAULT_ROUNDS)),
    };
    let plans: Vec<Plan> = (first..first + count).map(Plan::new).collect();
    run_rounds(&plans);
}
