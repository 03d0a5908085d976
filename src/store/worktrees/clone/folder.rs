//! Clones one folder with everything in it. No symbolic link is followed, neither in the root nor in the worktree, so
//! nothing is read or written outside of them.

use std::ffi::CStr;
use std::fs::{File, FileTimes};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, mkdirat, openat, readlinkat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::store::worktrees::include::copy::{folder_flags, open_folder, permissions, split};

/// Maximum number of files, links and folders that are cloned into one worktree.
const ENTRIES_MAX: usize = 200_000;
/// Maximum size of the files that are cloned into one worktree, together, in bytes.
const SIZE_MAX: u64 = 20 * 1024 * 1024 * 1024;
/// The time between the newest copy and the checkout. Some file systems store times in whole seconds.
const BEFORE_CHECKOUT: Duration = Duration::from_secs(1);
/// Maximum depth of folders below a cloned folder. Each level needs two open files.
const DEPTH_MAX: usize = 64;

const TOO_MANY: &str = "more than 200,000 files and folders";
const TOO_LARGE: &str = "more than 20 GiB in total";
const TOO_DEEP: &str = "its folders are nested more than 64 levels deep";

/// The name of the unfinished clone, and of the file that tests whether blocks can be shared, in the scratch folder.
const UNFINISHED: &str = "folder";
const PROBE: &str = "probe";
const PROBE_COPY: &str = "probe-copy";

/// Makes the empty file `copy` share the blocks of `source`: called with `copy` and `source`.
pub type ShareBlocks = fn(&File, &File) -> Result<(), Errno>;

#[derive(Debug)]
pub enum CloneError {
    /// The folder exceeds a limit, which the text names.
    TooMuch(&'static str),
    Io(io::Error),
}

impl From<io::Error> for CloneError {
    fn from(error: io::Error) -> CloneError {
        CloneError::Io(error)
    }
}

impl From<Errno> for CloneError {
    fn from(error: Errno) -> CloneError {
        CloneError::Io(error.into())
    }
}

/// The open folders between which folders are cloned, and what may still be cloned.
pub struct FolderCloner {
    root: OwnedFd,
    tree: OwnedFd,
    /// An empty folder on the same file system as the worktree.
    scratch: OwnedFd,
    share: ShareBlocks,
    /// The latest time of modification of a copy; `None` if it is unknown when the worktree was checked out. Tools such as
    /// cargo take a source file for unchanged if it is older than what was built from it. What the user has built in the
    /// root since the checkout must therefore not be newer than the files of the worktree, which may differ.
    newest: Option<SystemTime>,
    entries_left: usize,
    bytes_left: u64,
}

impl FolderCloner {
    /// # Errors
    /// Fails if a folder cannot be opened.
    pub fn open(
        root: &Path,
        tree: &Path,
        scratch: &Path,
        share: ShareBlocks,
    ) -> io::Result<FolderCloner> {
        let flags = folder_flags() | OFlags::NOFOLLOW;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let tree = open(tree)?;
        Ok(FolderCloner {
            root: open(root)?,
            newest: time_before_checkout(&tree),
            tree,
            scratch: open(scratch)?,
            share,
            entries_left: ENTRIES_MAX,
            bytes_left: SIZE_MAX,
        })
    }

    /// Returns whether the file system of the worktree can share blocks between files. Tries it.
    pub fn can_share(&self) -> bool {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let create = |name: &str| {
            let file = openat(&self.scratch, name, flags, Mode::RUSR | Mode::WUSR);
            file.map(File::from)
        };
        let shared = match (create(PROBE), create(PROBE_COPY)) {
            (Ok(source), Ok(copy)) => {
                (&source).write_all(b"-").is_ok() && (self.share)(&copy, &source).is_ok()
            }
            (Ok(_) | Err(_), _) => false,
        };
        for name in [PROBE, PROBE_COPY] {
            let _ = unlinkat(&self.scratch, name, AtFlags::empty());
        }
        shared
    }

    /// Clones the folder at `path`, relative to the root, to the same path in the worktree. Returns false if its parent
    /// folder is missing in the worktree, or if something has appeared at `path` there.
    ///
    /// # Errors
    /// Fails if the folder exceeds a limit, or cannot be cloned as a whole. The worktree is then unchanged.
    pub fn clone_folder(&mut self, path: &Path) -> Result<bool, CloneError> {
        let (folders, name) = split(path)?;
        let (mut from, mut to) = (self.root.try_clone()?, self.tree.try_clone()?);
        for folder in folders {
            from = open_folder(&from, folder)?;
            to = match open_folder(&to, folder) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
        }
        let from = open_folder(&from, name)?;
        let mode = permissions(&fstat(&from)?) | Mode::RWXU;
        mkdirat(&self.scratch, UNFINISHED, mode)?;
        let cloned = openat(
            &self.scratch,
            UNFINISHED,
            folder_flags() | OFlags::NOFOLLOW,
            Mode::empty(),
        );
        let done = cloned
            .map_err(CloneError::from)
            .and_then(|copy| self.clone_content(&from, &copy, DEPTH_MAX));
        let moved = done.and_then(|()| {
            let flags = RenameFlags::NOREPLACE;
            Ok(renameat_with(&self.scratch, UNFINISHED, &to, name, flags)?)
        });
        match moved {
            Ok(()) => Ok(true),
            Err(error) => {
                remove_tree(&self.scratch, UNFINISHED)?;
                match error {
                    CloneError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Ok(false)
                    }
                    error => Err(error),
                }
            }
        }
    }

