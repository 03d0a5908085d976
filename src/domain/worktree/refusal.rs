//! Why something with worktrees is refused, and what to do about it.

use super::{Busy, Losses, WorktreeName};
use crate::domain::ids::TaskId;

/// Why something with worktrees is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorktreeError {
    /// Not a name of a worktree.
    #[error(
        "{0:?} is not a worktree's name: use 1 to 32 letters, digits, '-' or '_', starting with a letter or digit, not lead or user"
    )]
    Name(String),
    /// There is none of that name or task.
    #[error("there is no worktree {wanted:?}: {known}")]
    Unknown {
        /// What was looked for.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// Every name for the task is in use.
    #[error("task {0} has too many worktrees: remove one first (crewdeck worktree list)")]
    TooMany(TaskId),
    /// The base is not there.
    #[error("there is no branch {0:?} to start from")]
    NoBase(String),
    /// Its branch is not there.
    #[error("the branch {0} is gone: nothing of it can be merged or shown")]
    NoBranch(String),
    /// The folder is not there.
    #[error("the folder of worktree {0} is gone: its branch still has what was committed")]
    Missing(WorktreeName),
    /// The folder is there and is no worktree of this repository.
    #[error(
        ".worktrees/{0} is not a worktree of this repository: if the repository was moved, run git worktree repair .worktrees/{0}, else look what is in it and move it away"
    )]
    Foreign(WorktreeName),
    /// It has another branch checked out.
    #[error("worktree {name} has {on} checked out and not {own}: run git switch {own} in it first")]
    Elsewhere {
        /// Which one.
        name: WorktreeName,
        /// What is checked out.
        on: String,
        /// Its own branch.
        own: String,
    },
    /// It has commits that its own branch lacks: what builds on that branch would lack them, too.
    #[error(
        "worktree {name} has commits on {on} that {own} lacks: run git switch {own} and git merge {commit} in it first"
    )]
    Beside {
        /// Which one.
        name: WorktreeName,
        /// What is checked out.
        on: String,
        /// Its own branch.
        own: String,
        /// The commit that is checked out.
        commit: String,
    },
    /// Its commits would be on no branch any more.
    #[error(
        "worktree {name} stays: its commit {commit} is on no branch; run git branch NAME {commit} in it first"
    )]
    Loose {
        /// Which one.
        name: WorktreeName,
        /// The commit that is checked out.
        commit: String,
    },
    /// Something is under way in it or in the main work tree.
    #[error("{what} is under way in {place}: finish it, or run git {} there", what.abort())]
    Busy {
        /// What.
        what: Busy,
        /// Where.
        place: String,
    },
    /// The worktree has uncommitted files.
    #[error("worktree {name} has uncommitted files ({files}): commit them first")]
    Uncommitted {
        /// Which one.
        name: WorktreeName,
        /// The first of them.
        files: String,
    },
    /// The main work tree has uncommitted files.
    #[error("the main work tree has uncommitted files ({0}): commit or stash them first")]
    MainDirty(String),
    /// The main work tree is on no branch.
    #[error("the main work tree is on no branch: switch to the one that should receive the work")]
    MainDetached,
    /// The main work tree is on another branch than the worktree started from.
    #[error(
        "the main work tree is on {on} and the worktree started from {base}: run git switch {base} first"
    )]
    WrongBranch {
        /// Where it is.
        on: String,
        /// Where it should be.
        base: String,
    },
    /// Git began the merge and did not finish it, without a conflict. All is as it was.
    #[error("{branch} was not merged and nothing was changed: {why}")]
    NotMerged {
        /// The branch.
        branch: String,
        /// What git or a hook said.
        why: String,
    },
    /// The branch holds files in folders where crewdeck keeps its state: merged, they would replace what stands there.
    #[error(
        "{branch} was not merged and nothing was changed: it changes folders of crewdeck ({files}); take that out of the branch first"
    )]
    HoldsState {
        /// The branch.
        branch: String,
        /// The first of them.
        files: String,
    },
    /// Somebody said that it is to stay.
    #[error("worktree {0} is to be kept: nothing removes it by itself")]
    Kept(WorktreeName),
    /// The person said so to git.
    #[error(
        "worktree {name} is locked{}: run git worktree unlock .worktrees/{name} first",
        if why.is_empty() { String::new() } else { format!(" ({why})") }
    )]
    Locked {
        /// Which one.
        name: WorktreeName,
        /// Why, as the person wrote it.
        why: String,
    },
    /// Something else would be lost than the person was told of.
    #[error("worktree {name} stays: by now it has {losses}. Look at it again.")]
    Changed {
        /// Which one.
        name: WorktreeName,
        /// What would be lost.
        losses: Box<Losses>,
    },
    /// Something would be lost.
    #[error("worktree {name} stays, it has {losses}")]
    Unsafe {
        /// Which one.
        name: WorktreeName,
        /// What would be lost.
        losses: Losses,
    },
}
