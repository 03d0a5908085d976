//! Lists issues with the command-line client of their service: `gh` for GitHub, `glab` for GitLab. The client runs
//! without a shell and without a terminal, and has the user's login.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::domain::task_import::{ImportItem, IssueTracker, ItemOrigin, parse_issues};
use crate::domain::text::{clip, one_line};
use crate::process::JobExit;
use crate::process::blocking::{self, BlockingCommand, CommandOutput};
use crate::process::environment::find_program_outside;

/// Maximum time for all calls of the client together.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of the output of all calls together, in bytes.
const OUTPUT_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of issues that GitLab returns in one page.
const PAGE_MAX: usize = 100;
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

/// Which issues to list.
#[derive(Debug, Clone, Copy)]
pub struct IssueQuery<'a> {
    pub tracker: IssueTracker,
    /// The repository; `None` for the one that the client finds in the project.
    pub repo: Option<&'a str>,
    pub labels: &'a [String],
    /// Maximum number of issues, at least 1.
    pub limit: usize,
}

/// The issues that a client has listed, by their numbers.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedIssues {
    pub items: Vec<ImportItem>,
    /// Whether there are more issues than the limit allows.
    pub has_more: bool,
}

/// Lists the newest open issues. Runs the client in the folder `project`.
///
/// # Errors
/// Fails if the client is not installed, fails, does not end in time, or prints something else than issues.
pub fn list(query: &IssueQuery<'_>, project: &Path) -> Result<ListedIssues> {
    let client = IssueClient::of(query.tracker);
    let program = match find_program_outside(client.program, project) {
        Ok(program) => program,
        Err(Some(inside)) => bail!(
            "{} is in this project, which must not decide what runs: install {} outside of it",
            inside.display(),
            client.program
        ),
        Err(None) => bail!(
            "{program} is not installed: install it ({}), log in with {program} auth login, and try again",
            client.address,
            program = client.program,
        ),
    };
    let call = ClientCall {
        client,
        program,
        dir: project.to_path_buf(),
        timeout: TIMEOUT,
    };
    call.list(query)
}

/// What differs between the clients.
#[derive(Debug, Clone, Copy)]
struct IssueClient {
    tracker: IssueTracker,
    program: &'static str,
    /// Where the client can be got.
    address: &'static str,
    /// Variables with the user's token. crewdeck withholds them from other programs.
    tokens: &'static [&'static str],
}

impl IssueClient {
    fn of(tracker: IssueTracker) -> IssueClient {
        match tracker {
            IssueTracker::GitHub => IssueClient {
                tracker,
                program: "gh",
                address: "https://cli.github.com",
                tokens: &[
                    "GH_TOKEN",
                    "GITHUB_TOKEN",
                    "GH_ENTERPRISE_TOKEN",
                    "GITHUB_ENTERPRISE_TOKEN",
                ],
            },
            IssueTracker::GitLab => IssueClient {
                tracker,
                program: "glab",
                address: "https://docs.gitlab.com/cli",
                tokens: &["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN"],
            },
        }
    }
}

/// An installed client and how to run it.
struct ClientCall {
    client: IssueClient,
    program: PathBuf,
    dir: PathBuf,
    /// Maximum time for all calls together.
    timeout: Duration,
}

impl ClientCall {
    fn list(&self, query: &IssueQuery<'_>) -> Result<ListedIssues> {
        let deadline = Instant::now() + self.timeout;
        // One more than the limit shows whether there are more.
        let wanted = query.limit.saturating_add(1);
        let mut items = match self.client.tracker {
            IssueTracker::GitHub => {
                let arguments = [
                    "--state=open".to_string(),
                    format!("--limit={wanted}"),
                    "--json=number,title,body,labels,url,state".to_string(),
                ];
                let text = self.run(&arguments, query, deadline, OUTPUT_MAX)?;
                self.parse(&text)?
            }
            IssueTracker::GitLab => self.pages(query, wanted, deadline)?,
        };
        // An issue that is opened between two pages moves another one to the next page.
        let mut urls = HashSet::new();
        items.retain(|item| urls.insert(item.url.clone()));
        let has_more = items.len() > query.limit;
        items.truncate(query.limit);
        items.sort_by_key(|item| match item.origin {
            ItemOrigin::Issue(number) => number,
            ItemOrigin::Line(_) => 0,
        });
        Ok(ListedIssues { items, has_more })
    }

