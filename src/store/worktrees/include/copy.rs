//! Copies files from the root into a worktree. No symbolic link is followed, neither in the root nor in the worktree, so
//! nothing is read or written outside of them. A file appears in the worktree with its complete content or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, linkat, mkdirat, openat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

/// The name of the unfinished copy in the folder of the worktrees. One name is enough, because the worktree lock is held
/// during copying.
const UNFINISHED: &str = ".unfinished-copy";

/// What has become of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyOutcome {
    /// The file was copied; the number is its size in bytes.
    Copied(u64),
    /// Something of that name exists in the worktree. It was not changed.
    Exists,
}

/// The open folders between which files are copied.
pub struct FileCopier {
    root: OwnedFd,
    tree: OwnedFd,
    /// The folder for the unfinished copy, on the same file system as the worktree.
    scratch: OwnedFd,
}

impl FileCopier {
    /// Opens the folders, and deletes the copy that a killed process has left unfinished.
    ///
    /// # Errors
    /// Fails if a folder cannot be opened, or the unfinished copy cannot be deleted.
    pub fn open(root: &Path, tree: &Path, scratch: &Path) -> io::Result<FileCopier> {
        let flags = folder_flags() | OFlags::NOFOLLOW;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let copier = FileCopier {
            root: open(root)?,
            tree: open(tree)?,
            scratch: open(scratch)?,
        };
        copier.discard()?;
        Ok(copier)
    }

    /// Returns whether something exists at `path` in the worktree, or whether a file or link is in the place of one of
    /// its folders.
    pub fn exists(&self, path: &Path) -> bool {
        let Ok((folders, name)) = split(path) else {
            return true;
        };
        let mut at = None;
        for folder in folders {
            match open_folder(at.as_ref().unwrap_or(&self.tree), folder) {
                Ok(next) => at = Some(next),
                Err(error) => return error != Errno::NOENT,
            }
        }
        let at = at.as_ref().unwrap_or(&self.tree);
        !matches!(
            statat(at, name, AtFlags::SYMLINK_NOFOLLOW),
            Err(Errno::NOENT)
        )
    }

    /// Copies the file at `path`, relative to the root, to the same path in the worktree, with its mode. Creates missing
    /// folders with the modes of those in the root. Shares the blocks of the file where the file system can.
    ///
    /// # Errors
    /// Fails if the file is not a regular file or is larger than `max` bytes, if a link or file is in the place of a
    /// folder, and if the file cannot be read or written.
    pub fn copy(&self, path: &Path, max: u64) -> io::Result<CopyOutcome> {
        let (folders, name) = split(path)?;
        let (mut from, mut to) = (self.root.try_clone()?, self.tree.try_clone()?);
        for folder in folders {
            from = open_folder(&from, folder)?;
            let mode = permissions(&fstat(&from)?) | Mode::RWXU;
            match mkdirat(&to, folder, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            to = open_folder(&to, folder).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => {
                    io::Error::other("a file or link is in the place of its folder")
                }
                error => error.into(),
            })?;
        }
        // Without NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let source = openat(&from, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fstat(&source)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        self.discard()?;
        let copied = self
            .write_copy(File::from(source), permissions(&stat), max)
            .and_then(|size| self.publish(&to, name, size));
        if !matches!(copied, Ok(CopyOutcome::Copied(_))) {
            self.discard()?;
        }
        copied
    }

    /// Writes the content of `source` to the unfinished copy, and gives it these permissions. Until then, only the user
    /// can read it. Returns its size.
    fn write_copy(&self, source: File, permissions: Mode, max: u64) -> io::Result<u64> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let only_user = Mode::RUSR | Mode::WUSR;
        let mut copy = File::from(openat(&self.scratch, UNFINISHED, flags, only_user)?);
        let is_small = source.metadata()?.len() <= max;
        let size = if is_small && share_blocks(&copy, &source) {
            copy.metadata()?.len()
        } else {
            io::copy(&mut source.take(max.saturating_add(1)), &mut copy)?
        };
        if size > max {
            return Err(io::Error::other("it has grown during copying"));
        }
        fchmod(&copy, permissions)?;
        Ok(size)
    }

    /// Moves the complete copy to `name` in the folder `to`, unless something of that name exists.
    fn publish(&self, to: &OwnedFd, name: &OsStr, size: u64) -> io::Result<CopyOutcome> {
        let moved = renameat_with(&self.scratch, UNFINISHED, to, name, RenameFlags::NOREPLACE);
        let moved = match moved {
            // Some file systems cannot rename with this condition. A link never replaces a file either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let linked = linkat(&self.scratch, UNFINISHED, to, name, AtFlags::empty());
                linked.and_then(|()| unlinkat(&self.scratch, UNFINISHED, AtFlags::empty()))
            }
            moved => moved,
        };
        match moved {
            Ok(()) => Ok(CopyOutcome::Copied(size)),
            Err(Errno::EXIST) => Ok(CopyOutcome::Exists),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the unfinished copy, if there is one.
    fn discard(&self) -> io::Result<()> {
        match unlinkat(&self.scratch, UNFINISHED, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

pub fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}

/// Returns the permissions of a file, without the bits that start programs as another user.
pub fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO)
}

