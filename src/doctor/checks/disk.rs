//! Checks the free disk space for the crew's state.

use crate::doctor::units::size;
use crate::doctor::{DoctorContext, Finding};

const CHECK: &str = "disk";
/// If fewer bytes than this are free, the check warns, because growing worktrees and records may soon fill the disk.
const LOW: u64 = 1024 * 1024 * 1024;
/// If fewer inodes than this are free, the check warns.
const INODES_LOW: u64 = 1000;
/// If fewer bytes than this are free, the check fails, because the next write may fail.
const CRITICAL: u64 = 32 * 1024 * 1024;

/// Checks the free space and the free inodes of the file system that contains the root.
pub fn run(context: &DoctorContext) -> Vec<Finding> {
    vec![match rustix::fs::statvfs(&context.root) {
        Ok(found) => evaluate(
            found.f_bavail.saturating_mul(found.f_frsize),
            (found.f_files > 0).then_some(found.f_favail),
        ),
        Err(why) => Finding::warn(
            CHECK,
            format!("cannot determine the free disk space: {why}"),
            "check it yourself: df -h .",
        ),
    }]
}

/// Grades `free` bytes and the number of free inodes. `inodes` is `None` if the file system has no inode limit; such a
/// file system reports a total of 0 inodes.
fn evaluate(free: u64, inodes: Option<u64>) -> Finding {
    let text = format!("{} free", size(free));
    let remedy =
        "free some disk space; crewdeck worktree list --sizes shows the sizes of the worktrees";
    let few_inodes = inodes.is_some_and(|inodes| inodes < INODES_LOW);
    let inodes = inodes.map_or(String::new(), |inodes| format!(", {inodes} free inodes"));
    if free < CRITICAL {
        Finding::fail(CHECK, format!("{text}: the disk is full"), remedy)
    } else if free < LOW || few_inodes {
        Finding::warn(
            CHECK,
            format!("{text}{inodes}: the disk may fill up soon"),
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
    fn low_disk_space_is_a_warning_and_a_full_disk_a_failure() {
        for (free, inodes, level) in [
            (LOW, None, Level::Ok),
            (LOW, Some(5_000_000), Level::Ok),
            (LOW, Some(12), Level::Warn),
            (LOW, Some(0), Level::Warn),
            (LOW - 1, Some(5_000_000), Level::Warn),
            (0, Some(5_000_000), Level::Fail),
        ] {
            assert_eq!(evaluate(free, inodes).level, level, "{free} {inodes:?}");
        }
    }

    #[test]
    fn missing_inode_limit_is_not_shown_as_no_free_inodes() {
        let text = evaluate(LOW - 1, None).text;
        assert!(!text.contains("inodes"), "{text}");
        let text = evaluate(LOW, Some(12)).text;
        assert!(text.contains("12 free inodes"), "{text}");
    }
}
