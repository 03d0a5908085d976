//! Git is missing, too old, or the repository is in an odd state: crewdeck starts, says in one line that there
//! are no worktrees and why, and works.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::narrow::{RUN, Ran, crewdeck, is_root, ran, script, subjects};

/// The lead hands one task to bob, who writes a file for it.
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

/// A folder in which things are tried, and git in it.
struct Place {
    /// Kept as long as this.
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn named(name: &str) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join(name);
        fs::create_dir(&root).unwrap();
        Place { dir, root }
    }

    fn repository(name: &str) -> Place {
        let place = Place::named(name);
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place.commit("a.txt", "one\n");
        place
    }

    /// One whose branches `main` and `side` conflict; `side` is checked out.
    fn in_conflict() -> Place {
        let place = Place::repository("r");
        place.commit("a.txt", "main\n");
        place.git(&["switch", "--quiet", "-c", "side", "HEAD~1"]);
        place.commit("a.txt", "side\n");
        place
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

    /// Runs the team here.
    fn run(&self) -> Ran {
        self.run_with(|command| command)
    }

    fn run_with(&self, with: impl Fn(&mut Command) -> &mut Command) -> Ran {
        script(&self.root, TEAM);
        let mut command = crewdeck(&self.root, RUN);
        with(&mut command);
        let run = ran(command).ok();
        assert_eq!(subjects(&self.root), ["one"]);
        run
    }

    fn is_done(&self) -> bool {
        let text = fs::read_to_string(self.root.join(".tasks/task_1.json")).unwrap();
        text.contains("\"completed\"")
    }

    /// The team works in the directory itself, because of `why`.
    fn works_without_worktrees(&self, run: &Ran, why: &str) {
        run.line(&[
            "All agents work in the project directory, without worktrees: ",
            why,
        ]);
        assert!(
            self.is_done() && self.root.join("made.txt").exists(),
            "{}",
            run.err
        );
    }

    /// The team works in worktrees.
    fn works(&self, run: &Ran) {
        assert!(!run.err.contains("without worktrees"), "{}", run.err);
        let made = self.root.join(".worktrees/task-1/made.txt");
        assert!(self.is_done() && made.exists(), "{}", run.err);
        assert!(!self.root.join("made.txt").exists());
    }
}

