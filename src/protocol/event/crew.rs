//! What happens to the crew as a whole: session, models, limits, jobs, notices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NoticeLevel, SessionInfo};
use crate::domain::ids::{JobId, Name};
use crate::domain::job::Job;
use crate::domain::limits::Limits;
use crate::domain::mcp::ServerStatus;
use crate::domain::memory::MemoryReport;
use crate::domain::server_offers::ServerOffers;
use crate::domain::skill::SkillCatalog;
use crate::protocol::CommandId;

/// An event that belongs to no single agent, task or message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CrewEvent {
    /// The crew has started, or its model has changed.
    #[serde(rename = "crew_ready")]
    Ready(SessionInfo),
    /// The models that the user can choose. Answers [`crate::protocol::Command::ListModels`].
    ModelsListed {
        /// The named models, then the models of the model server in the order of its answer.
        names: Vec<String>,
    },
    /// The limits of the crew have changed: the user raised a budget, or the usage changed in a day or month that a
    /// budget limits. Also sent once at the start.
    LimitsChanged(Limits),
    /// The skills or command files on disk have changed. Also sent once at the start. A notice follows for each skill
    /// or command file that cannot be used and was not reported before.
    SkillsChanged(SkillCatalog),
    /// The state or the tools of an MCP server have changed. The event has the state of all servers. Also sent once at
    /// the start if a server is configured.
    ServersChanged { servers: Vec<ServerStatus> },
    /// Tools of MCP servers were called, and nothing else changed: the number of calls since the crew started, by the
    /// name of the server. May be dropped.
    ServersCalled { calls: BTreeMap<String, u64> },
    /// The end of the log of an MCP server. Answers [`crate::protocol::Command::Server`] with the action `Show`.
    ServerShown { server: String, log: String },
    /// What an MCP server offers to the user. Answers [`crate::protocol::Command::ListOffers`].
    OffersListed(ServerOffers),
    /// The texts that an agent was given, such as the project memory. Answers [`crate::protocol::Command::ShowMemory`].
    MemoryShown(MemoryReport),
    /// A background job began or ended. Also answers [`crate::protocol::Command::KillJob`].
    JobChanged { job: Job },
    /// Output of a background job, as it arrives. May be merged or dropped.
    JobOutput { job: JobId, chunk: String },
    /// A one-line message for the user.
    Notice {
        level: NoticeLevel,
        /// The agent that the notice is about, if any.
        agent: Option<Name>,
        /// What happened and what to do.
        text: String,
    },
    /// A command was not carried out, or not completely. Nothing has changed, unless `why` says so.
    #[serde(rename = "refused")]
    CommandRejected {
        /// The id that the sender gave to the command. `None` in journals of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<CommandId>,
        /// The reason and what to do.
        why: String,
    },
    /// The crew is idle: all agents are idle, no job is running, no message waits for an agent, no idle agent can claim
    /// a task, and no request is pending.
    ///
    /// After its last reminder, the lead may leave a request undecided. This request then does not count as pending,
    /// and a teammate that waits only for it counts as idle.
    ///
    /// Sent again only after an agent has worked. A headless run ends here.
    #[serde(rename = "crew_at_rest")]
    AllIdle,
}

impl CrewEvent {
    /// See [`EventKind::is_delta`](super::EventKind::is_delta).
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            CrewEvent::JobOutput { .. } | CrewEvent::ServersCalled { .. }
        )
    }

    /// See [`EventKind::is_command_reply`](super::EventKind::is_command_reply).
    pub(super) fn is_command_reply(&self) -> bool {
        matches!(
            self,
            CrewEvent::ModelsListed { .. }
                | CrewEvent::ServerShown { .. }
                | CrewEvent::OffersListed(_)
                | CrewEvent::MemoryShown(_)
                | CrewEvent::CommandRejected { .. }
        )
    }
}
