//! The roster on disk, and the team as it was last published.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::context::CrewContext;
use super::file_errors::FileErrors;
use crate::agent::driver::run_blocking;
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member, MemberStatus, ModelChoice, Team};
use crate::protocol::event::{EventKind, TeamEvent};
use crate::store::{Roster, StoreError};

/// Reads and changes the roster on disk, and publishes changes of the team.
pub struct TeamRoster {
    context: Arc<CrewContext>,
    errors: Arc<FileErrors>,
    roster: Roster,
    published: watch::Sender<PublishedTeam>,
}

/// The team as it was last published.
#[derive(Default)]
pub struct PublishedTeam {
    team: Arc<Team>,
    /// The host of each member, also of those that have shut down, by the name of the member in lower case.
    hosts: HashMap<String, String>,
}

impl PublishedTeam {
    fn new(team: Arc<Team>) -> PublishedTeam {
        let host_of = |m: &Member| (m.name.as_str().to_ascii_lowercase(), m.host.clone());
        PublishedTeam {
            hosts: team.members.iter().map(host_of).collect(),
            team,
        }
    }
}

impl TeamRoster {
    pub fn new(context: Arc<CrewContext>, errors: Arc<FileErrors>, roster: Roster) -> TeamRoster {
        TeamRoster {
            context,
            errors,
            roster,
            published: watch::Sender::default(),
        }
    }

    pub fn store(&self) -> &Roster {
        &self.roster
    }

    /// Returns the team as it was last published.
    pub fn published(&self) -> Arc<Team> {
        Arc::clone(&self.published.borrow().team)
    }

    /// Returns a receiver that is notified when another team is published.
    pub fn subscribe(&self) -> watch::Receiver<PublishedTeam> {
        self.published.subscribe()
    }

    /// Returns whether the host `host` runs the member `name`, or ran it until it shut down; `None` if the team has no such
    /// member.
    pub fn is_on(&self, name: &Name, host: &str) -> Option<bool> {
        let published = self.published.borrow();
        let found = published.hosts.get(&name.as_str().to_ascii_lowercase())?;
        Some(found.eq_ignore_ascii_case(host))
    }

    /// Returns whether the member `name` has shut down, according to the published team.
    pub fn is_shut_down(&self, name: &Name) -> bool {
        let team = self.published();
        let member = team.find(name);
        member.is_some_and(|member| member.status == MemberStatus::Shutdown)
    }

    /// Returns the host that runs the present teammate `name`, or the parent of the subagent `name`, if it is another host
    /// than this one. `None` if the crew is on this machine only.
    pub fn remote_host(&self, name: &Name) -> Option<String> {
        self.context.host.as_ref()?;
        let name = name.parent().unwrap_or_else(|| name.clone());
        let team = self.published();
        let member = team.present().find(|m| m.name.same(&name))?;
        let is_remote = !member.host.eq_ignore_ascii_case(self.context.member_host());
        // The members of the host of the lead have no host.
        let is_named = is_remote && !member.host.is_empty();
        is_named.then(|| member.host.clone())
    }

    /// Returns the error of a command that only the host of the teammate `name` could carry out; `None` if that is this host.
    pub fn remote_error(&self, name: &Name) -> Option<String> {
        let host = self.remote_host(name)?;
        let agent = name.parent().unwrap_or_else(|| name.clone());
        Some(format!(
            "{name} runs on host {host}, where this cannot be done from here: send {agent} a message, or request its shutdown."
        ))
    }

    /// Reads the roster from disk. Publishes nothing.
    pub async fn load(&self) -> Result<Team, StoreError> {
        let roster = self.roster.clone();
        run_blocking(move || roster.read()).await
    }

    /// Reads the roster from disk, and publishes the team if it has changed. An error is reported to the user.
    pub async fn read(&self) {
        let team = self.load().await;
        for notice in self.roster.take_notices() {
            self.context.warn_here(notice).await;
        }
        if let Some(team) = self.errors.check("The roster", team).await {
            self.publish(team).await;
        }
    }

    async fn publish(&self, team: Team) {
        let team = Arc::new(team);
        let has_changed = self.published.send_if_modified(|published| {
            let has_changed = published.team.differs_from(&team);
            if has_changed {
                *published = PublishedTeam::new(Arc::clone(&team));
            }
            has_changed
        });
        if has_changed {
            self.context
                .publish(EventKind::Team(TeamEvent::RosterChanged { team }))
                .await;
        }
    }

    /// Adds a member to the roster. Returns the team with the new member. Publishes nothing.
    ///
    /// # Errors
    /// Fails if the team already has `most` present members, if the roster does not accept the member, or if the roster
    /// cannot be read or written.
    pub async fn add(&self, member: Member, most: usize) -> Result<Team, StoreError> {
        let roster = self.roster.clone();
        run_blocking(move || roster.add_member(member, most)).await
    }

