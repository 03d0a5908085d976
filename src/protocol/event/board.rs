//! What happens to the task board and to the branches of its tasks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::UserAction;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::TrainState;
use crate::domain::task::Task;
use crate::domain::worktree::{Branch, CheckedOut, Losses};

/// An event about tasks, their worktrees or their branches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BoardEvent {
    /// The tasks on disk have changed, through crewdeck or another program. At the start of a crew, events of this type
    /// report all tasks. A large change is split into several events of bounded size ([`BoardDelta::pieces`]).
    ///
    /// [`BoardDelta::pieces`]: crate::domain::graph::BoardDelta::pieces
    BoardChanged {
        /// New and changed tasks, each with all fields.
        changed: Vec<Arc<Task>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<TaskId>,
    },
    /// The user has changed the board with a command. A `BoardChanged` event with the changed tasks follows. Answers
    /// [`crate::protocol::Command::Task`].
    #[serde(rename = "person_acted")]
    UserActed {
        task: TaskId,
        #[serde(flatten)]
        act: UserAction,
    },
    /// The state of worktree branches has changed, through crewdeck or another program. At the start of a crew, events
    /// of this type report all branches. Never sent outside a repository. An event has at most
    /// [`BRANCHES_MAX`](super::BRANCHES_MAX) branches; further branches follow in another event.
    BranchesChanged {
        /// The changed branches. Any other branch still has the state in which an event last listed it.
        branches: Vec<Branch>,
    },
    /// The commit or branch that is checked out in the project's root has changed. Also sent once at the start. Never
    /// sent outside a repository.
    HeadChanged {
        /// What is checked out now.
        head: CheckedOut,
    },
    /// A merge train has started, has made a step, or has ended. A train of a crew that was killed does not end.
    TrainChanged { train: TrainState },
    /// The diff of a task's branch. Answers [`crate::protocol::Command::ShowDiff`].
    DiffShown {
        task: TaskId,
        /// One line for each changed file and a total, as from `git diff --stat`; cut after 16 KiB.
        stat: String,
        /// The unified diff. If the diff was cut, it contains a line that says so.
        text: String,
        /// The paths of the first 20 untracked files and folders. `text` also shows the content of up to 200 untracked
        /// files, unless git failed to show it.
        untracked: Vec<String>,
    },
    /// What would be lost if a task's worktree were removed. Answers [`crate::protocol::Command::InspectWorktree`].
    #[serde(rename = "worktree_judged")]
    WorktreeInspected {
        task: TaskId,
        losses: Losses,
        /// Whether the worktree is marked to be kept, so that only the user may remove it. Not serialized if false.
        #[serde(rename = "kept", default, skip_serializing_if = "std::ops::Not::not")]
        is_kept: bool,
        /// Disk usage of the worktree's folder, formatted for the screen, such as `1.5 MiB`.
        size: String,
    },
}

impl BoardEvent {
    /// See [`EventKind::is_command_reply`](super::EventKind::is_command_reply).
    pub(super) fn is_command_reply(&self) -> bool {
        matches!(
            self,
            BoardEvent::DiffShown { .. } | BoardEvent::WorktreeInspected { .. }
        )
    }
}
