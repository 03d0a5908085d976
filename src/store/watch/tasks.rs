//! The task files as the poll fallback knows them: one fingerprint for each, so that a look names what changed.
//!
//! A board may have thousands of files, and a crew changes a few of them at a time. So most looks are at those files
//! only that were heard of, and at the folder itself; all files are looked at the more seldom the more there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::board::{Which, is_task_file};
use super::super::print::Print;
use super::folders::{Identity, identity};
use super::net::Found;
use crate::domain::ids::TaskId;

/// Between two looks at all files of a small board, where the system tells of every change.
const SELDOM: Duration = Duration::from_secs(30);
/// The pause grows by a second for so many files: a look at all of them costs no more than so many files a second.
const FILES_A_SECOND: u64 = 100;
/// Most tasks that are named; more of them are the whole board.
const NAMED_MAX: usize = 1000;

/// Which files a look is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them.
    All,
    /// Those that were heard of or that were young. All of them where the folder says that others changed.
    Unsure,
}

/// The task files as they were at the last look.
pub(super) struct TaskFiles {
    folder: PathBuf,
    identity: Option<Identity>,
    /// The folder itself: its print changes when a file comes, goes or is replaced.
    print: Print,
    prints: BTreeMap<TaskId, Print>,
    /// Those that were heard of since the last look, or that were too young to be trusted.
    unsure: BTreeSet<TaskId>,
    /// Nothing is known, or everything may have changed.
    is_lost: bool,
}

impl TaskFiles {
    /// The files in `folder`, none of which is known yet.
    pub(super) fn new(folder: PathBuf) -> TaskFiles {
        TaskFiles {
            folder,
            identity: None,
            print: Print::default(),
            prints: BTreeMap::new(),
            unsure: BTreeSet::new(),
            is_lost: true,
        }
    }

    /// How long to rely on what is heard before the next look at all files.
    pub(super) fn pause(&self) -> Duration {
        SELDOM + Duration::from_secs(self.prints.len() as u64 / FILES_A_SECOND)
    }

    /// Something was heard and is told. The next look tells it once more: by then no further change looks alike.
    pub(super) fn heard(&mut self, which: &Which) {
        match which {
            Which::All => self.is_lost = true,
            Which::These(ids) => self.unsure.extend(ids),
        }
    }

    /// Looks at files at `now`. Returns the tasks whose files changed or may have changed; `None`: none.
    pub(super) fn look(&mut self, now: SystemTime, scope: Scope) -> (Option<Which>, Found) {
        let Ok(meta) = fs::metadata(&self.folder) else {
            self.is_lost = true;
            return (Some(Which::All), Found::Unsure);
        };
        let identity = identity(&self.folder);
        let is_replaced = identity != self.identity;
        // What was heard has changed the folder; where nothing was, it must be as it was.
        let is_unheard = self.unsure.is_empty() && !self.print.fits(&meta);
        self.identity = identity;
        self.print = Print::of(&meta, now).unwrap_or_default();
        let ids = if scope == Scope::All || self.is_lost || is_replaced || is_unheard {
            let Some(mut ids) = list(&self.folder) else {
                self.is_lost = true;
                return (Some(Which::All), Found::Unsure);
            };
            ids.extend(self.prints.keys());
            ids.extend(&self.unsure);
            ids
        } else {
            self.unsure.clone()
        };
        let was_lost = std::mem::take(&mut self.is_lost);
        let mut found = Found::Heard;
        let mut told = BTreeSet::new();
        for id in ids {
            match self.look_at(id, now) {
                None => continue,
                Some(Found::Unheard) if !was_lost => found = Found::Unheard,
                Some(Found::Unsure) if found == Found::Heard => found = Found::Unsure,
                Some(_) => {}
            }
            told.insert(id);
        }
        let which = if was_lost || told.len() > NAMED_MAX {
            Some(Which::All)
        } else {
            (!told.is_empty()).then_some(Which::These(told))
        };
        (which, found)
    }