    /// Lists issues page by page until there are `wanted` ones or no more.
    fn pages(
        &self,
        query: &IssueQuery<'_>,
        wanted: usize,
        deadline: Instant,
    ) -> Result<Vec<ImportItem>> {
        let size = wanted.min(PAGE_MAX);
        let mut items = Vec::new();
        let mut room = OUTPUT_MAX;
        for page in 1..=wanted.div_ceil(size) {
            let arguments = [
                "--output=json".to_string(),
                format!("--per-page={size}"),
                format!("--page={page}"),
            ];
            let text = self.run(&arguments, query, deadline, room)?;
            room = room.saturating_sub(text.len());
            let found = self.parse(&text)?;
            let is_last = found.len() < size;
            items.extend(found);
            if is_last {
                break;
            }
        }
        Ok(items)
    }

    fn parse(&self, text: &str) -> Result<Vec<ImportItem>> {
        let name = self.client.program;
        parse_issues(self.client.tracker, text)
            .with_context(|| format!("the output of {name} issue list cannot be used"))
    }

    /// Runs `issue list` with `arguments` and the options of `query`. Returns the output, at most `keep` bytes.
    fn run(
        &self,
        arguments: &[String],
        query: &IssueQuery<'_>,
        deadline: Instant,
        keep: usize,
    ) -> Result<String> {
        let name = self.client.program;
        let mut args: Vec<OsString> = vec!["issue".into(), "list".into()];
        args.extend(arguments.iter().map(OsString::from));
        // With `=`, a value that begins with `-` is no option.
        let labels = query.labels.iter();
        let labels = labels.map(|label| format!("--label={}", list_value(label)));
        let repo = query.repo.map(|repo| format!("--repo={repo}"));
        args.extend(labels.chain(repo).map(OsString::from));
        let output = blocking::run(&BlockingCommand {
            program: self.program.clone(),
            args,
            dir: self.dir.clone(),
            stdin: None,
            env: self.environment(),
            timeout: deadline.saturating_duration_since(Instant::now()),
            stop: None,
            keep,
        })
        .with_context(|| format!("{} cannot be started", self.program.display()))?;
        match output.ended {
            JobExit::Code(0) => {}
            JobExit::TimedOut => bail!(
                "{name} did not answer within {} s: check the network and {name} auth status, and try again",
                self.timeout.as_secs_f32()
            ),
            JobExit::Code(_) | JobExit::Signal(_) | JobExit::Cancelled => {
                return Err(self.failure(&output));
            }
        }
        if output.lost > 0 {
            bail!(
                "the issues are too large for one import ({} MiB at most): choose fewer with --limit or --label",
                OUTPUT_MAX / 1024 / 1024
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn environment(&self) -> Vec<(&'static str, Option<OsString>)> {
        let set = SET
            .iter()
            .map(|(name, value)| (*name, Some(OsString::from(value))));
        let unset = UNSET.iter().map(|name| (*name, None));
        // Programs that crewdeck starts do not get tokens. The client needs its own.
        let token = |name: &&'static str| Some((*name, Some(std::env::var_os(name)?)));
        let tokens = self.client.tokens.iter().filter_map(token);
        set.chain(unset).chain(tokens).collect()
    }

    /// Returns the error for a client that failed: what it wrote to standard error, and what to do.
    fn failure(&self, output: &CommandOutput) -> anyhow::Error {
        let name = self.client.program;
        let lines = output.stderr.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let said = clip(&one_line(&lines.join(" ")), STDERR_MAX);
        let said = if said.is_empty() {
            String::new()
        } else {
            format!(": {said}")
        };
        anyhow!(
            "{name} issue list failed ({}){said}: {}",
            output.ended,
            self.remedy(output)
        )
    }

    /// Returns what to do about a failure of the client.
    fn remedy(&self, output: &CommandOutput) -> String {
        let name = self.client.program;
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
            "name the repository with --repo OWNER/NAME".into()
        } else if says(&["unknown flag", "unknown command", "unknown json field"]) {
            format!("this {name} is too old: update it")
        } else {
            format!("fix this until {name} issue list works, and try again")
        }
    }
}

/// Returns `value` for an option whose value is a list with commas: quoted if it contains a comma or a quotation mark.
fn list_value(value: &str) -> String {
    if value.contains([',', '"']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.into()
    }
}

#[cfg(test)]
mod tests;
