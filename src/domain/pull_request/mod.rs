//! Pull requests of GitHub and merge requests of GitLab: what the clients list, and the text of a new one.

mod listed;
mod text;

pub use listed::{PullRequest, PullRequestState, find_url, parse_pull_requests};
pub use text::PullRequestText;
