//! The team roster on disk: `.team/config.json`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::StoreError;
use super::atomic::{self, Lock};
use super::read_stable::{self, StableRead};
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member, MemberStatus, ModelChoice, Team};
use crate::domain::timestamp::Timestamp;

/// The roster of a project. Clones share the pending notices.
#[derive(Debug, Clone)]
pub struct Roster {
    dir: PathBuf,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Roster {
    /// Opens the roster of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Roster {
        Roster {
            dir: root.join(".team"),
            notices: Arc::default(),
        }
    }

    /// Returns and clears the pending notices about damaged files, one line each.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the team; an empty one if there is no roster file. If the file is damaged, renames it, adds a notice
    /// ([`Roster::take_notices`]) and returns an empty team.
    ///
    /// # Errors
    /// When the file cannot be read, or was written by another version and must not be overwritten.
    pub fn read(&self) -> Result<Team, StoreError> {
        match read_stable::read::<Team>(&self.path())? {
            StableRead::Damaged(_) => {
                let _lock = self.lock()?;
                self.read_locked()
            }
            found => self.team_in(found),
        }
    }

    /// Like [`Roster::read`], but the caller already holds the lock.
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

    /// Adds a member and returns the new team. At most `max_present` members can be present.
    ///
    /// # Errors
    /// When the team rejects the member, or the file cannot be read or written.
    pub fn add_member(&self, member: Member, max_present: usize) -> Result<Team, StoreError> {
        self.change(|team| Ok(team.add_member(member, max_present)?))
    }

    /// Sets the status of a member, and sets the time when it was last alive to `now`. Returns the new team. An unknown
    /// name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_status(
        &self,
        name: &Name,
        status: MemberStatus,
        now: Timestamp,
    ) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.status = status;
            member.seen_at = now;
        })
    }

    /// Clears the first instructions of a member, and returns the new team. Call this when the member has received them. An
    /// unknown name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn clear_first_instructions(&self, name: &Name) -> Result<Team, StoreError> {
        self.change_member(name, |member| member.first.clear())
    }

    /// Sets the last session of a member that is an external agent, and returns the new team. An unknown name changes
    /// nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_agent_session(
        &self,
        name: &Name,
        session: ExternalSession,
    ) -> Result<Team, StoreError> {
        self.change_member(name, |member| member.agent_session = Some(session))
    }

    /// Sets the model of a member, and returns the new team. An unknown name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_model(&self, name: &Name, model: ModelChoice) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.model = model.name;
            member.model_named = model.named;
        })
    }

    /// Sets the model that the user has chosen for the lead in `session`, and returns the new team. `None` removes it.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_lead_model(
        &self,
        session: &str,
        model: Option<ModelChoice>,
    ) -> Result<Team, StoreError> {
        self.change(|team| {
            team.set_lead_model(session, model);
            Ok(())
        })
    }

    /// Marks a member as shut down and clears its session and its first instructions, so that it is not restarted when
    /// the session is resumed. Returns the new team. An unknown name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn mark_shut_down(&self, name: &Name, now: Timestamp) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.status = MemberStatus::Shutdown;
            member.session.clear();
            member.first.clear();
            member.seen_at = now;
        })
    }

    /// Changes a member and returns the new team. An unknown name changes nothing.
    fn change_member(
        &self,
        name: &Name,
        edit: impl FnOnce(&mut Member),
    ) -> Result<Team, StoreError> {
        self.change(|team| {
            if let Some(member) = team.members.iter_mut().find(|m| m.name.same(name)) {
                edit(member);
            }
            Ok(())
        })
    }

    /// Sets the time when the members `names` were last alive to `now`, and returns the new team. Ignores unknown names.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn update_last_alive(&self, names: &[Name], now: Timestamp) -> Result<Team, StoreError> {
        self.change(|team| {
            let here = |m: &&mut Member| names.iter().any(|n| n.same(&m.name));
            for member in team.members.iter_mut().filter(here) {
                member.seen_at = now;
            }
            Ok(())
        })
    }

    fn change(
        &self,
        rule: impl FnOnce(&mut Team) -> Result<(), StoreError>,
    ) -> Result<Team, StoreError> {
        let _lock = self.lock()?;
        // Read only under the lock, so that a file that was just damaged or written by another version is not
        // overwritten.
        let mut team = self.read_locked()?;
        rule(&mut team)?;
        let mut text = serde_json::to_string_pretty(&team)?;
        text.push('\n');
        atomic::write(&self.path(), text.as_bytes())?;
        Ok(team)
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
    fn changed_during(roster: &Roster, during: impl FnOnce()) -> Result<Team, StoreError> {
        let lock = roster.lock().unwrap();
        std::thread::scope(|scope| {
            let change = scope.spawn(|| roster.update_last_alive(&[], Timestamp(2.0)));
            during();
            drop(lock);
            change.join().unwrap()
        })
    }

    #[test]
    fn roster_that_changes_before_the_lock_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let roster = Roster::open(root.path());
        fs::create_dir(root.path().join(".team")).unwrap();
        roster.update_last_alive(&[], Timestamp(1.0)).unwrap();
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
