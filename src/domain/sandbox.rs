//! What the settings say on the sandbox of commands: network, sockets, and limits of one command. Pure.

use serde::{Deserialize, Serialize};

use super::ids::Name;

/// Whether commands reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// They do.
    #[default]
    On,
    /// They do not; the loopback of a command is its own.
    Off,
    /// Only a command that begins with [`ASKS_FOR_NETWORK`], which the user is asked about.
    Ask,
}

/// How a command asks for the network where the setting is `ask`.
pub const ASKS_FOR_NETWORK: &str = "CREWDECK_NETWORK=on ";

/// The network switch of each role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkRules {
    /// Of the lead.
    pub lead: Network,
    /// Of teammates.
    pub teammate: Network,
    /// Of subagents.
    pub subagent: Network,
}

impl NetworkRules {
    /// The same for every role.
    pub fn all(network: Network) -> NetworkRules {
        NetworkRules {
            lead: network,
            teammate: network,
            subagent: network,
        }
    }

    /// The switch of an agent.
    pub fn of(&self, agent: &Name) -> Network {
        if agent.parent().is_some() {
            self.subagent
        } else if agent.is_lead() {
            self.lead
        } else {
            self.teammate
        }
    }

    /// Whether every role has the network.
    pub fn is_on_for_all(&self) -> bool {
        *self == NetworkRules::all(Network::On)
    }
}

/// Whether a command asks for the network.
pub fn asks_for_network(command: &str) -> bool {
    command.trim_start().starts_with(ASKS_FOR_NETWORK)
}

/// Services on this machine that act for the user and listen on a socket. Commands do not reach them unless the setting
/// `sockets` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketGroup {
    /// ssh-agent and its relatives.
    Ssh,
    /// The agent of GnuPG.
    Gpg,
    /// Docker, Podman, containerd and the like.
    Containers,
    /// Wayland, X11 and sound.
    Display,
    /// The session's and the system's D-Bus, and what else controls the system.
    Dbus,
    /// Terminal multiplexers and editors that take commands.
    Terminals,
}

impl SocketGroup {
    /// All of them.
    pub const ALL: [SocketGroup; 6] = [
        SocketGroup::Ssh,
        SocketGroup::Gpg,
        SocketGroup::Containers,
        SocketGroup::Display,
        SocketGroup::Dbus,
        SocketGroup::Terminals,
    ];
}

/// How much one command may use, with all that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Most processes; `None`: any number.
    pub processes: Option<u32>,
    /// Most memory in MiB; `None`: any amount.
    pub memory_mb: Option<u64>,
}

/// Most processes of a command for each core where the settings say nothing.
const PROCESSES_PER_CORE: u32 = 256;
/// The bounds of that default.
const PROCESSES: (u32, u32) = (512, 4096);
/// The least memory of a command where the settings say nothing, in MiB.
const MEMORY_LEAST: u64 = 512;

impl CommandLimits {
    /// The limits on a machine with that many cores and that much memory, where the settings name none: half of the
    /// memory, so that crewdeck and other agents go on. 0 in the settings is no limit.
    pub fn new(
        processes: Option<u32>,
        memory_mb: Option<u64>,
        cores: usize,
        machine_mb: Option<u64>,
    ) -> CommandLimits {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        let usual = cores
            .saturating_mul(PROCESSES_PER_CORE)
            .clamp(PROCESSES.0, PROCESSES.1);
        let half = machine_mb.map(|mb| (mb / 2).max(MEMORY_LEAST));
        CommandLimits {
            processes: Some(processes.unwrap_or(usual)).filter(|n| *n > 0),
            memory_mb: memory_mb.or(half).filter(|n| *n > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_role_has_its_network_switch() {
        let rules = NetworkRules {
            teammate: Network::Off,
            subagent: Network::Ask,
            ..NetworkRules::default()
        };
        let name = |text: &str| Name::party(text).unwrap();
        assert_eq!(rules.of(&name("lead")), Network::On);
        assert_eq!(rules.of(&name("alice")), Network::Off);
        assert_eq!(rules.of(&Name::subagent(&Name::lead(), 1)), Network::Ask);
        assert!(!rules.is_on_for_all() && NetworkRules::default().is_on_for_all());
        assert!(asks_for_network(" CREWDECK_NETWORK=on npm install"));
        assert!(!asks_for_network("npm install"));
    }

    #[test]
    fn default_limits_follow_the_machine() {
        let small = CommandLimits::new(None, None, 1, Some(700));
        assert_eq!((small.processes, small.memory_mb), (Some(512), Some(512)));
        let large = CommandLimits::new(None, None, 64, Some(64_000));
        assert_eq!(
            (large.processes, large.memory_mb),
            (Some(4096), Some(32_000))
        );
        let named = CommandLimits::new(Some(7), Some(9), 64, None);
        assert_eq!((named.processes, named.memory_mb), (Some(7), Some(9)));
        let none = CommandLimits::new(Some(0), Some(0), 2, Some(1000));
        assert_eq!((none.processes, none.memory_mb), (None, None));
    }
}
