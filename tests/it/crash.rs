//! Kills a crew with `kill -9` at random moments and resumes it until its work is done. Each task must be done once, each message
//! read once and each request decided once; no file may be damaged, no work lost, and no program may outlive its crew.
//!
//! One round of the first scenario runs with all tests. Long runs, and one round by the seed that a failure prints:
//!
//! ```sh
//! CREWDECK_ROUNDS=100 cargo test --test it crash -- --include-ignored --nocapture
//! CREWDECK_ROUNDS=500 cargo test --test it whole_process_tree -- --ignored --nocapture
//! CREWDECK_SEED=17 cargo test --test it crash -- --include-ignored --nocapture
//! ```

pub mod debris;
mod round;
pub mod state_check;

use std::sync::OnceLock;
use std::time::Instant;

use round::{Baseline, Plan, Scenario};

/// Number of rounds of each test if `CREWDECK_ROUNDS` is not set.
const DEFAULT_ROUNDS: u64 = 1;

/// Returns the result of a run without kills. It is computed once for the scripted crew, which three scenarios share,
/// and once for the demo.
fn baseline(scenario: Scenario) -> &'static Baseline {
    static CREW: OnceLock<Baseline> = OnceLock::new();
    static DEMO: OnceLock<Baseline> = OnceLock::new();
    let cell = match scenario {
        Scenario::Crew | Scenario::CrewEarly | Scenario::CrewTree => &CREW,
        Scenario::Demo => &DEMO,
    };
    cell.get_or_init(|| round::run_without_kills(scenario))
}

/// Runs as many rounds as `CREWDECK_ROUNDS` says, from the seed `CREWDECK_SEED`. Panics with the seeds of all failed
/// rounds.
fn run_rounds(scenario: Scenario) {
    let env_number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (first, count) = match (env_number("CREWDECK_SEED"), env_number("CREWDECK_ROUNDS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(DEFAULT_ROUNDS)),
    };
    let baseline = baseline(scenario);
    let began = Instant::now();
    let (mut kills, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let outcome = round::run(&Plan::new(scenario, seed, baseline.duration), baseline);
        kills += outcome.kills;
        if !outcome.findings.is_empty() {
            let text = outcome.findings.join("\n  ");
            eprintln!(
                "{scenario:?}, seed {seed}, left in {}:\n  {text}",
                outcome.dir
            );
            failed.push(seed);
        }
    }
    let seconds = began.elapsed().as_secs();
    println!("{scenario:?}: {count} rounds, {kills} kills, {seconds} s, failed seeds: {failed:?}");
    assert!(
        failed.is_empty(),
        "{scenario:?}: seeds {failed:?}: run one with CREWDECK_SEED=N"
    );
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn crew_killed_at_any_moment_does_its_work_once() {
    run_rounds(Scenario::Crew);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn crew_killed_during_recovery_does_its_work_once() {
    run_rounds(Scenario::CrewEarly);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn kill_of_whole_process_tree_leaves_no_git_debris() {
    run_rounds(Scenario::CrewTree);
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn demo_killed_at_any_moment_resumes() {
    run_rounds(Scenario::Demo);
}

#[test]
fn no_program_outlives_a_killed_crew() {
    round::check_no_program_outlives_the_crew();
}
