//! The demo: a git repository made from `assets/demo`, and the script of its model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The script with the answers of the demo's model, as YAML.
pub const SCRIPT: &str = include_str!("../../assets/demo/script.yaml");

/// The prompt that the demo sends in place of the user.
pub const PROMPT: &str = "Build the program that README.md describes. Split the work on the board and \
                          let a team of three do it.";

/// The files in the demo's first commit: the path relative to the repository, and the content.
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

/// Git settings of the demo's repository. They override the user's git settings, so that commits and merges also work
/// with unusual settings and without a configured user name.
const SETTINGS: &[(&str, &str)] = &[
    ("user.name", "crewdeck demo"),
    ("user.email", "demo@localhost"),
    ("commit.gpgsign", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.autocrlf", "false"),
    ("merge.conflictStyle", "merge"),
    ("rerere.enabled", "false"),
];

/// The demo's repository. If it is in a temporary folder, the folder is deleted on drop.
pub struct Repository {
    path: PathBuf,
    temporary: Option<tempfile::TempDir>,
}

impl Repository {
    /// Creates the repository in `dir`, which must be missing or empty and is not deleted on drop. If `dir` is `None`,
    /// creates the repository in a temporary folder.
    ///
    /// # Errors
    /// Fails if the folder is not empty or cannot be written, or if git is missing.
    pub fn make(dir: Option<&Path>) -> Result<Repository> {
        let (path, temporary) = match dir {
            Some(dir) => {
                let is_empty = match std::fs::read_dir(dir) {
                    Ok(mut entries) => entries.next().is_none(),
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
                    Err(e) => return Err(e).context(format!("{} cannot be read", dir.display())),
                };
                if !is_empty {
                    bail!(
                        "{} is not empty: choose a new or empty folder for the demo",
                        dir.display()
                    );
                }
                std::fs::create_dir_all(dir)
                    .with_context(|| format!("{} cannot be created", dir.display()))?;
                (dir.canonicalize()?, None)
            }
            None => {
                let temporary = tempfile::Builder::new()
                    .prefix("crewdeck-demo-")
                    .tempdir()
                    .with_context(|| {
                        format!(
                            "no temporary folder can be created in {} (set TMPDIR to another folder, or choose a folder for the demo with --dir)",
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
        // An empty template keeps git from copying its example hooks, which the demo does not need.
        git(
            &path,
            &["init", "--quiet", "--template=", "--initial-branch=main"],
        )?;
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
                "Add the README and a skeleton of tally",
            ],
        )?;
        Ok(Repository { path, temporary })
    }

    /// Returns whether the repository is deleted on drop.
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Opens the repository of an earlier demo and changes nothing in it.
    ///
    /// # Errors
    /// Fails if the folder does not exist.
    pub fn reopen(dir: &Path) -> Result<Repository> {
        let path = dir
            .canonicalize()
            .with_context(|| format!("there is no demo in {}", dir.display()))?;
        Ok(Repository {
            path,
            temporary: None,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn git(dir: &Path, args: &[&str]) -> Result<()> {
    let out = Command::new("git")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .context("git could not be started (install git: the demo needs it)")?;
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
    fn non_empty_folder_is_rejected_and_unchanged() {
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
    fn temporary_repository_is_deleted_on_drop() {
        let repository = Repository::make(None).unwrap();
        let path = repository.path().to_owned();
        assert!(path.join(".git").is_dir() && path.join("tally.sh").is_file());
        drop(repository);
        assert!(!path.exists());
    }
}
