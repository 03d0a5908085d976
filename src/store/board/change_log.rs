//! The change log of a board, stored in the lock file `.tasks/.lock`. It lists the tasks that the last writers changed,
//! so that other processes read only the files of these tasks.
//!
//! ```text
//! crewdeck 1a2b-18f3        epoch: process and time of creation; logs of different epochs cannot be compared
//! 12 3 4                    change 12 concerns tasks 3 and 4
//! 11 *                      change 11 concerns too many tasks to list
//! end
//! ```
//! A writer holds the lock and writes first the log, then the task files. If it is killed in between, the log already
//! lists all tasks that it may have written. If the log cannot be parsed, a reader checks all tasks.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use super::super::regular_file;
use super::task_set::TaskSet;
use crate::domain::ids::TaskId;

/// Maximum size of the log, in bytes. The oldest changes that do not fit are dropped.
const BYTES_MAX: usize = 4096;
/// Maximum length in bytes of the epoch, the id of a log. A log with a longer epoch is invalid, because the epoch would
/// leave no room for changes.
const EPOCH_MAX: usize = 64;
/// Maximum number of tasks that are listed for one change. If a change concerns more tasks, it is recorded as a change
/// of all tasks.
const IDS_MAX: usize = 128;

/// A point in the change history of a board: the id of the change log, and the number of the last change before that
/// point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    epoch: String,
    change: u64,
}

impl Revision {
    /// Returns whether this revision contains all changes up to `other`. Returns `false` if the revisions belong to
    /// different logs.
    pub(super) fn includes(&self, other: &Revision) -> bool {
        self.epoch == other.epoch && self.change >= other.change
    }
}

/// The last changes of the board, each with the tasks that it concerned. The log is stored in the lock file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChangeLog {
    revision: Revision,
    /// The changed tasks, one set for each of the last changes, newest first.
    changes: Vec<TaskSet>,
}

