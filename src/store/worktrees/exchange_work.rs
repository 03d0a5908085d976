//! Finds the commits of tasks among what was fetched, and the branches here that were not published. Contacts no server.
//!
//! What another host has done is used from the fetched refs. A branch of the same name here can be older, or have other
//! commits.

use std::collections::BTreeSet;

use super::exchange::{BASE, BRANCHES, BranchExchange, RefList, copy_prefix, ref_of};
use super::fetched_refs::{have_diverged, is_ancestor};
use crate::domain::host::HostName;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, commit_of};

/// The work of a task on which another task builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededWork {
    pub worktree: WorktreeName,
    /// The host that has completed the task; `None` if it is not known.
    pub by: Option<HostName>,
    /// Whether this host has completed the task, so that its own branch counts too.
    pub is_local: bool,
    /// Whether it is an error if the commits are not found.
    pub is_required: bool,
}

impl BranchExchange {
    /// Creates the branch of a worktree at the commit that was fetched last, or fast-forwards it to that commit. If the host `by`
    /// has published its commits beside other work, takes those. If the branch is checked out in its worktree, updates the
    /// files there too. Also enters the worktree into the registry, without a folder, so that it can be continued, compared and
    /// merged. Contacts no server: call [`BranchExchange::fetch`] first.
    ///
    /// Returns the last commit of the branch here, which may have commits that were not published yet; `None` if the branch
    /// exists neither here nor among what was fetched.
    ///
    /// # Errors
    /// When `by` is given and nothing was fetched for the worktree. When the branch here has commits that the fetched one lacks
    /// and the other way round, when it is checked out in a worktree with uncommitted files or a git operation in progress or in
    /// another folder, or git fails. Nothing was changed then.
    pub fn take_over(
        &self,
        worktree: &WorktreeName,
        by: Option<&HostName>,
        now: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        let mut work = self.worktrees.begin_change()?;
        let git = work.repo.git.clone();
        if let Some((_, fetched)) = self.find_work(&git, worktree, by)? {
            return work.take_over_branch(worktree, fetched, now).map(Some);
        }
        let branch = worktree.branch();
        match by {
            // A branch here is not what that host has done.
            Some(host) => Err(WorktreeError::NotTakenOver(format!(
                "{branch} is not at the remote yet: the host {host} publishes it when crewdeck runs there and reaches the remote"
            ))
            .into()),
            None => Ok(work.repo.branch(&branch)?),
        }
    }

