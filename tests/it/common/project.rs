//! A project in a temporary folder, in which crewdeck runs as for a user.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub struct Project {
    dir: tempfile::TempDir,
}

impl Drop for Project {
    /// Keeps the files of a failed test, so that its cause can be found.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.dir.disable_cleanup(true);
            eprintln!("the project is kept in {}", self.dir.path().display());
        }
    }
}

impl Project {
    /// Creates an empty folder.
    pub fn new() -> Project {
        Project {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Creates an empty git repository.
    pub fn git() -> Project {
        let project = Project::new();
        let status = Command::new("git")
            .args(["init", "--quiet", "--template="])
            .current_dir(project.path())
            .status();
        assert!(status.unwrap().success());
        project
    }

    /// Creates a git repository on branch `main` with one commit of these files (path and content).
    pub fn repository(files: &[(&str, &str)]) -> Project {
        let project = Project::git();
        for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
            git(&project, &["config", key, value]);
        }
        for (name, content) in files {
            project.write(name, content);
        }
        git(&project, &["add", "."]);
        git(&project, &["commit", "--quiet", "--message", "first"]);
        git(&project, &["branch", "--move", "main"]);
        project
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Keeps the folder after the end of the test, and returns its path.
    pub fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.path().to_path_buf()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file in the project, with its parent folders, and returns its path.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes the user settings; [`Project::command`] uses the project as the home. Returns the path.
    pub fn write_user_settings(&self, text: &str) -> PathBuf {
        self.write(".config/crewdeck/config.toml", text)
    }

    /// Returns a crewdeck command with the project as current directory and home. Its environment has no API keys.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
        command.args(args).current_dir(self.path()).env_clear();
        command
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path());
        command
    }

    pub fn run(&self, args: &[&str]) -> RunResult {
        RunResult(self.command(args).output().unwrap())
    }

    /// Runs crewdeck with `--json` and returns its output. Panics if it fails.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let ran = self.run(&all);
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.err());
        serde_json::from_str(&ran.out()).unwrap()
    }

    /// Runs crewdeck and returns its only line on stderr. Panics unless it fails with exit code 1 and no output.
    pub fn expect_refusal(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(
            (ran.code(), ran.out().as_str()),
            (1, ""),
            "{args:?}: {}",
            ran.err()
        );
        let err = ran.err();
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
        err.trim_end().to_string()
    }
}

/// Runs git with the project as current directory and home, and returns its output. Panics if git fails.
pub fn git(project: &Project, args: &[&str]) -> String {
    let out = Command::new("git")
        .args(args)
        .current_dir(project.path())
        .env("HOME", project.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub struct RunResult(pub Output);

impl RunResult {
    /// Returns the exit code; -1 after a signal.
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    /// Returns what the program wrote to standard output.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Returns what the program wrote to standard error.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}
