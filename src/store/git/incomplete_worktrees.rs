//! Removes git's entries for worktrees whose creation was interrupted because git was killed. `git worktree list` fails as
//! long as such an entry exists.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum wait for a running git to write the `commondir` file that it has created. A busy machine can delay the
/// write.
const WAIT_MAX: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Removes git's entries for worktrees whose `commondir` file is empty. `common` is the git folder that holds the
/// entries. Git writes `commondir` before it checks anything out, so no work can be lost. Waits up to two seconds for a
/// running git that is about to write the file.
pub fn clear(common: &Path) {
    let until = Instant::now() + WAIT_MAX;
    let mut incomplete = entries(common);
    while !incomplete.is_empty() && Instant::now() < until {
        incomplete.retain(|entry| !is_old(entry) || fs::remove_dir_all(entry).is_err());
        std::thread::sleep(POLL_INTERVAL);
        let now = entries(common);
        incomplete.retain(|entry| now.contains(entry));
    }
    for entry in incomplete {
        // If this fails, the next git command fails with an error that names the entry.
        let _ = fs::remove_dir_all(entry);
    }
}

/// Returns whether the `commondir` file in the folder `entry` is at least [`WAIT_MAX`] old. Returns `false` if its age
/// is unknown.
fn is_old(entry: &Path) -> bool {
    let meta = fs::symlink_metadata(entry.join("commondir"));
    let age = meta.and_then(|m| m.modified()).ok().map(|at| at.elapsed());
    age.is_some_and(|age| age.is_ok_and(|age| age >= WAIT_MAX))
}

fn entries(common: &Path) -> Vec<PathBuf> {
    let Ok(all) = fs::read_dir(common.join("worktrees")) else {
        return Vec::new();
    };
    let is_incomplete = |entry: &PathBuf| {
        let link = fs::symlink_metadata(entry.join("commondir"));
        let is_empty = link.is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        // As long as there is no index, git has checked out nothing.
        is_empty && !entry.join("index").exists()
    };
    let all = all.filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(is_incomplete).collect()
}
