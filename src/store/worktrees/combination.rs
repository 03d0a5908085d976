//! Combines branches without a checkout.

use super::nested_repos::split_nul;
use super::train::TrainBranch;
use super::{OpenRegistry, Worktrees};
use crate::domain::worktree::{FILES_MAX, WorktreeError};
use crate::store::StoreError;
use crate::store::git::{Git, is_hash};

/// A branch as part of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CombinedBranch {
    pub branch: TrainBranch,
    /// The git tree after the branch was merged. `None` if the branches before it contain this branch, so that there was
    /// nothing to merge.
    pub tree: Option<String>,
}

/// Branches that were merged one after another, starting from the commit `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CombinedBranches {
    pub base: String,
    pub branches: Vec<CombinedBranch>,
    /// The last merge commit. No branch refers to it, so git's garbage collection removes it some time later.
    pub commit: String,
    /// The git tree of `commit`.
    pub tree: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CombineOutcome {
    Combined(CombinedBranches),
    /// The branch with this index conflicts in these files with the base or with the branches before it.
    Conflict {
        index: usize,
        files: Vec<String>,
    },
}

impl Worktrees {
    /// Merges `branches`, in this order, into the commit `base`. Touches no checkout, no branch and no index.
    ///
    /// # Errors
    /// When a commit does not exist any more, or git fails.
    pub fn combine(
        &self,
        base: &str,
        branches: &[TrainBranch],
    ) -> Result<CombineOutcome, StoreError> {
        let work = self.read()?;
        // These commits are created again when they land. Only those are signed.
        let git = work.repo.git.committer()?;
        let mut at = base.to_string();
        let mut combined = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let is_known = ["merge-base", "--is-ancestor", &branch.tip, &at];
            let mut tree = None;
            if !git.succeeds(&is_known)? {
                let merged = match merge_tree(&git, &at, &branch.tip)? {
                    Ok(merged) => merged,
                    Err(files) => return Ok(CombineOutcome::Conflict { index, files }),
                };
                at = commit_tree(&git, &merged, (&at, &branch.tip), &branch.message, &[])?;
                tree = Some(merged);
            }
            combined.push(CombinedBranch {
                branch: branch.clone(),
                tree,
            });
        }
        let of = format!("{at}^{{tree}}");
        Ok(CombineOutcome::Combined(CombinedBranches {
            base: base.into(),
            branches: combined,
            tree: git.ok(&["rev-parse", "--verify", &of])?,
            commit: at,
        }))
    }
}

impl OpenRegistry {
    /// Fails if git is older than 2.38 and cannot merge without a checkout.
    pub(super) fn check_git_can_combine(&self) -> Result<(), StoreError> {
        let head = self.repo.head()?.commit;
        let answer = self
            .repo
            .git
            .run(&["merge-tree", "--write-tree", &head, &head])?;
        let tree = answer.out.lines().next().unwrap_or_default();
        if answer.code == 0 && is_hash(tree) {
            return Ok(());
        }
        Err(WorktreeError::OldGit.into())
    }
}

/// Merges the commit `tip` into the commit `at`. Returns the git tree; the files in conflict as an error.
fn merge_tree(git: &Git, at: &str, tip: &str) -> Result<Result<String, Vec<String>>, StoreError> {
    let args = [
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
        at,
        tip,
    ];
    let answer = git.run(&args)?;
    let mut parts = split_nul(&answer.out);
    let tree = parts.next().filter(|tree| is_hash(tree));
    match (answer.code, tree) {
        (0, Some(tree)) => Ok(Ok(tree.into())),
        (1, Some(_)) => Ok(Err(parts.take(FILES_MAX).map(String::from).collect())),
        _ => Err(answer.to_error(&args).into()),
    }
}

/// Creates a merge commit with the parents `at` and `tip`, and returns its hash.
pub(super) fn commit_tree(
    git: &Git,
    tree: &str,
    (at, tip): (&str, &str),
    message: &str,
    flags: &[&str],
) -> Result<String, StoreError> {
    let mut args = vec!["commit-tree", tree, "-p", at, "-p", tip, "-m", message];
    args.extend(flags);
    Ok(git.ok(&args)?)
}
