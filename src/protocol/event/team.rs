//! What happens between the members of the team: roster, messages, requests, permissions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::DeliveryState;
use crate::domain::host::HostState;
use crate::domain::mail::MailMessage;
use crate::domain::permission::SessionPermission;
use crate::domain::request::Request;
use crate::domain::team::Team;

/// An event about the members of the team and what they ask of each other and of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TeamEvent {
    /// The roster on disk has changed, through crewdeck or another program. Not sent if only
    /// [`Member::seen_at`](crate::domain::team::Member::seen_at) differs.
    #[serde(rename = "team_changed")]
    RosterChanged {
        /// The whole roster.
        team: Arc<Team>,
    },
    /// A message was sent or delivered, or the model of the recipient has answered after it read the message.
    #[serde(rename = "letter_moved")]
    MessageMoved {
        #[serde(rename = "letter")]
        message: MailMessage,
        step: DeliveryState,
    },
    /// A request was made, decided or withdrawn. At the start of a crew, events of this type report all requests on
    /// disk. Also answers [`crate::protocol::Command::Decide`].
    RequestChanged {
        /// The current state of the request.
        request: Request,
    },
    /// A host has joined, left, was lost, or reported new facts. Only for a crew on a hub.
    HostsChanged {
        /// All hosts, sorted by name.
        hosts: Vec<HostState>,
    },
    /// The user has added or revoked a session permission.
    #[serde(rename = "rules_changed")]
    PermissionsChanged {
        /// All session permissions, oldest first.
        rules: Vec<SessionPermission>,
    },
}
