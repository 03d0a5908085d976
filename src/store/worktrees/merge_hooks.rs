//! The user's hooks that git runs when crewdeck merges branches.
//!
//! They run with the user's rights, outside of the sandbox. So none run if one of them is or can be a file of the project,
//! as with `core.hooksPath = .husky`: the branch that is merged can bring it.

use std::path::PathBuf;

use super::{OpenRegistry, Worktrees};
use crate::domain::text::one_line;
use crate::store::StoreError;
use crate::store::git::{Git, Hooks, merge_hooks_in_project};

/// The hooks that git runs when it creates a merge commit. If the user has one of them, git itself merges in the main
/// worktree, so that it runs.
const COMMIT_HOOKS: [&str; 3] = ["pre-merge-commit", "prepare-commit-msg", "commit-msg"];

impl Worktrees {
    /// Returns a sentence for the user about why no hooks run at merges; `None` if they run or there are none.
    ///
    /// # Errors
    /// When the root is not a repository, or git fails.
    pub fn skipped_merge_hooks(&self) -> Result<Option<String>, StoreError> {
        let (repo, _) = self.open_repo()?;
        let hooks = merge_hooks_in_project(&repo)?;
        Ok(hooks.map(|path| {
            let shown = path.strip_prefix(&repo.root).unwrap_or(&path);
            format!(
                "No git hooks run when crewdeck merges, because agents can change {}. Hooks in .git/hooks that are no files of the project run.",
                one_line(&shown.to_string_lossy())
            )
        }))
    }
}

impl OpenRegistry {
    /// Returns a [`Git`] for merges into the user's branch. It runs the user's hooks, unless agents can change one of them.
    pub(super) fn git_with_merge_hooks(&self) -> Result<Git, StoreError> {
        let hooks = match merge_hooks_in_project(&self.repo)? {
            Some(_) => Hooks::Skip,
            None => Hooks::Run,
        };
        Ok(self.repo.git.with_hooks(hooks))
    }

    /// Returns whether a hook of the user runs when git creates a merge commit.
    pub(super) fn has_merge_hooks(&self) -> Result<bool, StoreError> {
        if merge_hooks_in_project(&self.repo)?.is_some() {
            return Ok(false);
        }
        let git = self.repo.git.with_hooks(Hooks::Run);
        let ask = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
        let folder = PathBuf::from(git.ok(&ask)?);
        Ok(COMMIT_HOOKS.iter().any(|hook| folder.join(hook).exists()))
    }
}
