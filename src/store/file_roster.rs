//! The embedded store of the roster: `.team/config.json`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::StoreError;
use super::atomic::{self, Lock};
use super::read_stable::{self, StableRead};
use super::roster_store::{RosterStore, TeamEdit};
use crate::domain::team::Team;

/// The roster file of a project, and the notices about it.
#[derive(Debug)]
pub(super) struct FileRoster {
    dir: PathBuf,
    notices: Mutex<Vec<String>>,
}

impl RosterStore for FileRoster {
    fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// If the file is damaged, renames it and adds a notice.
    fn read(&self) -> Result<Team, StoreError> {
        match read_stable::read::<Team>(&self.path())? {
            StableRead::Damaged(_) => {
                let _lock = self.lock()?;
                self.read_locked()
            }
            found => self.team_in(found),
        }
    }

    fn change(&self, edit: &mut TeamEdit<'_>) -> Result<Team, StoreError> {
        let _lock = self.lock()?;
        // Read only under the lock, so that a file that was just damaged or written by another version is not
        // overwritten.
        let mut team = self.read_locked()?;
        edit(&mut team)?;
        let mut text = serde_json::to_string_pretty(&team)?;
        text.push('\n');
        atomic::write(&self.path(), text.as_bytes())?;
        Ok(team)
    }
}

impl FileRoster {
    /// Opens the roster of the project in `root`. No file is created or read yet.
    pub(super) fn open(root: &Path) -> FileRoster {
        FileRoster {
            dir: root.join(".team"),
            notices: Mutex::default(),
        }
    }

    /// Like [`FileRoster::read`], but the caller already holds the lock.
    fn read_locked(&self) -> Result<Team, StoreError> {
        self.team_in(read_stable::read::<Team>(&self.path())?)
    }

    fn team_in(&self, found: StableRead<Team>) -> Result<Team, StoreError> {
        let path = self.path();
        match found {
            StableRead::Valid(team) => Ok(team),
            StableRead::Missing => Ok(Team::default()),
            StableRead::Damaged(why) => {
                let aside = atomic::set_aside(&path)?;
                let aside = aside.file_name().unwrap_or_default().to_string_lossy();
                let text = format!(
                    ".team/config.json was damaged ({why}) and was renamed to .team/{aside}: the team is empty now"
                );
                let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
                notices.push(text);
                Ok(Team::default())
            }
            StableRead::Unsupported(why) => Err(StoreError::File {
                path,
                why: std::io::Error::other(format!("{why}: fix it or move it away")),
            }),
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.join("config.json")
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        Lock::take(&self.dir.join(".lock"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Holds the lock while another thread starts a change of the roster. Runs `during`, then releases the lock and
    /// returns the result of the change.
    fn changed_during(roster: &FileRoster, during: impl FnOnce()) -> Result<Team, StoreError> {
        let lock = roster.lock().unwrap();
        std::thread::scope(|scope| {
            let change = scope.spawn(|| roster.change(&mut |_| Ok(())));
            during();
            drop(lock);
            change.join().unwrap()
        })
    }

    #[test]
    fn roster_that_changes_before_the_lock_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let roster = FileRoster::open(root.path());
        fs::create_dir(root.path().join(".team")).unwrap();
        roster.change(&mut |_| Ok(())).unwrap();
        let foreign = r#"{"members": 7}"#;
        let write = |text: &str| fs::write(roster.path(), text).unwrap();
        changed_during(&roster, || write(foreign)).unwrap_err();
        assert_eq!(fs::read_to_string(roster.path()).unwrap(), foreign);
        write("{}");
        changed_during(&roster, || write("{\"members\": [")).unwrap();
        assert!(
            roster.take_notices()[0].starts_with(".team/config.json was damaged"),
            "set aside, not overwritten"
        );
    }
}
