//! What the user does after crewdeck was killed in a merge: the repair does not touch it.

use std::fs;

use crewdeck::domain::worktree::Merge;
use crewdeck::store::Debris;
use pretty_assertions::assert_eq;

use super::debris::{Held, Step, assert_nothing_is_left, status};
use crate::common::repository::{NOW, Repository, commit, git_output, name};

/// A repository in which a merge of task 1 was killed at `b.txt`, and git can be used again.
fn killed_merge() -> Held {
    let held = Held::new();
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    fs::remove_file(held.r.root().join(".git/index.lock")).unwrap();
    held
}

/// The files, the index and what is under way, as git shows them.
fn picture(held: &Held) -> (String, String, String, bool, bool) {
    let root = held.r.root();
    let [work, index] = [&["diff"][..], &["diff", "--cached"]].map(|args| held.r.git(args));
    (
        status(root),
        work,
        index,
        held.exists("MERGE_HEAD"),
        held.exists("SQUASH_MSG"),
    )
}

#[test]
fn the_users_own_merge_of_the_branch_stays() {
    let merges: [&[&str]; 3] = [
        &["merge", "wt/task-1"],
        &["merge", "--no-ff", "--no-commit", "wt/task-1"],
        &["merge", "--squash", "wt/task-1"],
    ];
    for merge in merges {
        let held = killed_merge();
        let r = &held.r;
        r.git(&["reset", "--quiet", "--hard"]);
        let has_conflict = merge.len() == 2;
        if has_conflict {
            commit(r.root(), "a.txt", "another line\n");
        }
        assert_eq!(git_output(r.root(), merge).status.success(), !has_conflict);
        fs::write(r.root().join("a.txt"), "resolved by the user\n").unwrap();
        let before = picture(&held);
        let said = r.worktrees().repair(NOW).unwrap().join("\n");
        assert_eq!(picture(&held), before, "{merge:?}: {said}");
        let commands = ["git merge --abort", "git merge --continue"];
        let are_named = commands.iter().all(|command| said.contains(command));
        assert_eq!(are_named, held.exists("MERGE_HEAD"), "{merge:?}: {said}");
        // It is said once.
        assert_eq!(r.worktrees().debris().unwrap(), []);
        assert_eq!(r.worktrees().repair(NOW).unwrap(), Vec::<String>::new());
        r.git(&["add", "--all"]);
        r.git(&["commit", "--quiet", "--no-edit"]);
        assert!(!held.exists("MERGE_HEAD"));
    }
}

#[test]
fn the_users_merge_with_the_same_head_and_conflicts_stays() {
    let held = Held::new();
    let r = &held.r;
    commit(r.root(), "a.txt", "another line\n");
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    fs::remove_file(r.root().join(".git/index.lock")).unwrap();
    r.git(&["reset", "--quiet", "--hard"]);
    assert!(
        !git_output(r.root(), &["merge", "wt/task-1"])
            .status
            .success()
    );
    let before = picture(&held);
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(picture(&held), before, "{said}");
    assert!(said.contains("git merge --abort"), "{said}");
}

#[test]
fn files_that_the_user_staged_from_the_branch_stay() {
    let held = killed_merge();
    let r = &held.r;
    r.git(&["reset", "--quiet", "--hard"]);
    r.git(&["checkout", "--quiet", "wt/task-1", "--", "a.txt"]);
    let before = picture(&held);
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(picture(&held), before, "{said}");
    assert!(said.contains("a.txt"), "{said}");
}

#[test]
fn after_a_commit_of_the_user_a_cut_merge_is_named_and_stays() {
    let held = killed_merge();
    let r = &held.r;
    fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
    r.git(&["commit", "--quiet", "-m", "Mine", "d.txt"]);
    let before = picture(&held);
    assert!(before.0.contains("a.txt"), "{before:?}");
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(picture(&held), before, "{said}");
    assert!(said.contains("git status"), "{said}");
}

/// An older version noted no commit when a merge began.
#[test]
fn a_cut_merge_of_an_older_version_is_named_and_stays() {
    let held = killed_merge();
    let r = &held.r;
    let log = r.root().join(".worktrees/events.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let head = format!("\"head\":\"{}\"", r.git(&["rev-parse", "HEAD"]));
    let text = text.replace("\": \"", "\":\"");
    assert!(text.contains(&head), "{text}");
    fs::write(&log, text.replace(&head, "\"was\":\"\"")).unwrap();
    let before = picture(&held);
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(picture(&held), before, "{said}");
    assert!(
        said.contains("version of crewdeck that started it") && said.contains("git status"),
        "{said}"
    );
    assert!(!said.contains("another commit"), "{said}");
}

