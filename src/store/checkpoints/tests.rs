use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::domain::checkpoint::{CheckpointLimits, RestoredFiles};
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;
use crate::store::git::Git;

/// The content of a directory, without the folders of git and crewdeck: path to kind and content.
type Content = BTreeMap<Vec<u8>, (char, Vec<u8>)>;

struct Project {
    dir: tempfile::TempDir,
    root: PathBuf,
    checkpoints: Checkpoints,
    now: std::cell::Cell<f64>,
}

impl Project {
    fn new() -> Project {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = Project {
            checkpoints: Checkpoints::open(&root),
            dir,
            root,
            now: 1_800_000_000.0.into(),
        };
        project.git(&["init", "--quiet", "-b", "main"]);
        project.git(&["config", "user.name", "n"]);
        project.git(&["config", "user.email", "n@example.com"]);
        crate::store::prepare(&project.root).unwrap();
        project
    }

    fn with_commit(files: &[(&str, &str)]) -> Project {
        let project = Project::new();
        for (path, text) in files {
            project.write(path, text);
        }
        project.git(&["add", "-A"]);
        project.git(&["commit", "--quiet", "--allow-empty", "-m", "base"]);
        project
    }

    fn git(&self, args: &[&str]) -> String {
        Git::at(&self.root).ok(args).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn new_checkpoint(&self, reason: CheckpointReason) -> NewCheckpoint {
        self.now.set(self.now.get() + 1.0);
        NewCheckpoint {
            agent: Name::lead(),
            session: "s1".into(),
            folder: ".".into(),
            at: Timestamp(self.now.get()),
            reason,
            label: "do \"it\"\tnow".into(),
            place: None,
            starts_conversation: false,
        }
    }

    fn record(&self) -> CheckpointId {
        let new = self.new_checkpoint(CheckpointReason::Turn);
        self.checkpoints.record(&new).unwrap().unwrap()
    }

    fn restore(&self, id: CheckpointId) -> RestoredFiles {
        self.checkpoints
            .restore(id, Timestamp(self.now.get()))
            .unwrap()
    }

    fn content(&self) -> Content {
        let mut all = Content::new();
        add_content(&self.root, &self.root, &mut all);
        all
    }
}

fn add_content(root: &Path, dir: &Path, all: &mut Content) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if dir == root
            && name
                .to_str()
                .is_some_and(crate::domain::folders::is_reserved)
        {
            continue;
        }
        let path = entry.path();
        let meta = path.symlink_metadata().unwrap();
        let key = path
            .strip_prefix(root)
            .unwrap()
            .as_os_str()
            .as_bytes()
            .to_vec();
        if meta.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_vec();
            all.insert(key, ('l', target));
        } else if meta.is_dir() {
            add_content(root, &path, all);
        } else {
            let kind = if meta.permissions().mode() & 0o100 != 0 {
                'x'
            } else {
                'f'
            };
            all.insert(key, (kind, fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn files_return_to_the_checkpoint_and_the_rewind_can_be_undone() {
    let project = Project::with_commit(&[("a.txt", "one\n"), ("src/b.rs", "fn b() {}\n")]);
    project.write("untracked.txt", "mine\n");
    let before = project.content();
    let id = project.record();

    project.write("a.txt", "two\n");
    fs::remove_file(project.path("src/b.rs")).unwrap();
    project.write("new/deep/c.txt", "c\n");
    symlink("a.txt", project.path("link")).unwrap();
    let changed = project.content();
    let preview = project.checkpoints.preview(id).unwrap();
    assert_eq!(preview.files, 4);
    assert!(preview.diff.contains("-two\n+one\n"), "{}", preview.diff);
    assert!(preview.stat.contains("4 files changed"), "{}", preview.stat);
    assert_eq!(project.content(), changed, "a preview changes nothing");

    let done = project.restore(id);
    assert_eq!(
        done.changed.paths,
        ["link", "new/deep/c.txt", "a.txt", "src/b.rs"]
    );
    assert_eq!(done.skipped.count, 0);
    assert_eq!(project.content(), before);
    assert!(!project.path("new").exists(), "empty folders are removed");

    project.restore(done.undo.unwrap());
    assert_eq!(project.content(), changed);
}

#[test]
fn checkpoints_are_not_in_the_repository() {
    let project = Project::with_commit(&[("a", "1")]);
    let refs = project.git(&["for-each-ref"]);
    let objects = project.git(&["count-objects"]);
    project.write("b", "2");
    let id = project.record();
    project.write("b", "3");
    project.restore(id);
    assert_eq!(project.git(&["for-each-ref"]), refs);
    assert_eq!(
        project.git(&["log", "--all", "--oneline"]).lines().count(),
        1
    );
    assert_eq!(project.git(&["count-objects"]), objects);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? b");
}

#[test]
fn ignored_files_are_neither_recorded_nor_touched() {
    let project =
        Project::with_commit(&[(".gitignore", "target/\n*.log\n"), ("kept.log.txt", "k")]);
    project.write("target/out", "1");
    project.write("a/x.log", "1");
    // A folder that ignores itself, as Python's venv creates it.
    project.write(".venv/.gitignore", "*\n");
    project.write(".venv/bin/python", "p");
    let id = project.record();
    project.write("target/out", "2");
    project.write("target/more", "2");
    project.write("a/x.log", "2");
    // The rules go, so that everything that was ignored would count as new.
    fs::remove_file(project.path(".gitignore")).unwrap();
    fs::remove_file(project.path(".venv/.gitignore")).unwrap();
    project.write("new.txt", "n");
    project.restore(id);
    assert_eq!(project.read("target/out"), "2");
    assert_eq!(project.read("target/more"), "2");
    assert_eq!(project.read("a/x.log"), "2");
    assert_eq!(project.read(".venv/bin/python"), "p");
    assert_eq!(project.read(".gitignore"), "target/\n*.log\n");
    assert!(!project.path("new.txt").exists());
}

#[test]
fn unrecorded_files_are_never_overwritten() {
    let project = Project::with_commit(&[("a", "1")]);
    project.write("notes.txt", "recorded");
    let id = project.record();
    fs::remove_file(project.path("notes.txt")).unwrap();
    project.record();
    project.write(".gitignore", "notes.txt\n");
    project.write("notes.txt", "secret of the user");
    let done = project.restore(id);
    assert_eq!(project.read("notes.txt"), "secret of the user");
    assert_eq!(
        done.skipped.paths,
        ["notes.txt: its present content is not recorded"]
    );
}

#[test]
fn file_and_folder_can_change_places() {
    let project = Project::with_commit(&[("thing", "file"), ("other/x", "1"), ("other/y/z", "2")]);
    let first = project.content();
    let id = project.record();
    fs::remove_file(project.path("thing")).unwrap();
    fs::create_dir(project.path("thing")).unwrap();
    let empty = project.record();
    project.write("thing/inner", "i");
    fs::remove_dir_all(project.path("other")).unwrap();
    project.write("other", "now a file");
    let second = project.content();
    let later = project.record();
    project.restore(id);
    assert_eq!(project.content(), first);
    project.restore(later);
    assert_eq!(project.content(), second);
    project.restore(empty);
    assert!(!project.path("thing").is_file());
}

#[test]
fn modes_links_and_unusual_names_are_restored() {
    let project = Project::with_commit(&[("run.sh", "#!/bin/sh\n")]);
    let unusual = std::ffi::OsString::from_vec(b"new\nline \"quoted\" \\ \xff\xfe".to_vec());
    fs::write(project.root.join(&unusual), "odd").unwrap();
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("secret", "s");
    fs::set_permissions(project.path("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("/etc/passwd", project.path("link")).unwrap();
    let before = project.content();
    let id = project.record();
    fs::set_permissions(project.path("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(project.root.join(&unusual)).unwrap();
    fs::remove_file(project.path("secret")).unwrap();
    fs::remove_file(project.path("link")).unwrap();
    project.write("link", "no link");
    project.restore(id);
    assert_eq!(project.content(), before);
    let mode = |path: &str| project.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("secret"), mode("run.sh")), (0o600, 0o755));
}

#[test]
fn write_through_a_hard_link_with_restored_time_is_recorded() {
    let project = Project::with_commit(&[("a", "one")]);
    let outside = tempfile::tempdir_in(project.dir.path().parent().unwrap()).unwrap();
    fs::hard_link(project.path("a"), outside.path().join("b")).unwrap();
    let old = project.path("a").metadata().unwrap().modified().unwrap();
    let first = project.record();
    let file = fs::File::options()
        .write(true)
        .open(outside.path().join("b"))
        .unwrap();
    std::io::Write::write_all(&mut &file, b"two").unwrap();
    file.set_modified(old).unwrap();
    drop(file);
    let second = project.record();
    project.restore(first);
    assert_eq!(project.read("a"), "one");
    project.restore(second);
    assert_eq!(project.read("a"), "two");
}

#[test]
fn converted_files_are_recorded_as_they_are_on_disk() {
    let project = Project::with_commit(&[
        (".gitattributes", "* text=auto\n"),
        ("dos.txt", "a\r\nb\r\n"),
    ]);
    project.write("new.txt", "c\r\nd\n");
    let before = project.content();
    let id = project.record();
    fs::remove_file(project.path("dos.txt")).unwrap();
    project.write("new.txt", "c\nd\n");
    project.restore(id);
    assert_eq!(project.content(), before);
}

#[test]
fn nested_repositories_and_state_folders_are_left_alone() {
    let project = Project::with_commit(&[("a", "1")]);
    project.write("vendor/lib/x", "1");
    Git::at(&project.path("vendor/lib"))
        .ok(&["init", "--quiet"])
        .unwrap();
    let id = project.record();
    project.write("vendor/lib/x", "2");
    project.write(".tasks/task_1.json", "{}");
    project.write("a", "2");
    let done = project.restore(id);
    assert_eq!(done.changed.paths, ["a"]);
    assert_eq!(project.read("vendor/lib/x"), "2");
    assert_eq!(project.read(".tasks/task_1.json"), "{}");
}

#[test]
fn later_calls_record_only_changes() {
    let project = Project::with_commit(&[("a", "1")]);
    let calls = || {
        let new = project.new_checkpoint(CheckpointReason::Calls);
        project.checkpoints.record(&new).unwrap()
    };
    let first = project.record();
    assert_eq!(calls(), None);
    project.write("a", "2");
    assert!(calls() > Some(first));
    // Written again with the same content.
    project.write("a", "2");
    assert_eq!(calls(), None);
    let listed = project.checkpoints.list().unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0].content.label, "do \"it\"\tnow");
}

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
            .map(|i| (i.wrapping_mul(2_654_435_761 + n) >> 13) as u8)
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

/// One step of a random sequence.
#[derive(Debug, Clone)]
enum Act {
    Write(usize, u8),
    Remove(usize),
    Link(usize, usize),
    Run(usize),
    Rules(u8),
    Commit,
    Record,
    /// Rewinds to one of the checkpoints so far.
    Restore(prop::sample::Index),
    /// Goes on as another process that knows nothing.
    Restart,
}

const PATHS: [&str; 8] = ["a", "b", "d", "d/x", "d/y", "d/e/z", "n.log", "out/o"];

fn act() -> impl Strategy<Value = Act> {
    let path = 0..PATHS.len();
    prop_oneof![
        6 => (path.clone(), any::<u8>()).prop_map(|(p, n)| Act::Write(p, n % 4)),
        3 => path.clone().prop_map(Act::Remove),
        1 => (path.clone(), path.clone()).prop_map(|(p, to)| Act::Link(p, to)),
        1 => path.prop_map(Act::Run),
        1 => any::<u8>().prop_map(|n| Act::Rules(n % 3)),
        1 => Just(Act::Commit),
        5 => Just(Act::Record),
        4 => any::<prop::sample::Index>().prop_map(Act::Restore),
        1 => Just(Act::Restart),
    ]
}

/// Removes what is in the way of a file at `path`.
fn make_room(project: &Project, path: &str) {
    let full = project.path(path);
    for above in full
        .ancestors()
        .skip(1)
        .take_while(|dir| *dir != project.root)
    {
        if above.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(above).unwrap();
        }
    }
    match full.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(&full).unwrap(),
        Ok(_) => fs::remove_file(&full).unwrap(),
        Err(_) => {}
    }
    fs::create_dir_all(full.parent().unwrap()).unwrap();
}

/// Returns the content without the files that git ignores and does not track.
fn recorded_content(project: &Project) -> Content {
    let listed = Git::at(&project.root)
        .run_bytes(
            &[
                "ls-files",
                "-z",
                "--others",
                "--ignored",
                "--exclude-standard",
            ],
            1 << 20,
        )
        .unwrap();
    let ignored: Vec<&[u8]> = listed.out.split(|byte| *byte == 0).collect();
    let mut all = project.content();
    all.retain(|path, _| !ignored.contains(&path.as_slice()));
    all
}

fn rounds() -> u32 {
    let rounds = std::env::var("CREWDECK_ROUNDS").ok();
    rounds.and_then(|n| n.parse().ok()).unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), ..ProptestConfig::default() })]

    // git itself says what is ignored, and the recorded contents are compared with copies in memory.
    #[test]
    fn contents_always_equal_a_recorded_state(acts in prop::collection::vec(act(), 1..40)) {
        let mut project = Project::with_commit(&[("a", "0"), ("d/x", "0"), ("out/o", "0")]);
        let mut states: Vec<(CheckpointId, Content)> = Vec::new();
        for act in acts {
            match act {
                Act::Write(path, n) => {
                    make_room(&project, PATHS[path]);
                    project.write(PATHS[path], [b'0' + n]);
                }
                Act::Remove(path) => {
                    let path = project.path(PATHS[path]);
                    match path.symlink_metadata() {
                        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
                        Ok(_) => fs::remove_file(path).unwrap(),
                        Err(_) => {}
                    }
                }
                Act::Link(path, to) => {
                    make_room(&project, PATHS[path]);
                    symlink(PATHS[to], project.path(PATHS[path])).unwrap();
                }
                Act::Run(path) => {
                    let path = project.path(PATHS[path]);
                    if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                    }
                }
                Act::Rules(n) => {
                    let rules = ["", "*.log\n", "/out/\n*.log\n"][usize::from(n)];
                    project.write(".git/info/exclude", rules);
                    for folder in crate::domain::folders::STATE {
                        use std::io::Write;
                        let exclude = project.path(".git/info/exclude");
                        let mut file = fs::File::options().append(true).open(exclude).unwrap();
                        writeln!(file, "/{folder}/").unwrap();
                    }
                }
                Act::Commit => {
                    project.git(&["add", "-A"]);
                    project.git(&["commit", "--quiet", "--allow-empty", "-m", "next"]);
                }
                Act::Record => {
                    let id = project.record();
                    states.push((id, recorded_content(&project)));
                }
                Act::Restore(which) => {
                    if states.is_empty() {
                        continue;
                    }
                    let (id, state) = states[which.index(states.len())].clone();
                    let present = recorded_content(&project);
                    let ignored = project.content().into_iter().filter(|(p, _)| !present.contains_key(p));
                    let ignored: Content = ignored.collect();
                    let done = project.restore(id);
                    let after = project.content();
                    let left_alone = |path: &Vec<u8>| {
                        ignored.contains_key(path) || done.skipped.paths.iter().any(|line| {
                            line.as_bytes().starts_with(path)
                        })
                    };
                    // What was ignored stays; all other files are those of the checkpoint.
                    for (path, content) in &ignored {
                        prop_assert_eq!(after.get(path), Some(content));
                    }
                    for (path, content) in &state {
                        if !left_alone(path) {
                            prop_assert_eq!(after.get(path), Some(content), "{}", String::from_utf8_lossy(path));
                        }
                    }
                    for path in after.keys() {
                        let is_known = state.contains_key(path) || left_alone(path) || present.contains_key(path);
                        prop_assert!(is_known, "{}", String::from_utf8_lossy(path));
                    }
                    states.push((done.undo.unwrap(), present));
                }
                Act::Restart => project.checkpoints = Checkpoints::open(&project.root),
            }
        }
    }
}
