//! Tests of the repository of checkpoints: numbers, errors, crashes and limits.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pretty_assertions::assert_eq;

use super::Project;
use crate::domain::checkpoint::{CheckpointId, CheckpointLimits, CheckpointReason};
use crate::domain::timestamp::Timestamp;
use crate::store::Checkpoints;

#[test]
fn another_process_continues_with_the_same_numbers_and_contents() {
    let project = Project::with_commit(&[("a", "1"), ("b", "1")]);
    project.write("a", "2");
    fs::remove_file(project.path("b")).unwrap();
    let first = project.record();
    let before = project.content();
    let other = Checkpoints::open(&project.root);
    project.write("a", "3");
    project.write("b", "3");
    let new = project.new_checkpoint(CheckpointReason::Turn);
    let second = other.record(&new).unwrap().unwrap();
    assert_eq!(second.0, first.0 + 1);
    other.restore(first, Timestamp(0.0)).unwrap();
    assert_eq!(project.content(), before);
}

#[test]
fn repository_without_commit_is_recorded() {
    let project = Project::new();
    project.write("a", "1");
    let id = project.record();
    project.write("a", "2");
    fs::remove_file(project.path("a")).unwrap();
    project.restore(id);
    assert_eq!(project.read("a"), "1");
    // A checkpoint without any file.
    fs::remove_file(project.path("a")).unwrap();
    let empty = project.record();
    project.write("a", "3");
    project.restore(empty);
    assert!(!project.path("a").exists());
}

#[test]
fn directories_without_repository_have_no_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let checkpoints = Checkpoints::open(&root);
    assert_eq!(checkpoints.list().unwrap(), []);
    assert!(checkpoints.check().is_err());
    let error = checkpoints.find(CheckpointId(3)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no checkpoint 3: none has been recorded yet"
    );
    assert!(!root.join(".crewdeck").exists());
}

#[test]
fn restore_is_refused_during_a_merge() {
    let project = Project::with_commit(&[("a", "1")]);
    let id = project.record();
    fs::write(project.path(".git/MERGE_HEAD"), "").unwrap();
    project.write("a", "2");
    let error = project
        .checkpoints
        .restore(id, Timestamp(0.0))
        .unwrap_err()
        .to_string();
    assert!(error.contains("a merge is in progress"), "{error}");
    assert_eq!(project.read("a"), "2");
}

#[test]
fn content_that_git_has_deleted_is_an_error_before_anything_changes() {
    let project = Project::with_commit(&[("a", "only in this commit"), ("b", "1")]);
    let id = project.record();
    project.write("a", "2");
    project.write("b", "2");
    project.git(&["add", "-A"]);
    project.git(&["commit", "--quiet", "--amend", "-m", "other"]);
    project.git(&["reflog", "expire", "--expire=now", "--all"]);
    project.git(&["gc", "--quiet", "--prune=now"]);
    let fresh = Checkpoints::open(&project.root);
    let error = fresh.restore(id, Timestamp(0.0)).unwrap_err().to_string();
    assert!(error.contains("Nothing was changed"), "{error}");
    assert_eq!(
        (project.read("a"), project.read("b")),
        ("2".into(), "2".into())
    );
}

