//! Runs the command-line client of a service with issues and pull requests: `gh` for GitHub, `glab` for GitLab. The client
//! runs without a shell and without a terminal, and has the user's login.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::domain::code_host::CodeHost;
use crate::domain::text::{clip, one_line};
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand, CommandOutput};
use crate::process::environment::{find_program_outside, path_outside};

/// Maximum length of the part of the client's standard error that is quoted in an error, in characters.
const STDERR_MAX: usize = 300;

/// Variables with which the client runs: it must not ask, page, colour, or look for updates.
const SET: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("NO_COLOR", "1"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GH_NO_UPDATE_NOTIFIER", "1"),
    ("GH_NO_EXTENSION_UPDATE_NOTIFIER", "1"),
    ("GH_SPINNER_DISABLED", "1"),
    ("GLAB_NO_PROMPT", "1"),
    ("GLAB_CHECK_UPDATE", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Variables that the client does not get. They would change its output, or make it use another repository if crewdeck
/// runs in a hook of git.
const UNSET: &[&str] = &[
    "GH_DEBUG",
    "GH_FORCE_TTY",
    "CLICOLOR_FORCE",
    "DEBUG",
    "FORCE_HYPERLINKS",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
];

/// What differs between the clients.
#[derive(Debug, Clone, Copy)]
struct ClientProgram {
    name: &'static str,
    /// Where the client can be got.
    address: &'static str,
    /// Variables with the user's token. crewdeck withholds them from other programs.
    tokens: &'static [&'static str],
}

impl ClientProgram {
    fn of(host: CodeHost) -> ClientProgram {
        match host {
            CodeHost::GitHub => ClientProgram {
                name: "gh",
                address: "https://cli.github.com",
                tokens: &[
                    "GH_TOKEN",
                    "GITHUB_TOKEN",
                    "GH_ENTERPRISE_TOKEN",
                    "GITHUB_ENTERPRISE_TOKEN",
                ],
            },
            CodeHost::GitLab => ClientProgram {
                name: "glab",
                address: "https://docs.gitlab.com/cli",
                tokens: &["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN"],
            },
        }
    }
}

/// An installed client and the folder in which it runs.
pub struct HostClient {
    host: CodeHost,
    program: PathBuf,
    dir: PathBuf,
    /// The client is stopped when this flag becomes true.
    stop: Option<Arc<AtomicBool>>,
}

/// One call of a client.
pub struct ClientCall<'a> {
    /// The subcommand, such as `issue list`.
    pub verb: &'a str,
    pub args: &'a [String],
    /// The text on the client's standard input; `None` for an empty one. Unlike arguments, other users of the machine cannot
    /// read it.
    pub input: Option<&'a str>,
    /// When the call must have ended.
    pub deadline: Instant,
    /// The time limit that the deadline comes from, for the error.
    pub timeout: Duration,
    /// Maximum size of the output, in bytes.
    pub keep: usize,
    /// What to do if the client finds no repository.
    pub repository_remedy: &'a str,
    /// The error for an output of more than `keep` bytes.
    pub too_large: &'a str,
}

impl HostClient {
    /// Finds the client of a service. It will run in the folder `project`.
    ///
    /// # Errors
    /// Fails if the client is not installed, or only in the project.
    pub fn find(host: CodeHost, project: &Path) -> Result<HostClient> {
        let ClientProgram { name, address, .. } = ClientProgram::of(host);
        match find_program_outside(name, project) {
            Ok(program) => Ok(HostClient::at(host, program, project)),
            Err(Some(inside)) => bail!(
                "{} is in this project, which must not decide what runs: install {name} outside of it",
                inside.display(),
            ),
            Err(None) => bail!(
                "{name} is not installed: install it ({address}), log in with {name} auth login, and try again"
            ),
        }
    }

    /// Returns the client at the path `program`, which will run in the folder `dir`.
    pub fn at(host: CodeHost, program: PathBuf, dir: &Path) -> HostClient {
        HostClient {
            host,
            program,
            dir: dir.to_path_buf(),
            stop: None,
        }
    }

