//! The command line of `crewdeck task`.

use clap::Subcommand;

use super::task_import::{self, ImportArgs};
use crate::domain::ids::TaskRef;

/// Shown at the end of `crewdeck task --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck task add \"Write the parser\" --tag rust
  crewdeck task add \"Test it\" --blocked-by 1
  crewdeck task add \"Describe it\"
  crewdeck task list --ready
  crewdeck task claim --as alice               exit status 3 if no task is ready
  crewdeck task done 1 --as alice
  crewdeck task edit 3 --blocked-by 2          task 3 waits for task 2
  crewdeck task show 3
  echo \"- [ ] Print it\" | crewdeck task import -
  crewdeck task import --from github --label bug";

#[derive(Debug, Subcommand)]
pub enum TaskVerb {
    /// Add a task to the board and print the task with its number
    Add {
        /// One line that says what to do
        subject: String,
        /// Details for the agent that works on the task
        #[arg(long, default_value = "", hide_default_value = true)]
        description: String,
        /// Tasks that must be completed first, such as 1,2
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// Tag a teammate must have to claim the task (repeatable)
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// Command that must succeed in the task's worktree before the task is completed
        #[arg(long, value_name = "COMMAND")]
        accept: Option<String>,
    },
    /// Add tasks from a check list, from JSON or from issues of GitHub or GitLab: all of them or none
    #[command(after_help = task_import::EXAMPLES)]
    Import(ImportArgs),
    /// List the tasks with status, owner, tags and open blockers
    List {
        /// Only tasks that can be claimed now
        #[arg(long)]
        ready: bool,
    },
    /// Show a task with its description, owner, blockers and the tasks it blocks
    Show {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
    },
    /// Claim a task; without ID, the first ready task (exit status 3 if none is ready)
    Claim {
        /// Number of the task, such as 3; default: the first ready task
        id: Option<TaskRef>,
        /// New owner: user, lead, or the name of a teammate
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Set a task that you own to in progress; if it has no owner, claim it
    Start {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
        /// Owner: user, lead, or the name of a teammate
        #[arg(long = "as", value_name = "NAME")]
        name: String,
    },
    /// Complete a task after its checks, so that the tasks that it blocks can be claimed
    Done {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
        /// Owner: user, lead, or the name of a teammate; becomes the owner if the task has none
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// With --as user: complete the task even if its checks are red; the reason stays visible
        #[arg(long = "override", value_name = "REASON")]
        override_reason: Option<String>,
    },
    /// Release a claimed task so that others can claim it
    Release {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
        /// Current owner of the task; with --force: user
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// With --as user: take the task from its owner, who is stopped and notified
        #[arg(long)]
        force: bool,
    },
    /// Change subject, description, tags or blockers of a task
    Edit {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
        /// New subject; default: unchanged
        #[arg(long)]
        subject: Option<String>,
        /// New description; default: unchanged
        #[arg(long)]
        description: Option<String>,
        /// New tag, replaces all old tags (repeatable); "" removes all tags
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// More tasks that must be completed first, such as 1,2
        #[arg(long, alias = "block-on", value_delimiter = ',', value_name = "IDS")]
        blocked_by: Vec<TaskRef>,
        /// Tasks that no longer block this task, such as 1,2
        #[arg(long, value_delimiter = ',', value_name = "IDS")]
        unblock: Vec<TaskRef>,
        /// New acceptance command, which must succeed before the task is completed; "" removes it
        #[arg(long, value_name = "COMMAND")]
        accept: Option<String>,
    },
    /// Remove a task from the board; refused if it has an owner and is not completed
    Rm {
        /// Number of the task, as shown by crewdeck task list
        id: TaskRef,
    },
}
