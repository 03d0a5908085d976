//! Lists and opens pull requests with the client of their service.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::host_client::{ClientCall, HostClient};
use crate::domain::code_host::{CodeHost, RepositoryAddress};
use crate::domain::pull_request::{PullRequest, PullRequestText, find_url, parse_pull_requests};

/// Maximum time for one call of the client.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of the output of one call, in bytes.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of pull requests of one branch that are listed, the newest. A branch has one that is open at most.
const LISTED_MAX: usize = 30;

/// The fields of pull requests that `gh` prints.
const GITHUB_FIELDS: &str =
    "url,state,headRefName,headRefOid,isCrossRepository,baseRefName,isDraft";

/// The client for the pull requests of one repository.
pub struct PullRequestClient {
    client: HostClient,
    /// The repository, as the client's option `--repo` names it.
    repository: String,
}

/// A pull request to open.
#[derive(Debug, Clone, Copy)]
pub struct NewPullRequest<'a> {
    pub branch: &'a str,
    pub base: &'a str,
    pub is_draft: bool,
    pub text: &'a PullRequestText,
}

impl PullRequestClient {
    /// Finds the client of `host` for the repository at `address`. It will run in the folder `project`, and is stopped when
    /// `stop` becomes true.
    ///
    /// # Errors
    /// Fails if the client is not installed.
    pub fn find(
        host: CodeHost,
        address: &RepositoryAddress,
        project: &Path,
        stop: Arc<AtomicBool>,
    ) -> Result<PullRequestClient> {
        Ok(PullRequestClient {
            client: HostClient::find(host, project)?.with_stop(stop),
            repository: repository_name(host, address),
        })
    }

    /// Returns the client that this uses.
    pub fn client(&self) -> &HostClient {
        &self.client
    }

    /// Lists the pull requests from `branch`, open or not, newest first.
    ///
    /// # Errors
    /// Fails if the client fails, for example because the user is not logged in.
    pub fn list(&self, branch: &str) -> Result<Vec<PullRequest>> {
        let host = self.client.host();
        let (verb, args) = match host {
            CodeHost::GitHub => (
                "pr list",
                vec![
                    String::from("--state=all"),
                    format!("--head={branch}"),
                    format!("--limit={LISTED_MAX}"),
                    format!("--json={GITHUB_FIELDS}"),
                ],
            ),
            CodeHost::GitLab => (
                "mr list",
                vec![
                    String::from("--all"),
                    format!("--source-branch={branch}"),
                    format!("--per-page={LISTED_MAX}"),
                    String::from("--output=json"),
                ],
            ),
        };
        let text = self.run(verb, args, None)?;
        parse_pull_requests(host, &text, branch).map_err(|why| {
            let name = self.client.name();
            anyhow!("the output of {name} {verb} cannot be used: {why}: update {name}")
        })
    }

    /// Opens a pull request and returns its URL; `None` if the client has printed none.
    ///
    /// # Errors
    /// Fails if the client fails. It may have opened the pull request nevertheless, for example if its answer was lost.
    pub fn open(&self, new: &NewPullRequest<'_>) -> Result<Option<String>> {
        let host = self.client.host();
        let mut args = self.options(new);
        // With `=`, a value that begins with `-` is no option.
        args.push(format!("--title={}", new.text.title));
        let (option, input) = match host {
            CodeHost::GitHub => ("--body-file=-".into(), Some(new.text.body.as_str())),
            // glab reads no text from its standard input.
            CodeHost::GitLab => (format!("--description={}", new.text.body), None),
        };
        args.push(option);
        let text = self.run(open_verb(host), args, input)?;
        Ok(find_url(host, &text).map(String::from))
    }

    /// Returns the command that opens a pull request, without the options for title and text.
    pub fn open_command(&self, new: &NewPullRequest<'_>) -> Vec<String> {
        let mut command = vec![String::from(self.client.name())];
        command.extend(open_verb(self.client.host()).split(' ').map(String::from));
        command.extend(self.options(new));
        command.push(format!("--repo={}", self.repository));
        command
    }

    fn options(&self, new: &NewPullRequest<'_>) -> Vec<String> {
        let (branch, base) = (new.branch, new.base);
        let mut options = match self.client.host() {
            CodeHost::GitHub => vec![format!("--head={branch}"), format!("--base={base}")],
            CodeHost::GitLab => vec![
                format!("--source-branch={branch}"),
                format!("--target-branch={base}"),
                // Otherwise, glab would choose the repository of the branch by the remotes of the project.
                format!("--head={}", self.repository),
                String::from("--yes"),
            ],
        };
        if new.is_draft {
            options.push("--draft".into());
        }
        options
    }

    fn run(&self, verb: &str, mut args: Vec<String>, input: Option<&str>) -> Result<String> {
        args.push(format!("--repo={}", self.repository));
        self.client.run(&ClientCall {
            verb,
            args: &args,
            input,
            deadline: Instant::now() + TIMEOUT,
            timeout: TIMEOUT,
            keep: OUTPUT_MAX,
            repository_remedy: "check the URL of the remote (git remote -v), or choose another one with --remote",
            too_large: &format!(
                "{} {verb} printed more than {} MiB, which is more than crewdeck reads",
                self.client.name(),
                OUTPUT_MAX / 1024 / 1024
            ),
        })
    }
}

fn open_verb(host: CodeHost) -> &'static str {
    match host {
        CodeHost::GitHub => "pr create",
        CodeHost::GitLab => "mr create",
    }
}

/// Returns the repository as the client names it: always with the server. Without it, the client would ask its default server,
/// which is a public one.
fn repository_name(host: CodeHost, address: &RepositoryAddress) -> String {
    let RepositoryAddress { server, path, .. } = address;
    match host {
        CodeHost::GitHub => format!("{server}/{path}"),
        CodeHost::GitLab => format!("https://{server}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn repositories_are_named_with_their_server() {
        for (url, github, gitlab) in [
            (
                "git@git.example.org:acme/tool.git",
                "git.example.org/acme/tool",
                "https://git.example.org/acme/tool",
            ),
            (
                "https://gitlab/acme/tool.git",
                "gitlab/acme/tool",
                "https://gitlab/acme/tool",
            ),
        ] {
            let address = RepositoryAddress::parse(url).unwrap();
            assert_eq!(repository_name(CodeHost::GitHub, &address), github);
            assert_eq!(repository_name(CodeHost::GitLab, &address), gitlab);
        }
    }
}
