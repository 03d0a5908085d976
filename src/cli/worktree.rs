//! The command line of `crewdeck worktree`.

use clap::Subcommand;

use super::worktree_pr::{self, PullRequestArgs};

/// Shown at the end of `crewdeck worktree --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     the changes of task 3
  crewdeck worktree merge 3
  crewdeck worktree pr 3 --draft               push the branch and open a pull request
  crewdeck worktree remove 3                   refused if work would be lost";

#[derive(Debug, Subcommand)]
pub enum WorktreeVerb {
    /// List all worktrees, each with its uncommitted files and unmerged commits
    List {
        /// Show the size of each worktree and of its cache folder, and of all together; slow if there are many files
        #[arg(long)]
        sizes: bool,
    },
    /// Show what has changed in a worktree since its merge base, committed or not
    Diff {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Merge a worktree's branch into its base branch; a conflict changes nothing (exit status 1)
    Merge {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Push a worktree's branch and open a pull request on GitHub or a merge request on GitLab, with gh or glab
    #[command(after_help = worktree_pr::EXAMPLES)]
    Pr(PullRequestArgs),
    /// Remove a worktree; refused if it has unmerged work, which is then listed (exit status 1)
    Remove {
        /// Name of the worktree, or number of its task
        name: String,
        /// Remove the worktree even if uncommitted files are lost; commits stay on its branch
        #[arg(long)]
        force: bool,
    },
}
