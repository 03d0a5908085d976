//! Publishes the commit from which the worktrees of all hosts start.

use std::sync::PoisonError;

use super::exchange::{BASE, BranchExchange, other_work};
use super::merge::check_state_untouched;
use super::outgoing::refusal;
use crate::domain::text::clip;
use crate::store::StoreError;
use crate::store::git::{PushResult, Repo, commit_of, is_hash};

/// The base commit in errors about its content.
const BASE_SHOWN: &str = "the base branch";

impl BranchExchange {
    /// Publishes the commit that is checked out in the project directory as the base commit; see
    /// [`BranchExchange::publish_base`].
    ///
    /// # Errors
    /// When there is no commit, or the push fails.
    pub fn publish_head(&self) -> Result<(), StoreError> {
        let head = self.worktrees.open_repo()?.0.head()?;
        self.publish_base(&head.commit)
    }

    /// Publishes the base commit of the lead, from which the worktrees of all hosts start. Replaces an earlier one that is not
    /// in its history, but not one that another process publishes at the same time. Does nothing if this process has published
    /// `commit` last.
    ///
    /// # Errors
    /// When there is no such commit, its commits that are not public yet change crewdeck's state folders or have files that are
    /// to stay on this machine, or the push fails.
    pub fn publish_base(&self, commit: &str) -> Result<(), StoreError> {
        let mut pushed = self
            .pushed_base
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if pushed.as_deref() == Some(commit) {
            return Ok(());
        }
        let work = self.worktrees.read()?;
        let repo = &work.repo;
        let known = if is_hash(commit) {
            commit_of(&repo.git, commit)?
        } else {
            None
        };
        let Some(known) = known.filter(|known| known == commit) else {
            return Err(refusal(format!(
                "the base commit {} is not a commit of this repository",
                clip(commit, 40)
            )));
        };
        let connection = self.connect(repo)?;
        let refs = connection
            .git
            .shared_refs(&connection.remote, &self.prefix())?;
        let before = refs.get(BASE).map_or("", String::as_str);
        if before != known {
            if let Some(start) = public_start(repo, before, &known)? {
                check_state_untouched(&repo.git, BASE_SHOWN, &start, &known)?;
                work.check_no_local_files(BASE_SHOWN, &start, &known)?;
            }
            let full = format!("{}{BASE}", self.prefix());
            let lease = format!("--force-with-lease={full}:{before}");
            let refspec = format!("{known}:{full}");
            if let PushResult::Outdated(why) =
                BranchExchange::push(repo, &connection, &[&lease], &refspec)?
            {
                return Err(other_work(&connection.remote, full, why));
            }
        }
        *pushed = Some(known);
        Ok(())
    }
}

/// Returns a commit in the history of the base commit `commit` that is public already: from the base commit `before` of the
/// remote, or what was last fetched from or pushed to a remote of the clone. `None` if nothing is known to be public.
fn public_start(repo: &Repo, before: &str, commit: &str) -> Result<Option<String>, StoreError> {
    let git = &repo.git;
    if is_hash(before) && commit_of(&git.without_fetching(), before)?.is_some() {
        return Ok(repo.merge_base(before, commit)?);
    }
    let merged = format!("--merged={commit}");
    let format = "--format=%(objectname)";
    let newest = [
        "for-each-ref",
        "--count=1",
        "--sort=-committerdate",
        &merged,
        format,
        "refs/remotes/",
    ];
    let found = git.ok(&newest)?;
    Ok(is_hash(&found).then_some(found))
}
