//! The refs here with the branches that were fetched from other hosts, and comparisons of their commits.

use crate::store::StoreError;
use crate::store::git::{Git, GitError};

/// Prefix of the fetched refs of all crews.
pub(super) const FETCHED: &str = "refs/crewdeck/fetched/";

/// Returns whether the commit `old` is `new` or in its history.
pub(super) fn is_ancestor(git: &Git, old: &str, new: &str) -> Result<bool, GitError> {
    git.succeeds(&["merge-base", "--is-ancestor", old, new])
}

/// Returns whether each of two commits lacks commits of the other.
pub(super) fn have_diverged(git: &Git, one: &str, other: &str) -> Result<bool, StoreError> {
    Ok(!is_ancestor(git, one, other)? && !is_ancestor(git, other, one)?)
}

/// Returns the name of a branch as users know it, also for its fetched ref: `wt/NAME`.
pub(super) fn short_name(branch: &str) -> String {
    match branch.rsplit_once("/wt/") {
        Some((start, name)) if start.starts_with(FETCHED) => format!("wt/{name}"),
        Some(_) | None => branch.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn fetched_ref_is_shown_as_the_branch_of_the_worktree() {
        for (needed, shown) in [
            ("wt/task-3", "wt/task-3"),
            ("refs/crewdeck/fetched/web/wt/task-3", "wt/task-3"),
            (
                "refs/crewdeck/fetched/web/wt/t-a-1a2b3c4d",
                "wt/t-a-1a2b3c4d",
            ),
            ("other/wt/x", "other/wt/x"),
        ] {
            assert_eq!(short_name(needed), shown);
        }
    }
}
