//! A project in a temporary folder, and crewdeck run in it as a person would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder of its own.
pub struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    /// An empty folder.
    pub fn new() -> Project {
        Project {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// An empty git repository.
    pub fn git() -> Project {
        let project = Project::new();
        let made = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(project.path())
            .status();
        assert!(made.unwrap().success());
        project
    }

    /// A git repository on the branch `main` with these files, path and content, in its first commit.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes the user's own settings: the home of [`Project::command`] is the project.
    pub fn own_settings(&self, text: &str) -> PathBuf {
        self.write(".config/crewdeck/config.toml", text)
    }

    /// The command, not yet run: no keys, a home of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
        command.args(args).current_dir(self.path()).env_clear();
        command
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", self.path());
        command
    }

    /// Runs crewdeck.
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran(self.command(args).output().unwrap())
    }

    /// Runs crewdeck with `--json`; it must succeed.
    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let ran = self.run(&all);
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.err());
        serde_json::from_str(&ran.out()).unwrap()
    }

    /// Runs crewdeck; it must refuse with one line on stderr, which comes back, and nothing on stdout.
    pub fn refused(&self, args: &[&str]) -> String {
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

/// Runs git in a project, which is its home too; it must succeed. What it printed.
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

/// What a run left.
pub struct Ran(pub Output);

impl Ran {
    /// Its exit code.
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    /// Its standard output.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Its standard error.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }
}
