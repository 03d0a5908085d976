//! The team roster. The embedded store is `.team/config.json`.

use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::file_roster::FileRoster;
use super::roster_store::RosterStore;
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member, MemberStatus, ModelChoice, Team};
use crate::domain::timestamp::Timestamp;

/// The roster of a crew. Cheap to clone; clones share the store and the pending notices.
#[derive(Debug, Clone)]
pub struct Roster {
    store: Arc<dyn RosterStore>,
}

#[allow(clippy::needless_pass_by_value)] // a change may be applied several times
impl Roster {
    /// Opens the roster of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Roster {
        Roster::with_store(Arc::new(FileRoster::open(root)))
    }

    /// Returns the roster that is in `store`.
    pub fn with_store(store: Arc<dyn RosterStore>) -> Roster {
        Roster { store }
    }

    /// Returns and clears the pending notices about damaged files, one line each.
    pub fn take_notices(&self) -> Vec<String> {
        self.store.take_notices()
    }

    /// Returns the team; an empty one if there is no roster file. If the file is damaged, renames it, adds a notice
    /// ([`Roster::take_notices`]) and returns an empty team.
    ///
    /// # Errors
    /// When the file cannot be read, or was written by another version and must not be overwritten.
    pub fn read(&self) -> Result<Team, StoreError> {
        self.store.read()
    }

    /// Adds a member and returns the new team. At most `max_present` members can be present.
    ///
    /// # Errors
    /// When the team rejects the member, or the file cannot be read or written.
    pub fn add_member(&self, member: Member, max_present: usize) -> Result<Team, StoreError> {
        self.change(|team| Ok(team.add_member(member.clone(), max_present)?))
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
        self.change_member(name, |member| member.agent_session = Some(session.clone()))
    }

    /// Sets the model of a member, and returns the new team. An unknown name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_model(&self, name: &Name, model: ModelChoice) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.model.clone_from(&model.name);
            member.model_named = model.named;
        })
    }

    /// Sets the tags of a member, and returns the new team. An unknown name changes nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn set_tags(&self, name: &Name, tags: Vec<String>) -> Result<Team, StoreError> {
        self.change_member(name, |member| member.tags.clone_from(&tags))
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
            team.set_lead_model(session, model.clone());
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
        mut edit: impl FnMut(&mut Member),
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
        mut rule: impl FnMut(&mut Team) -> Result<(), StoreError>,
    ) -> Result<Team, StoreError> {
        self.store.change(&mut rule)
    }
}
