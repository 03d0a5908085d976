//! Keeps an opened repository in memory, because every command on worktrees first opens the repository.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{GitError, Repo};

/// A cache of one opened repository. Clones share the repository.
#[derive(Debug, Clone, Default)]
pub struct RepoCache(Arc<Mutex<Option<(DotGit, Repo)>>>);

/// Identifies the file or folder `.git` in the root. If the values at two points in time are equal, git finds the same
/// repository both times.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DotGit {
    device: u64,
    inode: u64,
    owner: u32,
    /// When the content of the file `.git` last changed: seconds and nanoseconds since 1970. `None` for a folder,
    /// because the content of a folder changes with each git command.
    modified: Option<(i64, i64)>,
}

impl RepoCache {
    /// Returns the repository at `root`. The caller passes the same `root` at each call. Runs git only if no earlier
    /// call has succeeded, or if the repository was replaced or damaged since then.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open(&self, root: &Path) -> Result<Repo, GitError> {
        let now = DotGit::of(root);
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some((before, repo)), Some(now)) = (&*known, &now)
                && before == now
                && repo.git_dir().join("HEAD").symlink_metadata().is_ok()
                && fs::canonicalize(root).is_ok_and(|root| root == repo.root)
            {
                return Ok(repo.clone());
            }
        }
        let repo = Repo::open(root)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = now.map(|now| (now, repo.clone()));
        Ok(repo)
    }
}

impl DotGit {
    fn of(root: &Path) -> Option<DotGit> {
        let meta = fs::symlink_metadata(root.join(".git")).ok()?;
        Some(DotGit {
            device: meta.dev(),
            inode: meta.ino(),
            owner: meta.uid(),
            modified: (!meta.is_dir()).then(|| (meta.mtime(), meta.mtime_nsec())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Git;
    use super::*;

    #[test]
    fn replaced_or_damaged_repository_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let cache = RepoCache::default();
        assert!(matches!(cache.open(&root), Err(GitError::NoRepository(_))));
        Git::at(&root).ok(&["init", "--quiet"]).unwrap();
        let repo = cache.open(&root).unwrap();
        assert_eq!(repo.git_dir(), root.join(".git"));
        assert_eq!(cache.open(&root).unwrap().common(), repo.common());

        let elsewhere = root.join("elsewhere");
        fs::rename(root.join(".git"), &elsewhere).unwrap();
        assert!(matches!(cache.open(&root), Err(GitError::NoRepository(_))));
        fs::write(
            root.join(".git"),
            format!("gitdir: {}", elsewhere.display()),
        )
        .unwrap();
        assert_eq!(cache.open(&root).unwrap().git_dir(), elsewhere);
        fs::remove_file(elsewhere.join("HEAD")).unwrap();
        assert!(matches!(cache.open(&root), Err(GitError::Damaged(_))));
    }
}
