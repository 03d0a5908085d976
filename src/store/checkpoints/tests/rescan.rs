//! Tests of scans of the folders that have changed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use pretty_assertions::assert_eq;

use super::super::files::{open_below, open_top};
use super::super::known::KnownFiles;
use super::super::rescan::{Rescan, ScanScope};
use super::super::scan::DirectoryScan;
use super::super::watch::{DirectoryWatch, FolderChanges};
use super::Project;
use super::scan::learn;
use crate::domain::checkpoint::CheckpointReason;
use crate::store::git::Git;

/// Returns whether the project must be watched. Elsewhere, the tests of watches do nothing.
fn is_local(project: &Project) -> bool {
    let mut command = Command::new("stat");
    command.args(["-f", "-c", "%T"]).arg(&project.root);
    let kind = String::from_utf8(command.output().unwrap().stdout).unwrap();
    ["ext2/ext3", "xfs", "btrfs", "tmpfs"].contains(&kind.trim())
}

/// Returns an open directory, and a watch of it and of its folders `a` and `a/b`; `None` where directories are not watched.
fn watched(project: &Project) -> Option<(OwnedFd, DirectoryWatch)> {
    if !is_local(project) {
        return None;
    }
    for path in ["x", "a/x", "a/b/x", "ignored/x"] {
        project.write(path, "1");
    }
    let top = open_top(&project.root).unwrap();
    let mut watch = DirectoryWatch::start(&top).unwrap();
    watch.begin();
    for path in ["", "a", "a/b"] {
        watch.add(&open_below(&top, path.as_bytes()).unwrap(), path.as_bytes());
    }
    assert!(watch.end());
    Some((top, watch))
}

fn changes_in(folders: &[&str]) -> FolderChanges {
    let folders = folders.iter().map(|path| path.as_bytes().to_vec());
    FolderChanges::In(folders.collect())
}

#[test]
fn each_change_names_its_folder_or_asks_for_a_scan_of_all() {
    type Act = fn(&Project);
    let unknown = || FolderChanges::Unknown;
    let steps: [(&str, Act, FolderChanges); 15] = [
        ("nothing", |_| {}, changes_in(&[])),
        (
            "files read",
            |p| drop(p.read("a/x") + &p.read("a/b/x")),
            changes_in(&[]),
        ),
        ("file written", |p| p.write("a/x", "2"), changes_in(&["a"])),
        (
            "files of two folders",
            |p| {
                p.write("x", "2");
                p.write("a/b/x", "2");
            },
            changes_in(&["", "a/b"]),
        ),
        ("new file", |p| p.write("a/b/y", "1"), changes_in(&["a/b"])),
        (
            "file renamed to another folder",
            |p| fs::rename(p.path("a/b/y"), p.path("a/y")).unwrap(),
            changes_in(&["a", "a/b"]),
        ),
        (
            "file removed",
            |p| fs::remove_file(p.path("a/y")).unwrap(),
            changes_in(&["a"]),
        ),
        (
            "permission",
            |p| fs::set_permissions(p.path("a/x"), Permissions::from_mode(0o600)).unwrap(),
            changes_in(&["a"]),
        ),
        (
            "file cut",
            |p| {
                let file = OpenOptions::new().write(true).open(p.path("a/x"));
                file.unwrap().set_len(0).unwrap();
            },
            changes_in(&["a"]),
        ),
        (
            "folder that is not watched",
            |p| p.write("ignored/x", "2"),
            changes_in(&[]),
        ),
        ("rules", |p| p.write("a/.gitignore", "x\n"), unknown()),
        ("new folder", |p| p.write("a/c/x", "1"), unknown()),
        (
            "folder renamed",
            |p| fs::rename(p.path("a/b"), p.path("a/d")).unwrap(),
            unknown(),
        ),
        (
            "folder removed",
            |p| fs::remove_dir_all(p.path("a/d")).unwrap(),
            unknown(),
        ),
        (
            "permission of a folder",
            |p| fs::set_permissions(p.path("a"), Permissions::from_mode(0o700)).unwrap(),
            unknown(),
        ),
    ];
    let project = Project::new();
    let Some((_top, mut watch)) = watched(&project) else {
        return;
    };
    let mut written = BTreeSet::new();
    for (what, act, expected) in steps {
        act(&project);
        let mut changes = watch.changes();
        // A program that another test starts has the files that are open at that moment, and closes them a little later.
        if let (FolderChanges::In(found), FolderChanges::In(expected)) = (&mut changes, &expected) {
            found.retain(|folder| expected.contains(folder) || !written.contains(folder));
            written.extend(expected.iter().cloned());
        }
        assert_eq!(changes, expected, "{what}");
    }
}

#[test]
fn too_many_changes_ask_for_a_scan_of_all() {
    let project = Project::new();
    let Some((_top, mut watch)) = watched(&project) else {
        return;
    };
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let most: usize = most.trim().parse().unwrap();
    // Equal changes one after another count once.
    for _ in 0..=most / 2 {
        project.write("x", "2");
        project.write("a/x", "2");
    }
    assert_eq!(watch.changes(), FolderChanges::Unknown);
    project.write("a/x", "3");
    assert_eq!(watch.changes(), changes_in(&["a"]));
}

/// A directory that is scanned again and again.
struct Scanned {
    project: Project,
    top: OwnedFd,
    known: KnownFiles,
    rescan: Rescan,
}

