//! Builds all HTTP clients: TLS, time-outs, proxies and redirects.
//!
//! Redirects are followed only within one origin, so that neither keys nor conversations go to another server. The HTTP
//! library drops only `authorization` on a redirect to another origin, not `x-api-key` or `api-key`.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

/// Maximum time to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of redirects that are followed for one request.
const REDIRECTS_MAX: usize = 5;

/// Returns a redirect policy that follows redirects within one origin. Any other redirect is returned as the response.
fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let first = attempt.previous().first();
        let is_same = first.is_some_and(|first| first.origin() == attempt.url().origin());
        if is_same && attempt.previous().len() <= REDIRECTS_MAX {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Returns the builder of a client for the server at `base`.
pub fn client_builder(base: &str) -> ClientBuilder {
    // Installs the TLS crypto provider; fails harmlessly if it is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(same_origin())
        .user_agent(concat!("crewdeck/", env!("CARGO_PKG_VERSION")));
    if is_local(base) {
        builder.no_proxy()
    } else {
        builder
    }
}

/// Returns whether an address is on this machine; such a server needs no API key and no proxy.
pub fn is_local(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// Returns scheme, host and port of an address; `None` if the address is invalid.
pub fn origin(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    Some(url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_loopback_addresses_are_local() {
        for yes in [
            "http://127.0.0.1:8080/v1",
            "http://localhost/v1",
            "http://[::1]:80",
        ] {
            assert!(is_local(yes), "{yes}");
        }
        for no in [
            "https://api.example.com",
            "http://127.0.0.1.example.com",
            "nonsense",
        ] {
            assert!(!is_local(no), "{no}");
        }
    }
}