    /// Returns the client, which is stopped when `stop` becomes true.
    #[must_use]
    pub fn with_stop(self, stop: Arc<AtomicBool>) -> HostClient {
        HostClient {
            stop: Some(stop),
            ..self
        }
    }

    pub fn host(&self) -> CodeHost {
        self.host
    }

    /// Returns the name of the client: `gh` or `glab`.
    pub fn name(&self) -> &'static str {
        ClientProgram::of(self.host).name
    }

    /// Returns the variables with the user's tokens for the service. Programs that crewdeck starts do not get them.
    pub fn tokens(&self) -> Vec<(&'static str, OsString)> {
        let names = ClientProgram::of(self.host).tokens.iter();
        names
            .filter_map(|name| Some((*name, std::env::var_os(name)?)))
            .collect()
    }

    /// Runs the client and returns its output.
    ///
    /// # Errors
    /// Fails if the client cannot be started, fails, does not end in time, or prints more than [`ClientCall::keep`] bytes.
    pub fn run(&self, call: &ClientCall<'_>) -> Result<String> {
        let name = self.name();
        let verb = call.verb.split(' ').map(OsString::from);
        let stdin = call.input.map(input_file).transpose();
        let stdin = stdin.context("the input of the client cannot be written")?;
        let output = blocking::run(&BlockingCommand {
            program: self.program.clone(),
            args: verb.chain(call.args.iter().map(OsString::from)).collect(),
            dir: self.dir.clone(),
            stdin: stdin.map(Arc::new),
            env: self.environment(),
            timeout: call.deadline.saturating_duration_since(Instant::now()),
            stop: self.stop.clone(),
            keep: call.keep,
        })
        .with_context(|| format!("{} cannot be started", self.program.display()))?;
        match output.ended {
            JobExit::Code(0) => {}
            JobExit::TimedOut => bail!(
                "{name} did not answer within {} s: check the network and {name} auth status, and try again",
                call.timeout.as_secs_f32()
            ),
            JobExit::Cancelled => bail!(
                "{name} {} was stopped; {} may have done it nevertheless",
                call.verb,
                self.host
            ),
            JobExit::Code(_) | JobExit::Signal(_) => return Err(self.failure(call, &output)),
        }
        if output.lost > 0 {
            bail!("{}", call.too_large);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        let set = SET
            .iter()
            .map(|(name, value)| (*name, Some(OsString::from(value))));
        let unset = UNSET.iter().map(|name| (*name, None));
        let tokens = self.tokens().into_iter();
        let tokens = tokens.map(|(name, value)| (name, Some(value)));
        // The client starts git and other programs, which get its tokens.
        let path = [("PATH", Some(path_outside(&self.dir)))];
        set.chain(unset).chain(path).chain(tokens).collect()
    }

    /// Returns the error for a client that failed: what it wrote to standard error, and what to do.
    fn failure(&self, call: &ClientCall<'_>, output: &CommandOutput) -> anyhow::Error {
        let lines = output.stderr.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let said = clip(&one_line(&lines.join(" ")), STDERR_MAX);
        let said = if said.is_empty() {
            String::new()
        } else {
            format!(": {said}")
        };
        anyhow!(
            "{} {} failed ({}){said}: {}",
            self.name(),
            call.verb,
            output.ended,
            self.remedy(call, output)
        )
    }

    /// Returns what to do about a failure of the client.
    fn remedy(&self, call: &ClientCall<'_>, output: &CommandOutput) -> String {
        let name = self.name();
        let said = output.stderr.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        // gh exits with 4 if the user is not logged in.
        let is_login = output.ended == JobExit::Code(4)
            || says(&[
                "auth login",
                "authenticat",
                "401",
                "unauthorized",
                "logged in",
            ]);
        if is_login {
            format!("log in with {name} auth login, and try again")
        } else if says(&["git repository", "git remote", "no remote", "base repo"]) {
            call.repository_remedy.into()
        } else if says(&["unknown flag", "unknown command", "unknown json field"]) {
            format!("this {name} is too old: update it")
        } else {
            format!("fix this until {name} {} works, and try again", call.verb)
        }
    }
}

/// Returns a file without a name that contains `text`, to be read from its start.
fn input_file(text: &str) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