#[test]
fn old_checkpoints_are_removed_and_the_newest_stays() {
    let project = Project::with_commit(&[("a", "1")]);
    let limits = |days: u64, disk| CheckpointLimits {
        keep: Duration::from_secs(days * 86_400),
        disk,
    };
    for n in 0..4 {
        // Content that cannot be compressed.
        let bytes: Vec<u8> = (0..200_000u32)
            .map(|i| i.wrapping_mul(2_654_435_761 + n).to_le_bytes()[2])
            .collect();
        project.write("a", bytes);
        project.record();
    }
    let ids = || {
        project
            .checkpoints
            .list()
            .unwrap()
            .iter()
            .map(|c| c.id.0)
            .collect::<Vec<_>>()
    };
    let now = |days: f64| Timestamp(project.now.get() + days * 86_400.0);
    let done = project
        .checkpoints
        .remove_old(limits(7, u64::MAX), now(1.0))
        .unwrap();
    assert_eq!((ids(), done.is_too_large), (vec![4, 3, 2, 1], false));
    // Combining the packs is enough at first.
    let size = project.checkpoints.disk_use();
    project
        .checkpoints
        .remove_old(limits(7, size - 1), now(1.0))
        .unwrap();
    assert_eq!(ids(), [4, 3, 2, 1]);
    let size = project.checkpoints.disk_use();
    project
        .checkpoints
        .remove_old(limits(7, size - 1), now(1.0))
        .unwrap();
    assert_eq!(ids(), [4, 3]);
    assert!(project.checkpoints.disk_use() < size);
    let done = project
        .checkpoints
        .remove_old(limits(7, 1), now(30.0))
        .unwrap();
    assert_eq!((ids(), done.is_too_large), (vec![4], true));
    // Numbers go on, and the next snapshot works although its base was removed.
    project.write("a", "small");
    assert_eq!(project.record(), CheckpointId(5));
    let preview = project.checkpoints.preview(CheckpointId(4)).unwrap();
    assert_eq!(preview.files, 1);
}

