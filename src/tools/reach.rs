//! Determines which resources a command can access: the git history and the network.

use std::path::Path;

use super::policy;
use crate::domain::ids::Name;
use crate::domain::sandbox::{Network, asks_for_network};
use crate::process::supervisor::Supervisor;
use crate::process::{NetworkReach, Reach};

/// Returns how `command` of `agent` can access the git history and the network when it runs in `workdir`. Without a
/// supervisor, the network is not restricted.
pub fn of(supervisor: Option<&Supervisor>, agent: &Name, workdir: &Path, command: &str) -> Reach {
    let network = match network_rule(supervisor, agent) {
        Network::On => NetworkReach::On,
        // This function is called only for commands that run, so the user has approved the access.
        Network::Ask if asks_for_network(command) => NetworkReach::On,
        Network::Ask | Network::Off => NetworkReach::Off,
    };
    Reach {
        history: policy::history_reach(command, workdir),
        network,
    }
}

/// Returns why the user must approve network access for `command`; `None` if no approval is needed.
pub fn network_question(
    supervisor: Option<&Supervisor>,
    agent: &Name,
    command: &str,
) -> Option<String> {
    let is_asked = network_rule(supervisor, agent) == Network::Ask && asks_for_network(command);
    is_asked.then(|| "the command needs network access".into())
}

fn network_rule(supervisor: Option<&Supervisor>, agent: &Name) -> Network {
    supervisor.map_or(Network::On, |supervisor| supervisor.network.of(agent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sandbox::{CommandLimits, NetworkRules};
    use crate::process::session_variables::SessionVariables;
    use pretty_assertions::assert_eq;

    #[test]
    fn network_needs_approval_where_the_setting_says_ask() {
        let supervisor = |network| Supervisor {
            program: "/nowhere".into(),
            sandbox: None,
            network: NetworkRules {
                teammate: network,
                ..NetworkRules::default()
            },
            limits: CommandLimits {
                processes: None,
                memory_mb: None,
            },
            variables: SessionVariables::default(),
        };
        let alice = Name::party("alice").unwrap();
        let workdir = Path::new("/r");
        let (plain, asking) = ("npm install", "CREWDECK_NETWORK=on npm install");
        for (network, command, reach, is_asked) in [
            (Network::On, plain, NetworkReach::On, false),
            (Network::On, asking, NetworkReach::On, false),
            (Network::Off, asking, NetworkReach::Off, false),
            (Network::Ask, plain, NetworkReach::Off, false),
            (Network::Ask, asking, NetworkReach::On, true),
        ] {
            let supervisor = supervisor(network);
            assert_eq!(
                of(Some(&supervisor), &alice, workdir, command).network,
                reach,
                "{network:?} {command}"
            );
            let question = network_question(Some(&supervisor), &alice, command);
            assert_eq!(question.is_some(), is_asked, "{network:?} {command}");
            assert_eq!(
                of(Some(&supervisor), &Name::lead(), workdir, command).network,
                NetworkReach::On
            );
        }
        assert_eq!(of(None, &alice, workdir, plain).network, NetworkReach::On);
    }
}
