//! Pull requests of GitHub and merge requests of GitLab: what the clients list, and the text of a new one.

mod check_report;
mod listed;
mod text;

pub use check_report::{CheckReport, check_reports};
pub use listed::{PullRequest, PullRequestState, find_url, parse_pull_requests};
pub use text::PullRequestText;
