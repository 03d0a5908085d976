//! Reads and writes remote repositories: for commands of the user, and for a crew on a hub that exchanges branches.
//!
//! Git runs without a terminal. If it cannot log in with what the user has stored (a credential helper, ssh-agent, a
//! graphical dialog), it fails instead of waiting for an answer.
//!
//! Git and the programs that it starts are looked up outside of the project. Hooks run what is in the project, so git gets
//! the user's tokens only if it runs no hooks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::remote_failure::says_login_failed;
use super::{ANSWER_MAX, Git, GitError, Hooks, is_hash, start_error};
use crate::domain::redact::Redactor;
use crate::domain::text::{clip, one_line};
use crate::domain::worktree::GitRemote;
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand, CommandOutput};
use crate::process::environment::{find_program_outside, path_outside};

/// Maximum time for a push, with the hooks of the user, which may run tests.
const PUSH_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum number of lines of git, of the server or of a hook that an error quotes.
const QUOTED_LINES_MAX: usize = 6;
/// Maximum length of the quotation in an error, in characters.
const QUOTED_MAX: usize = 500;

/// What git needs to reach remote repositories.
pub struct RemoteLogin {
    /// The path of git.
    program: PathBuf,
    /// The folders in which git looks for other programs.
    path: OsString,
    /// Variables with the user's tokens, for credential helpers.
    tokens: Vec<(&'static str, OsString)>,
    /// Git is stopped when this flag becomes true.
    stop: Arc<AtomicBool>,
}

impl RemoteLogin {
    /// Finds git outside of the folder `project`. `tokens` are variables with the user's tokens, for credential helpers. Git
    /// is stopped when `stop` becomes true.
    ///
    /// # Errors
    /// When git is not installed, or only in the project.
    pub fn find(
        project: &Path,
        tokens: Vec<(&'static str, OsString)>,
        stop: Arc<AtomicBool>,
    ) -> Result<RemoteLogin, GitError> {
        let program = find_program_outside("git", project).map_err(|inside| match inside {
            Some(inside) => GitError::Start(format!(
                "{} is in this project, which must not decide what runs: install git outside of it",
                inside.display()
            )),
            None => GitError::Missing,
        })?;
        Ok(RemoteLogin {
            program,
            path: path_outside(project),
            tokens,
            stop,
        })
    }
}

impl Git {
    /// Returns a copy that can log in at remote repositories. With [`Hooks::Run`], git does not get the tokens of `login`,
    /// but the user's hooks run.
    #[must_use]
    pub fn for_remote(&self, login: &RemoteLogin, hooks: Hooks) -> Git {
        let mut git = self.with_hooks(hooks).with_stop(Arc::clone(&login.stop));
        git.program.clone_from(&login.program);
        let program = |name: &str| std::env::var_os(name).filter(|program| !program.is_empty());
        // Without this, ssh would wait for an answer on the terminal, where it is not in the foreground.
        let ssh = program("SSH_ASKPASS").unwrap_or_else(|| "false".into());
        git.extra_env.extend([
            ("SSH_ASKPASS", PathBuf::from(ssh)),
            ("SSH_ASKPASS_REQUIRE", PathBuf::from("force")),
        ]);
        let own = program("GIT_ASKPASS").map(|program| ("GIT_ASKPASS", program));
        let tokens = match hooks {
            Hooks::Run => &[][..],
            Hooks::Skip => &login.tokens[..],
        };
        let path = [("PATH", login.path.clone())];
        let variables = own.into_iter().chain(path).chain(tokens.iter().cloned());
        git.extra_env
            .extend(variables.map(|(name, value)| (name, PathBuf::from(value))));
        git
    }

    /// Returns the last commits of those of `branches` that the repository has to which `remote` pushes, by the name of the
    /// branch.
    ///
    /// # Errors
    /// When the repository cannot be read.
    pub fn remote_branches(
        &self,
        remote: &GitRemote,
        branches: &[&str],
    ) -> Result<BTreeMap<String, String>, GitError> {
        let wanted: Vec<String> = branches.iter().map(|b| format!("refs/heads/{b}")).collect();
        let mut args = vec!["ls-remote", "--quiet", "--", remote.source()];
        args.extend(wanted.iter().map(String::as_str));
        let answer = self.run(&args)?;
        if answer.code != 0 {
            let why = match answer.error_message {
                why if why.is_empty() => format!("exit code {}", answer.code),
                why => Redactor::default().text(&why).into_owned(),
            };
            let what = format!("ls-remote {}", remote.shown_source());
            let why = with_remedy(why, &format!("git {what}"));
            return Err(GitError::Failed { what, why });
        }
        let found = answer.out.lines().filter_map(|line| {
            let (commit, name) = line.split_once('\t')?;
            // The names in the command also match at the end of longer names.
            let branch = name.strip_prefix("refs/heads/")?;
            let is_wanted = branches.contains(&branch) && is_hash(commit);
            is_wanted.then(|| (branch.to_string(), commit.to_string()))
        });
        Ok(found.collect())
    }

