//! The roster on disk, and the team as it was last published.

use std::sync::{Arc, Mutex};

use super::context::{CrewContext, lock};
use super::file_errors::FileErrors;
use crate::agent::driver::run_blocking;
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member, MemberStatus, ModelChoice, Team};
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::store::{Roster, StoreError};

/// Reads and changes the roster on disk, and publishes changes of the team.
pub struct TeamRoster {
    context: Arc<CrewContext>,
    errors: Arc<FileErrors>,
    roster: Roster,
    published: Mutex<Team>,
}

impl TeamRoster {
    pub fn new(context: Arc<CrewContext>, errors: Arc<FileErrors>, roster: Roster) -> TeamRoster {
        TeamRoster {
            context,
            errors,
            roster,
            published: Mutex::default(),
        }
    }

    pub fn store(&self) -> &Roster {
        &self.roster
    }

    /// Returns the team as it was last published.
    pub fn published(&self) -> Team {
        lock(&self.published).clone()
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
            self.context.notice(NoticeLevel::Warn, notice).await;
        }
        if let Some(team) = self.errors.check("The roster", team).await {
            self.publish(team).await;
        }
    }

    async fn publish(&self, team: Team) {
        let changed = {
            let mut published = lock(&self.published);
            let changed = published.differs_from(&team);
            if changed {
                published.clone_from(&team);
            }
            changed
        };
        if changed {
            let team = Arc::new(team);
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
        let (roster, name, now) = (self.roster.clone(), name.clone(), self.context.now());
        run_blocking(move || roster.set_status(&name, status, now).map(drop)).await
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
