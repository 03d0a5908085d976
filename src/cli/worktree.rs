//! The command line of `crewdeck worktree`.

use clap::Subcommand;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     the changes of task 3
  crewdeck worktree merge 3
  crewdeck worktree remove 3                   refused if work would be lost";

/// The subcommands of `crewdeck worktree`.
#[derive(Debug, Subcommand)]
pub enum WorktreeVerb {
    /// List the worktrees with uncommitted files, unmerged commits and size
    List,
    /// Show the changes in a worktree
    Diff {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Merge a worktree's branch into its base branch; a conflict changes nothing (exit status 1)
    Merge {
        /// Name of the worktree, or number of its task
        name: String,
    },
    /// Remove a worktree; refused if it has unmerged work, which is listed (exit status 1)
    Remove {
        /// Name of the worktree, or number of its task
        name: String,
        /// Remove it even if uncommitted files are lost; commits stay on its branch
        #[arg(long)]
        force: bool,
    },
}
