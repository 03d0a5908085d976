//! A played team of 20 tasks against the promise that "done" is checked: four teammates lie, three pairs of tasks break
//! each other although each is green alone, and two teammates loop on a red check. The base branch must be green at
//! every commit, each liar must be caught, each pair must be named, and the user must be asked about each loop once.
//! The same holds if the crew is killed with `kill -9` at random moments.
//!
//! Only the model is scripted. Rounds with kills, and one of them by the seed that a failure prints:
//!
//! ```sh
//! CREWDECK_ROUNDS=100 cargo test --test it proof_team -- --include-ignored --nocapture
//! CREWDECK_SEED=17 cargo test --test it proof_team -- --include-ignored --nocapture
//! ```

mod findings;
mod workspace;

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;

use crate::common::random::Random;
use findings::Findings;
use workspace::{RunEnd, Workspace};

/// Number of rounds with kills if `CREWDECK_ROUNDS` is not set.
const DEFAULT_ROUNDS: u64 = 1;
/// The time in which the kills of a round are, measured from the start of each run.
const SPAN: Duration = Duration::from_secs(10);
/// Maximum number of runs of a round that may end by themselves before all is done.
const RUNS_MAX: usize = 4;

/// What the teammate of a task does, according to the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Play {
    Honest,
    /// Completes the task without a change.
    NoChange,
    /// Completes the task with a change that does not do it.
    Wrong,
    /// Says that all tests pass, and changes something else.
    Claims,
    /// Turns the checks off on its branch.
    EditsChecks,
    /// Uses the same port as the other task.
    Pair {
        with: u64,
        port: u64,
    },
    /// Repeats a change that does not help, until the user gives advice.
    Loops,
}

impl Play {
    /// Returns what task `id` is.
    fn of(id: u64) -> Play {
        match id {
            1 | 7 | 13 => Play::Pair {
                with: id + 1,
                port: 9900 + id,
            },
            2 | 8 | 14 => Play::Pair {
                with: id - 1,
                port: 9900 + id - 1,
            },
            3 => Play::NoChange,
            9 => Play::Wrong,
            15 => Play::Claims,
            19 => Play::EditsChecks,
            5 | 11 => Play::Loops,
            _ => Play::Honest,
        }
    }

    fn is_liar(self) -> bool {
        matches!(
            self,
            Play::NoChange | Play::Wrong | Play::Claims | Play::EditsChecks
        )
    }

    /// Returns the subject of task `id`, by which the script finds what to do.
    fn subject(self, id: u64) -> String {
        let what = match self {
            Play::Honest => String::new(),
            Play::NoChange => " without work".into(),
            Play::Wrong => " wrongly".into(),
            Play::Claims => " and say that it is tested".into(),
            Play::EditsChecks => " without checks".into(),
            Play::Pair { with, port } => format!(" with port {port} like task {with}"),
            Play::Loops => " again and again".into(),
        };
        format!("Write part {id}{what}")
    }
}

/// The number of the user's tasks. The crew adds one for each pair.
const TASKS: u64 = 20;
/// The tasks of each pair.
const PAIRS: [(u64, u64); 3] = [(1, 2), (7, 8), (13, 14)];

fn tasks() -> impl Iterator<Item = (u64, Play)> {
    (1..=TASKS).map(|id| (id, Play::of(id)))
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn liars_pairs_and_loops_never_turn_the_base_red() {
    let workspace = Workspace::new("proof-");
    let began = Instant::now();
    let RunEnd { code, text } = workspace.start().run_to_end();
    println!("{:.1} s", began.elapsed().as_secs_f64());
    let mut findings = Findings::new(&workspace);
    findings.check_base();
    findings.check_end();
    findings.check_uninterrupted();
    let found = findings.into_list();
    let is_good = found.is_empty() && code == 0;
    let dir = workspace.keep_unless(is_good);
    assert!(is_good, "{code}, kept in {dir}: {found:#?}\n{text}");
}

#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn killed_team_never_turns_the_base_red() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (first, count) = match (number("CREWDECK_SEED"), number("CREWDECK_ROUNDS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(DEFAULT_ROUNDS)),
    };
    let began = Instant::now();
    let (mut kills, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let (killed, found, dir) = run_with_kills(seed);
        kills += killed;
        if !found.is_empty() {
            eprintln!("seed {seed}, kept in {dir}:\n  {}", found.join("\n  "));
            failed.push(seed);
        }
    }
    let seconds = began.elapsed().as_secs();
    println!("{count} rounds, {kills} kills, {seconds} s, failed seeds: {failed:?}");
    assert_eq!(
        failed,
        Vec::<u64>::new(),
        "run one of the seeds with CREWDECK_SEED=N"
    );
}

/// Kills the team several times and lets it end. Returns the number of kills, what was found, and the folder if anything
/// was.
fn run_with_kills(seed: u64) -> (usize, Vec<String>, String) {
    let mut random = Random(seed);
    let workspace = Workspace::new(&format!("proof-{seed}-"));
    let mut findings = Findings::new(&workspace);
    let (wanted, mut kills) = (2 + random.next() % 4, 0);
    for _ in 0..wanted {
        // Longer than the work takes is possible: the run has ended by itself then.
        if workspace.start().run_until(random.below(SPAN)) {
            kills += 1;
        }
        findings.check_base();
    }
    let mut last = RunEnd::default();
    for _ in 0..RUNS_MAX {
        last = workspace.start().run_to_end();
        findings.check_base();
        if last.code == 0 {
            break;
        }
    }
    findings.check_end();
    let mut found = findings.into_list();
    if last.code != 0 {
        found.push(format!(
            "the last run ended with {}: {}",
            last.code, last.text
        ));
    }
    let dir = workspace.keep_unless(found.is_empty());
    (kills, found, dir)
}
