//! Measures a checkpoint of a large repository in which a few files have changed.
//!
//! `cargo bench --bench checkpoints` prints the time of a checkpoint and its ratio to what git needs for the same: `git
//! add --all` and `git write-tree` with an index of their own. It also prints what the checkpoints need on disk, for source
//! code and for content that cannot be compressed: right after they are recorded, and after the clean-up has combined their
//! packs.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{median, ms, process, report};
use crewdeck::domain::checkpoint::{CheckpointLimits, CheckpointReason, NewCheckpoint};
use crewdeck::domain::ids::Name;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Checkpoints, prepare};

const FOLDERS: usize = 500;
const FILES_PER_FOLDER: usize = 100;
const CHANGED: usize = 10;
/// Size of a changed file, in bytes.
const SIZE: usize = 4096;
const ROUNDS: usize = 15;
const MS_MAX: f64 = 50.0;
/// The number of checkpoints of which the clean-up combines the packs: more than it leaves.
const COMBINED: usize = 60;

fn git(root: &Path, args: &[&str], index: Option<&Path>) {
    let mut command = Command::new("git");
    command.args(args).current_dir(root);
    if let Some(index) = index {
        command.env("GIT_INDEX_FILE", index);
    }
    let done = command.output().unwrap();
    assert!(done.status.success(), "git {args:?}");
}

fn repository(root: &Path) {
    for folder in 0..FOLDERS {
        let dir = root.join(format!("folder{folder}"));
        fs::create_dir(&dir).unwrap();
        for file in 0..FILES_PER_FOLDER {
            let text = format!("{folder} {file}\n");
            fs::write(dir.join(format!("file{file}.txt")), text).unwrap();
        }
    }
    fs::write(root.join(".gitignore"), "target/\n*.log\n").unwrap();
    git(root, &["init", "--quiet", "--initial-branch=main"], None);
    git(root, &["config", "user.name", "bench"], None);
    git(root, &["config", "user.email", "bench@example.com"], None);
    // The commit would pack the objects in the background, during the measurement.
    git(root, &["config", "gc.auto", "0"], None);
    git(root, &["config", "maintenance.auto", "false"], None);
    git(root, &["add", "."], None);
    git(root, &["commit", "--quiet", "-m", "start"], None);
    git(root, &["gc", "--quiet"], None);
    prepare(root).unwrap();
}

/// Changes [`CHANGED`] files to content that cannot be compressed, each in another folder. `first` is the number of the
/// first of these folders.
fn change(root: &Path, round: usize, first: usize) {
    let mut state = round as u64 + 1;
    for n in 0..CHANGED {
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .take(SIZE)
        .collect();
        let folder = (first + n * 41) % FOLDERS;
        fs::write(root.join(format!("folder{folder}/file{n}.txt")), bytes).unwrap();
    }
}

/// Returns the source files of this program.
fn sources(folder: &Path) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut sources(&path));
        } else {
            all.push(fs::read(path).unwrap());
        }
    }
    all
}

/// Records checkpoints of source files: each time, [`CHANGED`] files get the contents of others. Returns the disk space that
/// they need and the size of the contents, in bytes.
fn record_sources(root: &Path, checkpoints: &Checkpoints, from: usize) -> (u64, u64) {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let before = checkpoints.disk_use();
    let mut content = 0;
    let mut contents = sources.iter();
    for round in from..from + ROUNDS {
        for (n, bytes) in contents.by_ref().take(CHANGED).enumerate() {
            let folder = (round * 37 + n * 41) % FOLDERS;
            fs::write(root.join(format!("folder{folder}/file{n}.txt")), bytes).unwrap();
            content += bytes.len() as u64;
        }
        checkpoints.record(&checkpoint(round)).unwrap().unwrap();
    }
    (checkpoints.disk_use() - before, content)
}

fn checkpoint(round: usize) -> NewCheckpoint {
    NewCheckpoint {
        agent: Name::lead(),
        session: "bench".into(),
        folder: ".".into(),
        #[allow(clippy::cast_precision_loss)] // small
        at: Timestamp(1_800_000_000.0 + round as f64),
        reason: CheckpointReason::Calls,
        label: "before bash make".into(),
        place: None,
        starts_conversation: false,
    }
}

