//! The network between the hosts of a crew and the servers of their hub, which a test can cut.
//!
//! Normally each pair is connected through a proxy on loopback. If `CREWDECK_HUB_NETNS` is set, each member runs in a network
//! namespace of its own, and cut pairs get a wrong hardware address for each other, so that their packets vanish.
//! `tests/third_party/hub_partitions` creates the namespaces.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::proxy::{Proxy, TO_CLIENT, TO_SERVER};
use super::{NatsServer, command_in, free_port};

/// Maximum number of hosts and of servers, for which the script creates namespaces.
pub const HOSTS: usize = 5;
pub const SERVERS_MAX: usize = 3;
/// The first three parts of the addresses in the namespaces. Member N has the address N + 1.
const NETWORK: &str = "10.231.77";
/// A hardware address that no member has.
const NO_ADDRESS: &str = "02:00:00:00:00:fe";
const CLIENT_PORT: u16 = 4222;
const ROUTE_PORT: u16 = 6222;

/// Hosts and servers. Members are numbered: the hosts first, then the servers.
pub struct Network {
    pub servers: Vec<NatsServer>,
    links: NetworkLinks,
}

enum NetworkLinks {
    /// By the numbers of the client and of the server.
    Proxies(BTreeMap<(usize, usize), Proxy>),
    Namespaces {
        prefix: String,
        /// The pairs whose packets vanish.
        cut: Mutex<Vec<(usize, usize)>>,
    },
}

impl Network {
    /// Starts `servers` servers, which are a cluster if there are several.
    pub fn start(servers: usize) -> Network {
        assert!(servers <= SERVERS_MAX);
        match std::env::var("CREWDECK_HUB_NETNS") {
            Ok(prefix) => Network::in_namespaces(servers, prefix),
            Err(_) => Network::behind_proxies(servers),
        }
    }

    fn behind_proxies(count: usize) -> Network {
        let mut proxies = BTreeMap::new();
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let routes: Vec<u16> = (0..count).map(|_| free_port()).collect();
        for (server, port) in ports.iter().enumerate() {
            for host in 0..HOSTS {
                proxies.insert((host, HOSTS + server), Proxy::start(*port));
            }
            for other in (0..count).filter(|other| *other != server) {
                let proxy = Proxy::start(routes[server]);
                proxies.insert((HOSTS + other, HOSTS + server), proxy);
            }
        }
        let start = |server: usize| {
            let others = (0..count).filter(|other| *other != server);
            let others = others.map(|other| {
                let port = proxies[&(HOSTS + server, HOSTS + other)].port();
                format!("127.0.0.1:{port}")
            });
            let listen = format!("127.0.0.1:{}", routes[server]);
            let config = cluster_config(server, &listen, &others.collect::<Vec<_>>());
            NatsServer::start_in(None, "127.0.0.1", ports[server], &config)
        };
        Network {
            servers: (0..count).map(start).collect(),
            links: NetworkLinks::Proxies(proxies),
        }
    }

    fn in_namespaces(count: usize, prefix: String) -> Network {
        let start = |server: usize| {
            let others = (0..count).filter(|other| *other != server);
            let others = others.map(|other| format!("{}:{ROUTE_PORT}", address(HOSTS + other)));
            let own = address(HOSTS + server);
            let listen = format!("{own}:{ROUTE_PORT}");
            let config = cluster_config(server, &listen, &others.collect::<Vec<_>>());
            let namespace = Some(namespace(&prefix, HOSTS + server));
            NatsServer::start_in(namespace, &own, CLIENT_PORT, &config)
        };
        Network {
            servers: (0..count).map(start).collect(),
            links: NetworkLinks::Namespaces {
                prefix,
                cut: Mutex::default(),
            },
        }
    }

    /// Returns the number of hosts and servers.
    pub fn members(&self) -> usize {
        HOSTS + self.servers.len()
    }

    /// Returns the address of the crew as a host reaches it.
    pub fn url_for(&self, host: usize, crew: &str) -> String {
        let url = |server: usize| match &self.links {
            NetworkLinks::Proxies(proxies) => {
                format!("nats://127.0.0.1:{}", proxies[&(host, server)].port())
            }
            NetworkLinks::Namespaces { .. } => {
                format!("nats://{}:{CLIENT_PORT}", address(server))
            }
        };
        let urls: Vec<String> = (HOSTS..self.members()).map(url).collect();
        format!("{}/{crew}", urls.join(","))
    }

    /// Returns the addresses of the servers as a program outside of the cuts reaches them.
    pub fn direct_urls(&self) -> Vec<String> {
        let urls = self.servers.iter().map(|server| server.url().to_string());
        urls.collect()
    }

