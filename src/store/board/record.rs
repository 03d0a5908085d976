//! The record in the lock file: which tasks the last writers changed, so that others read only those.
//!
//! ```text
//! crewdeck 1a2b-18f3        who began this record and when: another beginning says nothing about ours
//! 12 3 4                    change 12 was of tasks 3 and 4
//! 11 *                      change 11 was of too many to name
//! end
//! ```
//! It is written under the lock and before the files themselves, so a writer that is killed in between has
//! named all that it may have touched. Whatever can not be read as this is a reason to look at everything.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use super::super::plain;
use super::Which;
use crate::domain::ids::TaskId;

/// Largest record, in bytes; the oldest changes are dropped.
const BYTES_MAX: usize = 4096;
/// Longest beginning that is taken, in bytes: one that fills the record leaves no room for changes.
const EPOCH_MAX: usize = 64;
/// Most tasks that a change names.
const IDS_MAX: usize = 128;

/// A point in the history of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    epoch: String,
    change: u64,
}

impl Mark {
    /// Whether who knows everything up to this mark knows everything up to `other`.
    pub(super) fn includes(&self, other: &Mark) -> bool {
        self.epoch == other.epoch && self.change >= other.change
    }
}

/// The record as it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    mark: Mark,
    /// What the last changes touched, the newest first.
    changes: Vec<Which>,
}

impl Record {
    /// Reads the record out of the lock file; `None`: there is none that can be read.
    pub(super) fn read(file: &File) -> Option<Record> {
        let mut bytes = [0; BYTES_MAX];
        let mut filled = 0;
        loop {
            match file.read_at(&mut bytes[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(_) => return None,
            }
        }
        Record::parse(std::str::from_utf8(&bytes[..filled]).ok()?)
    }

    /// The record as who holds no lock sees it.
    pub(super) fn peek(lock: &Path) -> Option<Record> {
        Record::read(&plain::open(lock).ok()?)
    }

    /// A record that says nothing of what was before it.
    pub(super) fn begin() -> Record {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        Record {
            mark: Mark {
                epoch: format!("{:x}-{nanos:x}", std::process::id()),
                change: 0,
            },
            changes: Vec::new(),
        }
    }

    /// Where the board stands.
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Where the board stood before the last change, which may not be whole on disk yet: writers take turns, so
    /// all before it is.
    pub(super) fn mark_before(&self) -> Mark {
        Mark {
            epoch: self.mark.epoch.clone(),
            change: self.mark.change.saturating_sub(1),
        }
    }

    /// What may have changed since `mark`.
    pub(super) fn since(&self, mark: Option<&Mark>) -> Which {
        let known = mark.filter(|m| m.epoch == self.mark.epoch && m.change <= self.mark.change);
        let missed = known
            .and_then(|m| usize::try_from(self.mark.change - m.change).ok())
            .and_then(|missed| self.changes.get(..missed));
        let mut all = BTreeSet::new();
        for which in missed.unwrap_or(&[Which::All]) {
            match which {
                Which::All => return Which::All,
                Which::These(ids) => all.extend(ids),
            }
        }
        Which::These(all)
    }

    /// Notes the next change and writes the record.
    pub(super) fn note(&mut self, ids: &[TaskId], file: &File) -> std::io::Result<()> {
        self.add(ids);
        let text = self.text();
        file.write_all_at(text.as_bytes(), 0)?;
        file.set_len(text.len() as u64)
    }

    fn add(&mut self, ids: &[TaskId]) {
        self.mark.change += 1;
        let which = if ids.len() <= IDS_MAX {
            Which::These(ids.iter().copied().collect())
        } else {
            Which::All
        };
        self.changes.insert(0, which);
    }

    /// The record as text; drops the oldest changes when there are too many.
    fn text(&mut self) -> String {
        const END: &str = "end\n";
        let mut text = format!("crewdeck {}\n", self.mark.epoch);
        for (back, which) in self.changes.iter().enumerate() {
            let mut line = (self.mark.change - back as u64).to_string();
            match which {
                Which::All => line.push_str(" *"),
                Which::These(ids) => ids
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

    fn parse(text: &str) -> Option<Record> {
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
                let mark = Mark { epoch, change };
                return Some(Record { mark, changes });
            }
            let mut words = line.split(' ');
            let number: u64 = words.next()?.parse().ok()?;
            let newest = *newest.get_or_insert(number);
            // Nobody counts that far; a number behind which there is none would end the record.
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
                Which::All
            } else {
                Which::These(ids)
            });
        }
        // Cut off: a writer was killed while it wrote.
        None
    }
}

/// A record as text, read and written again after one more change; `None`: it is no record.
pub(crate) fn rewritten(text: &str) -> Option<String> {
    let mut record = Record::parse(text)?;
    record.add(&[TaskId(1)]);
    Some(record.text())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn these(ids: &[u64]) -> Which {
        Which::These(ids.iter().copied().map(TaskId).collect())
    }

    #[test]
    fn who_missed_some_changes_hears_which_tasks_they_were_of() {
        let file = tempfile::tempfile().unwrap();
        let mut record = Record::begin();
        let mut marks = vec![record.mark().clone()];
        for ids in [&[1, 2][..], &[3], &[2, 9]] {
            let ids: Vec<TaskId> = ids.iter().copied().map(TaskId).collect();
            record.note(&ids, &file).unwrap();
            marks.push(record.mark().clone());
        }
        let read = Record::read(&file).unwrap();
        assert_eq!(read, record);
        let since: Vec<Which> = marks.iter().map(|m| read.since(Some(m))).collect();
        assert_eq!(
            since,
            [
                these(&[1, 2, 3, 9]),
                these(&[2, 3, 9]),
                these(&[2, 9]),
                these(&[])
            ]
        );
        assert_eq!(read.since(None), Which::All);
        let stranger = Record::begin();
        assert_eq!(read.since(Some(stranger.mark())), Which::All);
        let ahead = Mark {
            change: 9,
            ..read.mark().clone()
        };
        assert_eq!(read.since(Some(&ahead)), Which::All);
    }

    #[test]
    fn it_stays_small_and_who_missed_too_much_looks_at_everything() {
        let file = tempfile::tempfile().unwrap();
        let mut record = Record::begin();
        let first = record.mark().clone();
        for n in 0..2000 {
            record.note(&[TaskId(n), TaskId(n + 1)], &file).unwrap();
        }
        assert!(file.metadata().unwrap().len() <= BYTES_MAX as u64);
        let read = Record::read(&file).unwrap();
        assert_eq!(read.since(Some(&first)), Which::All);
        let mark = Mark {
            change: 1950,
            ..first
        };
        assert_eq!(
            read.since(Some(&mark)),
            Which::These((1950..=2000).map(TaskId).collect())
        );
        let many: Vec<TaskId> = (0..10_000).map(TaskId).collect();
        record.note(&many, &file).unwrap();
        assert_eq!(Record::read(&file).unwrap().since(Some(&mark)), Which::All);
    }

    #[test]
    fn what_is_no_record_says_nothing() {
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
            assert_eq!(Record::parse(text), None, "{text:?}");
        }
        let long = format!("crewdeck {}\nend\n", "a".repeat(100));
        assert_eq!(Record::parse(&long), None);
        let cut = Record::parse("crewdeck a\n2 1\n1 *\nend\nrest of an older one\n").unwrap();
        assert_eq!(cut.changes, [these(&[1]), Which::All]);
    }
}
