//! The options of `crewdeck worktree pr`.

use clap::Args;

use super::CodeHostArg;

/// Shown at the end of `crewdeck worktree pr --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck worktree pr 3 --dry-run             show what would be pushed, and the text
  crewdeck worktree pr 3                       run again after new commits: pushes them
  crewdeck worktree pr 3 --remote fork --to gitlab --base develop --draft";

#[derive(Debug, Args)]
pub struct PullRequestArgs {
    /// Name of the worktree, or number of its task
    pub name: String,
    /// Remote to push to; default: the upstream remote of the branch or of its base, else origin
    #[arg(long, value_name = "NAME")]
    pub remote: Option<String>,
    /// Service of the remote; default: by the URL of the remote
    #[arg(long, value_name = "SERVICE")]
    pub to: Option<CodeHostArg>,
    /// Branch of the remote to merge into; default: that of the open request, else the one that the worktree started from
    #[arg(long, value_name = "BRANCH")]
    pub base: Option<String>,
    /// Name of the branch at the remote; default: the name of the worktree's branch
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Open the request as a draft
    #[arg(long)]
    pub draft: bool,
    /// Push even if the task is not completed, or a check is not green on these commits
    #[arg(long)]
    pub unfinished: bool,
    /// Check everything and show the push and the request, but do neither
    #[arg(long)]
    pub dry_run: bool,
}
