//! What a git leaves that is killed together with the process that started it, and that each kind of it is repaired.
//!
//! A git is held at a step by a filter or a hook of the repository, killed there with its parent, and what it left is
//! looked at with git before and after the repair.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{Leftovers, Merge, Removal};
use crewdeck::store::{Debris, NewWorktree, Worktrees};
use pretty_assertions::assert_eq;

use super::process_of;
use crate::common::process_tree::kill_tree;
use crate::common::repository::{NOW, Repository, commit, git, git_output, name};

/// What a process does that is killed.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Makes the worktree of task 2, which needs the branch of task 1.
    Create,
    /// Merges the worktree of task 1.
    Merge,
    /// Everything that becomes of a worktree.
    Life,
}

impl Step {
    /// The step with that name.
    pub fn named(name: &str) -> Option<Step> {
        [Step::Create, Step::Merge, Step::Life]
            .into_iter()
            .find(|step| format!("{step:?}") == name)
    }

    /// Does it.
    pub fn run(self, trees: &Worktrees) {
        let new = |task, needs: &[&str]| NewWorktree {
            task: TaskId(task),
            needs: needs.iter().map(ToString::to_string).collect(),
            ..NewWorktree::default()
        };
        match self {
            Step::Create => drop(trees.create(&new(2, &["wt/task-1"]), NOW).unwrap()),
            Step::Merge => drop(trees.merge(&name("task-1"), NOW).unwrap()),
            Step::Life => {
                let made = trees.create(&new(2, &["wt/task-1"]), NOW).unwrap();
                let own = made.worktree.name;
                fs::write(Path::new(&made.worktree.path).join("new.txt"), "new\n").unwrap();
                let done = trees.commit_leftovers(&own, "Work").unwrap();
                assert!(matches!(done, Leftovers::Committed(_)));
                trees.merge(&own, NOW).unwrap();
                trees.remove(&own, Removal::OnlyIfSafe, NOW).unwrap();
            }
        }
    }
}

/// A repository in which a git can be held.
pub struct Held {
    /// The repository.
    pub r: Repository,
    started: PathBuf,
}

impl Held {
    /// With `files` in the base, and task 1 that has changed and added some.
    pub fn new() -> Held {
        let r = Repository::new();
        for file in ["b.txt", "d.txt"] {
            r.commit(file, &format!("{file} as it was\n"));
        }
        r.create(1, &[]);
        for file in ["a.txt", "b.txt", "new/c.txt"] {
            let path = r.tree("task-1").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            commit(&r.tree("task-1"), file, &format!("{file} of task 1\n"));
        }
        let started = r.root().join(".git/started");
        Held { r, started }
    }

    fn hold(&self) -> String {
        // Ends with the test, whatever becomes of it.
        format!("touch '{}'; exec sleep 600", self.started.display())
    }

    /// Git is held when it writes that file anywhere.
    pub fn hold_at_file(&self, file: &str) {
        let attributes = self.r.root().join(".git/info/attributes");
        fs::create_dir_all(attributes.parent().unwrap()).unwrap();
        fs::write(attributes, format!("{file} filter=held\n")).unwrap();
        self.r.git(&["config", "filter.held.smudge", &self.hold()]);
        self.r.git(&["config", "filter.held.clean", "cat"]);
    }

    pub fn hold_at_hook(&self, hook: &str) {
        let path = self.r.root().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let only = match hook {
            // The branch is locked and not moved yet.
            "reference-transaction" => "[ \"$1\" = prepared ] || exit 0",
            _ => "true",
        };
        fs::write(&path, format!("#!/bin/sh\n{only}\n{}\n", self.hold())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the step until git is held, and kills it there with all that it has started. What it left is old then.
    pub fn kill_in(&self, step: Step) {
        self.until_held(process_of(&self.r, &format!("{step:?}")));
        fs::remove_file(&self.started).unwrap();
        fs::remove_dir_all(self.r.root().join(".git/hooks")).unwrap_or_default();
        let attributes = self.r.root().join(".git/info/attributes");
        fs::remove_file(attributes).unwrap_or_default();
        age(&self.r.root().join(".git"));
    }

    fn until_held(&self, process: Child) {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.started.exists() {
            assert!(Instant::now() < until, "git never came to the step");
            std::thread::yield_now();
        }
        kill_tree(process);
    }

    pub fn exists(&self, file: &str) -> bool {
        self.r.root().join(".git").join(file).exists()
    }
}

/// Makes all lock files below a folder an hour old.
fn age(folder: &Path) {
    date_locks(folder, SystemTime::now() - Duration::from_secs(3600));
}

fn date_locks(folder: &Path, then: SystemTime) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            date_locks(&entry.path(), then);
        } else if entry.path().extension().is_some_and(|e| e == "lock") {
            let file = File::options().write(true).open(entry.path());
            file.unwrap().set_modified(then).unwrap();
        }
    }
}

