//! Worktrees that a git had only begun to make when it was killed: with one of them there, git lists none at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a git that still runs has to write what it has opened: a busy machine can hold it up there.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Clears the entries below `common` (the git folder that all worktrees share) whose link back was opened and never
/// written. Git writes it before it checks anything out, so nothing can be lost. A git that is about to write it gets
/// the time for that.
pub fn clear(common: &Path) {
    let until = Instant::now() + PATIENCE;
    let mut begun = entries(common);
    while !begun.is_empty() && Instant::now() < until {
        begun.retain(|entry| !is_old(entry) || fs::remove_dir_all(entry).is_err());
        std::thread::sleep(PAUSE);
        let now = entries(common);
        begun.retain(|entry| now.contains(entry));
    }
    for entry in begun {
        // What can not be removed, git names in its error.
        let _ = fs::remove_dir_all(entry);
    }
}

/// Whether its git had its time before this look.
fn is_old(entry: &Path) -> bool {
    let meta = fs::symlink_metadata(entry.join("commondir"));
    let age = meta.and_then(|m| m.modified()).ok().map(|at| at.elapsed());
    age.is_some_and(|age| age.is_ok_and(|age| age >= PATIENCE))
}

fn entries(common: &Path) -> Vec<PathBuf> {
    let Ok(all) = fs::read_dir(common.join("worktrees")) else {
        return Vec::new();
    };
    let is_begun = |entry: &PathBuf| {
        let link = fs::symlink_metadata(entry.join("commondir"));
        let is_empty = link.is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        // Nothing is checked out where there is no list of what is.
        is_empty && !entry.join("index").exists()
    };
    let all = all.filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(is_begun).collect()
}
