//! Lists issues with the client of their service.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::host_client::{ClientCall, HostClient};
use crate::domain::code_host::CodeHost;
use crate::domain::task_import::{ImportItem, ItemOrigin, parse_issues};

/// Maximum time for all calls of the client together.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum size of the output of all calls together, in bytes.
const OUTPUT_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of issues that GitLab returns in one page.
const PAGE_MAX: usize = 100;

/// Which issues to list.
#[derive(Debug, Clone, Copy)]
pub struct IssueQuery<'a> {
    pub tracker: CodeHost,
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
    let lister = IssueLister {
        client: HostClient::find(query.tracker, project)?,
        timeout: TIMEOUT,
    };
    lister.list(query)
}

/// Lists issues with a client.
struct IssueLister {
    client: HostClient,
    /// Maximum time for all calls together.
    timeout: Duration,
}

impl IssueLister {
    fn list(&self, query: &IssueQuery<'_>) -> Result<ListedIssues> {
        let deadline = Instant::now() + self.timeout;
        // One more than the limit shows whether there are more.
        let wanted = query.limit.saturating_add(1);
        let mut items = match self.client.host() {
            CodeHost::GitHub => {
                let arguments = [
                    "--state=open".to_string(),
                    format!("--limit={wanted}"),
                    "--json=number,title,body,labels,url,state".to_string(),
                ];
                let text = self.run(&arguments, query, deadline, OUTPUT_MAX)?;
                self.parse(&text)?
            }
            CodeHost::GitLab => self.pages(query, wanted, deadline)?,
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
        let name = self.client.name();
        parse_issues(self.client.host(), text)
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
        let mut args = arguments.to_vec();
        // With `=`, a value that begins with `-` is no option.
        let labels = query.labels.iter();
        let labels = labels.map(|label| format!("--label={}", list_value(label)));
        args.extend(labels.chain(query.repo.map(|repo| format!("--repo={repo}"))));
        self.client.run(&ClientCall {
            verb: "issue list",
            args: &args,
            input: None,
            deadline,
            timeout: self.timeout,
            keep,
            repository_remedy: "name the repository with --repo OWNER/NAME",
            too_large: &format!(
                "the issues are too large for one import ({} MiB at most): choose fewer with --limit or --label",
                OUTPUT_MAX / 1024 / 1024
            ),
        })
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