    pub async fn set_status(&self, name: &Name, status: MemberStatus) -> Result<(), StoreError> {
        self.set_state(name, status, false).await
    }

    /// Sets the status of a member, and whether it is paused.
    pub async fn set_state(
        &self,
        name: &Name,
        status: MemberStatus,
        is_paused: bool,
    ) -> Result<(), StoreError> {
        let (roster, name, now) = (self.roster.clone(), name.clone(), self.context.now());
        let state = (status, is_paused);
        run_blocking(move || roster.set_state(&name, state, now).map(drop)).await
    }

    /// Removes the first prompt of the member `name` from the roster. Called when the member's conversation on disk
    /// contains the prompt.
    pub async fn clear_first_prompt(&self, name: &Name) -> Result<(), StoreError> {
        let (roster, name) = (self.roster.clone(), name.clone());
        run_blocking(move || roster.clear_first_instructions(&name).map(drop)).await
    }

    pub async fn set_agent_session(
        &self,
        name: &Name,
        session: ExternalSession,
    ) -> Result<(), StoreError> {
        let (roster, name) = (self.roster.clone(), name.clone());
        run_blocking(move || roster.set_agent_session(&name, session).map(drop)).await
    }

    /// Stores the model of a teammate, which the teammate also uses after the session is resumed.
    pub async fn set_model(&self, name: &Name, model: ModelChoice) -> Result<(), StoreError> {
        let (roster, name) = (self.roster.clone(), name.clone());
        run_blocking(move || roster.set_model(&name, model).map(drop)).await
    }

    /// Stores the model that the user has chosen for the lead, which the lead also uses after the session is resumed.
    /// `None` removes the stored model.
    pub async fn set_lead_model(&self, model: Option<ModelChoice>) -> Result<(), StoreError> {
        let (roster, session) = (self.roster.clone(), self.context.session.clone());
        run_blocking(move || roster.set_lead_model(&session, model).map(drop)).await
    }

    pub async fn set_tags(&self, name: &Name, tags: Vec<String>) -> Result<(), StoreError> {
        let (roster, name) = (self.roster.clone(), name.clone());
        run_blocking(move || roster.set_tags(&name, tags).map(drop)).await
    }

    pub async fn mark_shut_down(&self, name: &Name) -> Result<(), StoreError> {
        let (roster, name, now) = (self.roster.clone(), name.clone(), self.context.now());
        run_blocking(move || roster.mark_shut_down(&name, now).map(drop)).await
    }

    pub async fn mark_alive(&self, names: Vec<Name>) -> Result<(), StoreError> {
        let (roster, now) = (self.roster.clone(), self.context.now());
        run_blocking(move || roster.update_last_alive(&names, now).map(drop)).await
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::crew::hub_test_support::lead_on_hub;
    use crate::crew::test_support::{TestCrew, bob};

    /// Returns the team of a crew on a hub, which this process leads as the host `home`.
    fn team_on_hub(crew: &TestCrew) -> TeamRoster {
        let (errors, roster) = (crew.errors.clone(), crew.team.store().clone());
        TeamRoster::new(lead_on_hub(crew), errors, roster)
    }

    #[tokio::test]
    async fn command_for_a_teammate_of_another_host_names_the_host() {
        let crew = TestCrew::new();
        let team = team_on_hub(&crew);
        let amy = Name::member("amy").unwrap();
        for (name, host) in [(bob(), "gpu"), (amy.clone(), "")] {
            let member = Member {
                host: host.into(),
                ..Member::new(name, "coder")
            };
            team.add(member, 16).await.unwrap();
        }
        team.read().await;
        assert_eq!(team.remote_host(&bob()).as_deref(), Some("gpu"));
        let subagent = Name::subagent(&bob(), 1);
        let why = team.remote_error(&subagent).unwrap();
        assert!(why.contains("on host gpu"), "{why}");
        for name in [amy, Name::lead()] {
            assert_eq!(team.remote_host(&name), None, "{name}");
        }
        team.mark_shut_down(&bob()).await.unwrap();
        team.read().await;
        assert_eq!(team.remote_host(&bob()), None);
    }

    #[tokio::test]
    async fn crew_without_a_hub_has_no_other_hosts() {
        let crew = TestCrew::new();
        let member = Member {
            host: "gpu".into(),
            ..Member::new(bob(), "coder")
        };
        crew.team.add(member, 16).await.unwrap();
        crew.team.read().await;
        assert_eq!(crew.team.remote_host(&bob()), None);
    }
}
