//! What lies in `.worktrees` and is no worktree of the registry: folders of nobody, and entries of git whose folder
//! is gone.

use std::fs;

use super::aside::is_aside;
use super::{INITIALIZING, Work, Worktrees};
use crate::domain::worktree::{DiskUse, WorktreeName};
use crate::store::StoreError;

/// Most strays that are listed.
const STRAYS_MAX: usize = 200;

/// Something in `.worktrees` that the registry does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// The name of its folder.
    pub name: String,
    /// What it is.
    pub kind: StrayKind,
}

/// What a stray is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrayKind {
    /// An empty folder.
    Empty,
    /// A folder with something in it.
    Folder(DiskUse),
    /// A worktree that git knows, with a branch of its own choice or half made.
    Unentered,
    /// Git still knows a worktree there, and the folder is gone.
    Forgotten,
}

impl Worktrees {
    /// What lies in `.worktrees` and is no worktree of the registry, by name; at most 200.
    ///
    /// # Errors
    /// When the root is no repository, or the registry or the folder can not be read.
    pub fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        self.look()?.strays()
    }

    /// Clears a stray away with which nothing is lost: an empty folder, or git's entry for a folder that is gone.
    /// Others are left alone.
    ///
    /// # Errors
    /// When it can not be removed.
    pub fn clear_stray(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let work = self.work()?;
        let strays = work.strays()?;
        let is_safe = |s: &Stray| {
            s.name == name.as_str() && matches!(s.kind, StrayKind::Empty | StrayKind::Forgotten)
        };
        if strays.iter().any(is_safe) {
            work.unregister(name)?;
        }
        Ok(())
    }
}

impl Work {
    fn strays(&self) -> Result<Vec<Stray>, StoreError> {
        let registered = self.repo.registered()?;
        let is_entered =
            |name: &str| WorktreeName::new(name).is_ok_and(|name| self.index.get(&name).is_some());
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(StoreError::at(&self.dir))? {
            let entry = entry.map_err(StoreError::at(&self.dir))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || is_entered(&name) || is_aside(&name) {
                continue;
            }
            let is_known = registered.iter().any(|r| r.path == entry.path());
            let is_empty = fs::read_dir(entry.path()).is_ok_and(|mut all| all.next().is_none());
            let kind = match (is_known, is_empty) {
                (false, true) => StrayKind::Empty,
                (false, false) => StrayKind::Folder(super::size_of(&entry.path())),
                (true, _) => StrayKind::Unentered,
            };
            found.push(Stray { name, kind });
        }
        for known in &registered {
            let Some(name) = self.name_of(&known.path) else {
                continue;
            };
            // One that is just being made has no folder yet.
            let is_being_made = known.locked.as_deref() == Some(INITIALIZING);
            if !known.path.exists() && !is_entered(name.as_str()) && !is_being_made {
                found.push(Stray {
                    name: name.as_str().into(),
                    kind: StrayKind::Forgotten,
                });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.truncate(STRAYS_MAX);
        Ok(found)
    }
}
