//! Hosts that work on one hub while they and its servers are killed at random moments. The same must hold as after cuts of
//! the network, see [`super::partitions`].
//!
//! A round has 20 kills. 200 kills: `CREWDECK_ROUNDS=10`. A cluster: `CREWDECK_SERVERS=3 CREWDECK_LEASE_SECONDS=10`.

use std::time::Duration;

use super::host_round::{HostRound, SeededRandom, run_rounds, setting};
use super::network::HOSTS;
use super::proof::RoundReport;

/// Number of kills in a round.
const KILLS: usize = 20;
const PAUSE_MIN: Duration = Duration::from_millis(20);

fn round(seed: u64) -> (String, RoundReport) {
    let servers = usize::try_from(setting("CREWDECK_SERVERS", 1)).unwrap();
    let life = Duration::from_secs(setting("CREWDECK_LEASE_SECONDS", 3));
    let mut random = SeededRandom(seed);
    let mut round = HostRound::start(servers, life, &mut random);
    let mut server_kills = 0;
    for _ in 0..KILLS {
        std::thread::sleep(random.between(PAUSE_MIN, life / 2));
        let victim = random.below(HOSTS + servers);
        if victim < HOSTS {
            round.kill(victim);
        } else {
            round.network.servers[victim - HOSTS].restart();
            server_kills += 1;
        }
    }
    let report = round.finish(false);
    (format!("{KILLS} kills, {server_kills} of servers"), report)
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn killed_hosts_and_servers_lose_and_double_nothing() {
    run_rounds("kills", 1, round);
}
