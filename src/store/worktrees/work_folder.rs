//! Finds what is needed to read the files of a work directory: the root or a worktree.

use std::path::{Path, PathBuf};

use super::Worktrees;
use super::include::excludes::user_patterns;
use crate::domain::worktree::WorktreeError;
use crate::store::StoreError;
use crate::store::git::{Git, Repo};

/// The root or the folder of a worktree, and its git folders.
#[derive(Debug, Clone)]
pub struct WorkFolder {
    pub dir: PathBuf,
    /// Runs git in `dir`.
    pub git: Git,
    /// The git folder of this worktree.
    pub own: PathBuf,
    /// The git folder that all worktrees share.
    pub common: PathBuf,
    /// The patterns of ignored files that are not in the repository: those of the user and, in a worktree, those of the
    /// files that were copied into it.
    pub user_patterns: Vec<u8>,
}

impl Worktrees {
    /// Opens the repository of the root. Runs git only if it was not open yet.
    ///
    /// # Errors
    /// When the root is not the top folder of a repository, or git fails.
    pub fn repository(&self) -> Result<Repo, StoreError> {
        Ok(self.repo.open(&self.root)?)
    }

    /// Returns the work folder at `dir`, which is the root or the folder of a worktree.
    ///
    /// # Errors
    /// When `dir` is neither, does not exist or is not a valid worktree, or git fails.
    pub fn work_folder(&self, dir: &Path) -> Result<WorkFolder, StoreError> {
        let repo = self.repository()?;
        let (git, own) = match self.name_at(dir) {
            Some(name) => self.read()?.valid_folder(&name)?,
            None if dir == self.root => (repo.git.clone(), repo.git_dir().to_path_buf()),
            None => return Err(WorktreeError::NoWorkFolder(dir.display().to_string()).into()),
        };
        Ok(WorkFolder {
            user_patterns: user_patterns(&git, &repo.root),
            dir: dir.to_path_buf(),
            git,
            own,
            common: repo.common().to_path_buf(),
        })
    }
}
