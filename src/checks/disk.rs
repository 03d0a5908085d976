//! Notices a check that fills the disk.

use std::path::{Path, PathBuf};

const MIB: u64 = 1024 * 1024;
/// Free space below which a running check is stopped, if it has used more than [`USED_MIN`].
const FREE_MIN: u64 = 512 * MIB;
/// Space that must have been used since the check began. Without it, every check would be stopped on a disk that was
/// almost full before.
const USED_MIN: u64 = 64 * MIB;

/// The free space on the disk of a folder when a check began.
#[derive(Debug)]
pub struct DiskWatch {
    dir: PathBuf,
    at_start: Option<u64>,
}

impl DiskWatch {
    pub fn start(dir: &Path) -> DiskWatch {
        DiskWatch {
            dir: dir.to_path_buf(),
            at_start: free(dir),
        }
    }

    /// Returns whether the disk is almost full and much of it was used since the start. False if the free space is
    /// unknown.
    pub fn is_filling(&self) -> bool {
        match (self.at_start, free(&self.dir)) {
            (Some(before), Some(now)) => is_filling(before, now),
            (None, _) | (_, None) => false,
        }
    }
}

fn is_filling(before: u64, now: u64) -> bool {
    now < FREE_MIN && before.saturating_sub(now) > USED_MIN
}

fn free(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_check_that_uses_the_last_space_is_stopped() {
        for (before, now, expected) in [
            (100_000 * MIB, 90_000 * MIB, false),
            (100_000 * MIB, 500 * MIB, true),
            // The disk was almost full before.
            (400 * MIB, 390 * MIB, false),
            (400 * MIB, 300 * MIB, true),
            (400 * MIB, 500 * MIB, false),
        ] {
            assert_eq!(is_filling(before, now), expected, "{before} {now}");
        }
        assert!(DiskWatch::start(Path::new("/")).at_start.is_some());
        assert!(!DiskWatch::start(Path::new("/nowhere")).is_filling());
    }
}
