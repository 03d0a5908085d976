//! The team roster. The embedded store is `.team/config.json`.

use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::file_roster::FileRoster;
use super::host_store::{HostFence, HostSession};
use super::roster_store::RosterStore;
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member, MemberStatus, ModelChoice, Team};
use crate::domain::timestamp::Timestamp;

/// The roster of a crew. Cheap to clone; clones share the store and the pending notices.
#[derive(Debug, Clone)]
pub struct Roster {
    store: Arc<dyn RosterStore>,
    fence: HostFence,
}

/// What agents of a host that has lost its session can no longer do.
const ACT: &str = "change the team";

#[allow(clippy::needless_pass_by_value)] // a change may be applied several times
impl Roster {
    /// Opens the roster of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Roster {
        Roster::with_store(Arc::new(FileRoster::open(root)))
    }

    /// Returns the roster that is in `store`.
    pub fn with_store(store: Arc<dyn RosterStore>) -> Roster {
        Roster {
            store,
            fence: HostFence::default(),
        }
    }

    /// Returns the roster for a host. After `session` has become invalid, the host cannot change the team for its agents: that
    /// fails with [`StoreError::HostLost`]. The models that the user chooses are not limited.
    #[must_use]
    pub fn with_host(self, session: Arc<dyn HostSession>) -> Roster {
        Roster {
            fence: HostFence::new(session),
            ..self
        }
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
    /// When the team rejects the member, this host has lost its session, or the file cannot be read or written.
    pub fn add_member(&self, member: Member, max_present: usize) -> Result<Team, StoreError> {
        self.change_for_agents(|team| Ok(team.add_member(member.clone(), max_present)?))
    }

    /// Sets the status of a member that is not paused, and sets the time when it was last alive to `now`. Returns the new
    /// team. An unknown name changes nothing.
    ///
    /// # Errors
    /// When this host has lost its session, or the file cannot be read or written.
    pub fn set_status(
        &self,
        name: &Name,
        status: MemberStatus,
        now: Timestamp,
    ) -> Result<Team, StoreError> {
        self.set_state(name, (status, false), now)
    }

    /// Sets the status of a member and whether it is paused as [`Roster::set_status`] does.
    ///
    /// # Errors
    /// As [`Roster::set_status`].
    pub fn set_state(
        &self,
        name: &Name,
        (status, is_paused): (MemberStatus, bool),
        now: Timestamp,
    ) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.status = status;
            member.is_paused = is_paused;
            member.seen_at = now;
        })
    }

    /// Marks the members that `find_lost` returns as shut down. They keep their session, so that their host can restore them.
    /// `find_lost` gets the current team, and is called again if another writer was faster. Returns the new team.
    ///
    /// # Errors
    /// When `find_lost` fails, this host has lost its session, or the file cannot be read or written.
    pub fn close_lost(
        &self,
        mut find_lost: impl FnMut(&Team) -> Result<Vec<Name>, StoreError>,
        now: Timestamp,
    ) -> Result<Team, StoreError> {
        self.change_for_agents(|team| {
            let lost = find_lost(team)?;
            let is_lost = |member: &&mut Member| lost.iter().any(|name| name.same(&member.name));
            for member in team.members.iter_mut().filter(is_lost) {
                member.status = MemberStatus::Shutdown;
                member.is_paused = false;
                member.seen_at = now;
            }
            Ok(())
        })
    }

    /// Clears the first instructions of a member, and returns the new team. Call this when the member has received them. An
    /// unknown name changes nothing.
    ///
    /// # Errors
    /// When this host has lost its session, or the file cannot be read or written.
    pub fn clear_first_instructions(&self, name: &Name) -> Result<Team, StoreError> {
        self.change_member(name, |member| member.first.clear())
    }

    /// Sets the last session of a member that is an external agent, and returns the new team. An unknown name changes
    /// nothing.
    ///
    /// # Errors
    /// When this host has lost its session, or the file cannot be read or written.
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
        self.change(|team| {
            if let Some(member) = team.members.iter_mut().find(|m| m.name.same(name)) {
                member.model.clone_from(&model.name);
                member.model_named = model.named;
            }
            Ok(())
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
    /// When this host has lost its session, or the file cannot be read or written.
    pub fn mark_shut_down(&self, name: &Name, now: Timestamp) -> Result<Team, StoreError> {
        self.change_member(name, |member| {
            member.status = MemberStatus::Shutdown;
            member.is_paused = false;
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
        self.change_for_agents(|team| {
            if let Some(member) = team.members.iter_mut().find(|m| m.name.same(name)) {
                edit(member);
            }
            Ok(())
        })
    }

    /// Sets the time when the members `names` were last alive to `now`, and returns the new team. Ignores unknown names.
    ///
    /// # Errors
    /// When this host has lost its session, or the file cannot be read or written.
    pub fn update_last_alive(&self, names: &[Name], now: Timestamp) -> Result<Team, StoreError> {
        self.change_for_agents(|team| {
            let here = |m: &&mut Member| names.iter().any(|n| n.same(&m.name));
            for member in team.members.iter_mut().filter(here) {
                member.seen_at = now;
            }
            Ok(())
        })
    }

    /// Changes the team as [`Roster::change`] does, unless this host has lost its session.
    fn change_for_agents(
        &self,
        mut rule: impl FnMut(&mut Team) -> Result<(), StoreError>,
    ) -> Result<Team, StoreError> {
        // Without a connection, the store would wait long for an answer first.
        self.fence.check(ACT)?;
        self.change(|team| {
            self.fence.check(ACT)?;
            rule(team)
        })
    }

    fn change(
        &self,
        mut rule: impl FnMut(&mut Team) -> Result<(), StoreError>,
    ) -> Result<Team, StoreError> {
        self.store.change(&mut rule)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::store::{FakeHostSession, prepare};

    #[test]
    fn host_without_session_cannot_change_the_team_for_its_agents() {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        let session = FakeHostSession::new("gpu", "s1");
        let fence: Arc<dyn HostSession> = session.clone();
        let roster = Roster::open(dir.path()).with_host(fence);
        let (bob, now) = (Name::member("bob").unwrap(), Timestamp(1.0));
        roster
            .add_member(Member::new(bob.clone(), "coder"), 2)
            .unwrap();
        let paused = (MemberStatus::Idle, true);
        assert!(roster.set_state(&bob, paused, now).unwrap().members[0].is_paused);
        let closed = roster.close_lost(|_| Ok(vec![bob.clone()]), now).unwrap();
        assert_eq!(closed.members[0].status, MemberStatus::Shutdown);
        assert!(!closed.members[0].is_paused);
        session.end();
        let errors = [
            roster
                .add_member(Member::new(bob.clone(), "coder"), 2)
                .unwrap_err(),
            roster
                .set_status(&bob, MemberStatus::Idle, now)
                .unwrap_err(),
            roster.close_lost(|_| Ok(Vec::new()), now).unwrap_err(),
            roster
                .update_last_alive(std::slice::from_ref(&bob), now)
                .unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StoreError::HostLost(_)), "{error}");
        }
        let model = ModelChoice {
            name: "strong".into(),
            named: true,
        };
        let team = roster.set_model(&bob, model).unwrap();
        assert_eq!(team.members[0].model, "strong");
    }
}
