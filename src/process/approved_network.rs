//! The network access of commands that the user has approved as a text in the settings: checks of tasks, and the commands
//! for worktrees. With `network = "ask"`, the approval covers the text, but not what the command calls.

use super::NetworkReach;
use crate::domain::sandbox::{Network, asks_for_network};

/// Who has written the files that a command finds in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentOrigin {
    /// The files are those of a commit on the user's base branch, and no agent has worked in the directory.
    BaseBranch,
    /// Agents may have written some of the files, so the command may run what an agent wrote.
    Agents,
}

/// The network access of a command of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovedNetwork {
    pub reach: NetworkReach,
    /// Whether the command asks for the network and does not get it, because agents may have written what it runs.
    pub is_withheld: bool,
}

/// Returns whether the network access of a command depends on who has written the content.
pub fn depends_on_origin(rule: Network, command: &str) -> bool {
    rule == Network::Ask && asks_for_network(command)
}

/// Returns the network access of `command`, which the user has approved in the settings. `rule` is the setting for the
/// agent for which it runs.
///
/// With [`Network::Ask`], the command gets the network if it begins with the prefix that asks for it and `origin` is the
/// base branch. Otherwise an agent could reach the network by changing a script that the command calls, although a
/// command of this agent would need an approval.
pub fn approved_network(rule: Network, command: &str, origin: ContentOrigin) -> ApprovedNetwork {
    let is_withheld = depends_on_origin(rule, command) && origin == ContentOrigin::Agents;
    let reach = match rule {
        Network::On => NetworkReach::On,
        Network::Ask if asks_for_network(command) && !is_withheld => NetworkReach::On,
        Network::Ask | Network::Off => NetworkReach::Off,
    };
    ApprovedNetwork { reach, is_withheld }
}

/// The reason why a command has no network although it asks for it, as the end of a sentence about the command.
pub const NETWORK_WITHHELD: &str =
    "without network, because it runs content that agents may have written (network = \"ask\")";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn asked_network_is_only_for_content_of_the_base_branch() {
        let asking = "CREWDECK_NETWORK=on npm ci";
        for (rule, command, origin, reach, is_withheld) in [
            (
                Network::On,
                "npm ci",
                ContentOrigin::Agents,
                NetworkReach::On,
                false,
            ),
            (
                Network::On,
                asking,
                ContentOrigin::Agents,
                NetworkReach::On,
                false,
            ),
            (
                Network::Ask,
                asking,
                ContentOrigin::BaseBranch,
                NetworkReach::On,
                false,
            ),
            (
                Network::Ask,
                asking,
                ContentOrigin::Agents,
                NetworkReach::Off,
                true,
            ),
            (
                Network::Ask,
                "npm ci",
                ContentOrigin::BaseBranch,
                NetworkReach::Off,
                false,
            ),
            (
                Network::Ask,
                "npm ci",
                ContentOrigin::Agents,
                NetworkReach::Off,
                false,
            ),
            (
                Network::Off,
                asking,
                ContentOrigin::BaseBranch,
                NetworkReach::Off,
                false,
            ),
            (
                Network::Off,
                asking,
                ContentOrigin::Agents,
                NetworkReach::Off,
                false,
            ),
        ] {
            assert_eq!(
                approved_network(rule, command, origin),
                ApprovedNetwork { reach, is_withheld },
                "{rule:?} {command} {origin:?}"
            );
        }
    }
}
