//! Detects model servers on this machine by their default ports. They need no key.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Default ports of local servers with the Chat Completions API.
const SERVERS: &[(&str, u16)] = &[("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234)];

/// Timeout for a connection to a local port.
const WITHIN: Duration = Duration::from_millis(200);

/// Returns the name and base URL of the first local server that listens. Another program may use the port; the request for
/// its models shows that later.
pub fn find() -> Option<(&'static str, String)> {
    SERVERS.iter().find_map(|(name, port)| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        answers(address).then(|| (*name, format!("http://127.0.0.1:{port}/v1")))
    })
}

/// Whether the address accepts a TCP connection.
pub fn answers(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, WITHIN).is_ok()
}

/// Returns the socket address of `base_url` if it is a loopback address.
pub fn address(base_url: &str) -> Option<SocketAddr> {
    let url = reqwest::Url::parse(base_url).ok()?;
    let addresses = url.socket_addrs(|| None).ok()?;
    addresses.into_iter().find(|a| a.ip().is_loopback())
}
