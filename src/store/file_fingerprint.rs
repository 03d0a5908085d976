//! File fingerprints: detect from metadata alone whether a file has changed since it was read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// The coarsest timestamp resolution of common file systems. Two changes within this time can have the same timestamps.
const TICK: Duration = Duration::from_secs(2);

/// Inode, size, `mtime` and `ctime` of a file. Programs cannot set `ctime`, so a change is detected even if a program
/// restores the old `mtime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileFingerprint {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileFingerprint {
    /// Returns the fingerprint of a file that is read at `now`, or `None` if the last change is so recent that a further
    /// change could leave the same metadata.
    pub fn of(meta: &Metadata, now: SystemTime) -> Option<FileFingerprint> {
        let fingerprint = FileFingerprint::from_metadata(meta);
        let seconds = u64::try_from(fingerprint.changed.0).ok()?;
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        // Dropping the fraction of a second makes a change look up to one second older.
        let age = now.duration_since(changed).ok()?;
        (age >= TICK + Duration::from_secs(1)).then_some(fingerprint)
    }

    /// Returns the fingerprint of a file that is only ever replaced as a whole by a rename. Each version of such a file has
    /// its own inode and time, so the fingerprint also tells recent changes apart.
    pub fn of_replaced(meta: &Metadata) -> FileFingerprint {
        FileFingerprint::from_metadata(meta)
    }

    pub fn matches(&self, meta: &Metadata) -> bool {
        *self == FileFingerprint::from_metadata(meta)
    }

    fn from_metadata(meta: &Metadata) -> FileFingerprint {
        FileFingerprint {
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
    fn fresh_file_has_no_fingerprint_and_a_change_alters_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "one").unwrap();
        let meta = fs::metadata(&path).unwrap();
        let now = SystemTime::now();
        assert_eq!(FileFingerprint::of(&meta, now), None);
        let later = now + TICK * 2;
        let fingerprint = FileFingerprint::of(&meta, later).unwrap();
        assert!(fingerprint.matches(&fs::metadata(&path).unwrap()));
        // The new file has the same size and the same mtime.
        let modified = meta.modified().unwrap();
        let other = dir.path().join("b");
        fs::write(&other, "two").unwrap();
        let file = fs::File::options().write(true).open(&other).unwrap();
        file.set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!fingerprint.matches(&fs::metadata(&path).unwrap()));
    }
}
