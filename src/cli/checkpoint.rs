//! The command line of `crewdeck checkpoint`.

use clap::{Args, Subcommand};

use crate::domain::checkpoint::CheckpointId;

/// Shown at the end of `crewdeck checkpoint --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck checkpoint list
  crewdeck checkpoint list --agent lead
  crewdeck checkpoint diff 12                  what a restore of the files would change
  crewdeck checkpoint restore 12               files and conversation
  crewdeck checkpoint restore 12 --files       only the files; prints the command that undoes it";

#[derive(Debug, Subcommand)]
pub enum CheckpointVerb {
    /// List the checkpoints of all agents, newest first
    List {
        /// Only the checkpoints of this agent: lead, or the name of a teammate
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// Show what a restore of the files would change: the diff from the present files to those of the checkpoint
    Diff {
        /// Number of the checkpoint, as shown by crewdeck checkpoint list
        #[arg(value_parser = parse_id)]
        id: CheckpointId,
    },
    /// Restore an agent's files and conversation; records a checkpoint of the present files first
    Restore(RestoreArgs),
}

#[derive(Debug, Clone, Copy, Args)]
pub struct RestoreArgs {
    /// Number of the checkpoint, as shown by crewdeck checkpoint list
    #[arg(value_parser = parse_id)]
    pub id: CheckpointId,
    /// Restore only the files
    #[arg(long)]
    pub files: bool,
    /// Restore only the conversation; refused while a crew runs
    #[arg(long, conflicts_with = "files")]
    pub conversation: bool,
    /// Restore the files even while a crew runs, whose agents may be changing them
    #[arg(long)]
    pub force: bool,
}

/// Parses the number of a checkpoint, with or without `#`.
fn parse_id(text: &str) -> Result<CheckpointId, String> {
    let number = text.strip_prefix('#').unwrap_or(text);
    number
        .parse()
        .map_err(|_| "expected the number of a checkpoint, such as 12".into())
}
