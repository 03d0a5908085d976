//! The `git` command, run so that it asks nothing, waits for nobody and can not be led astray.
//!
//! What is passed to it is either a word of this program, a full reference name, a commit's hash, or stands
//! behind `--`: no name from outside is ever taken as an option.

mod begin;
mod begun;
mod content;
mod facts;
pub mod locks;
mod refusal;
mod repo;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::words;
use crate::process::Ended;
use crate::process::blocking::{self, Errand};

pub use begin::{COMMIT, INIT_AND_COMMIT, begin};
pub use facts::{GitFacts, RepositoryFacts, facts, is_tracked};
pub use refusal::GitError;
pub use repo::{Registered, Repo, busy_in, commit_of, head, is_hash};

/// How long one git command may run; the reference's figure.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// Most bytes of an answer that are kept.
pub const ANSWER_MAX: usize = 4 * 1024 * 1024;
/// The oldest git that has all that is used here (`rev-parse --path-format`).
const OLDEST: (u32, u32) = (2, 31);

/// Settings of every call: names as they are, no housekeeping and no watcher left behind.
const SETTINGS: &[&str] = &[
    "core.quotePath=false",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Settings of the calls that no hook may come into: repositories inside have hooks and filters of their own.
const UNWATCHED: &[&str] = &["core.hooksPath=/dev/null", "submodule.recurse=false"];

/// Variables that would lead git to another repository (it may run below a hook), or let it draw on the terminal.
const UNSET: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_TRACE",
    "GPG_TTY",
];

const SET: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
];

/// Whether the hooks of the repository run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    /// They do: what enters the person's branch follows the person's rules.
    Run,
    /// They do not. On task branches nobody watches: a hook that asks, or that refuses unfinished work, would
    /// hold up or lose what is to be saved.
    Skip,
}

/// Git in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    program: PathBuf,
    /// Git does not look for a repository in this folder or above it.
    ceiling: Option<PathBuf>,
    /// The folders and files of the repository, where git must not look for them itself.
    folders: Vec<(&'static str, PathBuf)>,
    hooks: Hooks,
    /// The lock under which it works.
    lock: Option<Arc<File>>,
    /// Who commits where the person has set no name: `-c` settings.
    identity: Vec<String>,
    /// Ended when this becomes true.
    stop: Option<Arc<AtomicBool>>,
}

/// What git answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T = String> {
    /// Its exit code.
    pub code: i32,
    /// Its standard output; in a string, invalid UTF-8 is replaced by `�`.
    pub out: T,
    /// How many bytes of it are missing at the end.
    pub lost: u64,
    /// Its complaint, on one line.
    pub complaint: String,
}

impl Git {
    /// Git in `dir`, an absolute path.
    pub fn at(dir: &Path) -> Git {
        Git {
            dir: dir.to_path_buf(),
            program: "git".into(),
            ceiling: None,
            folders: Vec::new(),
            hooks: Hooks::Skip,
            lock: None,
            identity: Vec::new(),
            stop: None,
        }
    }

    /// The same, ended when `stop` becomes true.
    #[must_use]
    pub fn until(&self, stop: Arc<AtomicBool>) -> Git {
        Git {
            stop: Some(stop),
            ..self.clone()
        }
    }

    /// The same, in a worktree: a folder below `ceiling` with a git folder of its `own`, beside the `common`
    /// one. Git is told them, since agents can write the files in which it would look for them; what these named
    /// could have it start any program.
    #[must_use]
    pub fn below(&self, ceiling: &Path, dir: &Path, own: &Path, common: &Path) -> Git {
        Git {
            dir: dir.to_path_buf(),
            ceiling: Some(ceiling.to_path_buf()),
            folders: vec![
                ("GIT_DIR", own.to_path_buf()),
                ("GIT_COMMON_DIR", common.to_path_buf()),
                ("GIT_WORK_TREE", dir.to_path_buf()),
            ],
            ..self.clone()
        }
    }

