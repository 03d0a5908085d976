//! What `doctor --mend` does: only what loses nothing. Each act goes through the store's own doors and looks once more
//! before it changes anything.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::aftermath::ENDED;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::team::MemberStatus;
use crate::domain::worktree::{BranchFate, Removal, WorktreeName};
use crate::store::{Board, Requests, Roster, StoreError, Worktrees, atomic};

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Mend {
    /// Puts a task back on the board.
    Release {
        /// Which one.
        task: TaskId,
        /// Whose it is.
        owner: Name,
    },
    /// Notes that a member has left.
    Leave {
        /// Who.
        member: Name,
    },
    /// Withdraws a request that nobody waits for.
    Withdraw {
        /// Which one.
        request: RequestId,
    },
    /// Removes a worktree with which nothing is lost.
    RemoveWorktree {
        /// Which one.
        name: WorktreeName,
    },
    /// Removes an empty folder in `.worktrees`, or lets git forget one that is gone.
    ClearStray {
        /// Its name.
        name: WorktreeName,
    },
    /// Repairs what killed gits left in the repository.
    Repair,
    /// Deletes temporary files of killed writers.
    Sweep {
        /// Which ones.
        files: Vec<PathBuf>,
    },
}

impl Mend {
    /// What it would do, as a question.
    pub fn question(&self) -> String {
        match self {
            Mend::Release { task, owner } => {
                format!("Put {owner}'s task {task} back on the board?")
            }
            Mend::Leave { member } => format!("Note that {member} has left?"),
            Mend::Withdraw { request } => format!("Withdraw request {request}?"),
            Mend::RemoveWorktree { name } => format!("Remove worktree {name}?"),
            Mend::ClearStray { name } => format!("Clear .worktrees/{name} away?"),
            Mend::Repair => "Repair what killed gits left in the repository?".into(),
            Mend::Sweep { files } => format!("Delete {} temporary file(s)?", files.len()),
        }
    }

    /// Does it. What was done comes back, on one line.
    ///
    /// # Errors
    /// The refusal of the door; nothing changed then.
    pub fn carry_out(&self, root: &Path, now: Stamp) -> Result<String, StoreError> {
        Ok(match self {
            Mend::Release { task, owner } => {
                Board::open(root).release(*task, owner, now)?;
                format!("task {task} is offered again")
            }
            Mend::Leave { member } => {
                Roster::open(root).set_status(member, MemberStatus::Shutdown, now)?;
                format!("{member} is noted as shut down")
            }
            Mend::Withdraw { request } => {
                Requests::open(root).withdraw(request, ENDED, now)?;
                format!("request {request} is withdrawn")
            }
            Mend::RemoveWorktree { name } => {
                match Worktrees::open(root).remove(name, Removal::OnlyIfSafe, now)? {
                    BranchFate::Deleted => format!("worktree {name} is removed"),
                    BranchFate::Stays(branch) => {
                        format!("worktree {name} is removed; its branch {branch} stays")
                    }
                }
            }
            Mend::ClearStray { name } => {
                Worktrees::open(root).clear_stray(name)?;
                format!(".worktrees/{name} is cleared away")
            }
            Mend::Repair => match Worktrees::open(root).repair(now)?.as_slice() {
                [] => "nothing is left to repair in the repository".into(),
                repaired => repaired.join("; "),
            },
            Mend::Sweep { files } => {
                atomic::sweep(files);
                format!("{} temporary file(s) are deleted", files.len())
            }
        })
    }
}
