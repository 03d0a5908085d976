//! The hosts of a crew on a hub: machines whose crewdeck processes work on the same board.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::ids::{Name, NameError};
use super::timestamp::Timestamp;

/// Maximum number of hosts of a crew.
pub const HOSTS_MAX: usize = 500;
/// Maximum number of agents that one host can run.
pub const SLOTS_MAX: u16 = 256;

/// The name of a host. Follows the rules for the name of a teammate, and is unique regardless of case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct HostName(String);

impl HostName {
    /// Parses a name.
    ///
    /// # Errors
    /// When it contains other characters than letters, digits, '-' and '_', is too long, or is reserved.
    pub fn parse(text: &str) -> Result<HostName, NameError> {
        Name::member(text).map(|name| HostName(name.as_str().into()))
    }

    /// Returns a valid name that is as similar as possible to `text`, for example to the name of a machine with a domain.
    pub fn similar_to(text: &str) -> HostName {
        let first = text.split('.').next().unwrap_or_default();
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name: String = first.chars().filter(|c| valid(*c)).take(32).collect();
        let name = name.trim_start_matches(['-', '_']);
        let name = if name.is_empty() { "host" } else { name };
        // Reserved names are short.
        HostName::parse(name).unwrap_or_else(|_| HostName(format!("{name}-host")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn same(&self, other: &HostName) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HostName, D::Error> {
        let text = String::deserialize(deserializer)?;
        HostName::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// What a host does for its crew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// Runs the lead, and teammates that the lead spawns. A crew has one.
    Lead,
    /// Runs teammates only.
    Worker,
}

/// What a host reports about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostInfo {
    pub name: HostName,
    pub kind: HostKind,
    /// Maximum number of teammates of a worker; 0 for the host of the lead.
    #[serde(default)]
    pub slots: u16,
    /// Tags that let the teammates of this host claim tasks that require them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The version of crewdeck.
    #[serde(default)]
    pub version: String,
    /// Number of processor cores; 0 if unknown.
    #[serde(default)]
    pub cores: u16,
    /// The load of the machine: the average number of processes that wanted to run in the last minute.
    #[serde(default)]
    pub load: f32,
    /// Whether the host claims no more tasks and ends when its teammates have finished.
    #[serde(default)]
    pub is_draining: bool,
    /// When the session of the host began.
    #[serde(default)]
    pub started_at: Timestamp,
}

impl HostInfo {
    /// Returns the report of a host of which only the name and the kind are known.
    pub fn new(name: HostName, kind: HostKind) -> HostInfo {
        HostInfo {
            name,
            kind,
            slots: 0,
            tags: Vec::new(),
            version: String::new(),
            cores: 0,
            load: 0.0,
            is_draining: false,
            started_at: Timestamp::default(),
        }
    }
}

/// Whether a host can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostPresence {
    Present,
    /// The host has ended its session.
    Left,
    /// The lease of the host has expired. Its claims are no longer valid.
    Lost,
}

/// A host as the crew knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostState {
    #[serde(flatten)]
    pub info: HostInfo,
    /// Identifies the run of crewdeck on the host. Claims of an earlier run are not valid.
    pub session: String,
    pub presence: HostPresence,
    /// When the host last reported itself or renewed its lease, by the clock of the hub's server. What a host stores has its
    /// own clock, which is not compared.
    pub seen_at: Timestamp,
}

/// Says for which session of a host a task was claimed. Only that session may act as the owner of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClaim {
    pub host: HostName,
    pub session: String,
}

impl fmt::Display for HostClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn name_of_a_machine_becomes_a_valid_name() {
        for (machine, name) in [
            ("gpu-box", "gpu-box"),
            ("build.farm.example", "build"),
            ("_odd name!", "oddname"),
            ("", "host"),
            ("ü", "host"),
            ("Lead.example.org", "Lead-host"),
        ] {
            let host = HostName::similar_to(machine);
            assert_eq!(host.as_str(), name, "{machine}");
            assert_eq!(HostName::parse(name).unwrap(), host);
        }
    }

    #[test]
    fn reserved_names_are_no_names_of_hosts() {
        for name in ["lead", "USER", "policy"] {
            assert!(HostName::parse(name).is_err(), "{name}");
        }
    }
}