fn locks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|e| e == "lock") {
            found.push(path);
        }
    }
    found
}

pub fn status(dir: &Path) -> String {
    git(dir, &["status", "--porcelain", "--untracked-files=all"])
}

/// Nothing is left, as git and the folders show it.
pub fn assert_nothing_is_left(r: &Repository) {
    assert_eq!(r.worktrees().debris().unwrap(), []);
    assert_eq!(locks(&r.root().join(".git")), Vec::<PathBuf>::new());
    assert!(!r.root().join(".git/MERGE_HEAD").exists());
    r.git(&["fsck", "--no-dangling"]);
    let mut entered: Vec<String> = r
        .worktrees()
        .list()
        .unwrap()
        .worktrees
        .into_iter()
        .map(|tree| tree.name.to_string())
        .collect();
    entered.sort();
    let folders = |dir: PathBuf| -> Vec<String> {
        let all = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> = all
            .filter(|e| e.file_type().unwrap().is_dir())
            .map(|e| e.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(folders(r.root().join(".worktrees")), entered);
    assert_eq!(folders(r.root().join(".git/worktrees")), entered);
    let branches = r.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/wt"]);
    let branches: Vec<&str> = branches.lines().map(|b| &b[3..]).collect();
    assert_eq!(branches, entered);
    for name in entered {
        assert_eq!(status(&r.tree(&name)), "", "{name}");
    }
}

#[test]
fn a_clean_repository_is_left_as_it_is() {
    let held = Held::new();
    let before = held.r.picture();
    assert_eq!(held.r.worktrees().debris().unwrap(), []);
    assert_eq!(
        held.r.worktrees().repair(NOW).unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(held.r.picture(), before);
    assert_nothing_is_left(&held.r);
}

#[test]
fn locks_that_no_process_holds_are_named_and_removed() {
    let held = Held::new();
    let own = held.r.root().join(".git");
    let all = [
        "index.lock",
        "packed-refs.lock",
        "refs/heads/wt/task-1.lock",
        "worktrees/task-1/HEAD.lock",
        "worktrees/task-1/index.lock",
    ];
    for file in all {
        fs::write(own.join(file), "").unwrap();
    }
    // A lock that is young may be anyone's; these stay young however slow the test is.
    date_locks(&own, SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(held.r.worktrees().debris().unwrap(), []);
    age(&own);
    let named: Vec<Debris> = all
        .iter()
        .map(|file| Debris::Lock(Path::new(".git").join(file)))
        .collect();
    // A program that another test starts has all files of this process open for a moment.
    let until = Instant::now() + Duration::from_secs(60);
    let mut found = held.r.worktrees().debris().unwrap();
    while found != named && Instant::now() < until {
        found = held.r.worktrees().debris().unwrap();
    }
    assert_eq!(found, named);
    assert_eq!(held.r.worktrees().repair(NOW).unwrap().len(), all.len());
    assert_nothing_is_left(&held.r);
}

/// A commit of the user in another terminal: its lock is old and no process has it open, while the editor is.
#[test]
fn the_lock_of_a_git_that_runs_stays() {
    let held = Held::new();
    let go = held.r.root().join(".git/go");
    let (started, wait) = (held.started.display(), go.display());
    let editor =
        format!("touch '{started}'; until [ -e '{wait}' ]; do sleep 0.01; done; echo Mine >");
    fs::write(held.r.root().join("d.txt"), "of the user\n").unwrap();
    let mut user = Command::new("git")
        .args(["commit", "--quiet", "--all"])
        .current_dir(held.r.root())
        .env("GIT_EDITOR", editor)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !held.started.exists() {
        assert!(Instant::now() < until, "the editor never came");
        std::thread::yield_now();
    }
    age(&held.r.root().join(".git"));
    let was_locked = held.exists("index.lock");
    let (found, said) = (held.r.worktrees().debris(), held.r.worktrees().repair(NOW));
    let is_locked = held.exists("index.lock");
    fs::write(&go, "").unwrap();
    assert!(user.wait().unwrap().success());
    assert!(was_locked && is_locked);
    assert_eq!(found.unwrap(), []);
    assert!(said.unwrap()[0].contains("index.lock was kept"));
    assert_eq!(held.r.git(&["log", "-1", "--format=%s"]), "Mine");
}

#[test]
fn a_merge_cut_while_it_writes_files_is_undone() {
    for file in ["a.txt", "b.txt", "new/c.txt"] {
        let held = Held::new();
        let r = &held.r;
        held.hold_at_file(file);
        held.kill_in(Step::Merge);
        assert!(held.exists("index.lock"), "{file}");
        // What the user does before the next start stays.
        fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
        fs::write(r.root().join("notes.txt"), "of the user\n").unwrap();
        let found = r.worktrees().debris().unwrap();
        assert!(found.contains(&Debris::Merge(name("task-1"))), "{found:?}");
        let said = r.worktrees().repair(NOW).unwrap();
        assert!(
            said.iter().any(|line| line.contains("wt/task-1")),
            "{said:?}"
        );
        assert_eq!(
            status(r.root()),
            " M d.txt\n?? notes.txt",
            "{file}: {said:?}"
        );
        r.git(&["checkout", "--quiet", "d.txt"]);
        assert_nothing_is_left(r);
        let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
        assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    }
}

#[test]
fn work_of_the_user_in_a_file_of_a_cut_merge_stays() {
    let held = Held::new();
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    fs::write(held.r.root().join("a.txt"), "of the user\n").unwrap();
    let said = held.r.worktrees().repair(NOW).unwrap();
    assert!(
        said.iter().any(|line| line.contains("kept: a.txt")),
        "{said:?}"
    );
    assert_eq!(status(held.r.root()), " M a.txt");
    let text = fs::read_to_string(held.r.root().join("a.txt")).unwrap();
    assert_eq!(text, "of the user\n");
}

#[test]
fn a_merge_cut_at_its_commit_is_undone_or_noted() {
    let hooks = [
        "pre-merge-commit",
        "commit-msg",
        "reference-transaction",
        "post-merge",
    ];
    for hook in hooks {
        let held = Held::new();
        let r = &held.r;
        held.hold_at_hook(hook);
        held.kill_in(Step::Merge);
        let found = r.worktrees().debris().unwrap();
        assert!(
            found.contains(&Debris::Merge(name("task-1"))),
            "{hook}: {found:?}"
        );
        let is_merged = git_output(
            r.root(),
            &["merge-base", "--is-ancestor", "wt/task-1", "main"],
        );
        assert_eq!(is_merged.status.success(), hook == "post-merge");
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(status(r.root()), "", "{hook}");
        assert_nothing_is_left(r);
        let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
        let is_known = matches!(merged, Merge::AlreadyMerged { .. });
        assert_eq!(is_known, hook == "post-merge", "{hook}: {merged:?}");
    }
}

/// Without a start in between: the merge that comes next repairs it.
#[test]
fn the_next_merge_repairs_a_cut_one() {
    let held = Held::new();
    held.hold_at_file("b.txt");
    held.kill_in(Step::Merge);
    let merged = held.r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    assert_eq!(status(held.r.root()), "");
    assert_nothing_is_left(&held.r);
}

#[test]
fn a_half_made_worktree_is_removed() {
    let held = Held::new();
    held.hold_at_file("d.txt");
    held.kill_in(Step::Create);
    assert!(held.exists("worktrees/task-2/locked"));
    let found = held.r.worktrees().debris().unwrap();
    assert!(
        found.contains(&Debris::HalfMade(name("task-2"))),
        "{found:?}"
    );
    held.r.worktrees().repair(NOW).unwrap();
    assert!(!held.r.tree("task-2").exists());
    assert_nothing_is_left(&held.r);
    assert_eq!(held.r.create(2, &[]), "task-2");
}

#[test]
fn a_half_made_worktree_that_holds_work_is_finished() {
    let held = Held::new();
    held.hold_at_file("d.txt");
    held.kill_in(Step::Create);
    let dir = held.r.tree("task-2");
    fs::write(dir.join("notes.txt"), "of the user\n").unwrap();
    let said = held.r.worktrees().repair(NOW).unwrap();
    assert!(
        said.iter().any(|line| line.contains("notes.txt")),
        "{said:?}"
    );
    assert_eq!(status(&dir), "?? notes.txt");
    assert!(!held.exists("worktrees/task-2/locked"));
    fs::remove_file(dir.join("notes.txt")).unwrap();
    assert_nothing_is_left(&held.r);
}

/// Each state in which `git worktree add` can be killed before it writes files.
#[test]
fn a_worktree_that_was_only_begun_is_removed_at_each_step() {
    let steps = [
        "folder",
        "locked",
        "home",
        "gitdir",
        "link",
        "HEAD",
        "commondir",
    ];
    for count in 1..=steps.len() {
        let r = Repository::new();
        r.create(1, &[]);
        let (own, home) = (r.root().join(".git/worktrees/task-2"), r.tree("task-2"));
        let log = r.root().join(".worktrees/events.jsonl");
        let begun =
            "{\"event\": \"worktree.create.before\", \"worktree\": {\"name\": \"task-2\"}}\n";
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, text + begun).unwrap();
        r.git(&["branch", "wt/task-2"]);
        for step in &steps[..count] {
            match *step {
                "folder" => fs::create_dir(&own).unwrap(),
                "locked" => fs::write(own.join("locked"), "initializing").unwrap(),
                "home" => fs::create_dir(&home).unwrap(),
                "gitdir" => {
                    let link = home.join(".git").display().to_string();
                    fs::write(own.join("gitdir"), link + "\n").unwrap();
                }
                "link" => {
                    fs::write(home.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
                }
                "HEAD" => fs::write(own.join("HEAD"), "0".repeat(40) + "\n").unwrap(),
                _ => fs::write(own.join("commondir"), "../..\n").unwrap(),
            }
        }
        let found = r.worktrees().debris().unwrap();
        assert_eq!(found, [Debris::HalfMade(name("task-2"))], "{count}");
        r.worktrees().repair(NOW).unwrap();
        assert_nothing_is_left(&r);
    }
}

#[test]
fn a_worktree_cut_while_it_gets_its_blockers_work_is_taken_up() {
    let held = Held::new();
    let r = &held.r;
    r.commit("e.txt", "no fast-forward\n");
    held.hold_at_file("new/c.txt");
    held.kill_in(Step::Create);
    assert_eq!(status(&r.tree("task-2")).is_empty(), false);
    let found = r.worktrees().debris().unwrap();
    assert!(
        found.contains(&Debris::NotStarted(name("task-2"))),
        "{found:?}"
    );
    r.worktrees().repair(NOW).unwrap();
    assert_nothing_is_left(r);
    let needs = ["wt/task-1".to_string()];
    let brought = r.worktrees().bring(&name("task-2"), &needs, NOW).unwrap();
    assert_eq!(brought.merged, needs);
}

/// A process is killed before and after each git command of a worktree's life that changes something.
#[test]
fn a_kill_before_or_after_any_change_by_git_leaves_nothing() {
    let found = Command::new("sh").args(["-c", "command -v git"]).output();
    let real = String::from_utf8(found.unwrap().stdout).unwrap();
    let path = std::env::var("PATH").unwrap();
    for at in 1.. {
        let held = Held::new();
        let r = &held.r;
        let (bin, count) = (r.root().join(".git/bin"), r.root().join(".git/count"));
        fs::create_dir(&bin).unwrap();
        let script = format!(
            r#"#!/bin/sh
case " $* " in
    *" worktree add "* | *" worktree remove "* | *" merge --quiet "* | *" update-ref "* | *" add --all "* | *" commit "*)
        echo >> '{count}'
        n=$(wc -l < '{count}')
        [ $((2 * n - 1)) -ne {at} ] || {{ kill -9 $PPID; exit 1; }}
        {real} "$@"
        code=$?
        [ $((2 * n)) -ne {at} ] || kill -9 $PPID
        exit $code ;;
esac
exec {real} "$@"
"#,
            count = count.display(),
            real = real.trim(),
        );
        fs::write(bin.join("git"), script).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worktree_recovery::role", "--nocapture"])
            .env(super::ROOT, r.root())
            .env(super::NUMBER, format!("{:?}", Step::Life))
            .env("PATH", format!("{}:{path}", bin.display()))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        fs::remove_dir_all(bin).unwrap();
        age(&r.root().join(".git"));
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(status(r.root()), "", "{at}");
        if r.tree("task-2").join("new.txt").exists() {
            // It was written and not committed yet.
            let own = name("task-2");
            r.worktrees().commit_leftovers(&own, "Work").unwrap();
        }
        assert_nothing_is_left(r);
        if ended.success() {
            assert!(at > 12, "only {at} places to kill");
            return;
        }
    }
}