    /// Returns the branches with the commits of `needed`: names of branches here, and full names of fetched refs. Commits
    /// that are in `base` and in no ref of the crew any more are left out. Call [`BranchExchange::fetch`] first.
    ///
    /// # Errors
    /// When required commits are not found, or git fails.
    pub fn find_needed(
        &self,
        needed: &[NeededWork],
        base: Option<&str>,
    ) -> Result<Vec<String>, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let git = &repo.git;
        let mut found = Vec::new();
        for work in needed {
            let branch = work.worktree.branch();
            let fetched = self.find_work(git, &work.worktree, work.by.as_ref())?;
            let here = if work.is_local {
                repo.branch(&branch)?
            } else {
                None
            };
            match (fetched, here) {
                (Some((name, commit)), here) => {
                    let is_here = match here {
                        Some(here) => is_ancestor(git, &commit, &here)?,
                        None => false,
                    };
                    found.push(if is_here { branch } else { name });
                }
                (None, Some(_)) => found.push(branch),
                (None, None) => {
                    if work.is_required && !self.is_in_base(git, &work.worktree, base)? {
                        return Err(missing(work));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns whether the branch of a worktree here and that of the crew each have commits that the other lacks.
    ///
    /// # Errors
    /// When git fails.
    pub fn has_diverged(&self, worktree: &WorktreeName) -> Result<bool, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let git = &repo.git;
        let Some(here) = repo.branch(&worktree.branch())? else {
            return Ok(false);
        };
        match self.find_work(git, worktree, Some(&self.host))? {
            Some((_, there)) => have_diverged(git, &here, &there),
            None => Ok(false),
        }
    }

    /// Returns those of `worktrees` whose branch here has commits that the crew does not have under its name, as far as that
    /// is known. Worktrees without a branch here are left out.
    ///
    /// # Errors
    /// When git fails.
    pub fn unpublished(&self, worktrees: &[WorktreeName]) -> Result<Vec<WorktreeName>, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let git = &repo.git;
        let refs = self.crew_refs(git)?;
        let mut found = Vec::new();
        for worktree in worktrees {
            if let Some(tip) = repo.branch(&worktree.branch())?
                && !is_in_refs_of(git, &refs, worktree, &tip)?
            {
                found.push(worktree.clone());
            }
        }
        Ok(found)
    }

    /// As [`BranchExchange::unpublished`], but without the branches whose commits are in the published base commit or, if
    /// there is none, in what is checked out in the project directory.
    ///
    /// # Errors
    /// When git fails.
    pub fn unpublished_work(
        &self,
        worktrees: &[WorktreeName],
    ) -> Result<Vec<WorktreeName>, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let base = match self.crew_refs(&repo.git)?.remove(BASE) {
            Some(base) => base,
            None => repo.head()?.commit,
        };
        let mut found = Vec::new();
        for worktree in self.unpublished(worktrees)? {
            if let Some(tip) = repo.branch(&worktree.branch())?
                && !is_ancestor(&repo.git, &tip, &base)?
            {
                found.push(worktree);
            }
        }
        Ok(found)
    }

    /// Returns those of `worktrees` for which commits were fetched that are not in what is checked out in the project
    /// directory, under the name of the worktree or beside it.
    ///
    /// # Errors
    /// When git fails.
    pub fn open_branches(
        &self,
        worktrees: &[WorktreeName],
    ) -> Result<BTreeSet<WorktreeName>, StoreError> {
        let (repo, _) = self.worktrees.open_repo()?;
        let prefix = format!("{}{BRANCHES}", self.fetched_prefix()?);
        let listed = repo.git.ok(&[
            "for-each-ref",
            "--no-merged=HEAD",
            "--format=%(refname)",
            &prefix,
        ])?;
        let is_open = |worktree: &&WorktreeName| {
            let mut names = listed.lines().filter_map(|line| line.strip_prefix(&prefix));
            names.any(|name| {
                let rest = name.strip_prefix(worktree.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            })
        };
        Ok(worktrees.iter().filter(is_open).cloned().collect())
    }

    /// Returns the full name and the commit of the fetched ref with the work of a task. The host `by` has published it beside
    /// the ref with the worktree's name, if that had other work. Returns `None` if there is no such ref.
    pub(super) fn find_work(
        &self,
        git: &Git,
        worktree: &WorktreeName,
        by: Option<&HostName>,
    ) -> Result<Option<(String, String)>, StoreError> {
        let refs = self.crew_refs(git)?;
        let prefix = self.fetched_prefix()?;
        let own = ref_of(worktree);
        let named = refs.get(&own);
        let beside = by.map(|host| format!("{BRANCHES}{}", copy_prefix(worktree, host)));
        let mut newest: Option<(u64, &String, &String)> = None;
        for (name, commit) in &refs {
            let copy = beside.as_ref().and_then(|prefix| name.strip_prefix(prefix));
            if !copy.is_some_and(is_abbreviated_hash) {
                continue;
            }
            if let Some(named) = named
                && is_ancestor(git, commit, named)?
            {
                continue;
            }
            let time = git.ok(&["log", "-1", "--no-show-signature", "--format=%ct", commit])?;
            let time: u64 = time.parse().unwrap_or(0);
            if newest.is_none_or(|(before, ..)| before <= time) {
                newest = Some((time, name, commit));
            }
        }
        let found = match newest {
            Some((_, name, commit)) => Some((name, commit)),
            None => named.map(|commit| (&own, commit)),
        };
        Ok(found.map(|(name, commit)| (format!("{prefix}{name}"), commit.clone())))
    }

    /// Returns the fetched refs that the remote had at the last fetch of this process. A remote that was cleared for a new
    /// board has none of the old ones.
    fn crew_refs(&self, git: &Git) -> Result<RefList, StoreError> {
        let mut refs = self.fetched_refs(git)?;
        if let Some(known) = &*self.lock_at_remote() {
            refs.retain(|name, _| known.contains(name));
        }
        Ok(refs)
    }

    /// Returns whether commits of a worktree that were fetched once are in `base`, or without it in what is checked out in the
    /// project directory.
    fn is_in_base(
        &self,
        git: &Git,
        worktree: &WorktreeName,
        base: Option<&str>,
    ) -> Result<bool, StoreError> {
        let name = format!("{}{}", self.fetched_prefix()?, ref_of(worktree));
        Ok(match commit_of(git, &name)? {
            Some(commit) => is_ancestor(git, &commit, base.unwrap_or("HEAD"))?,
            None => false,
        })
    }
}

/// Returns whether a ref with the name of the worktree, or one beside it, has the commit `tip`.
fn is_in_refs_of(
    git: &Git,
    refs: &RefList,
    worktree: &WorktreeName,
    tip: &str,
) -> Result<bool, StoreError> {
    let own = ref_of(worktree);
    let is_copy = |rest: &str| {
        rest.rsplit_once('-')
            .is_some_and(|(_, hash)| is_abbreviated_hash(hash))
    };
    for (name, commit) in refs {
        let rest = name.strip_prefix(&own);
        let is_of_worktree = rest.is_some_and(|rest| rest.is_empty() || is_copy(rest));
        if is_of_worktree && (commit == tip || is_ancestor(git, tip, commit)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether `text` can be the end of the name of a branch that was published beside other work.
fn is_abbreviated_hash(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    (8..=9).contains(&text.len()) && text.chars().all(is_digit)
}

fn missing(work: &NeededWork) -> StoreError {
    let host = work.by.as_ref().map_or_else(
        || "the host of the lead".into(),
        |host| format!("the host {host}"),
    );
    WorktreeError::NotTakenOver(format!(
        "{} is not at the remote yet, so tasks that build on it wait: {host} publishes it when crewdeck runs there and reaches the remote. To go on without it, remove the dependency",
        work.worktree.branch()
    ))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn copies_end_with_the_start_of_a_hash() {
        for (text, is_hash) in [
            ("1a2b3c4d", true),
            ("1a2b3c4d5", true),
            ("1a2b3c4", false),
            ("b-1a2b3c4", false),
            ("1A2B3C4D", false),
        ] {
            assert_eq!(is_abbreviated_hash(text), is_hash, "{text}");
        }
    }
}
