//! Errors of operations on worktrees.

use super::{GitOperation, Losses, WorktreeName};
use crate::domain::ids::TaskId;

/// Why an operation on a worktree is rejected. Each message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeError {
    /// The text is not a valid name for a worktree, see [`WorktreeName::new`].
    #[error(
        "{0:?} is not a valid worktree name: use 1 to 32 letters, digits, '-' or '_', starting with a letter or digit; lead and user are reserved"
    )]
    Name(String),
    /// No worktree has the name `wanted`, or the task `wanted` has no worktree.
    #[error("there is no worktree {wanted:?}: {known}")]
    Unknown {
        wanted: String,
        /// The names of the existing worktrees, formatted for the message.
        known: String,
    },
    /// The task has as many worktrees as a task can have: all names in [`WorktreeName::candidates`] are in use.
    #[error(
        "task {0} has too many worktrees: remove one of them first (crewdeck worktree list shows them)"
    )]
    TooMany(TaskId),
    /// A hook has rejected the creation of the worktree, or has created a folder that cannot be used. The text says
    /// why.
    #[error("{0}")]
    Hook(String),
    /// The path is neither the root nor the folder of a worktree.
    #[error(
        "{0} is not a work directory of this project: it was removed, or belongs to another project"
    )]
    NoWorkFolder(String),
    #[error("the branch {0:?} to start the worktree from does not exist")]
    NoBase(String),
    #[error("the branch {0} no longer exists: it cannot be merged or shown")]
    NoBranch(String),
    /// The folder of the worktree does not exist.
    #[error(
        "the folder of worktree {0} does not exist: its commits are still on the branch wt/{0}"
    )]
    Missing(WorktreeName),
    /// The folder of the worktree exists but is not a worktree of this repository.
    #[error(
        ".worktrees/{0} is not a worktree of this repository. If the repository was moved, run git worktree repair .worktrees/{0}. Otherwise, check what the folder contains and move it away"
    )]
    Foreign(WorktreeName),
    /// The worktree's own branch is not checked out in the worktree's folder. Another branch, a commit or nothing is
    /// checked out there.
    #[error(
        "worktree {name} has {on} checked out instead of {own}: run git switch {own} in the worktree first"
    )]
    OtherBranch {
        name: WorktreeName,
        /// The branch that is checked out in the worktree, or `a commit`, or `nothing` if there is no commit.
        on: String,
        /// The worktree's own branch.
        own: String,
    },
    /// The branch or commit that is checked out has commits that the worktree's own branch and the base branch lack.
    /// Tasks that build on the worktree's own branch would miss these commits.
    #[error(
        "worktree {name} has commits on {on} that are missing on {own}: first run git switch {own} and git merge {commit} in the worktree"
    )]
    CommitsOnOtherBranch {
        name: WorktreeName,
        /// The branch that is checked out in the worktree, or `no branch`.
        on: String,
        /// The worktree's own branch.
        own: String,
        /// The commit that is checked out, abbreviated.
        commit: String,
    },
    /// The checked-out commit is on no branch and no tag. If the worktree were removed, the commit would be lost.
    #[error(
        "worktree {name} was not removed: its commit {commit} is on no branch. First run git branch NAME {commit} in the worktree."
    )]
    UnreachableCommit {
        name: WorktreeName,
        /// The commit that is checked out, abbreviated.
        commit: String,
    },
    /// A git operation, such as a rebase, is in progress in the worktree or in the main worktree.
    #[error("{what} is in progress in {place}: finish it, or run git {} there", what.abort())]
    Busy {
        what: GitOperation,
        /// The worktree in which the operation is in progress, formatted for the message.
        place: String,
    },
    #[error("worktree {name} has uncommitted files ({files}): commit them first")]
    Uncommitted {
        name: WorktreeName,
        /// The first of the uncommitted files, formatted for the message.
        files: String,
    },
    /// Tracked files in the main worktree have uncommitted changes. The text lists the first of these files.
    #[error("the main worktree has uncommitted files ({0}): commit or stash them first")]
    MainDirty(String),
    /// No branch is checked out in the main worktree, so there is no branch to merge into.
    #[error("the main worktree is on no branch: switch to the branch to merge into")]
    MainDetached,
    /// The worktree to merge started from another branch than the one that is checked out in the main worktree.
    #[error(
        "the main worktree is on {on}, but the branch to merge started from {base}: run git switch {base} first"
    )]
    WrongBranch {
        /// The branch that is checked out in the main worktree.
        on: String,
        base: String,
    },
    /// Another worktree has the base branch checked out. Its files would no longer match the branch.
    #[error(
        "{base} is checked out in {path}, so it was not moved: switch to another branch there, or merge there yourself"
    )]
    BaseElsewhere {
        base: String,
        /// The folder of that worktree.
        path: String,
    },
    /// A rebase or bisect in progress will move or check out the base branch.
    #[error(
        "a rebase or bisect of {base} is in progress, so it was not moved: finish it first (git folder {path})"
    )]
    BaseInUse {
        base: String,
        /// The git folder of the worktree with this operation.
        path: String,
    },
    /// The installed git cannot merge branches without a checkout.
    #[error("branches are combined and checked together only with git 2.38 or newer: install it")]
    OldGit,
    /// The merge failed without a conflict and was undone, or was not tried because it would not be safe.
    #[error("{branch} was not merged and nothing was changed: {why}")]
    NotMerged {
        branch: String,
        /// The message of git, of a hook or of crewdeck.
        why: String,
    },
    /// A landing has moved a branch in a way that the checks have not seen, and to undo it could lose commits of the user.
    /// The string says what has happened and how to undo it.
    #[error("{0}")]
    LandedUnchecked(String),
    /// The branch changes folders in which crewdeck keeps its state. A merge, here or after a push, would overwrite that
    /// state.
    #[error(
        "{branch} was not merged or pushed, and nothing was changed: it changes state folders of crewdeck ({files}). Remove these changes from the branch first."
    )]
    HoldsState {
        branch: String,
        /// The first of the changed state files, formatted for the message.
        files: String,
    },
    /// The worktree is marked to be kept, so it is not removed without the user's confirmation.
    #[error("worktree {0} was not removed: it is marked to be kept")]
    Kept(WorktreeName),
    /// The user has locked the worktree with git.
    #[error(
        "worktree {name} is locked{}: run git worktree unlock .worktrees/{name} first",
        if why.is_empty() { String::new() } else { format!(" ({why})") }
    )]
    Locked {
        name: WorktreeName,
        /// The reason that the user gave for the lock; empty if there is none.
        why: String,
    },
    /// The worktree has changed since the user confirmed the removal. `losses` is what would be lost now.
    #[error("worktree {name} was not removed: it now has {losses}. Review and confirm again.")]
    Changed {
        name: WorktreeName,
        losses: Box<Losses>,
    },
    /// The branch cannot be pushed. The text says why and what to do.
    #[error("{0}")]
    NotPushable(String),
    /// The branch of the worktree here and the one that other hosts have each have commits that the other lacks.
    #[error(
        "{branch} has commits here ({here}) that the branch of the crew ({there}) lacks, so it was not moved: run git merge {there} in its worktree, or git branch -m {branch} NAME to continue with the branch of the crew"
    )]
    Diverged {
        branch: String,
        /// The last commit of the branch here, abbreviated.
        here: String,
        /// The last commit that was fetched, abbreviated.
        there: String,
    },
    /// The branch was not moved to the commits of another host. The text says why and what to do.
    #[error("{0}")]
    NotTakenOver(String),
    /// The removal of the worktree would lose work.
    #[error("worktree {name} was not removed: it has {losses}")]
    Unsafe { name: WorktreeName, losses: Losses },
}
