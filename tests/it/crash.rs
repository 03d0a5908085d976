//! A crew that is killed with `kill -9` at any moment, again and again, and gone on with until its work is done: each
//! task is done once, each letter read once, each request decided once, no file is damaged, no work is lost, and no program outlives its crew.
//!
//! A few rounds run with all tests. The long run, and one round again by the seed that a failure prints:
//!
//! ```sh
//! CREWDECK_ROUNDS=100 cargo test --test it crash -- --nocapture
//! CREWDECK_ROUNDS=500 cargo test --test it whole_process_tree -- --nocapture
//! CREWDECK_SEED=17 cargo test --test it crash -- --nocapture
//! ```

mod books;
mod debris;
mod round;

use std::sync::OnceLock;
use std::time::Instant;

use round::{Calm, Plan, Play};

/// Rounds of each test where nobody asks for more.
const FEW: u64 = 1;

/// How that ends which nobody kills: the crew of the script ends the same however it is killed, so it is played once.
fn calm(play: Play) -> &'static Calm {
    static CREW: OnceLock<Calm> = OnceLock::new();
    static DEMO: OnceLock<Calm> = OnceLock::new();
    let kept = match play {
        Play::Crew | Play::CrewEarly | Play::CrewTree => &CREW,
        Play::Demo => &DEMO,
    };
    kept.get_or_init(|| round::undisturbed(play))
}

/// Plays the rounds that the environment asks for, and tells of all that fail.
fn rounds(play: Play) {
    let wish = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (first, count) = match (wish("CREWDECK_SEED"), wish("CREWDECK_ROUNDS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (1, count.unwrap_or(FEW)),
    };
    let calm = calm(play);
    let began = Instant::now();
    let (mut kills, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let ended = round::play(&Plan::of(play, seed, calm.took), calm);
        kills += ended.kills;
        if !ended.findings.is_empty() {
            let text = ended.findings.join("\n  ");
            eprintln!("{play:?}, seed {seed}, left in {}:\n  {text}", ended.dir);
            failed.push(seed);
        }
    }
    let took = began.elapsed().as_secs();
    println!("{play:?}: {count} rounds, {kills} kills, {took} s, failed seeds: {failed:?}");
    assert!(
        failed.is_empty(),
        "{play:?}: seeds {failed:?}: run one with CREWDECK_SEED=N"
    );
}

#[test]
fn crew_killed_at_any_moment_does_its_work_once() {
    rounds(Play::Crew);
}

#[test]
fn crew_killed_during_recovery_does_its_work_once() {
    rounds(Play::CrewEarly);
}

#[test]
fn kill_of_whole_process_tree_leaves_no_git_debris() {
    rounds(Play::CrewTree);
}

#[test]
fn demo_killed_at_any_moment_resumes() {
    rounds(Play::Demo);
}

#[test]
fn no_program_outlives_a_killed_crew() {
    round::outlived();
}
