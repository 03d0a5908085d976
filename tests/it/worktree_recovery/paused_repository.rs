//! A repository in which git can be paused at a step and killed there, and the check that nothing is left over.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, SystemTime};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::RemovalMode;
use crewdeck::store::{CombineOutcome, Landing, NewWorktree, StoreError, Worktrees};
use pretty_assertions::assert_eq;

use super::start_process_as;
use crate::common::process_tree::{kill_children, kill_tree};
use crate::common::repository::{NOW, Repository, commit, git, name};
use crate::common::wait::wait_until;

/// What a process does before it is killed.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Creates the worktree of task 2, which needs the branch of task 1.
    Create,
    /// Merges the worktree of task 1.
    Merge,
    /// Lands the branches of tasks 1 and 2 together.
    Land,
    /// Creates a worktree, commits to it, merges and removes it.
    Lifecycle,
}

impl Step {
    /// Returns the step whose variant is called `name`.
    pub fn named(name: &str) -> Option<Step> {
        [Step::Create, Step::Merge, Step::Land, Step::Lifecycle]
            .into_iter()
            .find(|step| format!("{step:?}") == name)
    }

    pub fn run(self, trees: &Worktrees) {
        let new = |task, needs: &[&str]| NewWorktree {
            task: TaskId(task),
            needs: needs.iter().map(ToString::to_string).collect(),
            ..NewWorktree::default()
        };
        match self {
            Step::Create => drop(trees.create(&new(2, &["wt/task-1"]), NOW).unwrap()),
            Step::Merge => drop(trees.merge(&name("task-1"), NOW).unwrap()),
            Step::Land => drop(land(trees).unwrap()),
            Step::Lifecycle => {
                let made = trees.create(&new(2, &["wt/task-1"]), NOW).unwrap();
                let own = made.worktree.name;
                fs::write(Path::new(&made.worktree.path).join("new.txt"), "new\n").unwrap();
                let done = trees.commit_leftovers(&own, "Work").unwrap();
                assert!(done.is_some());
                trees.merge(&own, NOW).unwrap();
                trees.remove(&own, RemovalMode::OnlyIfSafe, NOW).unwrap();
            }
        }
    }
}

/// Lands the branches of tasks 1 and 2 on their base branch together.
pub fn land(trees: &Worktrees) -> Result<Landing, StoreError> {
    let names = ["task-1", "task-2"].map(name);
    let plans = trees.plan_trains(&names, NOW)?;
    let plan = &plans.plans[0];
    match trees.combine(&plan.base, &plan.branches)? {
        CombineOutcome::Combined(combined) => trees.land(&plan.into, &combined, NOW),
        CombineOutcome::Conflict { files, .. } => panic!("{files:?}"),
    }
}

/// A repository in which git can be made to pause, so that it can be killed at that point.
pub struct PausedRepository {
    pub r: Repository,
    /// This file exists as soon as git is paused.
    pub started: PathBuf,
}

impl PausedRepository {
    /// Creates a repository with files on the main branch, and a worktree of task 1 in which some were changed and one
    /// was added.
    pub fn new() -> PausedRepository {
        let r = Repository::new();
        for file in ["b.txt", "d.txt"] {
            r.commit(file, &format!("{file} as it was\n"));
        }
        r.create(1, &[]);
        for file in ["a.txt", "b.txt", "new/c.txt"] {
            let path = r.worktree_path("task-1").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            commit(
                &r.worktree_path("task-1"),
                file,
                &format!("{file} of task 1\n"),
            );
        }
        let started = r.root().join(".git/started");
        PausedRepository { r, started }
    }

    fn pause_command(&self) -> String {
        // Ends after 10 minutes if the test does not kill it.
        format!("touch '{}'; exec sleep 600", self.started.display())
    }

    /// Makes git pause when it checks out a file that matches the pattern `file`.
    pub fn pause_at_file(&self, file: &str) {
        let attributes = self.r.root().join(".git/info/attributes");
        fs::create_dir_all(attributes.parent().unwrap()).unwrap();
        fs::write(attributes, format!("{file} filter=held\n")).unwrap();
        self.r
            .git(&["config", "filter.held.smudge", &self.pause_command()]);
        self.r.git(&["config", "filter.held.clean", "cat"]);
    }

    pub fn pause_at_hook(&self, hook: &str) {
        let path = self.r.root().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let only = match hook {
            // The branch is locked but not moved yet.
            "reference-transaction" => "[ \"$1\" = prepared ] || exit 0",
            _ => "true",
        };
        fs::write(
            &path,
            format!("#!/bin/sh\n{only}\n{}\n", self.pause_command()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the step in a process until git is paused, and kills the process with all its descendants. The locks that
    /// are left get an old modification time.
    pub fn kill_while_paused(&self, step: Step) {
        self.kill_at_pause(start_process_as(&self.r, &format!("{step:?}")));
        fs::remove_file(&self.started).unwrap();
        fs::remove_dir_all(self.r.root().join(".git/hooks")).unwrap_or_default();
        let attributes = self.r.root().join(".git/info/attributes");
        fs::remove_file(attributes).unwrap_or_default();
        make_locks_old(&self.r.root().join(".git"));
    }

    /// Runs the step in a process until git is paused, and kills git only. The process continues and must fail.
    pub fn kill_git_while_paused(&self, step: Step) {
        let mut process = start_process_as(&self.r, &format!("{step:?}"));
        self.wait_for_pause();
        kill_children(&process);
        assert!(!process.wait().unwrap().success());
    }

    fn kill_at_pause(&self, process: Child) {
        self.wait_for_pause();
        kill_tree(process);
    }

    fn wait_for_pause(&self) {
        wait_until("git at the step", || self.started.exists());
    }

    pub fn exists(&self, file: &str) -> bool {
        self.r.root().join(".git").join(file).exists()
    }
}

/// Sets the modification time of all lock files below `folder` to an hour ago.
pub fn make_locks_old(folder: &Path) {
    set_lock_times(folder, SystemTime::now() - Duration::from_secs(3600));
}

pub fn set_lock_times(folder: &Path, then: SystemTime) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            set_lock_times(&entry.path(), then);
        } else if entry.path().extension().is_some_and(|e| e == "lock") {
            let file = File::options().write(true).open(entry.path());
            file.unwrap().set_modified(then).unwrap();
        }
    }
}

fn lock_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(lock_files(&path));
        } else if path.extension().is_some_and(|e| e == "lock") {
            found.push(path);
        }
    }
    found
}

pub fn status(dir: &Path) -> String {
    git(dir, &["status", "--porcelain", "--untracked-files=all"])
}

/// Asserts that no debris and no locks are left, and that git and the registry agree.
pub fn assert_clean(r: &Repository) {
    assert_eq!(r.worktrees().debris().unwrap(), []);
    assert_eq!(lock_files(&r.root().join(".git")), Vec::<PathBuf>::new());
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
        assert_eq!(status(&r.worktree_path(&name)), "", "{name}");
    }
}
