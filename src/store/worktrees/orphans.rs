//! Finds orphans in `.worktrees`: folders that the registry does not list, and git entries whose folder is gone.

use std::fs;

use super::trash::is_trash;
use super::{INITIALIZING, OpenRegistry, Worktrees, cache, clone};
use crate::domain::worktree::{DiskUse, WorktreeName};
use crate::store::StoreError;

const ORPHANS_MAX: usize = 200;

/// A folder in `.worktrees`, or an entry in git's list of worktrees, that crewdeck's registry does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanWorktree {
    pub name: String,
    pub kind: OrphanKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanKind {
    Empty,
    /// A folder with content that is not in git's list of worktrees, and its disk usage.
    Folder(DiskUse),
    /// A worktree in git's list that crewdeck does not add to its registry, because it has another branch checked out
    /// or git did not finish creating it.
    Unregistered,
    /// A worktree in git's list whose folder is gone.
    FolderMissing,
}

impl Worktrees {
    /// Returns the orphans in `.worktrees`, sorted by name; at most 200.
    ///
    /// # Errors
    /// When the root is not a repository, or the registry or the folder cannot be read.
    pub fn orphans(&self) -> Result<Vec<OrphanWorktree>, StoreError> {
        self.read()?.orphans()
    }

    /// Removes an orphan that holds no data: an empty folder, or git's entry for a folder that is gone. Does nothing for
    /// other kinds.
    ///
    /// # Errors
    /// When the orphan cannot be removed.
    pub fn remove_orphan(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let work = self.begin_change()?;
        let orphans = work.orphans()?;
        let is_safe = |s: &OrphanWorktree| {
            s.name == name.as_str()
                && matches!(s.kind, OrphanKind::Empty | OrphanKind::FolderMissing)
        };
        if orphans.iter().any(is_safe) {
            work.unregister(name)?;
        }
        Ok(())
    }
}

impl OpenRegistry {
    fn orphans(&self) -> Result<Vec<OrphanWorktree>, StoreError> {
        let registered = self.repo.list_worktrees()?;
        let is_registered =
            |name: &str| WorktreeName::new(name).is_ok_and(|name| self.index.get(&name).is_some());
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(StoreError::at(&self.dir))? {
            let entry = entry.map_err(StoreError::at(&self.dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let owner = cache::worktree_of(&name).or_else(|| clone::worktree_of(&name));
            let is_owned = owner.is_some_and(|name| self.index.get(&name).is_some());
            if !is_folder || is_registered(&name) || is_trash(&name) || is_owned {
                continue;
            }
            let is_known = registered.iter().any(|r| r.path == entry.path());
            let is_empty = fs::read_dir(entry.path()).is_ok_and(|mut all| all.next().is_none());
            let kind = match (is_known, is_empty) {
                (false, true) => OrphanKind::Empty,
                (false, false) => OrphanKind::Folder(super::size_of(&entry.path())),
                (true, _) => OrphanKind::Unregistered,
            };
            found.push(OrphanWorktree { name, kind });
        }
        for known in &registered {
            let Some(name) = self.name_of(&known.path) else {
                continue;
            };
            // A worktree that is being created has no folder yet.
            let is_being_made = known.locked.as_deref() == Some(INITIALIZING);
            if !known.path.exists() && !is_registered(name.as_str()) && !is_being_made {
                found.push(OrphanWorktree {
                    name: name.as_str().into(),
                    kind: OrphanKind::FolderMissing,
                });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.truncate(ORPHANS_MAX);
        Ok(found)
    }
}
