//! Reads pull requests as `gh` and `glab` print them.

use serde_json::Value;

use crate::domain::code_host::{CodeHost, is_page_url};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestState {
    Open,
    Merged,
    /// Closed without a merge.
    Closed,
}

/// An existing pull request of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub url: String,
    pub state: PullRequestState,
    /// The last commit of the branch, as the service knows it; empty if it does not say.
    pub commit: String,
    /// The branch into which it merges; empty if the service does not say.
    pub base: String,
    pub is_draft: bool,
}

/// Reads the JSON array of pull requests that a client has printed. Keeps those from `branch` of the repository itself:
/// others are from branches of the same name in forks.
///
/// # Errors
/// Fails if the text is not a JSON array, or if a pull request of the branch lacks a valid URL or state.
pub fn parse_pull_requests(
    host: CodeHost,
    text: &str,
    branch: &str,
) -> Result<Vec<PullRequest>, String> {
    // A client may print nothing if there are none.
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let found: Value = serde_json::from_str(text).map_err(|e| {
        format!(
            "the list of {}s is not valid JSON ({e})",
            host.request_name()
        )
    })?;
    let values: &[Value] = match &found {
        Value::Array(values) => values.as_slice(),
        Value::Null => &[],
        _ => {
            return Err(format!(
                "the list of {}s is not a JSON array",
                host.request_name()
            ));
        }
    };
    let own = values.iter().filter(|value| is_own(host, value, branch));
    own.map(|value| read(host, value)).collect()
}

/// Returns whether a pull request is from `branch` of the repository itself.
fn is_own(host: CodeHost, value: &Value, branch: &str) -> bool {
    let has_branch = |field: &str| value.get(field).and_then(Value::as_str) == Some(branch);
    match host {
        CodeHost::GitHub => {
            let is_from_fork = value.get("isCrossRepository").and_then(Value::as_bool);
            has_branch("headRefName") && is_from_fork != Some(true)
        }
        CodeHost::GitLab => {
            let is_from_fork = value.get("source_project_id") != value.get("target_project_id");
            has_branch("source_branch") && !is_from_fork
        }
    }
}

fn read(host: CodeHost, value: &Value) -> Result<PullRequest, String> {
    let (url, commit, base, draft) = match host {
        CodeHost::GitHub => ("url", "headRefOid", "baseRefName", "isDraft"),
        CodeHost::GitLab => ("web_url", "sha", "target_branch", "draft"),
    };
    let string = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let name = host.request_name();
    let url = string(url);
    if !is_page_url(url) {
        return Err(format!("the URL of a {name} is missing or not valid"));
    }
    let state = match string("state").to_ascii_lowercase().as_str() {
        // GitLab locks a request while it merges it.
        "open" | "opened" | "locked" => PullRequestState::Open,
        "merged" => PullRequestState::Merged,
        "closed" => PullRequestState::Closed,
        _ => return Err(format!("the state of the {name} {url} is unknown")),
    };
    Ok(PullRequest {
        url: url.into(),
        state,
        commit: string(commit).into(),
        base: string(base).into(),
        is_draft: value.get(draft).and_then(Value::as_bool) == Some(true),
    })
}

/// Returns the URL of the pull request in what a client prints after it has opened one; `None` if there is none.
pub fn find_url(host: CodeHost, text: &str) -> Option<&str> {
    let part = match host {
        CodeHost::GitHub => "/pull/",
        CodeHost::GitLab => "/merge_requests/",
    };
    let mut words = text.split_whitespace();
    words.find(|word| is_page_url(word) && word.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn requests_of_the_branch_are_read() {
        let github = |number: u64, state: &str, branch: &str, is_from_fork: bool| {
            json!({"url": format!("https://github.com/acme/tool/pull/{number}"), "state": state,
                "headRefName": branch, "headRefOid": "abc", "isCrossRepository": is_from_fork,
                "baseRefName": "develop", "isDraft": number == 4})
        };
        let list = json!([
            github(4, "OPEN", "wt/task-1", false),
            github(3, "MERGED", "wt/task-1", false),
            github(2, "OPEN", "wt/task-1", true),
            github(1, "CLOSED", "wt/task-12", false),
        ]);
        let expected = |number: u64, state| PullRequest {
            url: format!("https://github.com/acme/tool/pull/{number}"),
            state,
            commit: "abc".into(),
            base: "develop".into(),
            is_draft: number == 4,
        };
        assert_eq!(
            parse_pull_requests(CodeHost::GitHub, &list.to_string(), "wt/task-1"),
            Ok(vec![
                expected(4, PullRequestState::Open),
                expected(3, PullRequestState::Merged)
            ])
        );
        let gitlab = |project: u64, state: &str| {
            json!({"iid": 1, "web_url": "https://gitlab.com/acme/tool/-/merge_requests/1", "state": state,
                "source_branch": "wt/task-1", "sha": "abc", "source_project_id": project, "target_project_id": 7,
                "target_branch": "main", "draft": true})
        };
        let list = json!([
            gitlab(7, "opened"),
            gitlab(8, "opened"),
            gitlab(7, "closed")
        ]);
        let found = parse_pull_requests(CodeHost::GitLab, &list.to_string(), "wt/task-1").unwrap();
        let states: Vec<PullRequestState> = found.iter().map(|request| request.state).collect();
        assert_eq!(states, [PullRequestState::Open, PullRequestState::Closed]);
        assert!(found[0].base == "main" && found[0].is_draft);
        for empty in ["", " \n", "[]", "null"] {
            assert_eq!(
                parse_pull_requests(CodeHost::GitLab, empty, "x"),
                Ok(Vec::new())
            );
        }
    }

    #[test]
    fn invalid_lists_are_rejected() {
        let own = |url: &str, state: &str| {
            json!([{"url": url, "state": state, "headRefName": "x"}]).to_string()
        };
        for (text, expected) in [
            ("Welcome".to_string(), "is not valid JSON"),
            ("{}".to_string(), "is not a JSON array"),
            (own("javascript:alert(1)", "OPEN"), "not valid"),
            (own("https://github.com/a/b/pull/1", "NEW"), "is unknown"),
        ] {
            let error = parse_pull_requests(CodeHost::GitHub, &text, "x").unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn url_is_found_in_the_output_of_a_client() {
        let url = "https://gitlab.com/acme/tool/-/merge_requests/12";
        let text = format!("!12 Title (wt/task-1)\n https://gitlab.com/help\n {url}\n");
        assert_eq!(find_url(CodeHost::GitLab, &text), Some(url));
        assert_eq!(find_url(CodeHost::GitHub, &text), None);
    }
}
