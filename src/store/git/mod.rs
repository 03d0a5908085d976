//! Runs the `git` command without prompts, editors or settings that an agent could have changed.
//!
//! Every argument is a constant of this program, a full reference name, a commit hash, or follows `--`, so that git
//! never takes a name from outside of this program for an option.

mod content;
mod error;
mod facts;
mod first_commit;
mod identity;
mod incomplete_worktrees;
pub mod locks;
mod push_hooks;
mod remote;
mod remote_address;
mod remote_failure;
mod repo;
mod repo_cache;
mod shared_refs;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::os_errors;
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand};

pub use crate::process::history::is_hash;
pub use error::GitError;
pub use facts::{GitFacts, RepositoryFacts, facts};
pub use first_commit::{COMMIT, INIT_AND_COMMIT, create_first_commit};
pub use push_hooks::{PushHooks, merge_hooks_in_project};
pub use remote::RemoteLogin;
pub use remote_address::{RemoteTransport, transport_of};
pub use remote_failure::RemoteFailure;
pub use repo::{RegisteredWorktree, Repo, busy_in, commit_of, head};
pub use repo_cache::RepoCache;
pub use shared_refs::{PushResult, SharedRemote};

/// The time limit of one git command, the same as in learn-claude-code.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum size of a command's output, in bytes, unless the caller gives another one. The rest of a longer output is
/// dropped.
pub const ANSWER_MAX: usize = 4 * 1024 * 1024;
/// The oldest supported git (it needs `rev-parse --path-format`).
const OLDEST: (u32, u32) = (2, 31);

/// Settings for every git call: unquoted paths, no background maintenance, no file system monitor.
const SETTINGS: &[&str] = &[
    "core.quotePath=false",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Settings for git calls that run no hooks. They also turn off recursion into submodules, because submodules have
/// hooks and filters of their own.
const NO_HOOKS: &[&str] = &["core.hooksPath=/dev/null", "submodule.recurse=false"];

/// Environment variables that git must not get. These variables would make git use another repository (crewdeck may run
/// inside a hook) or write to the terminal.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hooks {
    /// Git runs the user's hooks. Used for commits on the user's branch, because they must follow the user's rules.
    Run,
    /// Git runs no hooks. Used on task branches, to which crewdeck commits without the user. A hook that prompts would
    /// block the commit, and a hook that rejects unfinished work would keep this work from being saved.
    Skip,
}

