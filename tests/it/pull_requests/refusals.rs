//! What `crewdeck worktree pr` refuses, each time without a push and without a request.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{RemoteFixture, URL};
use crate::common::fake_client::write_program;
use crate::common::project::RunResult;
use crate::common::repository::{commit, git};

/// Asserts that `worktree pr` with `args` fails with a line that contains `expected`, and has neither pushed nor opened.
fn assert_refused(fixture: &RemoteFixture, args: &[&str], expected: &str) {
    let line = fixture.expect_refusal(args);
    assert!(line.contains(expected), "{expected}: {line}");
    assert!(!fixture.has_opened(), "{line}");
}

#[test]
fn unfinished_or_unknown_worktree_is_refused() {
    let fixture = RemoteFixture::github();
    assert_refused(
        &fixture,
        &["9"],
        "there is no worktree \"9\": existing: task-1",
    );
    let dir = fixture.project.file(".worktrees/task-1");
    std::fs::write(dir.join("new.txt"), "x").unwrap();
    assert_refused(
        &fixture,
        &["1"],
        "worktree task-1 has uncommitted files (new.txt): commit them first",
    );
    std::fs::remove_file(dir.join("new.txt")).unwrap();
    git(&dir, &["checkout", "--quiet", "--detach"]);
    assert_refused(
        &fixture,
        &["1"],
        "worktree task-1 has a commit checked out instead of wt/task-1: run git switch wt/task-1",
    );
    git(&dir, &["switch", "--quiet", "wt/task-1"]);
    commit(&dir, "c.txt", "1\n");
    std::fs::create_dir(dir.join(".team")).unwrap();
    std::fs::write(dir.join(".team/config.json"), "{}").unwrap();
    git(&dir, &["add", "--force", ".team/config.json"]);
    git(&dir, &["commit", "--quiet", "-m", "state"]);
    assert_refused(
        &fixture,
        &["1"],
        "it changes state folders of crewdeck (.team/config.json)",
    );
    git(&dir, &["reset", "--quiet", "--hard", "main"]);
    assert_eq!(
        fixture.expect_nothing(&["1"]),
        "wt/task-1 has no changes that main of origin lacks: there is nothing to push.\n"
    );
    assert!(fixture.is_untouched());
}

#[test]
fn files_that_stay_on_this_machine_are_not_published() {
    let fixture = RemoteFixture::github();
    let dir = fixture.project.file(".worktrees/task-1");
    let commit_file = |file: &str| {
        std::fs::write(dir.join(file), "key\n").unwrap();
        git(&dir, &["add", "--force", file]);
        git(&dir, &["commit", "--quiet", "-m", file]);
    };
    // What the branch writes into these files does not count.
    let exclude = fixture.project.file(".git/info/exclude");
    let before = std::fs::read_to_string(&exclude).unwrap();
    std::fs::write(exclude, before + ".env*\n!.env.example\n").unwrap();
    fixture.project.write(".worktreeinclude", "local.json\n");
    std::fs::write(dir.join(".gitignore"), "!.env*\n").unwrap();
    git(&dir, &["add", ".gitignore"]);
    commit_file(".env.example");
    let start = git(&dir, &["rev-parse", "HEAD"]);
    for file in [".env.local", "local.json"] {
        commit_file(file);
        let expected = format!(
            "files that are to stay on this machine, because git ignores them or .worktreeinclude lists them: {file}."
        );
        assert_refused(&fixture, &["1"], &expected);
        // The history still has it.
        git(&dir, &["rm", "--quiet", file]);
        git(&dir, &["commit", "--quiet", "-m", "remove"]);
        assert_refused(&fixture, &["1"], &expected);
        git(&dir, &["reset", "--quiet", "--hard", &start]);
    }
    assert!(fixture.is_untouched());
    let out = fixture.ok(&["1"]);
    assert!(out.contains("Opened a pull request"), "{out}");
}

#[test]
fn missing_or_unsuitable_remote_is_refused() {
    let fixture = RemoteFixture::new("gh");
    assert_refused(&fixture, &["1"], "the repository has no remote to push to");
    let folder = fixture.remote.path().join("tool.git").display().to_string();
    fixture.git(&["remote", "add", "folder", &folder]);
    assert_refused(
        &fixture,
        &["1"],
        "is no repository at GitHub or GitLab: choose another one with --remote",
    );
    fixture.git(&[
        "remote",
        "add",
        "second",
        "https://ann:hunter22@example.org/x",
    ]);
    assert_refused(
        &fixture,
        &["1"],
        "the repository has several remotes (folder, second): name one with --remote",
    );
    assert_refused(
        &fixture,
        &["1", "--remote", "third"],
        "there is no remote \"third\": existing: folder, second",
    );
    let line = fixture.expect_refusal(&["1", "--remote", "second", "--to", "github"]);
    assert!(!line.contains("hunter22"), "{line}");
    let fixture = RemoteFixture::github();
    for (base, expected) in [
        ("absent", "origin has no branch absent to merge into"),
        ("wt/task-1", "wt/task-1 is the branch to merge into"),
        ("a..b", "is not a valid name of a branch"),
        ("-x", "is not a valid name of a branch"),
    ] {
        assert_refused(&fixture, &["1", &format!("--base={base}")], expected);
    }
    fixture.git(&["checkout", "--quiet", "--detach"]);
    fixture.git(&["branch", "--quiet", "-D", "main"]);
    assert_refused(
        &fixture,
        &["1"],
        "the main worktree is on no branch: name the branch to merge into with --base",
    );
    let dir = fixture.remote.path().join("tool.git");
    let gone = fixture.remote.path().join("gone.git");
    std::fs::rename(dir, gone).unwrap();
    assert_refused(
        &fixture,
        &["1", "--base", "main"],
        "git ls-remote origin failed",
    );
}

