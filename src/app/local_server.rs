//! Detects model servers on this machine by their default ports. Such servers need no key.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::model::provider::{LocalServer, ProviderSpec};
use crate::model::providers::PROVIDERS;

/// Timeout for a connection to a local port.
const WITHIN: Duration = Duration::from_millis(200);

/// A model server on this machine, with its provider.
pub type FoundServer = (&'static ProviderSpec, &'static LocalServer);

/// Returns the first known local model server whose default port accepts connections, with its provider. `None` if
/// there is none. Another program may use the port; this is noticed only when the server's models are requested.
pub fn find() -> Option<FoundServer> {
    let mut all = PROVIDERS
        .iter()
        .flat_map(|spec| spec.local_servers.iter().map(|server| (*spec, server)));
    all.find(|(_, server)| address(server.base_url).is_some_and(answers))
}

/// Returns whether the address accepts a TCP connection.
pub fn answers(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, WITHIN).is_ok()
}

/// Returns the first loopback address to which the host of `base_url` resolves, with the port of the URL. `None` if
/// there is none, or if the URL is invalid.
pub fn address(base_url: &str) -> Option<SocketAddr> {
    let url = reqwest::Url::parse(base_url).ok()?;
    let addresses = url.socket_addrs(|| None).ok()?;
    addresses.into_iter().find(|a| a.ip().is_loopback())
}