/// Opens the folder `name` in the folder `at`. Fails if it is a symbolic link.
pub fn open_folder(at: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(at, name, folder_flags() | OFlags::NOFOLLOW, Mode::empty())
}

/// Splits a relative path into its folders and the name of the file. Fails if a part is not a plain name.
pub fn split(path: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => parts.push(name),
            _ => return Err(io::ErrorKind::InvalidFilename.into()),
        }
    }
    let name = parts.pop();
    let name = name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    Ok((parts, name))
}

/// Makes the empty file `copy` share the blocks of `source`. Returns false if the file system cannot do that.
#[cfg(target_os = "linux")]
fn share_blocks(copy: &File, source: &File) -> bool {
    rustix::fs::ioctl_ficlone(copy, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_copy: &File, _source: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;

    struct Folders {
        _dir: tempfile::TempDir,
        root: PathBuf,
        tree: PathBuf,
        scratch: PathBuf,
    }

    impl Folders {
        fn new() -> Folders {
            let dir = tempfile::tempdir().unwrap();
            let folder = |name: &str| {
                let path = dir.path().join(name);
                fs::create_dir(&path).unwrap();
                path
            };
            Folders {
                root: folder("root"),
                tree: folder("tree"),
                scratch: folder("scratch"),
                _dir: dir,
            }
        }

        fn copy(&self, path: &str, max: u64) -> Result<CopyOutcome, String> {
            let copier = FileCopier::open(&self.root, &self.tree, &self.scratch).unwrap();
            let copied = copier.copy(Path::new(path), max);
            assert_eq!(fs::read_dir(&self.scratch).unwrap().count(), 0, "{path}");
            copied.map_err(|error| error.to_string())
        }
    }

    #[test]
    fn file_is_copied_with_its_mode_and_folders() {
        let folders = Folders::new();
        fs::create_dir_all(folders.root.join("a/b")).unwrap();
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let set = |path: &str, mode: u32| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(folders.root.join(path), permissions).unwrap();
        };
        let text = vec![7_u8; 300_000];
        fs::write(folders.root.join("a/b/c"), &text).unwrap();
        set("a/b/c", 0o4750);
        set("a/b", 0o500);
        fs::write(folders.scratch.join(UNFINISHED), "of a killed process").unwrap();
        let copied = folders.copy("a/b/c", 300_000);
        set("a/b", 0o700);
        assert_eq!(copied, Ok(CopyOutcome::Copied(300_000)));
        assert_eq!(fs::read(folders.tree.join("a/b/c")).unwrap(), text);
        assert_eq!(mode(folders.tree.join("a/b/c")), 0o750);
        assert_eq!(mode(folders.tree.join("a/b")), 0o700);
    }

    #[test]
    fn existing_file_is_never_replaced() {
        let folders = Folders::new();
        fs::write(folders.root.join("f"), "mine").unwrap();
        symlink("/nowhere", folders.tree.join("f")).unwrap();
        assert_eq!(folders.copy("f", 10), Ok(CopyOutcome::Exists));
        assert!(folders.tree.join("f").is_symlink());
        fs::remove_file(folders.tree.join("f")).unwrap();
        fs::write(folders.tree.join("f"), "of the branch").unwrap();
        assert_eq!(folders.copy("f", 10), Ok(CopyOutcome::Exists));
        let text = fs::read_to_string(folders.tree.join("f")).unwrap();
        assert_eq!(text, "of the branch");
        let copier = FileCopier::open(&folders.root, &folders.tree, &folders.scratch).unwrap();
        let exists = |path: &str| copier.exists(Path::new(path));
        assert!(exists("f") && exists("f/below") && !exists("g") && !exists("g/h/i"));
    }

    #[test]
    fn nothing_is_copied_through_links_or_from_special_files() {
        let folders = Folders::new();
        let outside = folders.root.with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "secret").unwrap();
        symlink(&outside, folders.root.join("link")).unwrap();
        symlink(outside.join("secret"), folders.root.join("file")).unwrap();
        let pipe = folders.root.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        fs::create_dir(folders.root.join("folder")).unwrap();
        fs::write(folders.root.join("folder/f"), "text").unwrap();
        symlink(&outside, folders.tree.join("folder")).unwrap();
        for path in [
            "link/secret",
            "file",
            "pipe",
            "folder",
            "folder/f",
            "../outside/secret",
            "/etc/passwd",
            "",
        ] {
            assert!(folders.copy(path, 100).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        let copied: Vec<_> = fs::read_dir(&folders.tree).unwrap().flatten().collect();
        assert_eq!(copied.len(), 1, "{copied:?}");
    }

    #[test]
    fn file_above_the_limit_is_not_copied() {
        let folders = Folders::new();
        fs::write(folders.root.join("f"), "12345").unwrap();
        assert!(folders.copy("f", 4).unwrap_err().contains("grown"));
        assert!(!folders.tree.join("f").exists());
        assert_eq!(folders.copy("f", 5), Ok(CopyOutcome::Copied(5)));
    }
}