    /// Returns the command that starts a program on a host.
    pub fn command(&self, host: usize, program: &OsStr) -> Command {
        match &self.links {
            NetworkLinks::Proxies(_) => command_in(None, program),
            NetworkLinks::Namespaces { prefix, .. } => {
                command_in(Some(&namespace(prefix, host)), program)
            }
        }
    }

    /// Loses everything that member `from` sends to member `to`, until [`Network::heal`].
    pub fn block(&self, from: usize, to: usize) {
        match &self.links {
            NetworkLinks::Proxies(proxies) => {
                if let Some(proxy) = proxies.get(&(from, to)) {
                    proxy.stall(TO_SERVER);
                }
                if let Some(proxy) = proxies.get(&(to, from)) {
                    proxy.stall(TO_CLIENT);
                }
            }
            NetworkLinks::Namespaces { prefix, cut } => {
                let (namespace, to_address) = (namespace(prefix, from), address(to));
                let device = ["dev", "eth0", "nud", "permanent"];
                let replace = ["neigh", "replace", &to_address, "lladdr", NO_ADDRESS];
                run_ip(&namespace, &[&replace[..], &device].concat());
                let mut cut = cut.lock().unwrap_or_else(PoisonError::into_inner);
                cut.push((from, to));
            }
        }
    }

    /// Closes the connections between two members and refuses new ones. Namespaces lose the packets instead.
    pub fn close(&self, one: usize, other: usize) {
        match &self.links {
            NetworkLinks::Proxies(proxies) => {
                for pair in [(one, other), (other, one)] {
                    if let Some(proxy) = proxies.get(&pair) {
                        proxy.close();
                    }
                }
            }
            NetworkLinks::Namespaces { .. } => {
                self.block(one, other);
                self.block(other, one);
            }
        }
    }

    /// Delays all traffic and stops a part of it as lost packets do. Namespaces cannot do this.
    pub fn slow(&self, delay: Duration, loss_every: u64) {
        if let NetworkLinks::Proxies(proxies) = &self.links {
            for proxy in proxies.values() {
                proxy.slow(delay, loss_every);
            }
        }
    }

    /// Ends all cuts. What was on its way arrives late, or is lost if `is_reset`.
    pub fn heal(&self, is_reset: bool) {
        match &self.links {
            NetworkLinks::Proxies(proxies) => {
                for proxy in proxies.values() {
                    proxy.resume(is_reset);
                }
            }
            NetworkLinks::Namespaces { prefix, cut } => {
                let mut cut = cut.lock().unwrap_or_else(PoisonError::into_inner);
                cut.sort_unstable();
                cut.dedup();
                for (from, to) in cut.drain(..) {
                    let delete = ["neigh", "del", &address(to), "dev", "eth0"];
                    run_ip(&namespace(prefix, from), &delete);
                }
            }
        }
    }

    /// Starts this test binary on a host, with these variables.
    pub fn start_role(&self, host: usize, test: &str, variables: &[(&str, &str)]) -> Child {
        let program = std::env::current_exe().unwrap();
        let log = variables
            .iter()
            .find(|(name, _)| *name == "CREWDECK_HOST_LOG");
        let log = match log {
            Some((_, path)) => Stdio::from(append_to(Path::new(path))),
            None => Stdio::null(),
        };
        self.command(host, program.as_os_str())
            .args(["--exact", test, "--nocapture"])
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }
}

fn append_to(path: &Path) -> std::fs::File {
    let options = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    options.unwrap()
}

fn address(member: usize) -> String {
    format!("{NETWORK}.{}", member + 1)
}

fn namespace(prefix: &str, member: usize) -> String {
    format!("{prefix}{member}")
}

fn run_ip(namespace: &str, arguments: &[&str]) {
    let status = Command::new("ip")
        .args(["-n", namespace])
        .args(arguments)
        .status();
    assert!(status.unwrap().success(), "ip -n {namespace} {arguments:?}");
}

/// Returns the configuration of a server of a cluster. A server and a client get no addresses from other servers, so that
/// they use no way around the proxies.
fn cluster_config(server: usize, listen: &str, others: &[String]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let routes = others
        .iter()
        .map(|other| format!("\"nats-route://{other}\""));
    let routes = routes.collect::<Vec<_>>().join(", ");
    format!(
        "server_name: \"n{server}\"\ncluster {{\n  name: \"proof\"\n  listen: \"{listen}\"\n  advertise: \"127.0.0.1:1\"\n  \
         no_advertise: true\n  pool_size: -1\n  routes: [{routes}]\n}}\n"
    )
}
