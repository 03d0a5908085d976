//! Changes that the user makes after crewdeck was killed during a merge: the repair does not touch them.

use std::fs;

use crewdeck::domain::worktree::Merge;
use crewdeck::store::Debris;
use pretty_assertions::assert_eq;

use super::paused_repository::{PausedRepository, Step, assert_clean, status};
use crate::common::repository::{NOW, Repository, commit, git_output, name};

/// Returns a repository in which a merge of task 1 was killed when it wrote `b.txt`. The lock of the index is already
/// removed.
fn killed_merge() -> PausedRepository {
    let paused = PausedRepository::new();
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    fs::remove_file(paused.r.root().join(".git/index.lock")).unwrap();
    paused
}

/// Returns git's status, the diff and the staged diff, and whether a merge and whether a squash is in progress.
fn snapshot(paused: &PausedRepository) -> (String, String, String, bool, bool) {
    let root = paused.r.root();
    let [work, index] = [&["diff"][..], &["diff", "--cached"]].map(|args| paused.r.git(args));
    (
        status(root),
        work,
        index,
        paused.exists("MERGE_HEAD"),
        paused.exists("SQUASH_MSG"),
    )
}

#[test]
fn own_merge_by_the_user_is_kept() {
    let merges: [&[&str]; 3] = [
        &["merge", "wt/task-1"],
        &["merge", "--no-ff", "--no-commit", "wt/task-1"],
        &["merge", "--squash", "wt/task-1"],
    ];
    for merge in merges {
        let paused = killed_merge();
        let r = &paused.r;
        r.git(&["reset", "--quiet", "--hard"]);
        let has_conflict = merge.len() == 2;
        if has_conflict {
            commit(r.root(), "a.txt", "another line\n");
        }
        assert_eq!(git_output(r.root(), merge).status.success(), !has_conflict);
        fs::write(r.root().join("a.txt"), "resolved by the user\n").unwrap();
        let before = snapshot(&paused);
        let report = r.worktrees().repair(NOW).unwrap().join("\n");
        assert_eq!(snapshot(&paused), before, "{merge:?}: {report}");
        let commands = ["git merge --abort", "git merge --continue"];
        let are_reported = commands.iter().all(|command| report.contains(command));
        assert_eq!(
            are_reported,
            paused.exists("MERGE_HEAD"),
            "{merge:?}: {report}"
        );
        // The merge is reported only once.
        assert_eq!(r.worktrees().debris().unwrap(), []);
        assert_eq!(r.worktrees().repair(NOW).unwrap(), Vec::<String>::new());
        r.git(&["add", "--all"]);
        r.git(&["commit", "--quiet", "--no-edit"]);
        assert!(!paused.exists("MERGE_HEAD"));
    }
}

#[test]
fn own_merge_with_same_head_and_conflicts_is_kept() {
    let paused = PausedRepository::new();
    let r = &paused.r;
    commit(r.root(), "a.txt", "another line\n");
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    fs::remove_file(r.root().join(".git/index.lock")).unwrap();
    r.git(&["reset", "--quiet", "--hard"]);
    assert!(
        !git_output(r.root(), &["merge", "wt/task-1"])
            .status
            .success()
    );
    let before = snapshot(&paused);
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(snapshot(&paused), before, "{report}");
    assert!(report.contains("git merge --abort"), "{report}");
}

#[test]
fn files_staged_by_the_user_from_the_branch_are_kept() {
    let paused = killed_merge();
    let r = &paused.r;
    r.git(&["reset", "--quiet", "--hard"]);
    r.git(&["checkout", "--quiet", "wt/task-1", "--", "a.txt"]);
    let before = snapshot(&paused);
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(snapshot(&paused), before, "{report}");
    assert!(report.contains("a.txt"), "{report}");
}

#[test]
fn killed_merge_followed_by_a_user_commit_is_only_reported() {
    let paused = killed_merge();
    let r = &paused.r;
    fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
    r.git(&["commit", "--quiet", "-m", "Mine", "d.txt"]);
    let before = snapshot(&paused);
    assert!(before.0.contains("a.txt"), "{before:?}");
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(snapshot(&paused), before, "{report}");
    assert!(report.contains("git status"), "{report}");
}

/// Older versions of crewdeck did not log the commit on which a merge began.
#[test]
fn killed_merge_of_an_older_version_is_only_reported() {
    let paused = killed_merge();
    let r = &paused.r;
    let log = r.root().join(".worktrees/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let head = format!("\"head\":\"{}\"", r.git(&["rev-parse", "HEAD"]));
    let text = text.replace("\": \"", "\":\"");
    assert!(text.contains(&head), "{text}");
    fs::write(&log, text.replace(&head, "\"was\":\"\"")).unwrap();
    let before = snapshot(&paused);
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(snapshot(&paused), before, "{report}");
    assert!(
        report.contains("version of crewdeck that started it") && report.contains("git status"),
        "{report}"
    );
    assert!(!report.contains("another commit"), "{report}");
}