/// A folder with programs: those of `names` as they are, and `git` as a script.
fn programs(names: &[&str], git: Option<&str>) -> tempfile::TempDir {
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

/// Where git lies.
fn git_path() -> String {
    let found = std::env::split_paths(&std::env::var("PATH").unwrap())
        .map(|folder| folder.join("git"))
        .find(|path| path.exists());
    found.unwrap().display().to_string()
}

#[test]
fn without_git_or_with_an_old_one_the_team_shares_the_directory() {
    let shell = ["sh", "bash", "cat", "echo"];
    for (git, why) in [
        (None, "git was not found: install it (2.31 or newer)"),
        (
            Some("echo git version 2.5.0"),
            "git 2.5 is too old: worktrees need 2.31 or newer",
        ),
    ] {
        let place = Place::repository("r");
        let path = programs(&shell, git);
        let run = place.run_with(|c| c.env("PATH", path.path()));
        place.works_without_worktrees(&run, why);
        let mut list = crewdeck(&place.root, &["worktree", "list"]);
        list.env("PATH", path.path());
        let refused = ran(list).refused();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn the_oldest_git_that_is_taken_needs_nothing_newer() {
    // 2.31 has neither merge-tree --write-tree (2.38) nor worktree list -z (2.36).
    let git = format!(
        "case \" $* \" in
*' version '*) echo git version 2.31.0; exit 0;;
*' --write-tree '*|*' worktree list '*' -z '*) echo 'error: unknown option' >&2; exit 129;;
esac
exec {} \"$@\"",
        git_path()
    );
    let place = Place::repository("r");
    let before = std::env::var("PATH").unwrap();
    let old = programs(&[], Some(&git));
    let path = format!("{}:{before}", old.path().display());
    let run = place.run_with(|c| c.env("PATH", &path));
    place.works(&run);
    for verb in [
        &["worktree", "list"][..],
        &["worktree", "merge", "1"],
        &["worktree", "remove", "1"],
    ] {
        let mut command = crewdeck(&place.root, verb);
        command.env("PATH", &path);
        ran(command).ok();
    }
    assert!(place.root.join("made.txt").exists());
    assert!(!place.root.join(".worktrees/task-1").exists());
}

#[test]
fn repositories_without_worktrees_are_named_with_the_remedy() {
    let none = Place::named("r");
    let run = none.run();
    none.works_without_worktrees(&run, "is not a git repository: worktrees need one");

    let empty = Place::named("r");
    empty.git(&["init", "--quiet"]);
    let run = empty.run();
    empty.works_without_worktrees(&run, "the repository has no commit yet");

    let bare = Place::named("r");
    bare.git(&["init", "--quiet", "--bare"]);
    let run = bare.run();
    bare.works_without_worktrees(&run, "is a bare git repository: work in a clone of it");

    let lost = Place::named("r");
    fs::write(lost.root.join(".git"), "gitdir: /nowhere\n").unwrap();
    let run = lost.run();
    lost.works_without_worktrees(&run, ".git is damaged or not a git repository");

    let damaged = Place::repository("r");
    fs::write(damaged.root.join(".git/HEAD"), "nonsense").unwrap();
    let run = damaged.run();
    damaged.works_without_worktrees(&run, ".git is damaged or not a git repository");

    let unread = Place::repository("r");
    fs::write(unread.root.join(".git/config"), "[nonsense").unwrap();
    let run = unread.run();
    unread.works_without_worktrees(&run, "bad config line");

    let broken = Place::repository("two\nlines");
    let run = broken.run();
    broken.works_without_worktrees(&run, "has a line break in its name");
}

#[test]
fn a_repository_of_somebody_else_is_not_touched_until_the_person_trusts_it() {
    if !is_root() {
        eprintln!("passed over: only root can give a repository to somebody else");
        return;
    }
    let place = Place::repository("r");
    chown(&place.root, Some(65534), Some(65534)).unwrap();
    chown(place.root.join(".git"), Some(65534), Some(65534)).unwrap();
    let run = place.run();
    place.works_without_worktrees(&run, "belongs to another user, so git refuses it");
    run.line(&[
        "git config --global --add safe.directory '",
        &place.root.display().to_string(),
    ]);
}

#[test]
fn in_the_middle_of_something_the_repository_stays_as_it_is() {
    // A commit in the middle of these is no place to start from; it is said when somebody needs a worktree.
    let rebase = Place::in_conflict();
    assert!(!rebase.try_git(&["rebase", "main"]));
    let bisect = Place::repository("r");
    for n in 0..3 {
        bisect.commit("a.txt", &format!("{n}\n"));
    }
    bisect.git(&["bisect", "start", "HEAD", "HEAD~3"]);
    for (place, what, remedy) in [
        (rebase, "a rebase is under way", "git rebase --abort"),
        (bisect, "a bisect is under way", "git bisect reset"),
    ] {
        let run = place.run();
        run.line(&[
            "crewdeck: The worktree of task #1 cannot be created",
            what,
            remedy,
        ]);
        run.line(&["Task #1 (one) of bob is offered again"]);
        assert!(!place.is_done() && !place.root.join("made.txt").exists());
    }
    for command in ["merge", "cherry-pick"] {
        let place = Place::in_conflict();
        assert!(!place.try_git(&[command, "main"]));
        let before = fs::read_to_string(place.root.join("a.txt")).unwrap();
        let run = place.run();
        place.works(&run);
        assert_eq!(
            fs::read_to_string(place.root.join("a.txt")).unwrap(),
            before
        );
        let refused = ran(crewdeck(&place.root, &["worktree", "merge", "1"])).refused();
        assert!(
            refused.contains(&format!("git {command} --abort")),
            "{refused}"
        );
    }
}

#[test]
fn unusual_repositories_have_worktrees_like_any_other() {
    let detached = Place::repository("r");
    detached.git(&["switch", "--quiet", "--detach"]);
    detached.works(&detached.run());

    let odd = Place::repository("a \"q'` $(x) 项目 😀 \\n");
    odd.works(&odd.run());

    let sparse = Place::repository("r");
    fs::create_dir(sparse.root.join("d")).unwrap();
    sparse.commit("d/x.txt", "x\n");
    sparse.git(&["sparse-checkout", "set", "d"]);
    sparse.works(&sparse.run());

    let outer = Place::repository("r");
    let inner = Place::repository("sub");
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
    outer.works(&outer.run());

    // `.git` is a file: the root is a worktree of another repository, and has its git folder elsewhere.
    let main = Place::repository("main");
    main.git(&["worktree", "add", "--quiet", "../tree", "-b", "tree"]);
    let tree = Place {
        root: main.root.with_file_name("tree"),
        dir: main.dir,
    };
    tree.works(&tree.run());
    let apart = Place::named("r");
    apart.git(&["init", "--quiet", "--separate-git-dir=../apart.git"]);
    apart.commit("a.txt", "one\n");
    apart.works(&apart.run());
    assert!(Path::new(&apart.root.join(".git")).is_file());
}
