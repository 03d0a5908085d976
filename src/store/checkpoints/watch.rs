//! Tells which folders of a work directory have changed since they were scanned.
//!
//! The kernel keeps a list of changes (inotify), which is read by the next scan. Until then, nothing runs. A change is on
//! the list before the call that makes it returns, except for what the documentation of checkpoints names, such as writes
//! through a hard link in another folder. So only local file systems are watched, and all files are scanned again from time
//! to time: see [`super::rescan`].

use std::collections::BTreeSet;

/// What has happened since the last scan.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderChanges {
    /// Files were changed, added or removed in these folders only, and no folder was.
    In(BTreeSet<Vec<u8>>),
    /// All folders must be scanned.
    Unknown,
}

#[cfg(target_os = "linux")]
pub use self::linux::DirectoryWatch;
#[cfg(not(target_os = "linux"))]
pub use self::other::NoDirectoryWatch as DirectoryWatch;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::hash_map::Entry;
    use std::collections::{BTreeSet, HashMap, HashSet};
    use std::fs;
    use std::mem::{self, MaybeUninit};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::fs::fstatfs;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::FolderChanges;

    /// Maximum number of folders of one directory that are watched, and the part of the user's watches that they may be.
    /// A process knows few directories, and other programs need watches too.
    const FOLDERS_MAX: usize = 32_768;
    const PART_OF_WATCHES: usize = 16;
    /// Holds the number of watches that a user can have.
    const WATCHES_FILE: &str = "/proc/sys/fs/inotify/max_user_watches";
    /// The size of the buffer for the list of changes, in bytes. The kernel keeps at most `max_queued_events`, and then says
    /// that changes were lost.
    const LIST_BUFFER: usize = 16 * 1024;
    /// Maximum number of changes that are read at once. Programs that write all the time could add them as fast.
    const CHANGES_MAX: usize = 100_000;
    /// The types of the file systems on which the kernel reports all changes, from its `magic.h`: ext4, XFS, Btrfs, tmpfs,
    /// F2FS, bcachefs and ZFS.
    const LOCAL_TYPES: [u64; 7] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0x0102_1994,
        0xf2f5_2010,
        0xca45_1a4e,
        0x2fc1_2fc1,
    ];

    fn is_local(folder: &OwnedFd) -> bool {
        // The type differs between platforms.
        #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
        let kind = fstatfs(folder).map(|stat| stat.f_type as u64);
        kind.is_ok_and(|kind| LOCAL_TYPES.contains(&(kind & 0xffff_ffff)))
    }

    /// The watched folders of one directory. Their watches end with it.
    pub struct DirectoryWatch {
        inotify: OwnedFd,
        folders_max: usize,
        folders: Mutex<WatchedPaths>,
    }

    #[derive(Default)]
    struct WatchedPaths {
        /// The path of each folder, by the number of its watch; `None` if the scan has found the folder at several paths.
        paths: HashMap<i32, Option<Vec<u8>>>,
        /// The watches of earlier scans. The present scan has not reached their folders yet.
        earlier: HashSet<i32>,
        /// Whether a folder could not be watched.
        has_failed: bool,
    }

    impl DirectoryWatch {
        /// Starts to watch a directory, without folders yet. Returns `None` if the file system may not report all changes,
        /// or the user has too many watches.
        pub fn start(top: &OwnedFd) -> Option<DirectoryWatch> {
            if !is_local(top) {
                return None;
            }
            let watches = fs::read_to_string(WATCHES_FILE).ok()?;
            let watches = watches.trim().parse::<usize>().ok()?;
            let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            Some(DirectoryWatch {
                inotify,
                folders_max: FOLDERS_MAX.min(watches / PART_OF_WATCHES),
                folders: Mutex::default(),
            })
        }

        /// Begins a scan of all folders. The changes until then are discarded.
        pub fn begin(&mut self) {
            self.changes();
            let folders = self.folders.get_mut();
            let folders = folders.unwrap_or_else(PoisonError::into_inner);
            let paths = mem::take(&mut folders.paths);
            // The scan before may have failed, so there may be others.
            folders.earlier.extend(paths.into_keys());
        }

        /// Watches a folder of the scan. Must come before its names are read, so that no change is missed.
        pub fn add(&self, folder: &OwnedFd, path: &[u8]) {
            let flags = WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            // Another file system can be mounted at the folder.
            if self.lock().paths.len() >= self.folders_max || !is_local(folder) {
                self.lock().has_failed = true;
                return;
            }
            // The open folder, not what has its path by now.
            let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
            let added = inotify::add_watch(&self.inotify, link, flags);
            let mut folders = self.lock();
            match added {
                Ok(number) => {
                    folders.earlier.remove(&number);
                    match folders.paths.entry(number) {
                        Entry::Vacant(entry) => drop(entry.insert(Some(path.to_vec()))),
                        Entry::Occupied(mut entry) => {
                            if entry.get().as_deref() != Some(path) {
                                entry.insert(None);
                            }
                        }
                    }
                }
                Err(_) => folders.has_failed = true,
            }
        }

        /// Ends a scan of all folders. Returns whether all of them are watched.
        pub fn end(&mut self) -> bool {
            let folders = self.folders.get_mut();
            let folders = folders.unwrap_or_else(PoisonError::into_inner);
            for number in folders.earlier.drain() {
                // Fails if the folder was removed.
                let _ = inotify::remove_watch(&self.inotify, number);
            }
            !folders.has_failed
        }

        /// Returns what has changed since the last call.
        pub fn changes(&mut self) -> FolderChanges {
            let folders = self.folders.get_mut();
            let folders = folders.unwrap_or_else(PoisonError::into_inner);
            let mut buffer = [MaybeUninit::uninit(); LIST_BUFFER];
            let mut list = Reader::new(&self.inotify, &mut buffer);
            let (mut changed, mut is_known) = (BTreeSet::new(), true);
            for _ in 0..CHANGES_MAX {
                let event = match list.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) if is_known => return FolderChanges::In(changed),
                    Err(_) => return FolderChanges::Unknown,
                };
                let what = event.events();
                if what.contains(ReadFlags::IGNORED) {
                    // The folder is gone, which was reported before.
                    folders.paths.remove(&event.wd());
                    continue;
                }
                // These decide about other folders too.
                let name = event.file_name().map(std::ffi::CStr::to_bytes);
                let is_special = name
                    .is_none_or(|name| name == b".gitignore" || name.eq_ignore_ascii_case(b".git"));
                let of_folders = ReadFlags::ISDIR
                    | ReadFlags::QUEUE_OVERFLOW
                    | ReadFlags::UNMOUNT
                    | ReadFlags::DELETE_SELF
                    | ReadFlags::MOVE_SELF;
                match folders.paths.get(&event.wd()) {
                    Some(Some(path)) if !is_special && !what.intersects(of_folders) => {
                        if !changed.contains(path) {
                            changed.insert(path.clone());
                        }
                    }
                    Some(_) | None => is_known = false,
                }
            }
            FolderChanges::Unknown
        }

        fn lock(&self) -> MutexGuard<'_, WatchedPaths> {
            self.folders.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Systems on which the changes cannot be read without a thread.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::os::fd::OwnedFd;

    use super::FolderChanges;

    pub enum NoDirectoryWatch {}

    impl NoDirectoryWatch {
        pub fn start(_: &OwnedFd) -> Option<NoDirectoryWatch> {
            None
        }

        pub fn begin(&mut self) {
            match *self {}
        }

        pub fn add(&self, _: &OwnedFd, _: &[u8]) {
            match *self {}
        }

        pub fn end(&mut self) -> bool {
            match *self {}
        }

        pub fn changes(&mut self) -> FolderChanges {
            match *self {}
        }
    }
}