#[test]
fn what_the_user_staged_beside_a_cut_merge_stays_staged() {
    let held = killed_merge();
    let r = &held.r;
    fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
    r.git(&["add", "d.txt"]);
    r.worktrees().repair(NOW).unwrap();
    assert_eq!(status(r.root()), "M  d.txt");
}

/// Two different texts that are no UTF-8 look alike once they are made strings.
#[test]
fn content_is_compared_byte_by_byte() {
    let held = Held::new();
    let r = &held.r;
    let tree = r.tree("task-1");
    fs::write(tree.join("a.txt"), b"\xe4\xf6\n\xff\xfe".repeat(100)).unwrap();
    fs::write(tree.join("a.bin"), b"\0\xff\xe4\xb8\xad\n".repeat(100)).unwrap();
    crate::common::repository::git(&tree, &["add", "--all"]);
    crate::common::repository::git(&tree, &["commit", "--quiet", "-m", "Bytes"]);
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    // Of the user: it begins with a byte where git's begins with another one.
    fs::write(r.root().join("a.txt"), b"\xe5\xf6").unwrap();
    // Of git: cut within a character.
    fs::write(r.root().join("a.bin"), b"\0\xff\xe4\xb8").unwrap();
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert_eq!(status(r.root()), " M a.txt", "{said}");
    let text = fs::read(r.root().join("a.txt")).unwrap();
    assert_eq!(text, b"\xe5\xf6");
    assert!(said.contains("a.txt"), "{said}");
    r.git(&["checkout", "--quiet", "a.txt"]);
    assert_nothing_is_left(r);
    let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
}

#[test]
fn a_mode_that_the_merge_changed_is_restored() {
    use std::os::unix::fs::PermissionsExt;
    let held = Held::new();
    let r = &held.r;
    let executable = || fs::Permissions::from_mode(0o755);
    let tree = r.tree("task-1");
    fs::set_permissions(tree.join("d.txt"), executable()).unwrap();
    crate::common::repository::git(&tree, &["commit", "--quiet", "-a", "-m", "Mode"]);
    held.hold_at_file("new/c.txt");
    held.kill_in(Step::Merge);
    assert!(status(r.root()).contains(" M d.txt"), "git came that far");
    r.worktrees().repair(NOW).unwrap();
    assert_eq!(status(r.root()), "");
    assert_nothing_is_left(r);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_no_text_is_named_and_stays() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let held = Held::new();
    let r = &held.r;
    let tree = r.tree("task-1");
    fs::write(tree.join(OsStr::from_bytes(b"aa\xff")), "of task 1\n").unwrap();
    crate::common::repository::git(&tree, &["add", "--all"]);
    crate::common::repository::git(&tree, &["commit", "--quiet", "-m", "Name"]);
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert!(said.contains("aa"), "{said}");
    assert!(status(r.root()).starts_with("?? "), "{said}");
}

#[test]
fn an_incomplete_worktree_with_files_and_no_link_is_named_and_stays() {
    let held = Held::new();
    let r = &held.r;
    held.hold_at_file("d.txt");
    held.kill_in(Step::Create);
    let dir = r.tree("task-2");
    fs::remove_file(dir.join(".git")).unwrap();
    fs::write(dir.join("notes.txt"), "of the user\n").unwrap();
    let said = r.worktrees().repair(NOW).unwrap().join("\n");
    assert!(said.contains(".worktrees/task-2 was kept"), "{said}");
    assert!(dir.join("notes.txt").exists());
    let found = r.worktrees().debris().unwrap();
    assert_eq!(found, [Debris::Unlinked(name("task-2"))]);
    fs::rename(&dir, r.root().join("moved")).unwrap();
    r.worktrees().repair(NOW).unwrap();
    assert_nothing_is_left(r);
}

#[test]
fn a_branch_with_commits_whose_worktree_was_not_created_stays() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "b.txt", "work\n");
    r.git(&["branch", "wt/task-2", "wt/task-1"]);
    let log = r.root().join(".worktrees/events.jsonl");
    let begun = "{\"event\": \"worktree.create.before\", \"worktree\": {\"name\": \"task-2\"}}\n";
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text + begun).unwrap();
    assert_eq!(
        r.worktrees().debris().unwrap(),
        [Debris::Branch(name("task-2"))]
    );
    let said = r.worktrees().repair(NOW).unwrap();
    assert_eq!(
        said,
        ["branch wt/task-2 was kept: it has commits that are not merged"]
    );
    assert_eq!(r.worktrees().debris().unwrap(), []);
    r.git(&["rev-parse", "wt/task-2"]);
}
