//! The results of checks by content, so that no check runs twice on the same content, and the logs of the checks. Both
//! are in `.crewdeck/checks/`, which commands of agents cannot write.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{StoreError, atomic, regular_file};
use crate::domain::checks::CheckOutcome;
use crate::domain::timestamp::Timestamp;

/// The folder of the results and logs, relative to the project root.
const FOLDER: &str = ".crewdeck/checks";
/// Maximum size of the log of one check, in bytes: half from the start of the output, half from its end.
pub const CHECK_LOG_MAX: usize = 512 * 1024;
/// Maximum size of a file with a result, in bytes.
const RESULT_MAX: u64 = 64 * 1024;
/// Maximum number of results. The oldest are deleted. High, because a branch is merged automatically only as long as its
/// results are there.
const RESULTS_MAX: usize = 2000;
/// Maximum number of logs. The oldest are deleted.
const LOGS_MAX: usize = 200;
/// The version of [`CheckKey`], which is the first field of the hash.
const KEY_VERSION: &str = "crewdeck check 1";

/// Identifies a command on a content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CheckKey(String);

impl CheckKey {
    /// Returns the key of the command `run` on the content with the hash `tree`.
    fn new(run: &str, tree: &str) -> CheckKey {
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        for field in [KEY_VERSION, run, tree] {
            hash.update(&(field.len() as u64).to_be_bytes());
            hash.update(field.as_bytes());
        }
        let sum = hash.finish();
        let mut key = String::new();
        for byte in sum.as_ref().iter().take(16) {
            key.push_str(&format!("{byte:02x}"));
        }
        CheckKey(key)
    }
}

/// A result that holds for a content: green or red.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredCheck {
    /// The command and the content, for readers of the file and against a collision of keys.
    pub run: String,
    pub tree: String,
    pub outcome: CheckOutcome,
    pub at: Timestamp,
    pub seconds: f64,
    /// The log, relative to the project root; empty if it could not be written.
    pub log: String,
    /// The failing part of the output; empty for a green check.
    pub excerpt: String,
}

/// The results and logs of the checks of a project.
#[derive(Debug, Clone)]
pub struct CheckStore {
    root: PathBuf,
}

impl CheckStore {
    /// Returns the store of the project in `root`. Reads nothing yet.
    pub fn open(root: &Path) -> CheckStore {
        CheckStore {
            root: root.to_path_buf(),
        }
    }

    /// Returns a short text that identifies the command `run` on the content `tree`, for names of files.
    pub fn key(run: &str, tree: &str) -> String {
        CheckKey::new(run, tree).0
    }

    /// Returns the result of the command `run` on the content `tree`; `None` if there is none, or if its file cannot be
    /// used, so that the check runs again.
    pub fn find(&self, run: &str, tree: &str) -> Option<StoredCheck> {
        let path = self.result_path(&CheckKey::new(run, tree));
        let bytes = regular_file::read(&path, RESULT_MAX).ok()?;
        let stored: StoredCheck = serde_json::from_slice(&bytes).ok()?;
        let is_final = matches!(stored.outcome, CheckOutcome::Green | CheckOutcome::Red);
        (is_final && stored.run == run && stored.tree == tree).then_some(stored)
    }

    /// Stores a result.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, stored: &StoredCheck) -> Result<(), StoreError> {
        self.prepare()?;
        let path = self.result_path(&CheckKey::new(&stored.run, &stored.tree));
        atomic::write(&path, &serde_json::to_vec_pretty(stored)?)?;
        self.sweep("json", RESULTS_MAX);
        self.sweep("log", LOGS_MAX);
        Ok(())
    }

    /// Deletes the result of the command `run` on the content `tree`, so that the check runs again.
    ///
    /// # Errors
    /// When the file cannot be deleted. A missing file is no error.
    pub fn forget(&self, run: &str, tree: &str) -> Result<(), StoreError> {
        let path = self.result_path(&CheckKey::new(run, tree));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::at(path)(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the output of the command `run` on the content `tree`. Returns the path of the log, relative to the project
    /// root.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_log(&self, run: &str, tree: &str, output: &str) -> Result<String, StoreError> {
        self.prepare()?;
        let log = format!("{FOLDER}/{}.log", CheckKey::new(run, tree).0);
        atomic::write(&self.root.join(&log), output.as_bytes())?;
        Ok(log)
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let folder = self.root.join(FOLDER);
        fs::create_dir_all(&folder).map_err(StoreError::at(folder))
    }

    fn result_path(&self, key: &CheckKey) -> PathBuf {
        self.root.join(FOLDER).join(format!("{}.json", key.0))
    }

    /// Deletes the oldest files with the extension `extension`, so that at most `max` are left. What cannot be deleted
    /// stays.
    fn sweep(&self, extension: &str, max: usize) {
        let mut files = self.files(extension);
        files.sort();
        let surplus = files.len().saturating_sub(max);
        for (_, path) in files.drain(..surplus) {
            let _ = fs::remove_file(path);
        }
    }

    fn files(&self, extension: &str) -> Vec<(SystemTime, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.root.join(FOLDER)) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == extension))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(run: &str, tree: &str, outcome: CheckOutcome) -> StoredCheck {
        StoredCheck {
            run: run.into(),
            tree: tree.into(),
            outcome,
            at: Timestamp(1.0),
            seconds: 2.5,
            log: String::new(),
            excerpt: String::new(),
        }
    }

    #[test]
    fn results_are_found_by_command_and_content() {
        let dir = tempfile::tempdir().unwrap();
        let store = CheckStore::open(dir.path());
        assert_eq!(store.find("make", "t1"), None);
        let green = stored("make", "t1", CheckOutcome::Green);
        store.save(&green).unwrap();
        assert_eq!(store.find("make", "t1"), Some(green));
        assert_eq!(store.find("make", "t2"), None);
        assert_eq!(store.find("make test", "t1"), None);
        store.forget("make", "t1").unwrap();
        store.forget("make", "t1").unwrap();
        assert_eq!(store.find("make", "t1"), None);
    }

    #[test]
    fn damaged_or_unfinished_results_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let store = CheckStore::open(dir.path());
        store
            .save(&stored("make", "t", CheckOutcome::Running))
            .unwrap();
        assert_eq!(store.find("make", "t"), None);
        let path = store.result_path(&CheckKey::new("make", "t"));
        fs::write(path, "{half").unwrap();
        assert_eq!(store.find("make", "t"), None);
    }

    #[test]
    fn old_results_and_logs_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let store = CheckStore::open(dir.path());
        for n in 0..LOGS_MAX + 5 {
            let tree = n.to_string();
            store.write_log("make", &tree, "x").unwrap();
            store
                .save(&stored("make", &tree, CheckOutcome::Green))
                .unwrap();
        }
        // A result is smaller than a log, and stays longer.
        assert_eq!(store.files("json").len(), LOGS_MAX + 5);
        assert_eq!(store.files("log").len(), LOGS_MAX);
        store.sweep("json", 10);
        assert_eq!(store.files("json").len(), 10);
        let last = (LOGS_MAX + 4).to_string();
        assert!(store.find("make", &last).is_some());
    }
}
