//! Tests that branch changes are reported by events alone, for every way in which git stores branches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::super::{Skills, atomic};
use super::folders::WatchedFolders;
use super::{Dirty, PollDelay, Watch, start_with};

const WITHIN: Duration = Duration::from_secs(10);
/// Delays polls by an hour, so that a test sees no report of the poll fallback.
const NEVER: PollDelay = |_, _, _| Duration::from_secs(3600);

fn git(dir: &Path, args: &[&str]) {
    let who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    let out = Command::new("git")
        .args(who)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
}

/// Creates a repository with one commit on `branch` and returns its root.
fn repository(dir: &Path, branch: &str, more: &[&str]) -> PathBuf {
    let root = dir.join("r");
    fs::create_dir(&root).unwrap();
    let init = ["init", "--quiet", "--initial-branch", branch];
    git(&root, &[&init[..], more].concat());
    git(
        &root,
        &["commit", "--quiet", "--allow-empty", "-m", "first"],
    );
    root
}

/// A running watch and its reports.
struct WatchReports {
    root: PathBuf,
    reports: Receiver<Dirty>,
    _watch: Watch,
}

impl WatchReports {
    fn of(root: &Path) -> WatchReports {
        crate::store::prepare(root).unwrap();
        let (report, reports) = channel();
        let report = move |d| report.send(d).unwrap_or_default();
        let skills: Option<&Skills> = None;
        WatchReports {
            root: root.into(),
            reports,
            _watch: start_with(root, skills, WatchedFolders::native, NEVER, report).unwrap(),
        }
    }

    /// Returns whether any change so far was reported as a change of branches. Writes marker files and waits for the
    /// reports about them, so that all earlier reports have arrived.
    fn reports_branches(&self) -> bool {
        let mut has_reported = false;
        // Merged events are reported in the order of `Dirty::all`, so a change of branches may follow the first marker,
        // but not the second one.
        for (file, end) in [
            (".team/config.json", Dirty::Roster),
            (".team/requests/r.json", Dirty::Requests),
        ] {
            atomic::write(&self.root.join(file), b"{}").unwrap();
            loop {
                match self.reports.recv_timeout(WITHIN).unwrap() {
                    Dirty::Branches => has_reported = true,
                    dirty if dirty == end => break,
                    Dirty::Board(_)
                    | Dirty::Roster
                    | Dirty::Mail
                    | Dirty::Requests
                    | Dirty::Skills => {}
                }
            }
        }
        has_reported
    }

    /// Runs git with `args` in `dir` and asserts that a branch change is reported.
    fn expect_report(&self, dir: &Path, args: &[&str]) {
        git(dir, args);
        assert!(self.reports_branches(), "{args:?} in {}", dir.display());
    }
}

const COMMIT: &[&str] = &["commit", "--quiet", "--allow-empty", "-m", "more"];

#[test]
fn loose_and_packed_branches_are_reported_except_worktrees() {
    let dir = tempfile::tempdir().unwrap();
    let root = repository(dir.path(), "team/deep/main", &[]);
    let reports = WatchReports::of(&root);
    reports.expect_report(&root, COMMIT);
    // Packing deletes the folders of the branch; the next commit creates them again.
    reports.expect_report(&root, &["pack-refs", "--all", "--prune"]);
    reports.expect_report(&root, COMMIT);
    reports.expect_report(&root, COMMIT);
    reports.expect_report(&root, &["switch", "--quiet", "-c", "other/branch"]);
    reports.expect_report(&root, COMMIT);
    reports.expect_report(&root, &["switch", "--quiet", "team/deep/main"]);
    git(&root, &["pack-refs", "--all", "--prune"]);
    assert!(reports.reports_branches());
    reports.expect_report(&root, &["branch", "--quiet", "-D", "other/branch"]);
    let tree = dir.path().join("tree");
    let add = [
        "worktree",
        "add",
        "--quiet",
        "-b",
        "wt/task-1",
        tree.to_str().unwrap(),
    ];
    git(&root, &add);
    reports.reports_branches();
    git(&tree, COMMIT);
    git(&tree, COMMIT);
    git(&root, &["status"]);
    assert!(!reports.reports_branches(), "a teammate's commit");
}

#[test]
fn linked_worktree_reports_changes_in_other_worktrees() {
    let dir = tempfile::tempdir().unwrap();
    let main = repository(dir.path(), "main", &[]);
    let root = dir.path().join("linked");
    git(
        &main,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "side",
            root.to_str().unwrap(),
        ],
    );
    let reports = WatchReports::of(&root);
    reports.expect_report(&main, COMMIT);
    reports.expect_report(&root, &["commit", "--quiet", "--allow-empty", "-m", "side"]);
    reports.expect_report(&root, &["switch", "--quiet", "-c", "third"]);
    reports.expect_report(&main, &["merge", "--quiet", "--no-edit", "side"]);
    reports.expect_report(&main, &["pack-refs", "--all"]);
}

#[test]
fn reftable_branches_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut probe = Command::new("git");
    probe.args(["init", "--quiet", "--ref-format=reftable", "probe"]);
    if !probe
        .current_dir(dir.path())
        .output()
        .unwrap()
        .status
        .success()
    {
        // Git before 2.45 does not support reftable.
        return;
    }
    let main = repository(dir.path(), "main", &["--ref-format=reftable"]);
    let root = dir.path().join("linked");
    git(
        &main,
        &[
            "worktree",
            "add",
            "--quiet",
            "-b",
            "side",
            root.to_str().unwrap(),
        ],
    );
    for root in [&main, &root] {
        let reports = WatchReports::of(root);
        reports.expect_report(root, COMMIT);
        reports.expect_report(&main, COMMIT);
        reports.expect_report(root, COMMIT);
    }
}
