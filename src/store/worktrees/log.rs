//! The log of worktree operations, `.worktrees/events.jsonl`: one line per event, in the format of learn-claude-code.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::Worktree;
use crate::store::{StoreError, regular_file};

/// Maximum size of the log, in bytes. A larger log is renamed to `events.1.jsonl` and replaces the previous file of
/// that name.
const LOG_MAX: u64 = 4 * 1024 * 1024;

/// The log of worktree operations. Writers hold the worktree lock.
#[derive(Debug)]
pub struct WorktreeLog {
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LastEvent {
    /// The event's tag, such as `worktree.merge.before`.
    pub event: String,
    pub at: Timestamp,
    /// The commit that was checked out when the event was recorded; `None` if the event does not record it.
    pub head: Option<String>,
}

/// A line of the log, except for its timestamp.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    event: &'static str,
    task: Value,
    worktree: Map<String, Value>,
    error: Option<String>,
}

impl LogEntry {
    /// Creates an entry for the event tag `event` with the current state of a worktree.
    pub fn of(event: &'static str, tree: &Worktree) -> LogEntry {
        let mut worktree = Map::new();
        worktree.insert("name".into(), tree.name.as_str().into());
        worktree.insert("path".into(), tree.path.as_str().into());
        worktree.insert("branch".into(), tree.branch.as_str().into());
        worktree.insert("status".into(), tree.status.to_string().into());
        if !tree.base_commit.is_empty() {
            let base = match tree.base.as_str() {
                "" => &tree.base_commit,
                base => base,
            };
            worktree.insert("base_ref".into(), base.into());
        }
        LogEntry {
            event,
            task: tree.task_id.map_or(json!({}), |id| json!({"id": id})),
            worktree,
            error: None,
        }
    }

    pub fn completion(tree: &Worktree) -> LogEntry {
        LogEntry {
            task: json!({"id": tree.task_id, "subject": tree.subject, "status": "completed"}),
            ..LogEntry::of("task.completed", tree)
        }
    }

    #[must_use]
    pub fn error(self, why: &str) -> LogEntry {
        LogEntry {
            error: Some(why.into()),
            ..self
        }
    }

    #[must_use]
    pub fn head(mut self, commit: &str) -> LogEntry {
        self.worktree.insert("head".into(), commit.into());
        self
    }

    /// Adds the paths of files to the entry: those in conflict, or those that were copied.
    #[must_use]
    pub fn files(mut self, files: &[String]) -> LogEntry {
        self.worktree.insert("files".into(), json!(files));
        self
    }
}

impl WorktreeLog {
    /// Returns the log in the folder `dir`, which is `.worktrees/`. Opens no file yet.
    pub fn open(dir: &Path) -> WorktreeLog {
        WorktreeLog {
            path: dir.join("events.jsonl"),
        }
    }