impl ChangeLog {
    /// Reads the log from the lock file. Returns `None` if there is no valid log.
    pub(super) fn read(file: &File) -> Option<ChangeLog> {
        let mut bytes = [0; BYTES_MAX];
        let mut filled = 0;
        loop {
            match file.read_at(&mut bytes[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(_) => return None,
            }
        }
        ChangeLog::parse(std::str::from_utf8(&bytes[..filled]).ok()?)
    }

    /// Reads the log from the lock file at the path `lock`, without holding the lock. Returns `None` if the file cannot
    /// be opened or contains no valid log.
    pub(super) fn peek(lock: &Path) -> Option<ChangeLog> {
        ChangeLog::read(&regular_file::open(lock).ok()?)
    }

    /// Returns an empty log with a new id (epoch).
    pub(super) fn empty() -> ChangeLog {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        ChangeLog {
            revision: Revision {
                epoch: format!("{:x}-{nanos:x}", std::process::id()),
                change: 0,
            },
            changes: Vec::new(),
        }
    }

    /// Returns the revision after the last change.
    pub(super) fn revision(&self) -> &Revision {
        &self.revision
    }

    /// Returns the revision before the last change. The files of the last change may not be completely on disk yet. The
    /// files of all earlier changes are, because only one process writes at a time.
    pub(super) fn revision_before_last(&self) -> Revision {
        Revision {
            epoch: self.revision.epoch.clone(),
            change: self.revision.change.saturating_sub(1),
        }
    }

    /// Returns the tasks that may have changed since `revision`. Returns all tasks if the log does not contain all
    /// changes since then.
    pub(super) fn changed_since(&self, revision: Option<&Revision>) -> TaskSet {
        let known =
            revision.filter(|m| m.epoch == self.revision.epoch && m.change <= self.revision.change);
        let missed = known
            .and_then(|m| usize::try_from(self.revision.change - m.change).ok())
            .and_then(|missed| self.changes.get(..missed));
        let mut all = BTreeSet::new();
        for which in missed.unwrap_or(&[TaskSet::All]) {
            match which {
                TaskSet::All => return TaskSet::All,
                TaskSet::These(ids) => all.extend(ids),
            }
        }
        TaskSet::These(all)
    }

    /// Adds a change of the tasks `ids` and writes the log to `file`, the lock file.
    pub(super) fn append(&mut self, ids: &[TaskId], file: &File) -> std::io::Result<()> {
        self.add(ids);
        self.write(file)
    }

    /// Adds a change that may concern every task, and writes the log to `file`, the lock file. Every process then lists
    /// the whole folder before its next change.
    pub(super) fn append_all(&mut self, file: &File) -> std::io::Result<()> {
        self.add_set(TaskSet::All);
        self.write(file)
    }

    fn write(&mut self, file: &File) -> std::io::Result<()> {
        let text = self.text();
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }

    fn add(&mut self, ids: &[TaskId]) {
        self.add_set(if ids.len() <= IDS_MAX {
            TaskSet::These(ids.iter().copied().collect())
        } else {
            TaskSet::All
        });
    }

    fn add_set(&mut self, which: TaskSet) {
        self.revision.change += 1;
        self.changes.insert(0, which);
    }

    /// Returns the log as text and drops the oldest changes that do not fit into `BYTES_MAX`.
    fn text(&mut self) -> String {
        const END: &str = "end\n";
        let mut text = format!("crewdeck {}\n", self.revision.epoch);
        for (back, which) in self.changes.iter().enumerate() {
            let mut line = (self.revision.change - back as u64).to_string();
            match which {
                TaskSet::All => line.push_str(" *"),
                TaskSet::These(ids) => ids
                    .iter()
                    .for_each(|id| line.push_str(&format!(" {}", id.0))),
            }
            if text.len() + line.len() + 1 + END.len() > BYTES_MAX {
                self.changes.truncate(back);
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        text.push_str(END);
        text
    }

    fn parse(text: &str) -> Option<ChangeLog> {
        let mut lines = text.lines();
        let epoch = lines.next()?.strip_prefix("crewdeck ")?.to_string();
        if epoch.len() > EPOCH_MAX {
            return None;
        }
        let mut newest = None;
        let mut changes = Vec::new();
        for line in lines {
            if line == "end" {
                let change = newest.unwrap_or(0);
                let revision = Revision { epoch, change };
                return Some(ChangeLog { revision, changes });
            }
            let mut words = line.split(' ');
            let number: u64 = words.next()?.parse().ok()?;
            let newest = *newest.get_or_insert(number);
            // The numbers of the changes must descend by one. `u64::MAX` is invalid, because no number can follow it.
            if newest == u64::MAX || newest.checked_sub(changes.len() as u64) != Some(number) {
                return None;
            }
            let mut ids = BTreeSet::new();
            let mut is_all = false;
            for word in words {
                match word {
                    "*" => is_all = true,
                    id => _ = ids.insert(TaskId(id.parse().ok()?)),
                }
            }
            changes.push(if is_all {
                TaskSet::All
            } else {
                TaskSet::These(ids)
            });
        }
        // No `end` line: a writer was killed while it wrote the log.
        None
    }
}

/// Parses a log, adds one change and returns the new text, or `None` if the log is invalid. For fuzzing.
pub(crate) fn rewrite_change_log(text: &str) -> Option<String> {
    let mut log = ChangeLog::parse(text)?;
    log.add(&[TaskId(1)]);
    Some(log.text())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn these(ids: &[u64]) -> TaskSet {
        TaskSet::These(ids.iter().copied().map(TaskId).collect())
    }

    #[test]
    fn changed_since_returns_the_tasks_of_missed_changes() {
        let file = tempfile::tempfile().unwrap();
        let mut log = ChangeLog::empty();
        let mut revisions = vec![log.revision().clone()];
        for ids in [&[1, 2][..], &[3], &[2, 9]] {
            let ids: Vec<TaskId> = ids.iter().copied().map(TaskId).collect();
            log.append(&ids, &file).unwrap();
            revisions.push(log.revision().clone());
        }
        let read = ChangeLog::read(&file).unwrap();
        assert_eq!(read, log);
        let since: Vec<TaskSet> = revisions
            .iter()
            .map(|m| read.changed_since(Some(m)))
            .collect();
        assert_eq!(
            since,
            [
                these(&[1, 2, 3, 9]),
                these(&[2, 3, 9]),
                these(&[2, 9]),
                these(&[])
            ]
        );
        assert_eq!(read.changed_since(None), TaskSet::All);
        let other = ChangeLog::empty();
        assert_eq!(read.changed_since(Some(other.revision())), TaskSet::All);
        let ahead = Revision {
            change: 9,
            ..read.revision().clone()
        };
        assert_eq!(read.changed_since(Some(&ahead)), TaskSet::All);
    }

    #[test]
    fn log_stays_small_and_old_revisions_need_a_full_refresh() {
        let file = tempfile::tempfile().unwrap();
        let mut log = ChangeLog::empty();
        let first = log.revision().clone();
        for n in 0..2000 {
            log.append(&[TaskId(n), TaskId(n + 1)], &file).unwrap();
        }
        assert!(file.metadata().unwrap().len() <= BYTES_MAX as u64);
        let read = ChangeLog::read(&file).unwrap();
        assert_eq!(read.changed_since(Some(&first)), TaskSet::All);
        let revision = Revision {
            change: 1950,
            ..first
        };
        assert_eq!(
            read.changed_since(Some(&revision)),
            TaskSet::These((1950..=2000).map(TaskId).collect())
        );
        let many: Vec<TaskId> = (0..10_000).map(TaskId).collect();
        log.append(&many, &file).unwrap();
        assert_eq!(
            ChangeLog::read(&file)
                .unwrap()
                .changed_since(Some(&revision)),
            TaskSet::All
        );
    }

    #[test]
    fn invalid_log_is_rejected() {
        for text in [
            "",
            "x",
            "crewdeck a",
            "crewdeck a\n",
            "crewdeck a\n2 1\n",
            "crewdeck a\n2 1\n3 1\nend\n",
            "crewdeck a\n2 one\nend\n",
            "other a\nend\n",
            "crewdeck a\n18446744073709551615 1\nend\n",
            "crewdeck a\n3 1\n18446744073709551615 1\nend\n",
            "crewdeck a\n0 1\n18446744073709551615 1\nend\n",
        ] {
            assert_eq!(ChangeLog::parse(text), None, "{text:?}");
        }
        let long = format!("crewdeck {}\nend\n", "a".repeat(100));
        assert_eq!(ChangeLog::parse(&long), None);
        let cut = ChangeLog::parse("crewdeck a\n2 1\n1 *\nend\nrest of an older one\n").unwrap();
        assert_eq!(cut.changes, [these(&[1]), TaskSet::All]);
    }
}
