//! The uncommitted files of a worktree, compared before and after the setup command.

use std::collections::BTreeSet;

use super::Worktrees;
use super::inspect::{STATUS, paths};
use crate::domain::worktree::WorktreeName;
use crate::store::StoreError;

impl Worktrees {
    /// Returns the uncommitted files of the worktree `name`, relative to it, without those that git ignores. An untracked
    /// folder counts as one file. Returns `None` if git fails, because the files are only shown.
    pub(super) async fn uncommitted_files(&self, name: &WorktreeName) -> Option<BTreeSet<String>> {
        let (store, wanted) = (self.clone(), name.clone());
        let listed = tokio::task::spawn_blocking(move || store.list_uncommitted(&wanted)).await;
        match listed.ok()? {
            Ok(files) => Some(files),
            Err(error) => {
                tracing::warn!("the changed files of worktree {name} are not known: {error}");
                None
            }
        }
    }

    fn list_uncommitted(&self, name: &WorktreeName) -> Result<BTreeSet<String>, StoreError> {
        let (git, _) = self.read()?.valid_folder(name)?;
        let answer = git.run(STATUS)?;
        if answer.code != 0 {
            return Err(answer.to_error(STATUS).into());
        }
        Ok(paths(&answer.out).into_iter().collect())
    }
}
