//! The demo: a throw-away git repository made from `assets/demo`, and the script that plays the model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The rules of the scripted model.
pub const SCRIPT: &str = include_str!("../../assets/demo/script.yaml");

/// What the person says in the demo.
pub const PROMPT: &str = "Build the program that README.md describes. Split the work on the board and \
                          let a team of three do it.";

/// The files of the repository: path and content.
const FILES: &[(&str, &str)] = &[
    (
        "README.md",
        include_str!("../../assets/demo/repo/README.md"),
    ),
    ("tally.sh", include_str!("../../assets/demo/repo/tally.sh")),
    (
        "AGENTS.md",
        include_str!("../../assets/demo/repo/AGENTS.md"),
    ),
];

/// The settings of the repository: the team commits and merges there, and whoever watches may have no name
/// for git, or settings that change what these do.
const SETTINGS: &[(&str, &str)] = &[
    ("user.name", "crewdeck demo"),
    ("user.email", "demo@localhost"),
    ("commit.gpgsign", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.autocrlf", "false"),
    ("merge.conflictStyle", "merge"),
    ("rerere.enabled", "false"),
];

/// The demo's repository; a temporary one goes when this is dropped.
pub struct Repository {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Repository {
    /// Makes the repository: in `dir`, which must be new or empty and is kept, or in a temporary folder.
    ///
    /// # Errors
    /// When the folder is not empty, can not be written, or git is missing.
    pub fn make(dir: Option<&Path>) -> Result<Repository> {
        let (path, temporary) = match dir {
            Some(dir) => {
                let is_empty = match std::fs::read_dir(dir) {
                    Ok(mut entries) => entries.next().is_none(),
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
                    Err(e) => return Err(e).context(format!("{} can not be read", dir.display())),
                };
                if !is_empty {
                    bail!(
                        "{} is not empty: name a new or empty folder for the demo",
                        dir.display()
                    );
                }
                std::fs::create_dir_all(dir)
                    .with_context(|| format!("{} can not be made", dir.display()))?;
                (dir.canonicalize()?, None)
            }
            None => {
                let temporary = tempfile::Builder::new()
                    .prefix("crewdeck-demo-")
                    .tempdir()
                    .with_context(|| {
                        format!(
                            "no temporary folder can be made in {}: set TMPDIR to another one, or name a folder for the demo with --dir",
                            std::env::temp_dir().display()
                        )
                    })?;
                (temporary.path().join("tally"), Some(temporary))
            }
        };
        for (name, content) in FILES {
            let file = path.join(name);
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(&file, content)?;
        }
        git(&path, &["init", "--quiet", "--initial-branch=main"])?;
        for (key, value) in SETTINGS {
            git(&path, &["config", key, value])?;
        }
        git(&path, &["add", "--all"])?;
        git(
            &path,
            &[
                "commit",
                "--quiet",
                "--message",
                "Describe tally and start it",
            ],
        )?;
        Ok(Repository {
            path,
            _temporary: temporary,
        })
    }

    /// The repository of an earlier demo, as it stands.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn reopen(dir: &Path) -> Result<Repository> {
        let path = dir
            .canonicalize()
            .with_context(|| format!("there is no demo in {}", dir.display()))?;
        Ok(Repository {
            path,
            _temporary: None,
        })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Runs git in the repository, which has settings of its own: the demo is the same everywhere.
fn git(dir: &Path, args: &[&str]) -> Result<()> {
    let out = Command::new("git")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .context("git could not be started: the demo needs git, please install it")?;
    if !out.status.success() {
        bail!(
            "git {} failed: {}",
            args.join(" "),
            String::from_utf8_lossy(&out.stderr).trim()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine"), "x").unwrap();
        let error = Repository::make(Some(dir.path()))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("not empty"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_temporary_repository_goes_when_the_demo_ends() {
        let repository = Repository::make(None).unwrap();
        let path = repository.path().to_owned();
        assert!(path.join(".git").is_dir() && path.join("tally.sh").is_file());
        drop(repository);
        assert!(!path.exists());
    }
}
