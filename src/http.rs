//! Configures all HTTP clients: TLS, connect timeout, proxies and redirects.
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

/// Returns a redirect policy that follows at most [`REDIRECTS_MAX`] redirects, each only within the origin of the
/// request. Any other redirect is not followed: the caller gets the redirect response.
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

/// Returns a client builder with crewdeck's connect timeout, redirect policy and user agent. It sets no timeout for a
/// whole request. The client uses no proxy if the server at the URL `base` is on this machine ([`is_local`]).
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

/// Returns whether the host of a URL is `localhost` or a loopback address; false if the URL is invalid. Such a server
/// needs no API key and no proxy.
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

/// Returns the scheme, host and port of a URL, such as `https://example.org:8443`, without the scheme's default port. A
/// scheme without hosts, such as `file`, gives `null`. Returns `None` if the URL is invalid.
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
