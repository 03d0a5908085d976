//! Sends an event to the server of a hook in a POST request.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;

use crate::domain::hook::HookResult;

/// Maximum time for establishing a connection to the server of a hook.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a response's body, in bytes. A request with a larger response fails.
const BODY_MAX: usize = 1024 * 1024;

/// The HTTP clients for hooks. Each is created when a hook first needs it.
#[derive(Debug, Default)]
pub struct HookClients {
    /// The client for `localhost` and loopback addresses. Unlike `other`, it uses no proxy.
    local: OnceLock<Result<Client, String>>,
    other: OnceLock<Result<Client, String>>,
}

impl HookClients {
    fn client(&self, url: &str) -> Result<&Client, String> {
        let parsed = reqwest::Url::parse(url).map_err(|e| format!("has an invalid url: {e}"))?;
        let host = parsed
            .host_str()
            .unwrap_or_default()
            .trim_matches(['[', ']']);
        let is_loopback = host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
        let is_local = host == "localhost" || is_loopback;
        let client = if is_local { &self.local } else { &self.other };
        let client = client.get_or_init(|| {
            // Installs the TLS crypto provider; fails harmlessly if it is already installed.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let mut builder = Client::builder()
                .connect_timeout(CONNECT_TIMEOUT)
                // Redirects are not followed, because only the approved address may receive the event and the headers.
                .redirect(Policy::none())
                .user_agent(concat!("crewdeck/", env!("CARGO_PKG_VERSION")));
            if is_local {
                builder = builder.no_proxy();
            }
            builder
                .build()
                .map_err(|e| format!("was not called: cannot create an HTTP client: {e}"))
        });
        client.as_ref().map_err(Clone::clone)
    }
}

pub struct HookRequest<'a> {
    pub url: &'a str,
    pub headers: &'a BTreeMap<String, String>,
    /// The names of the environment variables whose values may be filled into `headers`. A reference to another
    /// variable becomes an empty text.
    pub env: &'a [String],
    pub body: &'a str,
}

impl HookRequest<'_> {
    pub async fn send(self, clients: &HookClients) -> HookResult {
        self.try_send(clients)
            .await
            .unwrap_or_else(|why| HookResult::Failed { why })
    }

    async fn try_send(self, clients: &HookClients) -> Result<HookResult, String> {
        let client = clients.client(self.url)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            let value = fill_in(value, |name| {
                let is_allowed = self.env.iter().any(|allowed| allowed == name);
                is_allowed.then(|| std::env::var(name).ok()).flatten()
            });
            let wrong = || format!("has the invalid header {name}");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let request = client
            .post(self.url)
            .headers(headers)
            .body(self.body.to_string());
        let mut response = request.send().await.map_err(|e| explain(&e))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("responded with status {}", status.as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| explain(&e))? {
            if body.len() + chunk.len() > BODY_MAX {
                return Err(format!(
                    "responded with more than {} MiB",
                    BODY_MAX / 1024 / 1024
                ));
            }
            body.extend_from_slice(&chunk);
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(HookResult::Responded { body })
    }
}

/// Returns an error as text with its innermost cause only, because the outer errors contain the address.
fn explain(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    format!("cannot be reached: {cause}")
}

/// Replaces `$NAME` and `${NAME}` by the value that `lookup` returns, or by an empty text if it returns `None`. A name
/// consists of ASCII letters, digits and `_`; any other `$` stays.
fn fill_in(text: &str, lookup: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (name, after) = match braced {
            Some((name, after)) => (name, after),
            None => rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len())),
        };
        if name.is_empty() || !name.chars().all(is_name) {
            out.push('$');
            continue;
        }
        out.push_str(&lookup(name).unwrap_or_default());
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_variables_are_filled_in() {
        let lookup = |name: &str| (name == "T").then(|| "x".to_string());
        for (text, expected) in [
            ("Bearer $T", "Bearer x"),
            ("${T}y$T", "xyx"),
            ("$KEY|${KEY}|$", "||$"),
            ("$5 ${a b} $$T", " ${a b} $x"),
        ] {
            assert_eq!(fill_in(text, lookup), expected, "{text}");
        }
    }
}
