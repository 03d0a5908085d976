//! A git repository in a temporary folder, and helpers to run git in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::worktree::{Created, WorktreeError, WorktreeName};
use crewdeck::store::{NewWorktree, StoreError, Worktrees};

/// The timestamp of all worktree changes.
pub const NOW: Timestamp = Timestamp(7.0);

/// A temporary git repository on branch `main`.
pub struct Repository {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Repository {
    /// Creates a repository with the file `a.txt` in its first commit.
    pub fn new() -> Repository {
        Repository::named("r")
    }

    /// Like [`Repository::new`], but the folder of the repository is called `name`.
    pub fn named(name: &str) -> Repository {
        let repository = Repository::empty(name);
        repository.commit("a.txt", "one\n");
        repository
    }

    /// Like [`Repository::new`], but in a temporary folder below `parent`.
    pub fn new_in(parent: &Path) -> Repository {
        let repository = Repository::init(tempfile::tempdir_in(parent).unwrap(), "r");
        repository.commit("a.txt", "one\n");
        repository
    }

    /// Creates a repository without a commit.
    pub fn empty(name: &str) -> Repository {
        Repository::init(tempfile::tempdir().unwrap(), name)
    }

    fn init(dir: tempfile::TempDir, name: &str) -> Repository {
        let root = dir.path().canonicalize().unwrap().join(name);
        std::fs::create_dir(&root).unwrap();
        let repository = Repository { _dir: dir, root };
        // Without the template's samples, which are a dozen files per test.
        repository.git(&["init", "--quiet", "--template=", "--initial-branch=main"]);
        for folder in ["hooks", "info"] {
            std::fs::create_dir(repository.root().join(".git").join(folder)).unwrap();
        }
        repository.git(&["config", "user.name", "Ada"]);
        repository.git(&["config", "user.email", "ada@example.org"]);
        repository.git(&["config", "commit.gpgsign", "false"]);
        let hooks = repository.root.join(".git/hooks");
        repository.git(&["config", "core.hooksPath", &hooks.to_string_lossy()]);
        repository
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn worktrees(&self) -> Worktrees {
        Worktrees::open(&self.root)
    }

    pub fn worktree_path(&self, name: &str) -> PathBuf {
        self.root.join(".worktrees").join(name)
    }

    /// Runs git in the root and returns its trimmed output. Panics if git fails.
    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root, args)
    }

    /// Writes a file in the root and commits all changes there.
    pub fn commit(&self, file: &str, content: &str) {
        commit(&self.root, file, content);
    }

    /// Tries to create the worktree of a task that needs the changes on the branches `needs`.
    pub fn try_create(&self, task: u64, needs: &[&str]) -> Result<Created, StoreError> {
        let new = NewWorktree {
            task: TaskId(task),
            subject: format!("Subject {task}"),
            owner: "alice".into(),
            base: None,
            start: None,
            needs: needs.iter().map(ToString::to_string).collect(),
            made: None,
            has_setup: false,
        };
        self.worktrees().create(&new, NOW)
    }

    /// Creates the worktree of a task that needs the changes on the branches `needs`, and returns its name.
    pub fn create(&self, task: u64, needs: &[&str]) -> String {
        self.try_create(task, needs).unwrap().worktree.name.into()
    }

    /// Returns the name of each event in the worktree log.
    pub fn events(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.root.join(".worktrees/events.jsonl")).unwrap();
        let event = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["event"].as_str().unwrap().to_string()
        };
        text.lines().map(event).collect()
    }

    /// Returns a text that shows changes to the repository: status, refs, HEAD, diff, worktrees, and whether a merge is
    /// in progress.
    pub fn state_snapshot(&self) -> String {
        [
            &["status", "--porcelain", "--branch"][..],
            &["for-each-ref"],
            &["rev-parse", "HEAD"],
            &["diff", "HEAD"],
            &["worktree", "list", "--porcelain"],
        ]
        .map(|args| self.git(args))
        .join("\n")
            + &format!("{}", self.root.join(".git/MERGE_HEAD").exists())
    }
}

/// Converts `text` to a worktree name. Panics if it is invalid.
pub fn name(text: &str) -> WorktreeName {
    WorktreeName::new(text).unwrap()
}

/// Returns the error of a result. Panics unless it is a worktree error.
pub fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> WorktreeError {
    match result.unwrap_err() {
        StoreError::Worktree(why) => why,
        other => panic!("{other}"),
    }
}

/// Runs git in `dir` without user and system settings, and returns its output and status.
pub fn git_output(dir: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("LC_ALL", "C")
        .env("GIT_EDITOR", ":")
        .output()
        .unwrap()
}

/// Runs git in `dir` and returns its trimmed output. Panics if git fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = git_output(dir, args);
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim_end().into()
}

/// Writes a file in `dir` and commits all changes there.
pub fn commit(dir: &Path, file: &str, content: &str) {
    std::fs::write(dir.join(file), content).unwrap();
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "-m", &format!("Write {file}")]);
}