#[test]
fn missing_or_logged_out_client_is_refused() {
    let fixture = RemoteFixture::github();
    let gh = fixture.client.dir().join("gh");
    write_program(
        &gh,
        "echo 'To get started with GitHub CLI, please run:  gh auth login' >&2; exit 4",
    );
    assert_refused(
        &fixture,
        &["1"],
        "gh pr list failed (exit code 4): To get started with GitHub CLI, please run:  gh auth login: log in with",
    );
    write_program(&gh, "echo Welcome");
    assert_refused(&fixture, &["1"], "the output of gh pr list cannot be used");
    let git_only = tempfile::tempdir().unwrap();
    let program = String::from_utf8(
        std::process::Command::new("sh")
            .args(["-c", "command -v git"])
            .output()
            .unwrap()
            .stdout,
    );
    std::os::unix::fs::symlink(program.unwrap().trim(), git_only.path().join("git")).unwrap();
    let mut command = fixture.project.command(&["worktree", "pr", "1"]);
    let ran = RunResult(command.env("PATH", git_only.path()).output().unwrap());
    assert_eq!(ran.code(), 1);
    assert!(
        ran.err()
            .contains("gh is not installed: install it (https://"),
        "{}",
        ran.err()
    );
    assert!(fixture.is_untouched());
}

#[test]
fn other_commits_at_the_remote_are_never_replaced() {
    let fixture = RemoteFixture::github();
    // Another user has pushed a branch of the same name.
    fixture.git(&["switch", "--quiet", "-c", "theirs"]);
    commit(fixture.project.path(), "theirs.txt", "1\n");
    fixture.git(&["push", "--quiet", "origin", "theirs:wt/task-1"]);
    fixture.git(&["switch", "--quiet", "main"]);
    let before = fixture.remote_branches();
    assert_refused(
        &fixture,
        &["1"],
        "wt/task-1 of origin has commits that wt/task-1 lacks, and crewdeck never replaces commits",
    );
    assert_eq!(fixture.remote_branches(), before);
    // The branch was rewritten after a push.
    let out = fixture.ok(&["1", "--branch", "mine"]);
    assert!(out.contains("to mine of origin"), "{out}");
    fixture.client.write("list.json", "[]");
    std::fs::remove_file(fixture.client.dir().join("args-create")).unwrap();
    let dir = fixture.project.file(".worktrees/task-1");
    git(&dir, &["commit", "--quiet", "--amend", "-m", "again"]);
    let before = fixture.remote_branches();
    assert_refused(
        &fixture,
        &["1", "--branch", "mine"],
        "mine of origin has commits that wt/task-1 lacks",
    );
    assert_eq!(fixture.remote_branches(), before);
}

#[test]
fn push_that_a_hook_or_the_remote_refuses_opens_nothing() {
    let fixture = RemoteFixture::github();
    let hooks = fixture.project.file(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    write_program(&hooks.join("pre-push"), "echo 'tests are red' >&2; exit 1");
    assert_refused(&fixture, &["1"], "git push origin failed: tests are red");
    std::fs::remove_file(hooks.join("pre-push")).unwrap();
    let hooks = fixture.remote.path().join("tool.git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    write_program(
        &hooks.join("pre-receive"),
        "echo 'branch is protected' >&2; exit 1",
    );
    assert_refused(
        &fixture,
        &["1"],
        "git push origin failed: [remote rejected] (pre-receive hook declined) branch is protected",
    );
    assert!(fixture.is_untouched());
}

#[test]
fn merged_request_is_not_opened_again() {
    let fixture = RemoteFixture::github();
    let tip = fixture.git(&["rev-parse", "wt/task-1"]);
    let merged = json!({"state": "MERGED", "headRefOid": tip});
    fixture.list_request(&merged);
    assert_eq!(
        fixture.expect_nothing(&["1"]),
        format!("The pull request of wt/task-1 is merged already: {URL}\n")
    );
    let report = fixture.expect_nothing(&["1", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["url"], URL);
    assert!(fixture.is_untouched() && !fixture.has_opened());
    // One of an earlier task with the same branch, or one that was closed, does not count.
    for known in [
        json!({"state": "MERGED", "headRefOid": "abc"}),
        json!({"state": "CLOSED", "headRefOid": tip}),
    ] {
        fixture.list_request(&known);
        let out = fixture.ok(&["1"]);
        assert!(out.contains("Opened a pull request"), "{out}");
    }
}

#[test]
fn open_request_into_another_branch_is_refused() {
    let fixture = RemoteFixture::github();
    fixture.git(&["push", "--quiet", "origin", "main:develop"]);
    let before = fixture.remote_branches();
    fixture.list_request(&json!({"baseRefName": "develop"}));
    assert_refused(
        &fixture,
        &["1", "--base", "main"],
        &format!(
            "wt/task-1 has an open pull request into develop: {URL}. Change its base branch there, leave out --base"
        ),
    );
    assert_eq!(fixture.remote_branches(), before);
    // Without --base, the branch of the open request counts.
    let ran = fixture.run(&["1", "--draft", "--json"]);
    assert_eq!(
        ran.err(),
        "crewdeck: the pull request is open already and no draft: --draft does not change it\n"
    );
    let report: serde_json::Value = serde_json::from_str(&ran.out()).unwrap();
    assert_eq!(
        (&report["base"], &report["draft"], &report["pushed"]),
        (&json!("develop"), &json!(false), &json!(1))
    );
    assert!(!fixture.has_opened());
}
