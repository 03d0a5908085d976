//! What an agent last saw of each file, so that it does not change what somebody else changed since.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::diff::{self, Extent};

/// Most files that are remembered; of more the oldest are forgotten, and so not checked.
const FILES_MAX: usize = 500;
/// Longest text that is kept to show what changed, in bytes.
const TEXT_MAX: usize = 128 * 1024;
/// Most bytes of all texts that are kept; of more the oldest are dropped, and their changes only noticed.
const TEXTS_MAX: usize = 1024 * 1024;
/// Most bytes of the diff in a refusal.
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
}

impl FileSnapshots {
    /// The agent has seen `content` in the file `path`.
    pub fn record(&self, path: PathBuf, content: &[u8]) {
        let text = (content.len() <= TEXT_MAX)
            .then(|| std::str::from_utf8(content).ok().map(str::to_string))
            .flatten();
        let mut files = self.lock();
        files.retain(|snapshot| snapshot.path != path);
        files.push_back(Snapshot {
            path,
            hash: hash(content),
            text,
        });
        if files.len() > FILES_MAX {
            files.pop_front();
        }
        let mut bytes = 0;
        for snapshot in files.iter_mut().rev() {
            bytes += snapshot.text.as_ref().map_or(0, String::len);
            if bytes > TEXTS_MAX {
                snapshot.text = None;
            }
        }
    }

    /// Whether the file still holds what the agent saw last; one that it never saw is not refused. `name` is the path as the
    /// agent wrote it. What a refusal shows whole counts as seen.
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
        let (shown, extent) = match before {
            Some(before) => diff::bounded(name, &before, now, SHOWN_MAX),
            None => (String::new(), Extent::Cut),
        };
        match extent {
            Extent::Whole => {
                self.record(path.to_path_buf(), now.as_bytes());
                Err(format!(
                    "{why} This changed:\n{shown}If your change still fits, make it again."
                ))
            }
            Extent::Cut => Err(format!(
                "{why} Read it again with read_file.{}{shown}",
                if shown.is_empty() {
                    ""
                } else {
                    " Part of what changed:\n"
                }
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Snapshot>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded() {
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
        // A text that was dropped is not shown, but the change is noticed.
        let why = snapshots.check(Path::new("10"), "10", "y").unwrap_err();
        assert!(why.contains("Read it again"), "{why}");
        assert_eq!(snapshots.check(Path::new("0"), "0", "y"), Ok(()));
    }
}
