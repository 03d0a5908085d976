//! Shell scripts in the place of the clients of GitHub and GitLab.

use std::path::Path;

use super::project::{Project, RunResult};

/// The unit tests use the same file.
#[path = "../../../src/store/fake_program.rs"]
mod fake_program;

pub use fake_program::write as write_program;

/// A folder outside of the project with a fake client.
pub struct FakeClient {
    dir: tempfile::TempDir,
}

impl FakeClient {
    /// Creates the client `name`, which runs the shell script `script`.
    pub fn new(name: &str, script: &str) -> FakeClient {
        let dir = tempfile::tempdir().unwrap();
        write_program(&dir.path().join(name), script);
        FakeClient { dir }
    }

    /// Returns the folder of the client.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file beside the client.
    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.dir().join(name), content).unwrap();
    }

    /// Returns the content of a file beside the client.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir().join(name)).unwrap()
    }

    /// Runs crewdeck in `project` with the client first in `PATH`.
    pub fn run(&self, project: &Project, args: &[&str]) -> RunResult {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.dir().display());
        let output = project.command(args).env("PATH", path).output();
        RunResult(output.unwrap())
    }

    /// Runs crewdeck, which must fail with one line on standard error, and returns the line.
    pub fn expect_refusal(&self, project: &Project, args: &[&str]) -> String {
        let ran = self.run(project, args);
        assert_eq!((ran.code(), ran.out().as_str()), (1, ""), "{}", ran.err());
        assert_eq!(ran.err().lines().count(), 1, "{}", ran.err());
        ran.err()
    }
}