    /// Appends an entry to the log. The entry is not synced to disk.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn record(&self, note: LogEntry, now: Timestamp) -> Result<(), StoreError> {
        let mut line = json!({
            "event": note.event,
            "ts": now,
            "task": note.task,
            "worktree": note.worktree,
        });
        if let (Some(error), Some(object)) = (note.error, line.as_object_mut()) {
            object.insert("error".into(), error.into());
        }
        self.append(&line).map_err(StoreError::at(&self.path))
    }

    /// Returns the last event of each worktree. The key is the name of the worktree. Also reads the renamed log
    /// `events.1.jsonl`, because an operation can have begun before the log was renamed.
    ///
    /// # Errors
    /// When one of the two files exists and cannot be read.
    pub fn last_events(&self) -> Result<BTreeMap<String, LastEvent>, StoreError> {
        let mut text = String::new();
        for path in [&self.renamed_path(), &self.path] {
            match fs::read(path) {
                Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(StoreError::at(path)(e)),
            }
            // The last line may be incomplete.
            text.push('\n');
        }
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of = |line: Value| -> Option<(String, LastEvent)> {
            let name = line["worktree"]["name"].as_str()?.to_string();
            let last = LastEvent {
                event: line["event"].as_str()?.to_string(),
                at: Timestamp(line["ts"].as_f64().unwrap_or_default()),
                head: line["worktree"]["head"].as_str().map(String::from),
            };
            Some((name, last))
        };
        Ok(lines.filter_map(of).collect())
    }

    /// Returns the start times of the operations without a recorded end. The last operation on a worktree has no
    /// recorded end if the tag of the worktree's last event ends with `.before`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn interrupted_starts(&self) -> Result<Vec<Timestamp>, StoreError> {
        let last = self.last_events()?;
        let begun = last.values().filter(|last| last.event.ends_with(".before"));
        Ok(begun.map(|last| last.at).collect())
    }

    /// Returns the path to which the log is renamed when it is larger than [`LOG_MAX`].
    fn renamed_path(&self) -> PathBuf {
        self.path.with_file_name("events.1.jsonl")
    }

    fn append(&self, line: &Value) -> std::io::Result<()> {
        if fs::metadata(&self.path).is_ok_and(|meta| meta.len() > LOG_MAX) {
            fs::rename(&self.path, self.renamed_path())?;
        }
        let options = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .clone();
        let mut file = regular_file::open_with(&options, &self.path)?;
        let mut last = [b'\n'];
        let is_torn =
            file.seek(SeekFrom::End(-1)).is_ok() && file.read(&mut last).is_ok() && last != [b'\n'];
        // Ends a line that a crash truncated, so that the next entry starts on a new line.
        let start = if is_torn { "\n" } else { "" };
        file.write_all(format!("{start}{line}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::worktree::WorktreeName;
    use pretty_assertions::assert_eq;

    fn tree() -> Worktree {
        let name = WorktreeName::new("task-3").unwrap();
        Worktree {
            subject: "Write it".into(),
            base_commit: "abc".into(),
            ..Worktree::new(name, "/r/.worktrees/task-3".into(), Timestamp(1.0))
        }
    }

    #[test]
    fn lines_have_expected_fields_and_truncated_line_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        fs::write(&path, "{\"event\": \"half").unwrap();
        let log = WorktreeLog::open(dir.path());
        let failed = LogEntry::of("worktree.create.failed", &tree()).error("no room");
        log.record(failed, Timestamp(2.5)).unwrap();
        log.record(LogEntry::completion(&tree()), Timestamp(3.0))
            .unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "{\"event\": \"half");
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        assert_eq!(
            read(lines[1]),
            json!({
                "event": "worktree.create.failed", "ts": 2.5, "task": {"id": 3}, "error": "no room",
                "worktree": {
                    "name": "task-3", "path": "/r/.worktrees/task-3", "branch": "wt/task-3",
                    "status": "active", "base_ref": "abc",
                },
            })
        );
        assert_eq!(
            read(lines[2])["task"],
            json!({"id": 3, "subject": "Write it", "status": "completed"})
        );
    }

    #[test]
    fn interrupted_operation_is_found_after_the_log_was_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let log = WorktreeLog::open(dir.path());
        let begin = || LogEntry::of("worktree.merge.before", &tree());
        log.record(begin(), Timestamp(1.0)).unwrap();
        let size = usize::try_from(LOG_MAX).unwrap() + 1;
        let path = dir.path().join("events.jsonl");
        let mut long = fs::read(&path).unwrap();
        long.resize(size, b'\n');
        fs::write(&path, long).unwrap();
        let other = WorktreeName::new("task-4").unwrap();
        let other = Worktree::new(other, "/r/.worktrees/task-4".into(), Timestamp(1.0));
        log.record(LogEntry::of("worktree.keep", &other), Timestamp(2.0))
            .unwrap();
        assert!(dir.path().join("events.1.jsonl").exists());
        assert_eq!(log.interrupted_starts().unwrap(), [Timestamp(1.0)]);
        log.record(
            LogEntry::of("worktree.merge.after", &tree()),
            Timestamp(3.0),
        )
        .unwrap();
        assert_eq!(log.interrupted_starts().unwrap(), []);
    }

    #[test]
    fn long_log_is_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let size = usize::try_from(LOG_MAX).unwrap() + 1;
        fs::write(&path, vec![b'\n'; size]).unwrap();
        let log = WorktreeLog::open(dir.path());
        log.record(LogEntry::of("worktree.keep", &tree()), Timestamp(1.0))
            .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
        let old = fs::metadata(dir.path().join("events.1.jsonl")).unwrap();
        assert_eq!(old.len(), LOG_MAX + 1);
    }
}