impl Scanned {
    fn new() -> Scanned {
        let project = Project::new();
        project.write("a/x", "1");
        let top = open_top(&project.root).unwrap();
        let mut scanned = Scanned {
            project,
            top,
            known: KnownFiles::default(),
            rescan: Rescan::default(),
        };
        // An empty directory is not watched yet.
        scanned.scan();
        scanned.scan();
        let is_local = is_local(&scanned.project);
        assert_eq!(scanned.rescan.is_watched(), is_local);
        scanned
    }

    /// Scans the directory as a snapshot does, and returns the changed files.
    fn scan(&mut self) -> Vec<String> {
        let found = self.find();
        learn(&mut self.known, &found);
        self.rescan.settle(&[]);
        let paths = found.changed.into_iter();
        paths
            .map(|(path, _)| String::from_utf8(path).unwrap())
            .collect()
    }

    fn find(&mut self) -> DirectoryScan {
        let patterns = vec![b"*.log\n".to_vec()];
        let scope = ScanScope::Changed;
        let found = self.rescan.scan(&self.top, &self.known, patterns, scope);
        found.unwrap()
    }
}

#[test]
fn changes_that_the_kernel_does_not_report_are_found_in_the_next_full_scan() {
    let mut scanned = Scanned::new();
    let outside = tempfile::tempdir().unwrap();
    let link = outside.path().join("link");
    if fs::hard_link(scanned.project.path("a/x"), &link).is_err() {
        return;
    }
    fs::write(&link, "by another path").unwrap();
    scanned.project.write("a/y", "1");
    // The scan of the folder finds both.
    assert_eq!(scanned.scan(), ["a/x", "a/y"]);
    fs::write(&link, "again by another path").unwrap();
    if scanned.rescan.is_watched() {
        assert_eq!(scanned.scan(), [""; 0]);
        scanned.rescan.let_time_pass(Duration::from_secs(61));
    }
    assert_eq!(scanned.scan(), ["a/x"]);
}

#[test]
fn snapshot_that_fails_is_followed_by_a_scan_of_all() {
    let mut scanned = Scanned::new();
    scanned.project.write("a/x", "2");
    let first = scanned.find();
    assert_eq!(first.changed.len(), 1);
    // Without `settle`, the change is found again, although it was reported once.
    assert_eq!(scanned.find(), first);
}

#[test]
fn folders_at_two_paths_ask_for_a_scan_of_all() {
    let project = Project::new();
    let Some((top, mut watch)) = watched(&project) else {
        return;
    };
    watch.begin();
    // As if `c` were a bind mount of `a`.
    let folder = open_below(&top, b"a").unwrap();
    for path in [b"a", b"c"] {
        watch.add(&folder, path);
    }
    assert!(watch.end());
    project.write("a/x", "2");
    assert_eq!(watch.changes(), FolderChanges::Unknown);
}

/// Each record compares what has changed with a scan of all folders.
#[test]
fn special_folders_and_files_are_scanned_as_all_others() {
    type Act<'a> = Box<dyn Fn() + 'a>;
    let project = Project::with_commit(&[("a/x", "1"), ("a/b/x", "1"), ("n/x", "1")]);
    let git = |folder: &str, args: &[&str]| drop(Git::at(&project.path(folder)).ok(args).unwrap());
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(project.path(path), Permissions::from_mode(mode)).unwrap();
    };
    let acts: [Act<'_>; 10] = [
        Box::new(|| mode("a/x", 0o600)),
        Box::new(|| project.write("a/y", "1")),
        Box::new(|| mode("a/x", 0o644)),
        Box::new(|| git("n", &["init", "--quiet"])),
        Box::new(|| project.write("n/x", "2")),
        Box::new(|| project.write("a/x", "2")),
        Box::new(|| project.write("a/b/.gitignore", "y\n")),
        Box::new(|| project.write("a/b/y", "1")),
        Box::new(|| fs::rename(project.path("a/b"), project.path("a/c")).unwrap()),
        Box::new(|| project.write("a/c/x", "2")),
    ];
    project.record();
    for act in acts {
        act();
        project.record();
        project.record();
    }
}

#[test]
fn directory_that_was_replaced_is_scanned_whole() {
    let dir = tempfile::tempdir().unwrap();
    let project = Project::with_commit(&[("a/x", "1")]);
    project.record();
    project.record();
    let other = dir.path().join("other");
    let mut copy = Command::new("cp");
    let copied = copy.arg("-a").arg(&project.root).arg(&other).status();
    assert!(copied.unwrap().success());
    fs::rename(&project.root, dir.path().join("old")).unwrap();
    fs::rename(&other, &project.root).unwrap();
    project.write("a/x", "2");
    let id = project.record();
    project.write("a/x", "3");
    project.restore(id);
    assert_eq!(project.read("a/x"), "2");
}

#[test]
fn files_of_a_new_commit_are_recorded_although_nothing_has_changed() {
    let project = Project::with_commit(&[(".gitignore", "*.log\n"), ("a/x", "1")]);
    project.write("a/kept.log", "1");
    project.record();
    project.record();
    project.git(&["add", "-f", "a/kept.log"]);
    project.git(&["commit", "--quiet", "-m", "a log"]);
    let new = project.new_checkpoint(CheckpointReason::Calls);
    let id = project.checkpoints.record(&new).unwrap().unwrap();
    fs::remove_file(project.path("a/kept.log")).unwrap();
    project.restore(id);
    assert_eq!(project.read("a/kept.log"), "1");
}
