//! Hosts that work on one hub while the network between them and its servers is cut: no task is done twice or lost, no
//! message is lost or read twice, no request is decided twice, and a host that was lost stops and can join again.
//!
//! Hosts reach each other only through the servers. So the cut "lead | worker" is one between either of them and a server, or
//! between the servers that they use.
//!
//! The length of a cut is a multiple of the life of a lease, and tests use a shorter life (`CREWDECK_LEASE_SECONDS`) than the
//! 15 seconds of a real crew: with a life of 3 seconds, a cut of 120 seconds (`CREWDECK_CUT_LIVES=40`) has as many lives as
//! one of 10 minutes. What a life does not scale are the time-outs of requests, the elections of a cluster, and the 120
//! seconds in which a server removes messages that were sent again; after a longer cut, messages may come twice.
//!
//! `CREWDECK_ROUNDS` sets the number of rounds, and `CREWDECK_SEED` repeats the plan of one.

use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use crewdeck::domain::host::{HostInfo, HostKind, HostName, HostPresence};

use super::host_process;
use super::host_round::{HostRound, SeededRandom, run_rounds, setting};
use super::network::{HOSTS, Network};
use super::proof::RoundReport;

/// Number of cuts in a round.
const CUTS: usize = 5;
const SHORTEST: Duration = Duration::from_secs(1);
/// Time of a cut after which a server may have forgotten the ids of messages.
const IDS_FORGOTTEN_AFTER: Duration = Duration::from_secs(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutKind {
    /// Nothing is forwarded, but connections stay open.
    Stall,
    /// Only what goes from lower groups to higher ones is forwarded.
    FromLower,
    FromHigher,
    /// Connections are closed and refused.
    Close,
    /// Everything is delayed, and a part is lost and sent again.
    Slow,
}

#[derive(Debug)]
struct NetworkCut {
    what: &'static str,
    /// The group of each member. Members of different groups are cut off from each other.
    groups: Vec<usize>,
    kind: CutKind,
    lasts: Duration,
    /// Whether what was on its way is lost instead of late.
    is_reset: bool,
}

fn plan(random: &mut SeededRandom, servers: usize, longest: Duration) -> Vec<NetworkCut> {
    (0..CUTS)
        .map(|_| random_cut(random, servers, longest))
        .collect()
}

fn random_cut(random: &mut SeededRandom, servers: usize, longest: Duration) -> NetworkCut {
    let mut groups = vec![0; HOSTS + servers];
    let shapes = if servers > 1 { 7 } else { 4 };
    let what = match random.below(shapes) {
        0 => {
            groups[random.below(2)] = 1;
            "one lead | rest"
        }
        1 => {
            groups[2 + random.below(HOSTS - 2)] = 1;
            "worker | rest"
        }
        2 => {
            groups[2..HOSTS].fill(1);
            "workers | leads and servers"
        }
        3 => {
            groups[..HOSTS].fill(1);
            "hosts | servers"
        }
        4 => {
            groups[HOSTS + random.below(servers)] = 1;
            "one server | rest"
        }
        5 => {
            groups[HOSTS + random.below(servers)] = 1;
            for group in &mut groups[..HOSTS] {
                *group = random.below(2);
            }
            "minority with hosts | majority with hosts"
        }
        _ => {
            for (server, group) in groups[HOSTS..].iter_mut().enumerate() {
                *group = server;
            }
            for group in &mut groups[..HOSTS] {
                *group = random.below(servers);
            }
            "no majority"
        }
    };
    let kinds = [
        CutKind::Stall,
        CutKind::FromLower,
        CutKind::FromHigher,
        CutKind::Close,
        CutKind::Slow,
    ];
    let kind = kinds[random.below(kinds.len())];
    // Short cuts are as likely as long ones.
    let longest = random.between(SHORTEST, longest);
    NetworkCut {
        what,
        groups,
        kind,
        lasts: random.between(SHORTEST, longest),
        is_reset: random.below(2) == 0,
    }
}

fn apply(round: &HostRound, cut: &NetworkCut) {
    let network = &round.network;
    if cut.kind == CutKind::Slow {
        return network.slow(Duration::from_millis(20), 20);
    }
    for from in 0..network.members() {
        for to in 0..network.members() {
            let (one, other) = (cut.groups[from], cut.groups[to]);
            match cut.kind {
                CutKind::FromLower if one > other => network.block(from, to),
                CutKind::FromHigher if one < other => network.block(from, to),
                CutKind::Stall if one != other => network.block(from, to),
                CutKind::Close if one < other => network.close(from, to),
                _ => {}
            }
        }
    }
}

fn round(seed: u64, servers: usize, life: Duration) -> (String, RoundReport) {
    let mut random = SeededRandom(seed);
    let lives = u32::try_from(setting("CREWDECK_CUT_LIVES", 4)).unwrap();
    let cuts = plan(&mut random, servers, life * lives);
    let round = HostRound::start(servers, life, &mut random);
    for cut in &cuts {
        std::thread::sleep(random.between(life / 2, life * 2));
        let (lasts, kind, what) = (cut.lasts.as_secs_f32(), cut.kind, cut.what);
        println!("  {what}: {kind:?}, {lasts:.1} s");
        apply(&round, cut);
        std::thread::sleep(cut.lasts);
        round.network.heal(cut.is_reset);
    }
    let may_double = cuts.iter().any(|cut| cut.lasts > IDS_FORGOTTEN_AFTER);
    let report = round.finish(may_double);
    (format!("{servers} servers, {} cuts", cuts.len()), report)
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn cuts_to_one_server_lose_and_double_nothing() {
    let life = Duration::from_secs(setting("CREWDECK_LEASE_SECONDS", 3));
    run_rounds("one server", 2, |seed| round(seed, 1, life));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn cuts_in_a_cluster_lose_and_double_nothing() {
    // Longer than the election of a leader.
    let life = Duration::from_secs(setting("CREWDECK_LEASE_SECONDS", 10));
    run_rounds("cluster", 2, |seed| round(seed, 3, life));
}

/// Returns the server to which this process is connected, from the table of connections.
fn connected_server(network: &Network) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let is_connected = |url: String| {
        let address: SocketAddrV4 = url.trim_start_matches("nats://").parse().unwrap();
        let ip = u32::from_ne_bytes(address.ip().octets());
        let wanted = format!("{ip:08X}:{:04X}", address.port());
        table.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(2);
            fields.next() == Some(wanted.as_str()) && fields.next() == Some("01")
        })
    };
    let found = network.direct_urls().into_iter().position(is_connected);
    found.unwrap()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn host_whose_server_stops_answering_is_not_lost() {
    // Longer than an election, because the server may lead the stream of the leases.
    let life = Duration::from_secs(20);
    let network = Network::start(3);
    let root = tempfile::tempdir().unwrap();
    let url = format!("{}/frozen", network.direct_urls().join(","));
    let stores = host_process::open(&url, root.path(), life, 3);
    let info = HostInfo {
        slots: 1,
        ..HostInfo::new(HostName::parse("gpu").unwrap(), HostKind::Worker)
    };
    let session = stores.hosts.as_ref().unwrap().join(&info, None).unwrap();
    network.servers[connected_server(&network)].freeze();
    let began = Instant::now();
    while began.elapsed() < life + life / 4 {
        let after = began.elapsed();
        assert!(session.is_valid(), "the host is lost after {after:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let other = host_process::open(&url, root.path(), life, 3);
    let hosts = other.hosts.as_ref().unwrap().hosts().unwrap();
    assert_eq!(hosts[0].presence, HostPresence::Present);
}

#[test]
fn plan_follows_from_the_seed() {
    let plan_of = |seed: u64| {
        let cuts = plan(&mut SeededRandom(seed), 3, Duration::from_secs(40));
        format!("{cuts:?}")
    };
    assert_eq!(plan_of(7), plan_of(7));
    assert_ne!(plan_of(7), plan_of(8));
}
