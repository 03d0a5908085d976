//! Computes a fingerprint of everything that an agent's work can change: files, commits, board and messages. Computed
//! only at compactions and for agents that seem to make no progress.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::store::walk::project_files;

/// Maximum number of files that go into the hash.
const FILES_MAX: usize = 100_000;
/// Maximum number of bytes that are read from all files together. For files beyond this limit, the hash includes only
/// size and modification time.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum time by which a file system may record the modification time of a file too early, because its clock is
/// coarse.
const COARSE: Duration = Duration::from_secs(2);

/// Returns a hash of everything that an agent can change: the files below `workdir` that git does not ignore, the
/// commits there, and the crew's board, messages and requests below `root`. A file that was modified after `since` is
/// hashed by content, so the hash stays the same if the file is rewritten with the same content. Of an older file, only
/// path and size are hashed. If there are more than `FILES_MAX` files, the rest is ignored.
pub fn work_state(root: &Path, workdir: &Path, since: SystemTime) -> u64 {
    let mut hash = DefaultHasher::new();
    files_state(workdir, since).hash(&mut hash);
    for folder in [".tasks", ".team/inbox", ".team/requests"] {
        for file in state_files(&root.join(folder)) {
            file.hash(&mut hash);
            stamp(&file).hash(&mut hash);
        }
    }
    hash.finish()
}

/// Returns a hash of the files below `workdir` and the commits there, as in [`work_state`].
pub fn files_state(workdir: &Path, since: SystemTime) -> u64 {
    let mut hash = DefaultHasher::new();
    let since = since.checked_sub(COARSE).unwrap_or(since);
    let mut left = BYTES_MAX;
    let walk = project_files(workdir).build();
    for entry in walk.flatten().take(FILES_MAX) {
        if !entry.file_type().is_some_and(|t| t.is_file()) {
            continue;
        }
        let path = entry.path();
        path.hash(&mut hash);
        let Ok(meta) = entry.metadata() else { continue };
        meta.len().hash(&mut hash);
        let is_old = meta.modified().is_ok_and(|at| at < since);
        if is_old {
            continue;
        }
        // For files beyond the limit of bytes, the modification time is hashed instead of the content.
        let bytes = (meta.len() <= left).then(|| std::fs::read(path).ok());
        match bytes.flatten() {
            Some(bytes) => {
                left -= meta.len();
                bytes.hash(&mut hash);
            }
            None => meta.modified().ok().hash(&mut hash),
        }
    }
    // Git's log of `HEAD` has one line for each commit, merge and checkout.
    if let Ok(git) = git_folder(workdir) {
        stamp(&git.join("logs/HEAD")).hash(&mut hash);
    }
    hash.finish()
}

/// Returns the size and the modification time of a file; `None` if they cannot be read.
fn stamp(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.len(), meta.modified().ok()))
}

/// Returns the paths of the data files (`.json`, `.jsonl`) directly in the state directory `folder`, sorted. Leaves out
/// hidden files, such as lock and cursor files. Empty if `folder` cannot be read.
fn state_files(folder: &Path) -> Vec<PathBuf> {
    let is_record = |path: &Path| {
        let is_hidden = |name: &str| name.starts_with('.');
        path.extension()
            .is_some_and(|e| e == "json" || e == "jsonl")
            && !path
                .file_name()
                .is_some_and(|n| is_hidden(&n.to_string_lossy()))
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_record(path))
        .collect();
    files.sort();
    files
}

/// Returns the git directory of a work directory. In a worktree, `.git` is a file that contains the path of the git
/// directory. Fails if there is no `.git`.
fn git_folder(workdir: &Path) -> io::Result<PathBuf> {
    let git = workdir.join(".git");
    if git.is_dir() {
        return Ok(git);
    }
    let named = std::fs::read_to_string(&git)?;
    let named = named.trim().trim_start_matches("gitdir:").trim();
    Ok(workdir.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_real_changes_change_the_fingerprint() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let state = || work_state(root, root, SystemTime::UNIX_EPOCH);
        write(".gitignore", "target\n");
        write("src/a.rs", "one");
        write(".tasks/task_1.json", "{}");
        let first = state();
        assert_eq!(state(), first);
        // These files are written again unchanged, ignored by git, or files of the session.
        write("src/a.rs", "one");
        write("target/out", "built");
        write(".transcripts/lead.jsonl", "words");
        write(".crewdeck/sessions/1/journal.jsonl", "words");
        write(".team/inbox/.lead.lock", "1");
        assert_eq!(state(), first);
        let mut last = first;
        for (path, text) in [
            ("src/a.rs", "two"),
            ("src/b.rs", "one"),
            (".tasks/task_2.json", "{}"),
            (".team/inbox/lead.jsonl", "{}\n"),
            (".team/requests/1.json", "{}"),
            (".git/logs/HEAD", "commit\n"),
        ] {
            write(path, text);
            let now = state();
            assert_ne!(now, last, "{path}");
            last = now;
        }
        fs::remove_file(root.join("src/b.rs")).unwrap();
        assert_ne!(state(), last);
    }

    #[test]
    fn git_directory_of_a_worktree_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join(".git"), "gitdir: ../main/.git/worktrees/work\n").unwrap();
        let before = work_state(dir.path(), &work, SystemTime::UNIX_EPOCH);
        let logs = dir.path().join("main/.git/worktrees/work/logs");
        fs::create_dir_all(&logs).unwrap();
        fs::write(logs.join("HEAD"), "commit\n").unwrap();
        let after = work_state(dir.path(), &work, SystemTime::UNIX_EPOCH);
        assert_ne!(before, after);
    }
}