#[test]
fn files_staged_beside_a_killed_merge_stay_staged() {
    let paused = killed_merge();
    let r = &paused.r;
    fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
    r.git(&["add", "d.txt"]);
    r.worktrees().repair(NOW).unwrap();
    assert_eq!(status(r.root()), "M  d.txt");
}

/// The contents are not UTF-8: after a lossy conversion to text, different contents would be equal.
#[test]
fn content_is_compared_byte_by_byte() {
    let paused = PausedRepository::new();
    let r = &paused.r;
    let tree = r.worktree_path("task-1");
    fs::write(tree.join("a.txt"), b"\xe4\xf6\n\xff\xfe".repeat(100)).unwrap();
    fs::write(tree.join("a.bin"), b"\0\xff\xe4\xb8\xad\n".repeat(100)).unwrap();
    crate::common::repository::git(&tree, &["add", "--all"]);
    crate::common::repository::git(&tree, &["commit", "--quiet", "-m", "Bytes"]);
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    // Written by the user: the first byte differs from git's version.
    fs::write(r.root().join("a.txt"), b"\xe5\xf6").unwrap();
    // Written by git: cut within a character.
    fs::write(r.root().join("a.bin"), b"\0\xff\xe4\xb8").unwrap();
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(status(r.root()), " M a.txt", "{report}");
    let text = fs::read(r.root().join("a.txt")).unwrap();
    assert_eq!(text, b"\xe5\xf6");
    assert!(report.contains("a.txt"), "{report}");
    r.git(&["checkout", "--quiet", "a.txt"]);
    assert_clean(r);
    let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
}

#[test]
fn file_mode_changed_by_a_killed_merge_is_restored() {
    use std::os::unix::fs::PermissionsExt;
    let paused = PausedRepository::new();
    let r = &paused.r;
    let executable = || fs::Permissions::from_mode(0o755);
    let tree = r.worktree_path("task-1");
    fs::set_permissions(tree.join("d.txt"), executable()).unwrap();
    crate::common::repository::git(&tree, &["commit", "--quiet", "-a", "-m", "Mode"]);
    paused.pause_at_file("new/c.txt");
    paused.kill_while_paused(Step::Merge);
    assert!(
        status(r.root()).contains(" M d.txt"),
        "git changed the mode before it paused"
    );
    r.worktrees().repair(NOW).unwrap();
    assert_eq!(status(r.root()), "");
    assert_clean(r);
}

#[cfg(target_os = "linux")]
#[test]
fn file_with_a_non_utf8_name_is_reported_and_kept() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let paused = PausedRepository::new();
    let r = &paused.r;
    let tree = r.worktree_path("task-1");
    fs::write(tree.join(OsStr::from_bytes(b"aa\xff")), "of task 1\n").unwrap();
    crate::common::repository::git(&tree, &["add", "--all"]);
    crate::common::repository::git(&tree, &["commit", "--quiet", "-m", "Name"]);
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert!(report.contains("aa"), "{report}");
    assert!(status(r.root()).starts_with("?? "), "{report}");
}

#[test]
fn incomplete_worktree_without_a_link_is_reported_and_kept() {
    let paused = PausedRepository::new();
    let r = &paused.r;
    paused.pause_at_file("d.txt");
    paused.kill_while_paused(Step::Create);
    let dir = r.worktree_path("task-2");
    fs::remove_file(dir.join(".git")).unwrap();
    fs::write(dir.join("notes.txt"), "of the user\n").unwrap();
    let report = r.worktrees().repair(NOW).unwrap().join("\n");
    assert!(report.contains(".worktrees/task-2 was kept"), "{report}");
    assert!(dir.join("notes.txt").exists());
    let found = r.worktrees().debris().unwrap();
    assert_eq!(found, [Debris::Unlinked(name("task-2"))]);
    fs::rename(&dir, r.root().join("moved")).unwrap();
    r.worktrees().repair(NOW).unwrap();
    assert_clean(r);
}

#[test]
fn creation_whose_git_was_killed_leaves_nothing() {
    let paused = PausedRepository::new();
    paused.pause_at_file("d.txt");
    paused.kill_git_while_paused(Step::Create);
    assert_clean(&paused.r);
}

#[test]
fn branch_with_commits_but_no_worktree_is_kept() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "work\n");
    r.git(&["branch", "wt/task-2", "wt/task-1"]);
    let log = r.root().join(".worktrees/events.jsonl");
    let begun = "{\"event\": \"worktree.create.before\", \"worktree\": {\"name\": \"task-2\"}}\n";
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + begun).unwrap();
    assert_eq!(
        r.worktrees().debris().unwrap(),
        [Debris::Branch(name("task-2"))]
    );
    let report = r.worktrees().repair(NOW).unwrap();
    assert_eq!(
        report,
        [
            "the worktree of branch wt/task-2 was not created, but the branch was kept, because it has commits that are not merged"
        ]
    );
    assert_eq!(r.worktrees().debris().unwrap(), []);
    r.git(&["rev-parse", "wt/task-2"]);
}
