//! Runs a command of the settings, and stops it if it fills the disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{CommandSpec, JobReport, run};

/// Time between two looks at the free space of the disk while a command runs.
const DISK_INTERVAL: Duration = Duration::from_secs(1);

const MIB: u64 = 1024 * 1024;
/// Free space below which a running command is stopped, if more than [`USED_MIN`] has been used.
const FREE_MIN: u64 = 512 * MIB;
/// Space that must have been used since the command began. Without it, every command would be stopped on a disk that was
/// almost full before.
const USED_MIN: u64 = 64 * MIB;

/// How a command has ended that runs under [`run_watched`].
#[derive(Debug)]
pub struct WatchedRun {
    /// Fails as [`run`].
    pub report: std::io::Result<JobReport>,
    /// Whether the command was killed because the disk was almost full. Its report then says that it was cancelled.
    pub is_filling: bool,
}

/// Runs a job as [`run`] does, and kills it if the disk of its directory becomes almost full while it runs.
pub async fn run_watched(
    job: &CommandSpec,
    cancel: &CancellationToken,
    live: impl FnMut(&[u8]) + Send,
) -> WatchedRun {
    let stop = cancel.child_token();
    let disk = DiskWatch::start(&job.dir);
    let mut is_filling = false;
    let running = run(job, &stop, live);
    tokio::pin!(running);
    let report = loop {
        tokio::select! {
            biased;
            report = &mut running => break report,
            () = tokio::time::sleep(DISK_INTERVAL), if !is_filling => {
                if disk.is_filling() {
                    is_filling = true;
                    stop.cancel();
                }
            }
        }
    };
    WatchedRun { report, is_filling }
}

/// The free space on the disk of a folder when a command began.
#[derive(Debug)]
struct DiskWatch {
    dir: PathBuf,
    at_start: Option<u64>,
}

impl DiskWatch {
    fn start(dir: &Path) -> DiskWatch {
        DiskWatch {
            dir: dir.to_path_buf(),
            at_start: free(dir),
        }
    }

    /// Returns whether the disk is almost full and much of it was used since the start. False if the free space is
    /// unknown.
    fn is_filling(&self) -> bool {
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
    fn only_a_command_that_uses_the_last_space_is_stopped() {
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
