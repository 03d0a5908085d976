//! The sources of teammates' answers, and the connection of external agents to the crew's tools.

use std::sync::Arc;

use super::super::agent_builder::ExternalTeammate;
use super::super::external_agents::ExternalAccess;
use super::{TeammateLoop, Teammates};
use crate::acp::AcpAgent;
use crate::agent::driver::AgentModel;
use crate::agent::external::ExternalModel;
use crate::agent::external_tools::ExternalTools;
use crate::domain::team::Member;
use crate::protocol::event::NoticeLevel;

/// Where a teammate's answers come from: a model that crewdeck calls, or an external agent that runs as a program.
pub enum AnswerSource {
    Model(Arc<AgentModel>),
    External(Arc<AcpAgent>),
}

/// The external agent of a teammate, with its access to the crew's tools.
pub struct ExternalLink {
    pub model: Arc<ExternalModel>,
    /// The crew's tools for the agent.
    tools: Arc<ExternalTools>,
    access: Option<ExternalAccess>,
}

impl ExternalLink {
    pub fn new(external: ExternalTeammate) -> ExternalLink {
        ExternalLink {
            model: external.model,
            tools: Arc::new(external.tools),
            access: None,
        }
    }
}

impl Teammates {
    /// Returns the source of a new member's answers: its external agent if it names one, otherwise its model.
    ///
    /// # Errors
    /// Fails with the reason if the model or the external agent cannot be used.
    pub(super) fn source_of(&self, member: &Member) -> Result<AnswerSource, String> {
        match member.agent.as_str() {
            "" => {
                let model = self.builder.models.of_teammate(&member.model)?;
                Ok(AnswerSource::Model(model))
            }
            name => Ok(AnswerSource::External(self.external.find(name)?)),
        }
    }

    /// Returns the source of the answers of a member of a resumed session. If the member's model or external agent
    /// cannot be used any more, warns the user and returns the lead's model.
    pub(super) async fn source_of_restored(&self, member: &Member) -> AnswerSource {
        let models = &self.builder.models;
        let checked = models.check_choice(&member.model, member.model_named);
        match checked.and_then(|()| self.source_of(member)) {
            Ok(source) => source,
            Err(why) => {
                let text = format!("{} uses the lead's model: {why}", member.name);
                self.context.notice(NoticeLevel::Warn, text).await;
                AnswerSource::Model(self.builder.models.of_lead())
            }
        }
    }
}

impl TeammateLoop {
    /// Gives the external agent access to the crew's tools. Does nothing if it already has access, or if the teammate
    /// is not an external agent.
    ///
    /// # Errors
    /// Fails with the reason as `ExternalAgents::connect` does.
    pub(super) async fn connect_external(&mut self) -> Result<(), String> {
        let Some(external) = &mut self.external else {
            return Ok(());
        };
        if external.access.is_some() {
            return Ok(());
        }
        let tools = Arc::clone(&external.tools);
        let agents = &self.crew.external;
        let access = agents
            .connect(&self.member.name, &external.model, tools)
            .await?;
        external.access = Some(access);
        Ok(())
    }

    /// Checks that crewdeck knows the modes that an external agent needs (see [`ExternalModel::check_mode`]). Warns the
    /// user if crewdeck does not know in which mode the agent asks the user before it acts. Does nothing if the
    /// teammate is not an external agent.
    ///
    /// # Errors
    /// Fails with the reason if crewdeck does not know a mode that the agent needs.
    pub(super) async fn check_external(&mut self) -> Result<(), String> {
        let Some(external) = &self.external else {
            return Ok(());
        };
        external.model.check_mode()?;
        let agent = &self.member.agent;
        if !external.model.is_ask_mode_known() {
            let text = format!(
                "{} may act without asking you: crewdeck does not know in which mode the agent '{agent}' asks. Set mode \
                 in [agents.{agent}].",
                self.member.name
            );
            self.crew.context.notice(NoticeLevel::Warn, text).await;
        }
        Ok(())
    }

    /// Sets the agent's current work directory in the crew's tools that the external agent calls. Does nothing if the
    /// teammate is not an external agent.
    pub(super) fn update_external_workdir(&self) {
        if let Some(access) = self.external.as_ref().and_then(|e| e.access.as_ref()) {
            let workdir = self.agent.driver.tool_runner.workdir.clone();
            access.tools.set_workdir(workdir);
        }
    }

    /// Closes the session of an external agent, and ends its access to the crew's tools. Does nothing for other
    /// teammates.
    pub(super) async fn close_external(&mut self) {
        if let Some(external) = self.external.take() {
            external.model.close().await;
        }
    }
}
