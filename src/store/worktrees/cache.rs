//! The cache folder of a worktree, `.worktrees/.cache-NAME`. It is the value of `CREWDECK_CACHE` for the commands in the
//! worktree, which can write it. It is outside of the worktree, so git never sees it, and is removed with the worktree.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fchmod, openat};

use crate::domain::folders::WORKTREE_CACHE_PREFIX;
use crate::domain::worktree::WorktreeName;

/// How deep [`make_folders_writable`] descends. Each level needs an open file.
const DEPTH_MAX: usize = 64;

/// Returns the path of the cache folder. `dir` is `.worktrees/`.
pub fn path_of(dir: &Path, name: &WorktreeName) -> PathBuf {
    dir.join(format!("{WORKTREE_CACHE_PREFIX}{name}"))
}

/// Creates the cache folder if it does not exist, and returns its path.
///
/// # Errors
/// Fails if the folder cannot be created, or if something else is in its place.
pub fn create(dir: &Path, name: &WorktreeName) -> io::Result<PathBuf> {
    create_folder(path_of(dir, name))
}

/// As [`create`], for the folder `path`.
pub fn create_folder(path: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if fs::symlink_metadata(&path)?.is_dir() {
                Ok(path)
            } else {
                Err(io::Error::other("something else is in its place"))
            }
        }
        Err(error) => Err(error),
    }
}

/// Returns the name of the worktree whose cache folder has this name; `None` if it is not the name of a cache folder.
pub fn worktree_of(folder: &str) -> Option<WorktreeName> {
    let name = folder.strip_prefix(WORKTREE_CACHE_PREFIX)?;
    WorktreeName::new(name).ok()
}

/// Makes a folder and the folders in it writable for the user, so that their content can be deleted: some tools, such as
/// Go, make the folders of their caches read-only. Follows no symbolic links. Ignores errors, which the deletion reports.
pub fn make_folders_writable(dir: &Path) {
    if let Ok(folder) = rustix::fs::open(dir, folder_flags(), Mode::empty()) {
        make_writable(&folder, DEPTH_MAX);
    }
}

fn make_writable(folder: &OwnedFd, depth: usize) {
    let _ = fchmod(folder, Mode::RWXU);
    let Ok(entries) = Dir::read_from(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_inside = !matches!(name.to_bytes(), b"." | b"..");
        if depth > 0
            && is_inside
            && may_be_folder(entry.file_type())
            && let Ok(inner) = openat(folder, name, folder_flags(), Mode::empty())
        {
            make_writable(&inner, depth - 1);
        }
    }
}

/// Returns whether an entry of this type can be a folder. Some file systems do not tell the type.
fn may_be_folder(kind: FileType) -> bool {
    matches!(kind, FileType::Directory | FileType::Unknown)
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn link_in_place_of_the_folder_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let name = WorktreeName::new("task-1").unwrap();
        let path = create(dir.path(), &name).unwrap();
        assert_eq!(path, dir.path().join(".cache-task-1"));
        assert_eq!(create(dir.path(), &name).unwrap(), path);
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink("/tmp", &path).unwrap();
        assert!(create(dir.path(), &name).is_err());
        assert_eq!(worktree_of(".cache-task-1"), Some(name));
        assert_eq!(worktree_of(".cache-"), None);
    }

    #[test]
    fn entry_of_unknown_type_counts_as_possible_folder() {
        assert!(may_be_folder(FileType::Directory) && may_be_folder(FileType::Unknown));
        assert!(!may_be_folder(FileType::RegularFile) && !may_be_folder(FileType::Symlink));
    }

    #[test]
    fn read_only_folders_become_deletable() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let (folder, outside) = (dir.path().join("a"), dir.path().join("outside"));
        fs::create_dir_all(folder.join("b")).unwrap();
        fs::write(folder.join("b/c"), "").unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
        let set = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
        };
        for path in [&folder.join("b"), &folder, &outside] {
            set(path);
        }
        make_folders_writable(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let mode = fs::metadata(&outside).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o555);
    }
}
