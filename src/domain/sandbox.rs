//! Settings of the command sandbox: network, sockets and resource limits.

use serde::{Deserialize, Serialize};

use super::ids::Name;

/// Whether commands can use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    #[default]
    On,
    /// Commands cannot reach the network, only a private loopback interface.
    Off,
    /// Only commands that begin with [`ASKS_FOR_NETWORK`] can use the network, and they need the user's approval.
    Ask,
}

/// The prefix with which a command requests network access if the setting is `ask`.
pub const ASKS_FOR_NETWORK: &str = "CREWDECK_NETWORK=on ";

/// The network setting for the lead, for teammates and for subagents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkRules {
    pub lead: Network,
    pub teammate: Network,
    pub subagent: Network,
}

impl NetworkRules {
    /// Returns rules with the same setting for all agents.
    pub fn all(network: Network) -> NetworkRules {
        NetworkRules {
            lead: network,
            teammate: network,
            subagent: network,
        }
    }

    /// Returns the network setting that applies to an agent.
    pub fn of(&self, agent: &Name) -> Network {
        if agent.parent().is_some() {
            self.subagent
        } else if agent.is_lead() {
            self.lead
        } else {
            self.teammate
        }
    }

    /// Returns whether all agents can use the network without asking.
    pub fn is_on_for_all(&self) -> bool {
        *self == NetworkRules::all(Network::On)
    }
}

/// Returns whether a command begins with [`ASKS_FOR_NETWORK`], ignoring blanks before it.
pub fn asks_for_network(command: &str) -> bool {
    command.trim_start().starts_with(ASKS_FOR_NETWORK)
}

/// A group of services on this machine that act for the user and listen on a socket. Commands cannot connect to these
/// services unless the setting `sockets` lists the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketGroup {
    /// ssh-agent and compatible agents.
    Ssh,
    Gpg,
    /// Docker, Podman, containerd and similar.
    Containers,
    /// Wayland, X11 and sound.
    Display,
    /// The session and system D-Bus, and other sockets that control the system.
    Dbus,
    /// Terminal multiplexers and editors that accept commands.
    Terminals,
}

impl SocketGroup {
    pub const ALL: [SocketGroup; 6] = [
        SocketGroup::Ssh,
        SocketGroup::Gpg,
        SocketGroup::Containers,
        SocketGroup::Display,
        SocketGroup::Dbus,
        SocketGroup::Terminals,
    ];
}

/// Resource limits of one command, including all processes that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// Maximum number of processes; `None` means unlimited.
    pub processes: Option<u32>,
    /// Maximum memory in MiB; `None` means unlimited.
    pub memory_mb: Option<u64>,
}

/// Number of processes per CPU core that the default limit of one command allows.
const PROCESSES_PER_CORE: u32 = 256;
/// Lower and upper bound of the default for [`CommandLimits::processes`].
const PROCESSES: (u32, u32) = (512, 4096);
/// Lower bound of the default for [`CommandLimits::memory_mb`], in MiB.
const MEMORY_LEAST: u64 = 512;

impl CommandLimits {
    /// Returns the limits for a machine with `cores` CPU cores and `machine_mb` MiB of memory (`None` if unknown).
    /// `processes` and `memory_mb` are the settings: `None` selects the default, 0 means unlimited.
    ///
    /// The default for processes is 256 per core, at least 512 and at most 4096. The default for memory is half of the
    /// machine's memory and at least 512 MiB, so that crewdeck and other agents can continue when one command uses its
    /// maximum. If the machine's memory is unknown, the default is unlimited.
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
    fn network_setting_depends_on_the_role() {
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
    fn default_limits_depend_on_the_machine() {
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
