//! Looks for a model server on this machine: one that listens on its usual port needs no key.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Usual ports of local servers that speak Chat Completions.
const SERVERS: &[(&str, u16)] = &[("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234)];

/// How long a port on this machine may take to answer.
const WITHIN: Duration = Duration::from_millis(200);

/// The base URL of the first local server that listens. It may be something else that uses the port;
/// asking it for its models will tell.
pub fn find() -> Option<(&'static str, String)> {
    SERVERS.iter().find_map(|(name, port)| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        answers(address).then(|| (*name, format!("http://127.0.0.1:{port}/v1")))
    })
}

/// Whether something listens there.
pub fn answers(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, WITHIN).is_ok()
}

/// The address of a server on this machine, as far as `base_url` names one.
pub fn address(base_url: &str) -> Option<SocketAddr> {
    let url = reqwest::Url::parse(base_url).ok()?;
    let addresses = url.socket_addrs(|| None).ok()?;
    addresses.into_iter().find(|a| a.ip().is_loopback())
}