#[test]
fn interrupted_rewind_is_finished_and_spares_later_changes() {
    let project = Project::with_commit(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let target = project.content();
    let id = project.record();
    for file in ["a", "b", "c"] {
        project.write(file, "2");
    }
    let undo = project.record();
    let pending = format!(r#"{{"folder":".","target":{id},"undo":{undo}}}"#);
    // As if the process had been killed after it restored `a`.
    project.write(".crewdeck/checkpoints/pending.json", pending);
    project.write("a", "1");
    let other = Checkpoints::open(&project.root);
    other.finish_interrupted().unwrap();
    assert_eq!(project.content(), target);
    assert!(!project.path(".crewdeck/checkpoints/pending.json").exists());

    project.write("b", "2");
    project.write("c", "by the user");
    let pending = format!(r#"{{"folder":".","target":{id},"undo":{undo}}}"#);
    project.write(".crewdeck/checkpoints/pending.json", pending);
    other.finish_interrupted().unwrap();
    assert_eq!(
        (project.read("b"), project.read("c")),
        ("1".into(), "by the user".into())
    );
}

#[test]
fn paths_in_folders_of_git_and_crewdeck_are_never_written() {
    let project = Project::with_commit(&[("a", "1"), (".crewdeck/teams/x.toml", "lead = 1")]);
    project.git(&["add", "--force", ".crewdeck/teams/x.toml"]);
    project.git(&["commit", "--quiet", "-m", "state"]);
    // A commit with a hook, as only low-level commands can make it.
    let hook = project.git(&["hash-object", "-w", "a"]);
    let entry = |mode: &str, kind: &str, hash: &str, name: &str| {
        let line = format!("{mode} {kind} {hash}\t{name}\n");
        let input = project.path(".git/entry");
        fs::write(&input, line).unwrap();
        let git = crate::store::git::Git::at(&project.root);
        git.with_input(fs::File::open(input).unwrap())
            .ok(&["mktree"])
            .unwrap()
    };
    let hooks = entry("100755", "blob", &hook, "pre-commit");
    let folder = entry("040000", "tree", &hooks, "hooks");
    let tree = entry("040000", "tree", &folder, ".git");
    let commit = project.git(&["commit-tree", &tree, "-m", "evil"]);
    let good = project.git(&["rev-parse", "HEAD"]);
    project.git(&["update-ref", "refs/heads/main", &commit]);
    let evil = project.record();
    project.git(&["update-ref", "refs/heads/main", &good]);
    fs::remove_file(project.path(".crewdeck/teams/x.toml")).unwrap();
    project.write("a", "2");
    for checkpoints in [
        project.checkpoints.clone(),
        Checkpoints::open(&project.root),
    ] {
        let preview = checkpoints.preview(evil).unwrap();
        assert!(!preview.diff.contains("pre-commit"), "{}", preview.diff);
        checkpoints.restore(evil, Timestamp(0.0)).unwrap();
        assert!(!project.path(".git/hooks/pre-commit").exists());
        assert!(!project.path(".crewdeck/teams/x.toml").exists());
        assert_eq!(project.read("a"), "1");
    }
}

#[test]
fn rewind_that_cannot_be_finished_does_not_block_checkpoints() {
    let project = Project::with_commit(&[("a", "1")]);
    project.record();
    let pending = r#"{"folder":".worktrees/gone","target":1,"undo":1}"#;
    project.write(".crewdeck/checkpoints/pending.json", pending);
    let error = project
        .checkpoints
        .finish_interrupted()
        .unwrap_err()
        .to_string();
    assert!(error.contains("could not be finished"), "{error}");
    assert!(
        error.contains("Checkpoint 1 has the files before it"),
        "{error}"
    );
    project.record();
    project.write(".crewdeck/checkpoints/pending.json", "no JSON");
    project.record();
}

#[test]
fn checkpoint_without_its_commit_is_left_out() {
    let project = Project::with_commit(&[("a", "1")]);
    let first = project.record();
    let before = packs(&project);
    project.record();
    for file in packs(&project).into_iter().filter(|f| !before.contains(f)) {
        fs::remove_file(file).unwrap();
    }
    let ids: Vec<_> = project
        .checkpoints
        .list()
        .unwrap()
        .iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(ids, [first]);
    project.write("a", "2");
    project.restore(first);
    assert_eq!(project.read("a"), "1");
    let limits = CheckpointLimits {
        keep: Duration::from_secs(1_000_000),
        disk: 1,
    };
    project
        .checkpoints
        .remove_old(limits, Timestamp(project.now.get()))
        .unwrap();
}

/// Returns the files of the packs of checkpoints.
fn packs(project: &Project) -> Vec<PathBuf> {
    let folder = project.path(".crewdeck/checkpoints/git/objects/pack");
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn many_packs_are_combined_and_all_checkpoints_stay() {
    let project = Project::with_commit(&[("a", "0"), ("d/b", "0")]);
    let mut states = Vec::new();
    for n in 1..=52 {
        project.write("a", format!("{n}"));
        states.push((project.record(), project.content()));
    }
    assert!(packs(&project).len() >= 2 * 52);
    let limits = CheckpointLimits {
        keep: Duration::from_secs(1_000_000),
        disk: u64::MAX,
    };
    let now = Timestamp(project.now.get());
    project.checkpoints.remove_old(limits, now).unwrap();
    let count = packs(&project).len();
    assert!(count <= 4, "{count}");
    for at in [0, 25, 51] {
        project.restore(states[at].0);
        assert_eq!(project.content(), states[at].1);
    }
}

#[test]
fn leftovers_of_a_killed_import_are_removed_when_they_are_old() {
    let project = Project::with_commit(&[("a", "1")]);
    let id = project.record();
    let pack = packs(&project)
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "pack"))
        .unwrap();
    let folder = pack.parent().unwrap().to_path_buf();
    let make = |name: &str| {
        let path = folder.join(name);
        fs::write(&path, "part").unwrap();
        path
    };
    let old = [
        make("tmp_pack_old"),
        make("tmp_idx_old"),
        pack.with_extension("keep"),
    ];
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3700);
    for path in &old {
        let file = fs::File::create(path).unwrap();
        file.set_modified(an_hour_ago).unwrap();
    }
    let new = make("tmp_pack_new");
    let limits = CheckpointLimits {
        keep: Duration::from_secs(1_000_000),
        disk: u64::MAX,
    };
    let now = Timestamp(project.now.get());
    project.checkpoints.remove_old(limits, now).unwrap();
    assert_eq!(old.map(|path| path.exists()), [false; 3]);
    assert!(new.exists() && pack.exists());
    project.write("a", "2");
    project.restore(id);
    assert_eq!(project.read("a"), "1");
}