/// Cleans up now, although the last time may be less than ten minutes ago.
fn clean_up(checkpoints: &Checkpoints, root: &Path, keep: Duration) {
    // The file is missing before the first time.
    let _ = fs::remove_file(root.join(".crewdeck/checkpoints/cleaned"));
    let disk = u64::MAX;
    let limits = CheckpointLimits { keep, disk };
    let done = checkpoints.clean_up(limits, Timestamp(2_000_000_000.0));
    done.unwrap().unwrap();
}

fn main() {
    println!("{}", process::load());
    let dir = tempfile::tempdir().unwrap();
    let root = &dir.path().canonicalize().unwrap();
    repository(root);
    // Files that were written just now are read again, because their time stamps may not tell a further change.
    std::thread::sleep(Duration::from_secs(3));
    let checkpoints = Checkpoints::open(root);
    let first = Instant::now();
    change(root, 0, 0);
    checkpoints.record(&checkpoint(0)).unwrap().unwrap();
    let first = ms(first.elapsed());
    let index = root.join(".git/bench-index");
    fs::copy(root.join(".git/index"), &index).unwrap();
    git(root, &["add", "--all"], Some(&index));
    let before = checkpoints.disk_use();
    let (mut ours, mut theirs, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        change(root, round, round * 37);
        let began = Instant::now();
        checkpoints.record(&checkpoint(round)).unwrap().unwrap();
        ours.push(ms(began.elapsed()));
        let began = Instant::now();
        git(root, &["add", "--all"], Some(&index));
        git(root, &["write-tree"], Some(&index));
        theirs.push(ms(began.elapsed()));
        let began = Instant::now();
        assert_eq!(checkpoints.record(&checkpoint(round)).unwrap(), None);
        unchanged.push(ms(began.elapsed()));
    }
    let stored = (checkpoints.disk_use() - before) / ROUNDS as u64;
    let content = (CHANGED * SIZE) as u64;
    // Leaves only the newest checkpoint, so that the packs of the others do not count below.
    clean_up(&checkpoints, root, Duration::ZERO);
    let before = checkpoints.disk_use();
    // The folders are the same each time, as in the work on one task.
    for round in ROUNDS + 1..=ROUNDS + COMBINED {
        change(root, round, 0);
        checkpoints.record(&checkpoint(round)).unwrap().unwrap();
    }
    clean_up(&checkpoints, root, Duration::MAX);
    let combined = (checkpoints.disk_use() - before) / COMBINED as u64;
    let (of_sources, sources) = record_sources(root, &checkpoints, ROUNDS + COMBINED + 1);
    let per_round = |bytes: u64| bytes / ROUNDS as u64 / 1024;
    let (ours, theirs, unchanged) = (median(ours), median(theirs), median(unchanged));
    report(
        &format!(
            "checkpoint of {} files, {CHANGED} changed",
            FOLDERS * FILES_PER_FOLDER
        ),
        &format!(
            "{ours:.0} ms; git {theirs:.0} ms; ratio {:.2}; nothing changed {unchanged:.0} ms; the first one {first:.0} ms",
            ours / theirs
        ),
        "<= 50 ms",
        ours <= MS_MAX,
    );
    report(
        "disk space of a checkpoint of source code",
        &format!(
            "{} KiB for {} KiB of changed content",
            per_round(of_sources),
            per_round(sources)
        ),
        "<= the content",
        of_sources <= sources,
    );
    report(
        "disk space of one that cannot be compressed",
        &format!(
            "{} KiB for {} KiB of changed content; {} KiB when packs are combined",
            stored / 1024,
            content / 1024,
            combined / 1024
        ),
        // Most of the rest are the lists of the files in the changed folders, which git stores whole.
        "<= 2 times the content, <= 1.1 times when combined",
        stored <= content * 2 && combined <= content * 11 / 10,
    );
    println!("{}", process::load());
}
