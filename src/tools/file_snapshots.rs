//! Remembers the content of files as an agent last saw them, so that the agent does not overwrite later changes by
//! others.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::diff;
use crate::domain::conversation::SeenFile;

/// Maximum number of files to remember. Beyond it, the oldest ones are forgotten, and changes to these files are not
/// detected any more.
const FILES_MAX: usize = 500;
/// Maximum size, in bytes, of a file whose text is remembered. Of a larger file, only a hash is remembered: changes are
/// detected but not shown.
const TEXT_MAX: usize = 128 * 1024;
/// Maximum size, in bytes, of all remembered texts together. Beyond it, the oldest texts are dropped: changes to their
/// files are still detected but not shown.
const TEXTS_MAX: usize = 1024 * 1024;
/// Maximum size, in bytes, of the diff in the error about a changed file. If the diff is longer, the error shows a part
/// of it, and the agent must read the file again.
const SHOWN_MAX: usize = 4 * 1024;

/// The files that one agent has read or written, as it last saw them.
#[derive(Debug, Default)]
pub struct FileSnapshots {
    files: Mutex<VecDeque<Snapshot>>,
}

#[derive(Debug)]
struct Snapshot {
    path: PathBuf,
    hash: u64,
    text: Option<String>,
    /// Whether the agent's log already contains this path with this hash.
    is_saved: bool,
}

impl Snapshot {
    /// Converts the snapshot to the path and hash that the agent's log stores; `None` if the path is not UTF-8.
    fn to_seen_file(&self) -> Option<SeenFile> {
        Some(SeenFile {
            path: self.path.to_str()?.into(),
            hash: self.hash,
        })
    }
}

impl FileSnapshots {
    /// Records `content` as what the agent last saw in the file `path`, which is an absolute path from
    /// `Workspace::key`.
    pub fn record(&self, path: PathBuf, content: &[u8]) {
        let text = (content.len() <= TEXT_MAX)
            .then(|| std::str::from_utf8(content).ok().map(str::to_string))
            .flatten();
        let mut files = self.lock();
        let hash = hash(content);
        let is_same = |old: &Snapshot| old.path == path && old.hash == hash;
        let is_saved = files.iter().any(|old| old.is_saved && is_same(old));
        push(
            &mut files,
            Snapshot {
                path,
                hash,
                text,
                is_saved,
            },
        );
        let mut bytes = 0;
        for snapshot in files.iter_mut().rev() {
            bytes += snapshot.text.as_ref().map_or(0, String::len);
            if bytes > TEXTS_MAX {
                snapshot.text = None;
            }
        }
    }

    /// Checks that a file is unchanged since the agent last saw it. `path` is the path under which the file was
    /// recorded, `now` is the current content, and `name` is the path as the agent wrote it. A file that the agent has
    /// never seen, or that was forgotten, passes the check. If the error shows the whole change, `now` is recorded as
    /// what the agent last saw.
    ///
    /// # Errors
    /// Text for the model: what changed, or that the file must be read again.
    pub fn check(&self, path: &Path, name: &str, now: &str) -> Result<(), String> {
        let before = {
            let files = self.lock();
            match files.iter().find(|snapshot| snapshot.path == path) {
                Some(snapshot) if snapshot.hash != hash(now.as_bytes()) => snapshot.text.clone(),
                Some(_) | None => return Ok(()),
            }
        };
        let why = format!("{name} changed since you last read it, so nothing was written.");
        let (shown, is_complete) = match before {
            Some(before) => diff::format_limited(name, &before, now, SHOWN_MAX),
            None => (String::new(), false),
        };
        if is_complete {
            self.record(path.to_path_buf(), now.as_bytes());
            return Err(format!(
                "{why} What changed:\n{shown}If your change still applies, repeat the call."
            ));
        }
        Err(format!(
            "{why} Read it again with read_file.{}{shown}",
            if shown.is_empty() {
                ""
            } else {
                " Part of what changed:\n"
            }
        ))
    }

    /// Returns the files that are not in the agent's log yet, and marks them as saved: the caller must write them to
    /// the log. Leaves out files whose path is not UTF-8.
    pub fn take_unsaved(&self) -> Vec<SeenFile> {
        let mut files = self.lock();
        let unsaved = files.iter_mut().filter(|snapshot| !snapshot.is_saved);
        unsaved
            .filter_map(|snapshot| {
                snapshot.is_saved = true;
                snapshot.to_seen_file()
            })
            .collect()
    }

    /// Returns all remembered files, beginning with the one that the agent has not seen for longest. Leaves out files
    /// whose path is not UTF-8.
    pub fn seen_files(&self) -> Vec<SeenFile> {
        self.lock()
            .iter()
            .filter_map(Snapshot::to_seen_file)
            .collect()
    }

    /// Adds files that the agent saw before a restart, oldest first. Their texts are unknown, so changes to them are
    /// detected but not shown.
    pub fn restore(&self, seen: Vec<SeenFile>) {
        let mut files = self.lock();
        for SeenFile { path, hash } in seen {
            push(
                &mut files,
                Snapshot {
                    path: path.into(),
                    hash,
                    text: None,
                    is_saved: true,
                },
            );
        }
    }

    /// Forgets all files and adds those that the agent had seen at an earlier time, as [`FileSnapshots::restore`] does.
    pub fn replace(&self, seen: Vec<SeenFile>) {
        self.lock().clear();
        self.restore(seen);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Snapshot>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds `snapshot` as the newest one. It replaces an older one of the same file.
fn push(files: &mut VecDeque<Snapshot>, snapshot: Snapshot) {
    files.retain(|old| old.path != snapshot.path);
    files.push_back(snapshot);
    if files.len() > FILES_MAX {
        files.pop_front();
    }
}

/// Returns a hash of the content. It is stored in logs, so it must be the same in all releases.
fn hash(content: &[u8]) -> u64 {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    let first = digest.as_ref().first_chunk().copied();
    u64::from_be_bytes(first.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_files_and_texts_are_bounded() {
        let snapshots = FileSnapshots::default();
        let text = "x".repeat(TEXT_MAX);
        for n in 0..FILES_MAX + 10 {
            snapshots.record(PathBuf::from(n.to_string()), text.as_bytes());
        }
        let files = snapshots.lock();
        assert_eq!(files.len(), FILES_MAX);
        let kept: usize = files
            .iter()
            .filter_map(|s| s.text.as_ref())
            .map(String::len)
            .sum();
        assert!(kept <= TEXTS_MAX, "{kept}");
        drop(files);
        // The remembered text was dropped, so the change is detected but not shown.
        let why = snapshots.check(Path::new("10"), "10", "y").unwrap_err();
        assert!(why.contains("Read it again"), "{why}");
        assert_eq!(snapshots.check(Path::new("0"), "0", "y"), Ok(()));
    }
}