    /// `None`: the file is what it was.
    fn look_at(&mut self, id: TaskId, now: SystemTime) -> Option<Found> {
        let path = self.folder.join(format!("task_{id}.json", id = id.0));
        let was_unsure = self.unsure.remove(&id);
        let Ok(meta) = fs::symlink_metadata(path) else {
            let was_there = self.prints.remove(&id).is_some();
            return match (was_unsure, was_there) {
                (true, _) => Some(Found::Heard),
                (false, true) => Some(Found::Unheard),
                (false, false) => None,
            };
        };
        let Some(print) = Print::of(&meta, now) else {
            // Its event may be on the way: that says nothing of what is heard.
            self.unsure.insert(id);
            self.prints.remove(&id);
            return Some(Found::Unsure);
        };
        let before = self.prints.insert(id, print);
        if was_unsure {
            Some(Found::Heard)
        } else {
            (before != Some(print)).then_some(Found::Unheard)
        }
    }
}

/// The numbers of the task files in `folder`; `None`: it cannot be read.
fn list(folder: &Path) -> Option<BTreeSet<TaskId>> {
    let entries = fs::read_dir(folder).ok()?;
    let mut ids = BTreeSet::new();
    for entry in entries {
        ids.extend(is_task_file(&entry.ok()?.file_name().to_string_lossy()));
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn these(ids: &[u64]) -> Which {
        Which::These(ids.iter().copied().map(TaskId).collect())
    }

    /// So late that every file can be trusted.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    /// A folder with that many tasks, all of which are known.
    fn known(size: u64) -> (tempfile::TempDir, TaskFiles) {
        let dir = tempfile::tempdir().unwrap();
        for id in 1..=size {
            write(&dir, id, "{}");
        }
        let mut files = TaskFiles::new(dir.path().to_path_buf());
        assert_eq!(
            files.look(later(), Scope::All),
            (Some(Which::All), Found::Heard)
        );
        (dir, files)
    }

    fn write(dir: &tempfile::TempDir, id: u64, text: &str) {
        fs::write(dir.path().join(format!("task_{id}.json")), text).unwrap();
    }

    #[test]
    fn what_was_heard_is_told_once_more_and_nothing_else_is_looked_at() {
        let (dir, mut files) = known(9);
        write(&dir, 3, "{ }");
        // In place and unheard: only a look at all files finds it.
        write(&dir, 5, "{ }");
        files.heard(&these(&[3]));
        let young = files.look(SystemTime::now(), Scope::Unsure);
        assert_eq!(young, (Some(these(&[3])), Found::Unsure));
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[3])), Found::Heard)
        );
        assert_eq!(files.look(later(), Scope::Unsure), (None, Found::Heard));
        assert_eq!(
            files.look(later(), Scope::All),
            (Some(these(&[5])), Found::Unheard)
        );
        assert_eq!(files.look(later(), Scope::All), (None, Found::Heard));
    }

    #[test]
    fn the_folder_tells_of_files_that_nobody_told_of() {
        let (dir, mut files) = known(3);
        write(&dir, 4, "{}");
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[4])), Found::Unheard)
        );
        fs::remove_file(dir.path().join("task_2.json")).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[2])), Found::Unheard)
        );
        // Written beside it and renamed, as crewdeck and most editors write.
        fs::write(dir.path().join(".tmp-1"), "{ }").unwrap();
        fs::rename(dir.path().join(".tmp-1"), dir.path().join("task_1.json")).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[1])), Found::Unheard)
        );
        assert_eq!(files.look(later(), Scope::Unsure), (None, Found::Heard));
    }

    #[test]
    fn a_folder_that_was_made_again_is_looked_at_whole() {
        let (dir, mut files) = known(2);
        let aside = dir.path().with_extension("aside");
        fs::rename(dir.path(), &aside).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(Which::All), Found::Unsure)
        );
        fs::create_dir(dir.path()).unwrap();
        write(&dir, 7, "{}");
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(Which::All), Found::Heard)
        );
        assert_eq!(files.look(later(), Scope::All), (None, Found::Heard));
        fs::remove_dir_all(aside).unwrap();
    }

    /// What an idle crew costs: looks at files a second.
    #[test]
    fn looks_at_all_files_are_the_more_seldom_the_more_there_are() {
        let mut files = TaskFiles::new(PathBuf::new());
        for (count, seconds) in [(0, 30), (100, 31), (10_000, 130)] {
            files.prints = (0..count)
                .map(|id| (TaskId(id), Print::default()))
                .collect();
            assert_eq!(files.pause().as_secs(), seconds);
            assert!(count <= FILES_A_SECOND * seconds);
        }
    }
}
