//! The command line of `crewdeck worktree`.

use clap::Subcommand;

/// Shown at the end of `crewdeck worktree --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck worktree list
  crewdeck worktree diff 3                     the changes of task 3
  crewdeck worktree merge 3
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
    /// Remove a worktree; refused if it has unmerged work, which is then listed (exit status 1)
    Remove {
        /// Name of the worktree, or number of its task
        name: String,
        /// Remove the worktree even if uncommitted files are lost; commits stay on its branch
        #[arg(long)]
        force: bool,
    },
}
