//! The fingerprint of a file: what tells, without reading it, whether it is still the one that was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// How old a change must be before its times can be trusted: clocks of file systems tick coarsely, so two
/// changes within one tick look alike. Two seconds is the coarsest of those in use.
const TICK: Duration = Duration::from_secs(2);

/// Inode, size, and the times of the last change of content and of anything. The last one can not be set
/// by programs, so a copy with its old time is noticed as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Print {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Print {
    /// The fingerprint of a file that is read at `now`; `None` while a further change could look alike.
    pub fn of(meta: &Metadata, now: SystemTime) -> Option<Print> {
        let print = Print::raw(meta);
        let seconds = u64::try_from(print.changed.0).ok()?;
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        // The part of a second that was cut off makes a change look older than it is.
        let age = now.duration_since(changed).ok()?;
        (age >= TICK + Duration::from_secs(1)).then_some(print)
    }

    /// Whether the file is still the one that was read.
    pub fn fits(&self, meta: &Metadata) -> bool {
        *self == Print::raw(meta)
    }

    fn raw(meta: &Metadata) -> Print {
        Print {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_fresh_file_has_no_print_yet_and_a_changed_one_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "one").unwrap();
        let meta = fs::metadata(&path).unwrap();
        let now = SystemTime::now();
        assert_eq!(Print::of(&meta, now), None);
        let later = now + TICK * 2;
        let print = Print::of(&meta, later).unwrap();
        assert!(print.fits(&fs::metadata(&path).unwrap()));
        // Also with the same size and its old time of change.
        let modified = meta.modified().unwrap();
        let other = dir.path().join("b");
        fs::write(&other, "two").unwrap();
        let file = fs::File::options().write(true).open(&other).unwrap();
        file.set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!print.fits(&fs::metadata(&path).unwrap()));
    }
}