    /// The same, holding a lock while it runs: a git that outlives this process (kill -9) finishes before
    /// somebody else begins.
    #[must_use]
    pub fn holding(&self, lock: File) -> Git {
        Git {
            lock: Some(Arc::new(lock)),
            ..self.clone()
        }
    }

    /// The same, with another index than the work tree's own.
    #[must_use]
    pub fn with_index(&self, index: &Path) -> Git {
        let mut git = self.clone();
        git.folders.push(("GIT_INDEX_FILE", index.to_path_buf()));
        git
    }

    /// The same, with that rule for hooks.
    #[must_use]
    pub fn with_hooks(&self, hooks: Hooks) -> Git {
        Git {
            hooks,
            ..self.clone()
        }
    }

    /// The same, able to commit: as the person, or where the person has set no name, as crewdeck.
    ///
    /// # Errors
    /// When the settings can not be read.
    pub fn committer(&self) -> Result<Git, GitError> {
        let mut identity = Vec::new();
        for (key, fallback) in [
            ("user.name", "crewdeck"),
            ("user.email", "crewdeck@localhost"),
        ] {
            if self.run(&["config", "--get", key])?.out.trim().is_empty() {
                identity.push(format!("{key}={fallback}"));
            }
        }
        Ok(Git {
            identity,
            ..self.clone()
        })
    }

    /// Runs `git ARGS`, whatever its exit code.
    ///
    /// # Errors
    /// When it can not be started or does not end in time.
    pub fn run(&self, args: &[&str]) -> Result<Answer, GitError> {
        self.run_keeping(args, ANSWER_MAX)
    }

    /// The same, keeping only the first `keep` bytes of the answer.
    ///
    /// # Errors
    /// When it can not be started or does not end in time.
    pub fn run_keeping(&self, args: &[&str], keep: usize) -> Result<Answer, GitError> {
        let bytes = self.run_bytes(args, keep)?;
        Ok(Answer {
            code: bytes.code,
            out: String::from_utf8_lossy(&bytes.out).into_owned(),
            lost: bytes.lost,
            complaint: bytes.complaint,
        })
    }

