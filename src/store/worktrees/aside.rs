//! Where the folder of a worktree lies while it is removed: under a name that nobody uses, first to be judged, then to be
//! deleted. What a killed process left there is put back or deleted, as its name says.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::domain::worktree::WorktreeName;
use crate::store::StoreError;

/// Before a worktree's name: it is being judged. Names of worktrees begin with no dot.
const JUDGED: &str = ".removing-";
/// The same: it is judged, and nothing of it is wanted any more.
const DELETED: &str = ".removed-";

/// A folder that was moved aside.
#[derive(Debug)]
pub struct Aside {
    home: PathBuf,
    /// Where it is.
    pub dir: PathBuf,
    doomed: PathBuf,
}

impl Aside {
    /// Moves the folder of a worktree below `dir` aside: from here on nobody who uses its name reaches it.
    pub fn of(dir: &Path, name: &WorktreeName) -> Result<Aside, StoreError> {
        let aside = Aside {
            home: dir.join(name.as_str()),
            dir: dir.join(format!("{JUDGED}{name}")),
            doomed: dir.join(format!("{DELETED}{name}")),
        };
        rename(&aside.home, &aside.dir)?;
        Ok(aside)
    }

    /// It stays.
    pub fn put_back(self) -> Result<(), StoreError> {
        put_back(&self.dir, &self.home)
    }

    /// It goes: whoever is killed from here on, the next one deletes it. Where that fails it is where it was, aside.
    pub fn doom(&self) -> Result<Doomed, StoreError> {
        // What an earlier one could not delete is deleted now, or is told.
        delete(&self.doomed)?;
        rename(&self.dir, &self.doomed)?;
        Ok(Doomed(self.doomed.clone()))
    }
}

/// A folder that is to be deleted.
#[derive(Debug)]
pub struct Doomed(PathBuf);

impl Doomed {
    /// Deletes it.
    pub fn delete(self) -> Result<(), StoreError> {
        delete(&self.0)
    }
}

/// Whether a removal was cut off, or is under way.
pub fn is_left(dir: &Path) -> Result<bool, StoreError> {
    Ok(!left(dir)?.is_empty())
}

/// Puts in order what was cut off; the lock is held.
pub fn finish(dir: &Path, notices: &mut Vec<String>) -> Result<(), StoreError> {
    for (path, kind, name) in left(dir)? {
        let done = match kind {
            Kind::Judged => put_back(&path, &dir.join(&name)),
            Kind::Deleted => delete(&path),
        };
        // It is in nobody's way.
        if let Err(error) = done {
            notices.push(error.to_string());
        }
    }
    Ok(())
}

enum Kind {
    Judged,
    Deleted,
}

/// What lies aside: its path, why, and the name that it had.
fn left(dir: &Path) -> Result<Vec<(PathBuf, Kind, String)>, StoreError> {
    let entries = fs::read_dir(dir).map_err(StoreError::at(dir))?;
    let known = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (kind, name) = was(&name)?;
        Some((entry.path(), kind, name.to_string()))
    };
    Ok(entries.flatten().filter_map(known).collect())
}

/// Whether a folder of that name lies aside. It is no stray: a removal is under way, or the next look tells of it.
pub fn is_aside(name: &str) -> bool {
    was(name).is_some()
}

/// Why something of that name lies aside, and the name that it had.
fn was(name: &str) -> Option<(Kind, &str)> {
    let (kind, name) = match name.strip_prefix(JUDGED) {
        Some(name) => (Kind::Judged, name),
        None => (Kind::Deleted, name.strip_prefix(DELETED)?),
    };
    WorktreeName::new(name).is_ok().then_some((kind, name))
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(StoreError::at(from))
}

/// An empty folder in its place is replaced; one with something in it is not.
fn put_back(from: &Path, home: &Path) -> Result<(), StoreError> {
    fs::rename(from, home).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => std::io::Error::other(format!(
                "something was written to {} while it was to be removed, so that it could not be put back: move one of the two away",
                home.display()
            )),
            _ => error,
        };
        StoreError::at(from)(why)
    })
}

fn delete(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::at(dir)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
