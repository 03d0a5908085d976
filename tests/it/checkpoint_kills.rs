//! Rewinds whose process is killed at a random moment. Afterwards, the files are those before the rewind or those of the
//! checkpoint. More rounds: `CREWDECK_ROUNDS=100 cargo test --test it checkpoint_kills:: -- --nocapture`.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::checkpoint::{CheckpointId, CheckpointReason, NewCheckpoint};
use crewdeck::domain::ids::Name;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Checkpoints, prepare};
use pretty_assertions::assert_eq;

use crate::common::project::Project;

const FILES: usize = 300;

/// The content of the files of a state, by name.
type Files = BTreeMap<String, String>;

/// Writes the files of state `state`: each fourth file exists in only one state.
fn write(project: &Project, state: usize) {
    for n in 0..FILES {
        let name = format!("dir{}/file{n}.txt", n % 7);
        if n % 4 == 0 && n / 4 % 2 != state {
            let _ = fs::remove_file(project.file(&name));
        } else {
            project.write(&name, &format!("{state} {n}\n"));
        }
    }
}

fn read(project: &Project) -> Files {
    let mut all = Files::new();
    for n in 0..7 {
        let dir = project.file(&format!("dir{n}"));
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            all.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    all
}

fn record(project: &Project) -> CheckpointId {
    let new = NewCheckpoint {
        agent: Name::lead(),
        session: "s".into(),
        folder: ".".into(),
        at: Timestamp(1.0),
        reason: CheckpointReason::Turn,
        label: "work".into(),
        place: None,
        starts_conversation: false,
    };
    let recorded = Checkpoints::open(project.path()).record(&new);
    recorded.unwrap().unwrap()
}

fn restore(project: &Project, id: CheckpointId) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
    command
        .args(["checkpoint", "restore", &id.to_string(), "--files"])
        .current_dir(project.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
fn files_are_those_before_or_after_a_killed_rewind() {
    let rounds = std::env::var("CREWDECK_ROUNDS").ok();
    let rounds: u32 = rounds.and_then(|n| n.parse().ok()).unwrap_or(6);
    let project = Project::repository(&[("start.txt", "1")]);
    prepare(project.path()).unwrap();
    let states = [0, 1].map(|state| {
        write(&project, state);
        (record(&project), read(&project))
    });
    let began = Instant::now();
    assert!(restore(&project, states[0].0).status().unwrap().success());
    let whole = began.elapsed();
    assert_eq!(read(&project), states[0].1);
    let (mut present, mut finished, mut unfinished) = (0, 0, 0);
    for round in 0..rounds {
        let target = 1 - present;
        let mut child = restore(&project, states[target].0).spawn().unwrap();
        // Spread over the whole run time, with more kills near its end, where the files are written.
        let share = f64::from(round % 17 + 1) / 17.0;
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * share.sqrt()));
        child.kill().unwrap();
        child.wait().unwrap();
        let was_pending = project.file(".crewdeck/checkpoints/pending.json").exists();
        Checkpoints::open(project.path())
            .finish_interrupted()
            .unwrap();
        let files = read(&project);
        if files == states[target].1 {
            present = target;
            finished += 1;
        } else {
            assert!(
                !was_pending,
                "round {round}: a rewind that has begun is finished"
            );
            assert_eq!(files, states[present].1, "round {round}");
        }
        unfinished += u32::from(was_pending);
        assert!(!project.file(".crewdeck/checkpoints/pending.json").exists());
    }
    println!("{rounds} rounds, {finished} rewinds took place, {unfinished} of them after the kill");
}