    /// Pushes `refspec` and nothing else: no tags and no submodules. Never replaces commits of the remote, if `refspec` does
    /// not begin with a `+`.
    ///
    /// # Errors
    /// When the remote or a hook refuses the push, or git cannot reach the remote.
    pub fn push(&self, remote: &str, refspec: &str) -> Result<(), GitError> {
        let args = [
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--no-recurse-submodules",
            "--",
            remote,
            refspec,
        ];
        let output = blocking::run(&BlockingCommand {
            timeout: PUSH_TIMEOUT,
            ..self.command(&args, ANSWER_MAX)
        })
        .map_err(|error| start_error(&error))?;
        let why = match output.ended {
            JobExit::Code(0) => return Ok(()),
            JobExit::TimedOut => format!(
                "it did not end within {} s and was stopped; the remote may have the commits nevertheless",
                PUSH_TIMEOUT.as_secs()
            ),
            JobExit::Cancelled => {
                "it was stopped; the remote may have the commits nevertheless".into()
            }
            JobExit::Code(_) | JobExit::Signal(_) => {
                with_remedy(quote(&output), &format!("git push {remote} {refspec}"))
            }
        };
        let what = format!("push {remote}");
        Err(GitError::Failed { what, why })
    }
}

/// Adds to the reason `why` what to do if it says that the login failed: to run `command`, which may then ask.
fn with_remedy(why: String, command: &str) -> String {
    if says_login_failed(&why) {
        format!(
            "{why}. crewdeck does not let git ask for passwords and keys: run {command} in a shell, then repeat this command"
        )
    } else {
        why
    }
}

/// Returns why git has failed at a remote, on one line: for a push, git's reason for the branch; the message of the server,
/// else the end of what git and the hooks have written.
pub(super) fn quote(output: &CommandOutput) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let reason = stdout
        .lines()
        .find_map(|line| line.strip_prefix("!\t")?.rsplit('\t').next());
    let lines = output.stderr.lines().map(str::trim);
    let lines = lines.filter(|line| {
        let is_noise = ["hint:", "To ", "error: failed to push some refs"]
            .iter()
            .any(|start| line.starts_with(start));
        !line.is_empty() && !is_noise
    });
    let lines: Vec<&str> = lines.collect();
    let of_server = lines.iter().filter_map(|line| line.strip_prefix("remote:"));
    let of_server: Vec<&str> = of_server
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(QUOTED_LINES_MAX)
        .collect();
    let shown = if of_server.is_empty() {
        &lines[lines.len().saturating_sub(QUOTED_LINES_MAX)..]
    } else {
        &of_server[..]
    };
    let parts: Vec<&str> = reason.into_iter().chain(shown.iter().copied()).collect();
    if parts.is_empty() {
        return output.ended.to_string();
    }
    let quoted = one_line(&parts.join(" "));
    clip(&Redactor::default().text(&quoted), QUOTED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn output(stdout: &str, stderr: &str) -> CommandOutput {
        CommandOutput {
            ended: JobExit::Code(1),
            stdout: stdout.into(),
            lost: 0,
            stderr: stderr.into(),
        }
    }

    #[test]
    fn failed_push_is_quoted_without_noise() {
        let rejected =
            "To /r\n!\tabc:refs/heads/x\t[remote rejected] (pre-receive hook declined)\nDone\n";
        for (stdout, stderr, expected) in [
            (
                rejected,
                "remote: error: GH006: Protected branch.        \nremote: \nremote: See the rules.\n\
                 error: failed to push some refs to '/r'\nhint: no\n",
                "[remote rejected] (pre-receive hook declined) error: GH006: Protected branch. See the rules.",
            ),
            (
                "",
                "1\n2\n3\n4\n5\n6\n7 tests \u{1b}[31mfailed\nerror: failed to push some refs to '/r'\n",
                "2 3 4 5 6 7 tests ␛[31mfailed",
            ),
            ("", "", "exit code 1"),
        ] {
            assert_eq!(quote(&output(stdout, stderr)), expected);
        }
        let long = "word ".repeat(1000);
        assert!(quote(&output("", &long)).chars().count() <= QUOTED_MAX);
    }

    #[test]
    fn failed_login_names_the_command_to_run() {
        let why = with_remedy(
            "git@a: Permission denied (publickey).".into(),
            "git push o x",
        );
        assert!(why.contains("run git push o x in a shell"), "{why}");
        assert_eq!(with_remedy("other".into(), "git push o x"), "other");
    }
}
