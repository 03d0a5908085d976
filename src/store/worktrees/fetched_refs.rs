//! The refs here with the branches that were fetched from other hosts, and comparisons of their commits.

use std::collections::BTreeMap;

use crate::store::StoreError;
use crate::store::git::{Git, GitError};

/// Prefix of the fetched refs of all crews.
pub(super) const FETCHED: &str = "refs/crewdeck/fetched/";

/// A ref that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FetchedRef {
    pub hash: String,
    /// Whether it is a commit. Others may push any object.
    pub is_commit: bool,
}

/// Fetched refs by their names, without the prefix of the crew.
pub(super) type FetchedRefs = BTreeMap<String, FetchedRef>;

/// Returns the refs that were fetched below `prefix`.
pub(super) fn list_fetched(git: &Git, prefix: &str) -> Result<FetchedRefs, GitError> {
    let format = "--format=%(objecttype) %(objectname) %(refname)";
    let listed = git.ok(&["for-each-ref", format, prefix])?;
    let found = listed.lines().filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        let (hash, name) = rest.split_once(' ')?;
        let fetched = FetchedRef {
            hash: hash.to_string(),
            is_commit: kind == "commit",
        };
        Some((name.strip_prefix(prefix)?.to_string(), fetched))
    });
    Ok(found.collect())
}

/// Returns the names of those refs at the remote that were not fetched yet, or have changed since. Each object is fetched
/// once, also if it is no commit.
pub(super) fn names_to_fetch<'a>(
    at_remote: &'a BTreeMap<String, String>,
    here: &FetchedRefs,
) -> Vec<&'a str> {
    let is_new = |(name, hash): &(&String, &String)| {
        here.get(*name).is_none_or(|fetched| fetched.hash != **hash)
    };
    let new = at_remote.iter().filter(is_new);
    new.map(|(name, _)| name.as_str()).collect()
}

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
    fn each_object_is_fetched_once_also_if_it_is_no_commit() {
        let text = |text: &str| text.to_string();
        let at_remote = ["same", "tree", "moved", "new"].map(|name| (text(name), text("1")));
        let fetched = |hash: &str, is_commit| FetchedRef {
            hash: hash.into(),
            is_commit,
        };
        let here = FetchedRefs::from([
            (text("same"), fetched("1", true)),
            (text("tree"), fetched("1", false)),
            (text("moved"), fetched("0", true)),
            (text("deleted"), fetched("1", true)),
        ]);
        let at_remote = BTreeMap::from(at_remote);
        assert_eq!(names_to_fetch(&at_remote, &here), ["moved", "new"]);
    }

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