/// Runs git in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    program: PathBuf,
    /// Git does not search for a repository in this folder or above it.
    ceiling: Option<PathBuf>,
    /// Additional environment variables for git, such as the paths of the repository's folders and of the index. Git
    /// uses these paths instead of searching for them.
    extra_env: Vec<(&'static str, PathBuf)>,
    /// The file with patterns of ignored files that git uses in place of the user's own one; `None` to use the user's.
    excludes: Option<PathBuf>,
    hooks: Hooks,
    /// The standard input of git if it runs no hooks: a lock, so that the lock is held until git ends, or input.
    lock: Option<Arc<File>>,
    /// The author of commits, set by [`Git::committer`]: `-c` settings with crewdeck's name or e-mail address if the
    /// user has configured none.
    identity: Vec<String>,
    /// Git is stopped when this flag becomes true.
    stop: Option<Arc<AtomicBool>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOutput<T = String> {
    /// The exit code. If a signal ended git, 128 plus the number of the signal.
    pub code: i32,
    /// The standard output. In a string, invalid UTF-8 is replaced by `�`.
    pub out: T,
    /// The number of bytes cut off the end of `out`.
    pub lost: u64,
    /// Git's error message on one line; empty if git printed none.
    pub error_message: String,
}

impl Git {
    /// Returns a `Git` that runs in `dir`, an absolute path, without hooks.
    pub fn at(dir: &Path) -> Git {
        Git {
            dir: dir.to_path_buf(),
            program: "git".into(),
            ceiling: None,
            extra_env: Vec::new(),
            excludes: None,
            hooks: Hooks::Skip,
            lock: None,
            identity: Vec::new(),
            stop: None,
        }
    }

    /// Returns a `Git` for the bare repository in `dir`. Git gets the path, so that it does not search for a repository.
    pub fn bare(dir: &Path) -> Git {
        Git {
            extra_env: vec![("GIT_DIR", dir.to_path_buf())],
            ..Git::at(dir)
        }
    }

    /// Returns a copy that stops git when `stop` becomes true.
    #[must_use]
    pub fn with_stop(&self, stop: Arc<AtomicBool>) -> Git {
        Git {
            stop: Some(stop),
            ..self.clone()
        }
    }

    /// Returns a copy for the worktree in `dir`. `own` is its git folder, `common` the git folder of all worktrees. Git
    /// gets these paths so that it does not search for them. A search would read files that agents can write, and could
    /// make git use the settings of another repository, which can start any program. Git does not search for a
    /// repository in `ceiling` or above it.
    #[must_use]
    pub fn in_worktree(&self, ceiling: &Path, dir: &Path, own: &Path, common: &Path) -> Git {
        Git {
            dir: dir.to_path_buf(),
            ceiling: Some(ceiling.to_path_buf()),
            extra_env: vec![
                ("GIT_DIR", own.to_path_buf()),
                ("GIT_COMMON_DIR", common.to_path_buf()),
                ("GIT_WORK_TREE", dir.to_path_buf()),
            ],
            ..self.clone()
        }
        .without_lfs_downloads()
    }

    /// Returns a copy with which Git LFS writes pointers in place of the files that it checks out. Without this, a checkout
    /// downloads the files with the user's login from a server that a file of the branch can name.
    #[must_use]
    pub fn without_lfs_downloads(&self) -> Git {
        let mut git = self.clone();
        git.extra_env.push(("GIT_LFS_SKIP_SMUDGE", "1".into()));
        git
    }

    /// Returns a copy that passes `lock` on to git. If git outlives this process (after `kill -9`), the lock is held
    /// until git ends. With [`Hooks::Run`], git does not get the lock.
    #[must_use]
    pub fn with_lock(&self, lock: File) -> Git {
        Git {
            lock: Some(Arc::new(lock)),
            ..self.clone()
        }
    }

    /// Returns a copy that reads `input` on its standard input, from the current position of the file. With [`Hooks::Run`],
    /// git does not get the input.
    #[must_use]
    pub fn with_input(&self, input: File) -> Git {
        self.with_lock(input)
    }

    /// Returns a copy that uses the index file `index` instead of the worktree's own.
    #[must_use]
    pub fn with_index(&self, index: &Path) -> Git {
        let mut git = self.clone();
        git.extra_env.push(("GIT_INDEX_FILE", index.to_path_buf()));
        git
    }

    /// Returns a copy that uses the file `excludes` in place of the user's `core.excludesFile`.
    #[must_use]
    pub fn with_excludes(&self, excludes: &Path) -> Git {
        Git {
            excludes: Some(excludes.to_path_buf()),
            ..self.clone()
        }
    }

    /// Returns a copy that does not fetch the missing objects of a partial clone. A fetch can start programs that are
    /// configured for the remote repository. Git before 2.45 fetches the objects nevertheless.
    #[must_use]
    pub fn without_fetching(&self) -> Git {
        self.with_variable("GIT_NO_LAZY_FETCH", "1")
    }

    /// Returns a copy that does not let the refs below `refs/replace/` put other objects in the place of the real ones.
    #[must_use]
    pub fn without_replacements(&self) -> Git {
        self.with_variable("GIT_NO_REPLACE_OBJECTS", "1")
    }

    /// Returns a copy that creates repositories with refs as files.
    #[must_use]
    pub fn with_refs_as_files(&self) -> Git {
        self.with_variable("GIT_DEFAULT_REF_FORMAT", "files")
    }

    fn with_variable(&self, name: &'static str, value: &str) -> Git {
        let mut git = self.clone();
        git.extra_env.push((name, value.into()));
        git
    }

    #[must_use]
    pub fn with_hooks(&self, hooks: Hooks) -> Git {
        Git {
            hooks,
            ..self.clone()
        }
    }

    /// Runs `git ARGS` and returns its output, whether it succeeds or fails. Keeps the first [`ANSWER_MAX`] bytes of the
    /// output. Blocks the thread.
    ///
    /// # Errors
    /// When git cannot be started, does not end within [`TIMEOUT`], or is stopped ([`Git::with_stop`]).
    pub fn run(&self, args: &[&str]) -> Result<GitOutput, GitError> {
        self.run_keeping(args, ANSWER_MAX)
    }

    /// As [`Git::run`], but keeps the first `keep` bytes of the output.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn run_keeping(&self, args: &[&str], keep: usize) -> Result<GitOutput, GitError> {
        let bytes = self.run_bytes(args, keep)?;
        Ok(GitOutput {
            code: bytes.code,
            out: String::from_utf8_lossy(&bytes.out).into_owned(),
            lost: bytes.lost,
            error_message: bytes.error_message,
        })
    }

    /// As [`Git::run_keeping`], but returns the output as bytes.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn run_bytes(&self, args: &[&str], keep: usize) -> Result<GitOutput<Vec<u8>>, GitError> {
        let what = || args.first().copied().unwrap_or_default().to_string();
        let output = blocking::run(&self.command(args, keep)).map_err(|e| start_error(&e))?;
        let code = match output.ended {
            JobExit::Code(code) => code,
            JobExit::Signal(signal) => 128 + signal,
            JobExit::TimedOut => return Err(GitError::TimedOut(what())),
            JobExit::Cancelled => return Err(GitError::Stopped(what())),
        };
        Ok(GitOutput {
            code,
            out: output.stdout,
            lost: output.lost,
            error_message: error::error_message(&output.stderr),
        })
    }

    /// Runs `git ARGS` and returns the whole output without trailing line breaks.
    ///
    /// # Errors
    /// As [`Git::run`]; also when the exit code is not 0 or the output exceeds [`ANSWER_MAX`] (4 MiB).
    pub fn ok(&self, args: &[&str]) -> Result<String, GitError> {
        let answer = self.run(args)?;
        if answer.code != 0 {
            return Err(answer.to_error(args));
        }
        if answer.lost > 0 {
            return Err(GitError::TooLong(
                args.first().copied().unwrap_or_default().into(),
            ));
        }
        Ok(answer.out.trim_end_matches('\n').to_string())
    }

    /// Runs a git command that answers with its exit code. Returns true for 0 and false for 1.
    ///
    /// # Errors
    /// When the exit code is another one, or git cannot be run.
    pub fn succeeds(&self, args: &[&str]) -> Result<bool, GitError> {
        let answer = self.run(args)?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(answer.to_error(args)),
        }
    }

    /// Checks that git is installed and new enough. Accepts a version number in an unknown format.
    ///
    /// # Errors
    /// [`GitError::Missing`], [`GitError::TooOld`], or another error if git cannot be run.
    pub fn check(&self) -> Result<(), GitError> {
        let text = self.ok(&["version"])?;
        match version(&text) {
            Some(found) if found < OLDEST => {
                Err(GitError::TooOld(format!("{}.{}", found.0, found.1)))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn command(&self, args: &[&str], keep: usize) -> BlockingCommand {
        let mut all: Vec<OsString> =
            vec!["--no-pager".into(), "-C".into(), self.dir.clone().into()];
        let no_hooks: &[&str] = match self.hooks {
            Hooks::Run => &[],
            Hooks::Skip => NO_HOOKS,
        };
        let settings = SETTINGS.iter().chain(no_hooks).copied();
        for setting in settings.chain(self.identity.iter().map(String::as_str)) {
            all.push("-c".into());
            all.push(setting.into());
        }
        if let Some(path) = &self.excludes {
            let mut setting = OsString::from("core.excludesFile=");
            setting.push(path);
            all.extend(["-c".into(), setting]);
        }
        all.extend(args.iter().map(OsString::from));
        let set = SET
            .iter()
            .map(|(name, value)| (*name, Some(OsString::from(value))));
        let unset = UNSET.iter().map(|name| (*name, None));
        let ceiling = self.ceiling.clone().map(OsString::from);
        let folders = self
            .extra_env
            .iter()
            .map(|(name, path)| (*name, Some(OsString::from(path))));
        BlockingCommand {
            program: self.program.clone(),
            args: all,
            dir: "/".into(),
            // If hooks run, git does not get the lock: a hook may start a background process, which must not keep the
            // lock.
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

impl<T> GitOutput<T> {
    pub fn to_error(&self, args: &[&str]) -> GitError {
        let what: Vec<&str> = args.iter().copied().take(2).collect();
        let why = if self.error_message.is_empty() {
            format!("exit code {}", self.code)
        } else {
            self.error_message.clone()
        };
        GitError::Failed {
            what: what.join(" "),
            why,
        }
    }
}

/// Returns the error for a git that could not be started.
fn start_error(error: &std::io::Error) -> GitError {
    match error.kind() {
        std::io::ErrorKind::NotFound => GitError::Missing,
        _ => GitError::Start(os_errors::explain(error)),
    }
}

/// Parses the major and minor version number from the output of `git --version`, such as `git version 2.47.3 (Apple
/// Git-1)`. Returns `None` for a text of another form.
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

    fn fake_git(script: &str) -> (tempfile::TempDir, Git) {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("git");
        crate::store::fake_program::write(&program, script);
        let git = Git {
            program,
            ..Git::at(dir.path())
        };
        (dir, git)
    }

    #[test]
    fn check_reports_missing_or_outdated_git() {
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
            let (_dir, git) = fake_git(&format!("echo '{said}'"));
            assert_eq!(git.check(), outcome, "{said}");
        }
    }

    #[test]
    fn git_gets_its_folders_from_variables() {
        let (dir, git) = fake_git(
            "echo \"$@\"; echo \"[$GIT_DIR] [$GIT_COMMON_DIR] [$GIT_CEILING_DIRECTORIES] $LC_ALL\"",
        );
        let [own, common] = [Path::new("/own"), Path::new("/common")];
        let inside = git.in_worktree(Path::new("/ceiling"), dir.path(), own, common);
        let text = inside.ok(&["status"]).unwrap();
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
