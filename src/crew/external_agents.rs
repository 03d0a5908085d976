//! The external agents of a crew: their programs, their access to the crew's tools, and their sessions in the roster.
//! Teammates share a program if its agent supports several sessions in one process. No program is started before the
//! first teammate needs it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};

use super::agent_socket::{AgentAccess, AgentSocket};
use super::context::{CrewContext, lock};
use super::team::TeamRoster;
use crate::acp::{AcpAgent, AcpOptions, StdioServer};
use crate::agent::external::crew_tools::CREW_SERVER;
use crate::agent::external::{ExternalModel, SessionMemory};
use crate::agent::external_tools::ExternalTools;
use crate::domain::external_agent::ExternalAgent;
use crate::domain::ids::Name;
use crate::domain::team::{ExternalSession, Member};
use crate::protocol::agent_socket::TOKEN_VARIABLE;

/// A function that returns the external agent with the given name, as the settings and the presets define it.
///
/// # Errors
/// Fails with the reason if there is no such agent, or if its settings cannot be used.
pub type FindExternalAgent = dyn Fn(&str) -> Result<ExternalAgent, String> + Send + Sync;

/// What the crew needs to run external agents.
pub struct ExternalParts {
    pub find: Box<FindExternalAgent>,
    /// Maximum time in a turn for which an external agent may show no activity while none of its tool calls runs.
    pub idle_limit: Duration,
    /// The program `crewdeck`, which agents start as their MCP server; `None` if its path is unknown.
    pub crewdeck: Option<PathBuf>,
}

pub struct ExternalAgents {
    context: Arc<CrewContext>,
    team: Arc<TeamRoster>,
    socket: AgentSocket,
    parts: Option<ExternalParts>,
    /// The program that runs as the supervisor of the agents' programs; `None` to run them without a supervisor.
    supervisor: Option<PathBuf>,
    agents: Mutex<BTreeMap<String, Arc<AcpAgent>>>,
}

/// The access of an external teammate to the crew's tools. The access ends when this value is dropped.
pub struct ExternalAccess {
    _access: AgentAccess,
    pub tools: Arc<ExternalTools>,
}

impl ExternalAgents {
    pub fn new(
        context: Arc<CrewContext>,
        team: Arc<TeamRoster>,
        parts: Option<ExternalParts>,
        supervisor: Option<PathBuf>,
    ) -> ExternalAgents {
        let socket = AgentSocket::new(context.stop.clone(), context.tracker.clone());
        ExternalAgents {
            context,
            team,
            socket,
            parts,
            supervisor,
            agents: Mutex::default(),
        }
    }

    /// Returns the external agent named `name`. All teammates with this name get the same [`AcpAgent`]. Does not start
    /// its program.
    ///
    /// # Errors
    /// Fails with the reason if there is no such agent, or if its settings cannot be used.
    pub fn find(self: &Arc<Self>, name: &str) -> Result<Arc<AcpAgent>, String> {
        if let Some(agent) = lock(&self.agents).get(name) {
            return Ok(Arc::clone(agent));
        }
        let Some(parts) = &self.parts else {
            return Err(format!("there is no external agent '{name}'"));
        };
        let found = (parts.find)(name)?;
        let redactor = self.context.event_sender.redactor().clone();
        let options = AcpOptions::new(self.context.root.clone(), self.supervisor.clone(), redactor);
        let new = Arc::new(AcpAgent::new(found, options));
        let (agent, is_first) = {
            let mut agents = lock(&self.agents);
            let is_first = agents.is_empty();
            // Another teammate may have found the same agent in the meantime.
            let agent = agents.entry(name.to_string()).or_insert(new);
            (Arc::clone(agent), is_first)
        };
        if is_first {
            let all = Arc::clone(self);
            self.context.spawn(async move {
                all.context.stop.cancelled().await;
                all.shut_down().await;
            });
        }
        Ok(agent)
    }

    /// Returns [`ExternalParts::idle_limit`], or [`Duration::MAX`] if the crew has no external agents.
    pub fn idle_limit(&self) -> Duration {
        self.parts
            .as_ref()
            .map_or(Duration::MAX, |parts| parts.idle_limit)
    }

    /// Returns the memory that stores the last session of a teammate's external agent in the roster.
    pub fn memory_of(&self, member: &Member) -> Arc<dyn SessionMemory> {
        Arc::new(RosterMemory {
            team: Arc::clone(&self.team),
            member: member.name.clone(),
            last: Mutex::new(member.agent_session.clone()),
        })
    }

    /// Gives `model`, the external agent of the teammate `name`, access to `tools`.
    ///
    /// # Errors
    /// Fails with the reason if the path of the program `crewdeck` is unknown, or if [`AgentSocket::register`] fails.
    pub async fn connect(
        &self,
        name: &Name,
        model: &ExternalModel,
        tools: Arc<ExternalTools>,
    ) -> Result<ExternalAccess, String> {
        let program = self.parts.as_ref().and_then(|p| p.crewdeck.as_ref());
        let Some(program) = program else {
            return Err("the path of the program crewdeck is unknown".into());
        };
        let access = self
            .socket
            .register(name.clone(), Arc::clone(&tools) as _)
            .await?;
        let variables = access.variables().into_iter();
        let redactor = self.context.event_sender.redactor();
        for (name, value) in variables
            .clone()
            .filter(|(name, _)| *name == TOKEN_VARIABLE)
        {
            redactor.add(name, &value);
        }
        model.set_server(StdioServer {
            name: CREW_SERVER.into(),
            command: program.to_string_lossy().into_owned(),
            args: vec!["mcp-serve".into()],
            env: variables
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
        });
        Ok(ExternalAccess {
            _access: access,
            tools,
        })
    }

    /// Ends the programs of all external agents.
    async fn shut_down(&self) {
        let agents: Vec<_> = lock(&self.agents).values().cloned().collect();
        join_all(agents.iter().map(|agent| agent.shut_down())).await;
    }
}

/// Stores in the roster which session the external agent of one teammate used last. When the teammate is restarted, its
/// agent continues that session.
struct RosterMemory {
    team: Arc<TeamRoster>,
    member: Name,
    last: Mutex<Option<ExternalSession>>,
}

impl SessionMemory for RosterMemory {
    fn last(&self) -> Option<ExternalSession> {
        lock(&self.last).clone()
    }

    fn remember<'a>(&'a self, id: &'a str, dir: &'a Path) -> BoxFuture<'a, ()> {
        let session = ExternalSession {
            id: id.to_string(),
            dir: dir.to_string_lossy().into_owned(),
        };
        *lock(&self.last) = Some(session.clone());
        Box::pin(async move {
            // Without the entry, a restarted teammate begins a new session with a summary.
            let _ = self.team.set_agent_session(&self.member, session).await;
        })
    }
}