    fn clone_content(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        depth: usize,
    ) -> Result<(), CloneError> {
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            // A git repository in the folder would count as work that a removal of the worktree loses.
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            let left = self.entries_left.checked_sub(1);
            self.entries_left = left.ok_or(CloneError::TooMuch(TOO_MANY))?;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            match kind {
                FileType::Directory => {
                    let depth = depth.checked_sub(1);
                    let depth = depth.ok_or(CloneError::TooMuch(TOO_DEEP))?;
                    let flags = folder_flags() | OFlags::NOFOLLOW;
                    let inner = openat(from, name, flags, Mode::empty())?;
                    // Writable for the user, so that it can be deleted with the worktree.
                    let mode = permissions(&fstat(&inner)?) | Mode::RWXU;
                    mkdirat(to, name, mode)?;
                    let copy = openat(to, name, flags, Mode::empty())?;
                    self.clone_content(&inner, &copy, depth)?;
                }
                FileType::RegularFile => self.clone_file(from, to, name)?,
                FileType::Symlink => {
                    let target = readlinkat(from, name, Vec::new())?;
                    symlinkat(&*target, to, name)?;
                }
                // Pipes, sockets and devices belong to programs that run.
                _ => {}
            }
        }
        Ok(())
    }

    /// Clones a file with its permissions and its time of modification, by which build tools detect changes. A time after
    /// the checkout of the worktree is replaced by one before.
    fn clone_file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr) -> Result<(), CloneError> {
        // Without NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let source = File::from(openat(from, name, flags | OFlags::CLOEXEC, Mode::empty())?);
        let stat = fstat(&source)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(());
        }
        let meta = source.metadata()?;
        let left = self.bytes_left.checked_sub(meta.len());
        self.bytes_left = left.ok_or(CloneError::TooMuch(TOO_LARGE))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        (self.share)(&copy, &source)?;
        fchmod(&copy, permissions(&stat))?;
        let modified = meta.modified()?;
        let modified = self.newest.map_or(modified, |newest| modified.min(newest));
        copy.set_times(FileTimes::new().set_modified(modified))?;
        Ok(())
    }
}

/// Returns a time before git checked out the files of the worktree `tree`; `None` if it is unknown. Git writes the file
/// `.git` of a worktree first.
fn time_before_checkout(tree: &OwnedFd) -> Option<SystemTime> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let git = openat(tree, ".git", flags | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let written = File::from(git).metadata().ok()?.modified().ok()?;
    written.checked_sub(BEFORE_CHECKOUT)
}

