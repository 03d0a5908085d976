//! Git is missing or too old, or the repository is in an unusual state: crewdeck starts, says in one line why there are
//! no worktrees, and works without them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::limited_resources::{
    CommandResult, RUN_ARGS, crewdeck, is_root, run_to_end, subjects, write_script,
};

/// Script rules by which the lead creates a task and bob claims it and writes a file.
const TEAM: &str = r##"
  - agent: lead
    when: ^go$
    calls:
      - { tool: task_create, input: { subject: one } }
      - { tool: spawn_teammate, input: { name: bob, role: worker } }
  - agent: lead
    say: Done.
    times: 0
  - agent: bob
    when: "#1"
    calls:
      - { tool: bash, input: { command: echo made > made.txt } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - agent: bob
    say: It is done.
    times: 0
"##;

/// A temporary project directory, with or without a repository.
struct TestRepository {
    /// Keeps the directory, which is deleted when this is dropped.
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl TestRepository {
    fn new_dir(name: &str) -> TestRepository {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join(name);
        fs::create_dir(&root).unwrap();
        TestRepository { dir, root }
    }

    fn repository(name: &str) -> TestRepository {
        let repo = TestRepository::new_dir(name);
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.commit("a.txt", "one\n");
        repo
    }

    /// Creates a repository whose branches `main` and `side` conflict. `side` is checked out.
    fn with_conflicting_branches() -> TestRepository {
        let repo = TestRepository::repository("r");
        repo.commit("a.txt", "main\n");
        repo.git(&["switch", "--quiet", "-c", "side", "HEAD~1"]);
        repo.commit("a.txt", "side\n");
        repo
    }

    fn try_git(&self, args: &[&str]) -> bool {
        let set = ["user.name=a", "user.email=a@b", "commit.gpgsign=false"];
        let set = set.iter().flat_map(|s| ["-c", s]);
        Command::new("git")
            .args(set)
            .args(args)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_EDITOR", ":")
            .output()
            .unwrap()
            .status
            .success()
    }

    fn git(&self, args: &[&str]) {
        assert!(self.try_git(args), "git {args:?}");
    }

    fn commit(&self, file: &str, content: &str) {
        fs::write(self.root.join(file), content).unwrap();
        self.git(&["add", file]);
        self.git(&["commit", "--quiet", "-m", file]);
    }

    /// Runs a crew with the rules [`TEAM`] in this directory.
    fn run(&self) -> CommandResult {
        self.run_with(|command| command)
    }

    fn run_with(&self, with: impl Fn(&mut Command) -> &mut Command) -> CommandResult {
        write_script(&self.root, TEAM);
        let mut command = crewdeck(&self.root, RUN_ARGS);
        with(&mut command);
        let run = run_to_end(command).ok();
        assert_eq!(subjects(&self.root), ["one"]);
        run
    }

    fn is_task_completed(&self) -> bool {
        let text = fs::read_to_string(self.root.join(".tasks/task_1.json")).unwrap();
        text.contains("\"completed\"")
    }

    /// Asserts that the team worked in the project directory and that a warning names `why` as the reason.
    fn assert_works_without_worktrees(&self, run: &CommandResult, why: &str) {
        run.only_line_with(&[
            "All agents work in the project directory, without worktrees: ",
            why,
        ]);
        assert!(
            self.is_task_completed() && self.root.join("made.txt").exists(),
            "{}",
            run.err
        );
    }

    fn assert_works_in_worktrees(&self, run: &CommandResult) {
        assert!(!run.err.contains("without worktrees"), "{}", run.err);
        let made = self.root.join(".worktrees/task-1/made.txt");
        assert!(self.is_task_completed() && made.exists(), "{}", run.err);
        assert!(!self.root.join("made.txt").exists());
    }
}

/// Creates a directory for `PATH` with links to the installed programs `names`. If `git` is given, it also contains a
/// shell script `git` with that text.
fn program_dir(names: &[&str], git: Option<&str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        let found = std::env::split_paths(&std::env::var("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|path| path.exists());
        symlink(found.unwrap(), dir.path().join(name)).unwrap();
    }
    if let Some(text) = git {
        let path = dir.path().join("git");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

fn git_path() -> String {
    let found = std::env::split_paths(&std::env::var("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|path| path.exists());
    found.unwrap().display().to_string()
}

#[test]
fn missing_or_old_git_makes_the_team_share_the_directory() {
    let shell = ["sh", "bash", "cat", "echo"];
    for (git, why) in [
        (None, "git was not found: install git 2.31 or newer"),
        (
            Some("echo git version 2.5.0"),
            "git 2.5 is too old: worktrees need 2.31 or newer",
        ),
    ] {
        let repo = TestRepository::repository("r");
        let path = program_dir(&shell, git);
        let run = repo.run_with(|c| c.env("PATH", path.path()));
        repo.assert_works_without_worktrees(&run, why);
        let mut list = crewdeck(&repo.root, &["worktree", "list"]);
        list.env("PATH", path.path());
        let refused = run_to_end(list).expect_refusal();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn oldest_supported_git_version_is_enough() {
    // 2.31 has neither merge-tree --write-tree (2.38) nor worktree list -z (2.36).
    let git = format!(
        "case \" $* \" in
*' version '*) echo git version 2.31.0; exit 0;;
*' --write-tree '*|*' worktree list '*' -z '*) echo 'error: unknown option' >&2; exit 129;;
esac
exec {} \"$@\"",
        git_path()
    );
    let repo = TestRepository::repository("r");
    let before = std::env::var("PATH").unwrap();
    let old = program_dir(&[], Some(&git));
    let path = format!("{}:{before}", old.path().display());
    let run = repo.run_with(|c| c.env("PATH", &path));
    repo.assert_works_in_worktrees(&run);
    for args in [
        &["worktree", "list"][..],
        &["worktree", "merge", "1"],
        &["worktree", "remove", "1"],
    ] {
        let mut command = crewdeck(&repo.root, args);
        command.env("PATH", &path);
        run_to_end(command).ok();
    }
    assert!(repo.root.join("made.txt").exists());
    assert!(!repo.root.join(".worktrees/task-1").exists());
}

#[test]
fn unusable_repositories_are_reported_with_the_fix() {
    let none = TestRepository::new_dir("r");
    let run = none.run();
    none.assert_works_without_worktrees(&run, "is not a git repository: worktrees need one");

    let empty = TestRepository::new_dir("r");
    empty.git(&["init", "--quiet"]);
    let run = empty.run();
    empty.assert_works_without_worktrees(&run, "the repository has no commit yet");

    let bare = TestRepository::new_dir("r");
    bare.git(&["init", "--quiet", "--bare"]);
    let run = bare.run();
    bare.assert_works_without_worktrees(&run, "is a bare git repository: work in a clone of it");

    let lost = TestRepository::new_dir("r");
    fs::write(lost.root.join(".git"), "gitdir: /nowhere\n").unwrap();
    let run = lost.run();
    lost.assert_works_without_worktrees(&run, ".git is damaged or not a git repository");

    let damaged = TestRepository::repository("r");
    fs::write(damaged.root.join(".git/HEAD"), "nonsense").unwrap();
    let run = damaged.run();
    damaged.assert_works_without_worktrees(&run, ".git is damaged or not a git repository");

    let unread = TestRepository::repository("r");
    fs::write(unread.root.join(".git/config"), "[nonsense").unwrap();
    let run = unread.run();
    unread.assert_works_without_worktrees(&run, "bad config line");

    let broken = TestRepository::repository("two\nlines");
    let run = broken.run();
    broken.assert_works_without_worktrees(&run, "has a line break in its name");
}

#[test]
fn repository_of_another_owner_is_not_used_until_trusted() {
    if !is_root() {
        eprintln!("skipped: only root can change the owner of a repository");
        return;
    }
    let repo = TestRepository::repository("r");
    chown(&repo.root, Some(65534), Some(65534)).unwrap();
    chown(repo.root.join(".git"), Some(65534), Some(65534)).unwrap();
    let run = repo.run();
    repo.assert_works_without_worktrees(&run, "belongs to another user, so git refuses it");
    run.only_line_with(&[
        "git config --global --add safe.directory '",
        &repo.root.display().to_string(),
    ]);
}

#[test]
fn unfinished_git_operations_are_left_alone() {
    // During a rebase or bisect the current commit is no base for worktrees; a task that needs one reports it.
    let rebase = TestRepository::with_conflicting_branches();
    assert!(!rebase.try_git(&["rebase", "main"]));
    let bisect = TestRepository::repository("r");
    for n in 0..3 {
        bisect.commit("a.txt", &format!("{n}\n"));
    }
    bisect.git(&["bisect", "start", "HEAD", "HEAD~3"]);
    for (repo, what, remedy) in [
        (rebase, "a rebase is in progress", "git rebase --abort"),
        (bisect, "a bisect is in progress", "git bisect reset"),
    ] {
        let run = repo.run();
        run.only_line_with(&[
            "crewdeck: The worktree of task #1 cannot be created",
            what,
            remedy,
        ]);
        run.only_line_with(&["Task #1 (one) is back on the board: bob stopped"]);
        assert!(!repo.is_task_completed() && !repo.root.join("made.txt").exists());
    }
    for command in ["merge", "cherry-pick"] {
        let repo = TestRepository::with_conflicting_branches();
        assert!(!repo.try_git(&[command, "main"]));
        let before = fs::read_to_string(repo.root.join("a.txt")).unwrap();
        let run = repo.run();
        repo.assert_works_in_worktrees(&run);
        assert_eq!(fs::read_to_string(repo.root.join("a.txt")).unwrap(), before);
        let refused =
            run_to_end(crewdeck(&repo.root, &["worktree", "merge", "1"])).expect_refusal();
        assert!(
            refused.contains(&format!("git {command} --abort")),
            "{refused}"
        );
    }
}

#[test]
fn unusual_repositories_support_worktrees() {
    let detached = TestRepository::repository("r");
    detached.git(&["switch", "--quiet", "--detach"]);
    detached.assert_works_in_worktrees(&detached.run());

    let odd = TestRepository::repository("a \"q'` $(x) 项目 😀 \\n");
    odd.assert_works_in_worktrees(&odd.run());

    let sparse = TestRepository::repository("r");
    fs::create_dir(sparse.root.join("d")).unwrap();
    sparse.commit("d/x.txt", "x\n");
    sparse.git(&["sparse-checkout", "set", "d"]);
    sparse.assert_works_in_worktrees(&sparse.run());

    let outer = TestRepository::repository("r");
    let inner = TestRepository::repository("sub");
    let from = inner.root.display().to_string();
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "--quiet",
        &from,
        "sub",
    ]);
    outer.git(&["commit", "--quiet", "-m", "sub"]);
    outer.assert_works_in_worktrees(&outer.run());

    // Here `.git` is a file: a worktree of another repository, and a repository with a separate git directory.
    let main = TestRepository::repository("main");
    main.git(&["worktree", "add", "--quiet", "../tree", "-b", "tree"]);
    let tree = TestRepository {
        root: main.root.with_file_name("tree"),
        dir: main.dir,
    };
    tree.assert_works_in_worktrees(&tree.run());
    let apart = TestRepository::new_dir("r");
    apart.git(&["init", "--quiet", "--separate-git-dir=../apart.git"]);
    apart.commit("a.txt", "one\n");
    apart.assert_works_in_worktrees(&apart.run());
    assert!(Path::new(&apart.root.join(".git")).is_file());
}
