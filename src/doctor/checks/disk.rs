//! Room on the disk where the state lies.

use crate::doctor::words::size;
use crate::doctor::{Finding, Place};

const CHECK: &str = "disk";
/// Below this, work can not go on for long: worktrees and records grow.
const FEW: u64 = 1024 * 1024 * 1024;
/// Below this, the next write may fail.
const NONE: u64 = 32 * 1024 * 1024;

/// Looks at the disk.
pub fn look(place: &Place) -> Vec<Finding> {
    vec![match rustix::fs::statvfs(&place.root) {
        Ok(found) => judge(
            found.f_bavail.saturating_mul(found.f_frsize),
            found.f_favail,
        ),
        Err(why) => Finding::warn(
            CHECK,
            format!("the room on the disk is not known: {why}"),
            "see that there is some: df -h .",
        ),
    }]
}

fn judge(free: u64, files: u64) -> Finding {
    let text = format!("{} free", size(free));
    let remedy = "make room; crewdeck worktree list shows how large the worktrees are";
    // Some file systems count no files and say 0; they then have room in any case.
    let few_files = (1..1000).contains(&files);
    if free < NONE {
        Finding::fail(
            CHECK,
            format!("{text}: nothing more can be written"),
            remedy,
        )
    } else if free < FEW || few_files {
        Finding::warn(
            CHECK,
            format!("{text}, {files} more files: that may not last"),
            remedy,
        )
    } else {
        Finding::ok(CHECK, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_full_disk_is_told_in_time() {
        for (free, files, level) in [
            (FEW, 0, Level::Ok),
            (FEW, 5_000_000, Level::Ok),
            (FEW, 12, Level::Warn),
            (FEW - 1, 5_000_000, Level::Warn),
            (0, 5_000_000, Level::Fail),
        ] {
            assert_eq!(judge(free, files).level, level, "{free} {files}");
        }
    }
}