    /// Runs `git ARGS`, whatever its exit code, and returns the first `keep` bytes of its output unchanged.
    ///
    /// # Errors
    /// When it can not be started or does not end in time.
    pub fn run_bytes(&self, args: &[&str], keep: usize) -> Result<Answer<Vec<u8>>, GitError> {
        let what = || args.first().copied().unwrap_or_default().to_string();
        let brought = blocking::run(&self.errand(args, keep)).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Start(words::why(&e)),
        })?;
        let code = match brought.ended {
            Ended::Code(code) => code,
            Ended::Signal(signal) => 128 + signal,
            Ended::TimedOut => return Err(GitError::TimedOut(what())),
            Ended::Cancelled => return Err(GitError::Stopped(what())),
        };
        Ok(Answer {
            code,
            out: brought.stdout,
            lost: brought.lost,
            complaint: refusal::complaint(&brought.stderr),
        })
    }

    /// Runs `git ARGS`, which must succeed. Its whole answer, without the end of its last line.
    ///
    /// # Errors
    /// Also when it fails, or answers more than 4 MiB.
    pub fn ok(&self, args: &[&str]) -> Result<String, GitError> {
        let answer = self.run(args)?;
        if answer.code != 0 {
            return Err(answer.failed(args));
        }
        if answer.lost > 0 {
            return Err(GitError::TooLong(
                args.first().copied().unwrap_or_default().into(),
            ));
        }
        Ok(answer.out.trim_end_matches('\n').to_string())
    }

    /// Asks git a question: exit code 0 is yes, 1 is no.
    ///
    /// # Errors
    /// When it fails otherwise.
    pub fn says(&self, args: &[&str]) -> Result<bool, GitError> {
        let answer = self.run(args)?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(answer.failed(args)),
        }
    }

    /// Checks that git is there and new enough.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self) -> Result<(), GitError> {
        let text = self.ok(&["version"])?;
        match version(&text) {
            // A version of a make that is not known is trusted.
            Some(found) if found < OLDEST => {
                Err(GitError::TooOld(format!("{}.{}", found.0, found.1)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn errand(&self, args: &[&str], keep: usize) -> Errand {
        let mut all: Vec<OsString> =
            vec!["--no-pager".into(), "-C".into(), self.dir.clone().into()];
        let unwatched: &[&str] = match self.hooks {
            Hooks::Run => &[],
            Hooks::Skip => UNWATCHED,
        };
        let settings = SETTINGS.iter().chain(unwatched).copied();
        for setting in settings.chain(self.identity.iter().map(String::as_str)) {
            all.push("-c".into());
            all.push(setting.into());
        }
        all.extend(args.iter().map(OsString::from));
        let set = SET
            .iter()
            .map(|(name, value)| (*name, Some(OsString::from(value))));
        let unset = UNSET.iter().map(|name| (*name, None));
        let ceiling = self.ceiling.clone().map(OsString::from);
        let folders = self
            .folders
            .iter()
            .map(|(name, path)| (*name, Some(OsString::from(path))));
        Errand {
            program: self.program.clone(),
            args: all,
            dir: "/".into(),
            // A hook may start something that stays: it must not keep the lock.
            stdin: match self.hooks {
                Hooks::Run => None,
                Hooks::Skip => self.lock.clone(),
            },
            env: set
                .chain(unset)
                .chain([("GIT_CEILING_DIRECTORIES", ceiling)])
                .chain(folders)
                .collect(),
            timeout: TIMEOUT,
            stop: self.stop.clone(),
            keep,
        }
    }
}

impl<T> Answer<T> {
    /// The error for an answer that was no success.
    pub fn failed(&self, args: &[&str]) -> GitError {
        let what: Vec<&str> = args.iter().copied().take(2).collect();
        let why = if self.complaint.is_empty() {
            format!("exit code {}", self.code)
        } else {
            self.complaint.clone()
        };
        GitError::Failed {
            what: what.join(" "),
            why,
        }
    }
}

/// Major and minor number in `git version 2.47.3 (Apple Git-1)`.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.strip_prefix("git version ")?;
    let mut parts = number.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts
        .next()?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    Some((major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn played(script: &str) -> (tempfile::TempDir, Git) {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git {
            program,
            ..Git::at(dir.path())
        };
        (dir, git)
    }

    #[test]
    fn a_git_that_is_missing_or_too_old_is_named() {
        let nowhere = Git {
            program: "/nowhere/git".into(),
            ..Git::at(Path::new("/"))
        };
        assert_eq!(nowhere.check(), Err(GitError::Missing));
        for (said, outcome) in [
            ("git version 2.20.1", Err(GitError::TooOld("2.20".into()))),
            ("git version 2.31.0", Ok(())),
            ("git version 2.39.3 (Apple Git-146)", Ok(())),
            ("git version 3.0-rc1", Ok(())),
            ("something else", Ok(())),
        ] {
            let (_dir, git) = played(&format!("echo '{said}'"));
            assert_eq!(git.check(), outcome, "{said}");
        }
    }

    #[test]
    fn git_is_told_where_to_look_and_sees_no_foreign_repository() {
        let (dir, git) = played(
            "echo \"$@\"; echo \"[$GIT_DIR] [$GIT_COMMON_DIR] [$GIT_CEILING_DIRECTORIES] $LC_ALL\"",
        );
        let [own, common] = [Path::new("/own"), Path::new("/common")];
        let below = git.below(Path::new("/ceiling"), dir.path(), own, common);
        let text = below.ok(&["status"]).unwrap();
        let (args, env) = text.split_once('\n').unwrap();
        assert!(
            args.contains("core.hooksPath=/dev/null") && args.ends_with(" status"),
            "{args}"
        );
        assert_eq!(env, "[/own] [/common] [/ceiling] C");
        let text = git.with_hooks(Hooks::Run).ok(&["status"]).unwrap();
        assert!(!text.contains("hooksPath"), "{text}");
    }
}
