//! The fixes of `doctor --mend`. A fix never loses work: it goes through the store, and where work could be lost, the
//! store checks the state again before it changes anything.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::domain::crash_recovery::CREW_ENDED;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::team::MemberStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{BranchOutcome, RemovalMode, WorktreeName};
use crate::store::{Board, Requests, Roster, StoreError, Worktrees, atomic};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Fix {
    /// Returns a task to the board, so that others can claim it.
    Release { task: TaskId, owner: Name },
    /// Marks a team member as shut down.
    Leave { member: Name },
    /// Withdraws a request whose sender is gone.
    Withdraw { request: RequestId },
    /// Removes a worktree that contains no unmerged work.
    RemoveWorktree { name: WorktreeName },
    /// Removes an empty folder in `.worktrees`, or git's entry of a worktree whose folder is gone.
    #[serde(rename = "clear_stray")]
    ClearOrphan { name: WorktreeName },
    /// Repairs what killed git processes left in the repository.
    Repair,
    /// Deletes temporary files of killed processes.
    Sweep { files: Vec<PathBuf> },
}

impl Fix {
    /// Returns the question that asks the user to confirm the fix.
    pub fn question(&self) -> String {
        match self {
            Fix::Release { task, owner } => {
                format!("Release task {task} of {owner}?")
            }
            Fix::Leave { member } => format!("Mark {member} as shut down?"),
            Fix::Withdraw { request } => format!("Withdraw request {request}?"),
            Fix::RemoveWorktree { name } => format!("Remove worktree {name}?"),
            Fix::ClearOrphan { name } => format!("Clean up .worktrees/{name}?"),
            Fix::Repair => "Clean up what killed git processes left in the repository?".into(),
            Fix::Sweep { files } => format!("Delete {} temporary file(s)?", files.len()),
        }
    }

    /// Applies the fix. Returns what was done, as a text for the report.
    ///
    /// # Errors
    /// Fails if the store refuses the change, or if a file cannot be read or written. After a refusal, nothing was
    /// changed.
    pub fn apply(&self, root: &Path, now: Timestamp) -> Result<String, StoreError> {
        Ok(match self {
            Fix::Release { task, owner } => {
                Board::open(root).release(*task, owner, now)?;
                format!("task {task} was released")
            }
            Fix::Leave { member } => {
                Roster::open(root).set_status(member, MemberStatus::Shutdown, now)?;
                format!("{member} is marked as shut down")
            }
            Fix::Withdraw { request } => {
                Requests::open(root).withdraw(request, CREW_ENDED, now)?;
                format!("request {request} was withdrawn")
            }
            Fix::RemoveWorktree { name } => {
                match Worktrees::open(root).remove(name, RemovalMode::OnlyIfSafe, now)? {
                    BranchOutcome::Deleted => format!("worktree {name} was removed"),
                    BranchOutcome::Kept(branch) => {
                        format!("worktree {name} was removed; its branch {branch} was kept")
                    }
                }
            }
            Fix::ClearOrphan { name } => {
                Worktrees::open(root).remove_orphan(name)?;
                format!(".worktrees/{name} was cleaned up")
            }
            Fix::Repair => match Worktrees::open(root).repair(now)?.as_slice() {
                [] => "the repository needs no repair any more".into(),
                repaired => repaired.join("; "),
            },
            Fix::Sweep { files } => {
                let deleted = atomic::sweep(files);
                match files.len() - deleted {
                    0 => format!("{deleted} temporary file(s) were deleted"),
                    skipped => format!(
                        "{deleted} temporary file(s) were deleted, {skipped} skipped: in use, gone or protected"
                    ),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_temporary_files_are_not_counted_as_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let young = dir.path().join(".tmp-young1");
        std::fs::write(&young, "").unwrap();
        let files = vec![young.clone(), dir.path().join(".tmp-gone12")];
        let text = Fix::Sweep { files }
            .apply(dir.path(), Timestamp(1.0))
            .unwrap();
        assert!(
            text.starts_with("0 temporary file(s) were deleted, 2 skipped"),
            "{text}"
        );
        assert!(young.exists());
    }
}