/// Deletes the folder `name` in the folder `at`.
fn remove_tree(at: &OwnedFd, name: &str) -> io::Result<()> {
    let flags = folder_flags() | OFlags::NOFOLLOW;
    let folder = openat(at, name, flags, Mode::empty())?;
    remove_content(&folder)?;
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

fn remove_content(folder: &OwnedFd) -> io::Result<()> {
    let flags = folder_flags() | OFlags::NOFOLLOW;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) => {}
            // Linux and other systems report different errors for a folder.
            Err(Errno::ISDIR | Errno::PERM) => {
                remove_content(&openat(folder, name, flags, Mode::empty())?)?;
                unlinkat(folder, name, AtFlags::REMOVEDIR)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
pub fn share_blocks(copy: &File, source: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(copy, source)
}

#[cfg(not(target_os = "linux"))]
pub fn share_blocks(_copy: &File, _source: &File) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Copies the content, as a file system that can share blocks would appear to do.
#[cfg(test)]
pub fn copy_for_tests(copy: &File, source: &File) -> Result<(), Errno> {
    let copied = io::copy(&mut &*source, &mut &*copy);
    copied.map(drop).map_err(|_| Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;

    struct CloneFixture {
        _dir: tempfile::TempDir,
        root: PathBuf,
        tree: PathBuf,
        cloner: FolderCloner,
    }

    fn fixture(share: ShareBlocks) -> CloneFixture {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["root", "tree", "scratch"].map(|name| dir.path().join(name));
        for path in &paths {
            fs::create_dir(path).unwrap();
        }
        let [root, tree, scratch] = paths;
        let cloner = FolderCloner::open(&root, &tree, &scratch, share).unwrap();
        CloneFixture {
            _dir: dir,
            root,
            tree,
            cloner,
        }
    }

    impl CloneFixture {
        fn run(&mut self, path: &str) -> Result<bool, String> {
            let cloned = self.cloner.clone_folder(Path::new(path));
            let scratch = Dir::read_from(&self.cloner.scratch).unwrap().count();
            assert_eq!(scratch, 2, "only . and .. are left");
            cloned.map_err(|error| match error {
                CloneError::TooMuch(why) => why.to_string(),
                CloneError::Io(error) => error.to_string(),
            })
        }
    }

    #[test]
    fn files_links_modes_and_times_are_cloned() {
        let mut f = fixture(copy_for_tests);
        let from = f.root.join("deps");
        fs::create_dir_all(from.join(".bin")).unwrap();
        fs::create_dir_all(from.join("pkg/.git")).unwrap();
        fs::write(from.join("pkg/run"), "#!/bin/sh\n").unwrap();
        let mode = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(from.join("pkg/run"), mode).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let file = File::options().write(true).open(from.join("pkg/run"));
        file.unwrap().set_modified(time).unwrap();
        symlink("../pkg/run", from.join(".bin/run")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(from.join("pipe"))
            .status();
        assert!(made.unwrap().success());
        assert!(f.cloner.can_share());
        assert_eq!(f.run("deps"), Ok(true));
        let copy = f.tree.join("deps");
        let meta = fs::metadata(copy.join("pkg/run")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o755);
        assert_eq!(meta.modified().unwrap(), time);
        let link = fs::read_link(copy.join(".bin/run")).unwrap();
        assert_eq!(link, Path::new("../pkg/run"));
        assert!(!copy.join("pkg/.git").exists() && !copy.join("pipe").exists());
        assert_eq!(f.run("deps"), Ok(false), "nothing is replaced");
    }

    #[test]
    fn copies_are_older_than_the_files_of_the_worktree() {
        let mut f = fixture(copy_for_tests);
        let checkout = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let write = |path: PathBuf, time: SystemTime| {
            fs::write(&path, "").unwrap();
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        };
        write(f.tree.join(".git"), checkout);
        fs::create_dir(f.root.join("target")).unwrap();
        let minute = Duration::from_secs(60);
        write(f.root.join("target/old"), checkout - minute);
        write(f.root.join("target/new"), checkout + minute);
        let scratch = f.root.with_file_name("scratch");
        f.cloner = FolderCloner::open(&f.root, &f.tree, &scratch, copy_for_tests).unwrap();
        assert_eq!(f.run("target"), Ok(true));
        let time_of = |name: &str| {
            let meta = fs::metadata(f.tree.join("target").join(name)).unwrap();
            meta.modified().unwrap()
        };
        assert_eq!(time_of("old"), checkout - minute);
        assert_eq!(time_of("new"), checkout - BEFORE_CHECKOUT);
    }

    #[test]
    fn nothing_is_cloned_through_links() {
        let mut f = fixture(copy_for_tests);
        let outside = f.root.with_file_name("outside");
        fs::create_dir_all(outside.join("deps")).unwrap();
        fs::write(outside.join("deps/secret"), "secret").unwrap();
        symlink(&outside, f.root.join("link")).unwrap();
        symlink(outside.join("deps"), f.root.join("deps")).unwrap();
        fs::create_dir_all(f.root.join("pkg/deps")).unwrap();
        symlink(&outside, f.tree.join("pkg")).unwrap();
        for path in ["link/deps", "deps", "pkg/deps", "../outside/deps", "/etc"] {
            assert!(f.run(path).is_err(), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&f.tree).unwrap().count(), 1);
    }

    #[test]
    fn folder_above_a_limit_is_left_out_as_a_whole() {
        let mut f = fixture(copy_for_tests);
        for path in ["a/1", "a/2", "b/1"] {
            fs::create_dir_all(f.root.join(path).parent().unwrap()).unwrap();
            fs::write(f.root.join(path), "12345").unwrap();
        }
        f.cloner.entries_left = 1;
        assert_eq!(f.run("a"), Err(TOO_MANY.into()));
        f.cloner.entries_left = 10;
        f.cloner.bytes_left = 9;
        assert_eq!(f.run("a"), Err(TOO_LARGE.into()));
        f.cloner.bytes_left = 5;
        assert_eq!(f.run("b"), Ok(true));
        fs::create_dir_all(f.root.join("c").join("x/".repeat(DEPTH_MAX + 1))).unwrap();
        f.cloner.entries_left = 1000;
        assert_eq!(f.run("c"), Err(TOO_DEEP.into()));
        let cloned: Vec<_> = fs::read_dir(&f.tree).unwrap().flatten().collect();
        assert_eq!(cloned.len(), 1, "{cloned:?}");
    }

    #[test]
    fn file_system_without_shared_blocks_is_detected() {
        let mut f = fixture(|_, _| Err(Errno::NOTSUP));
        assert!(!f.cloner.can_share());
        fs::create_dir(f.root.join("a")).unwrap();
        fs::write(f.root.join("a/1"), "1").unwrap();
        assert!(f.run("a").is_err());
        assert!(!f.tree.join("a").exists());
    }
}
