//! Where the hub is and how to log in.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;
use secrecy::SecretString;

use super::error::HubError;
use super::signature::HubSecret;
use super::unsigned::UnsignedReports;

/// Maximum length of the name of a crew on a hub, in characters.
const CREW_MAX: usize = 32;
/// The crew if the address names none.
const DEFAULT_CREW: &str = "main";
/// The port of a server if its address names none.
const DEFAULT_PORT: u16 = 4222;

/// How long a lease lives without a renewal. Longer than the election of a new leader, which takes about 5 seconds.
pub(super) const LEASE_LIFE: Duration = Duration::from_secs(15);

/// The address of a crew on a hub, such as `nats://host:4222/crew`. The servers of a cluster are separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubAddress {
    /// The addresses of the servers, such as `nats://host:4222`.
    pub(super) servers: Vec<String>,
    /// The crew, whose subjects all begin with `crewdeck.CREW`.
    pub(super) crew: String,
}

impl HubAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// When a server's address or the name of the crew is invalid, or the address contains a password.
    pub fn parse(text: &str) -> Result<HubAddress, HubError> {
        let invalid = |why: &'static str| HubError::Address {
            text: shown(text),
            why,
        };
        if text.contains('@') {
            return Err(invalid(
                "it must not contain a login: set CREWDECK_HUB_USER and CREWDECK_HUB_PASSWORD",
            ));
        }
        let (mut servers, mut crew, mut own_scheme) = (Vec::new(), None, None);
        for part in text.split(',').map(str::trim) {
            let (scheme, rest) = match part.split_once("://") {
                Some((scheme, rest)) => (known_scheme(scheme), rest),
                None => (own_scheme.or(Some("nats")), part),
            };
            let Some(scheme) = scheme else {
                return Err(invalid("it must begin with nats:// or tls://"));
            };
            if *own_scheme.get_or_insert(scheme) != scheme {
                return Err(invalid("all its servers must have nats://, or all tls://"));
            }
            if rest == part
                && let Some(why) = missing_slashes(part)
            {
                return Err(invalid(why));
            }
            if rest.contains(['?', '#']) {
                return Err(invalid(
                    "it must end after the name of the crew: remove '?' or '#' and what follows",
                ));
            }
            let (server, path) = match rest.split_once('/') {
                Some((_, "")) => return Err(invalid("the name of the crew is missing after '/'")),
                Some((server, path)) => (server, Some(path)),
                None => (rest, None),
            };
            if let Some(why) = server_problem(scheme, server) {
                return Err(invalid(why));
            }
            if let Some(path) = path
                && crew.replace(path).is_some_and(|other| other != path)
            {
                return Err(invalid("it names two crews"));
            }
            servers.push(format!("{scheme}://{server}"));
        }
        let crew = crew.unwrap_or(DEFAULT_CREW);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if crew.len() > CREW_MAX || !crew.chars().all(is_name) {
            return Err(invalid(
                "the name of a crew has 1 to 32 letters, digits, '-' and '_'",
            ));
        }
        Ok(HubAddress {
            servers,
            crew: crew.into(),
        })
    }
}

impl HubAddress {
    /// Returns the name of the crew.
    pub fn crew(&self) -> &str {
        &self.crew
    }

    /// Returns whether both addresses name the same crew on the same servers, regardless of their order and spelling.
    pub fn is_same_crew(&self, other: &HubAddress) -> bool {
        let servers = |address: &HubAddress| -> BTreeSet<String> {
            let all = address.servers.iter();
            all.map(|server| server_and_port(server)).collect()
        };
        self.crew == other.crew && servers(self) == servers(other)
    }
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.servers.join(","), self.crew)
    }
}

/// Returns a scheme in lower case, because case does not matter; `None` if it is not the scheme of a hub.
fn known_scheme(scheme: &str) -> Option<&'static str> {
    let mut known = ["nats", "tls"].into_iter();
    known.find(|known| known.eq_ignore_ascii_case(scheme))
}

/// Returns what is wrong with an address without `://` that begins with a scheme, such as `nats:/host`; `None` if it does
/// not. In `nats:4222`, the server is called `nats`.
fn missing_slashes(text: &str) -> Option<&'static str> {
    let (scheme, rest) = text.split_once(':')?;
    let port = rest.split('/').next().unwrap_or_default();
    let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match known_scheme(scheme)? {
        _ if is_port => None,
        "tls" => Some("'//' is missing after tls:"),
        _ => Some("'//' is missing after nats:"),
    }
}

/// Returns why a server, such as `host:4222` or `[::1]`, is invalid; `None` if it is valid.
fn server_problem(scheme: &str, server: &str) -> Option<&'static str> {
    // The colons in brackets belong to an IPv6 address.
    let outside = server.rsplit_once(']').map_or(server, |(_, rest)| rest);
    let is_usual = |c: char| c.is_alphanumeric() || "-._[]:".contains(c);
    match outside.split(':').collect::<Vec<&str>>()[..] {
        [_, _, _, ..] => Some("an IPv6 address must be in brackets, such as [::1]"),
        [_, port] if port.parse::<NonZeroU16>().is_err() => {
            Some("the port must be a number from 1 to 65535")
        }
        ["", ..] if outside == server => Some("it names no server"),
        _ => {
            let parsed = format!("{scheme}://{server}").parse::<ServerAddr>();
            let is_valid = parsed.is_ok() && server.chars().all(is_usual);
            (!is_valid).then_some("the name of the server is invalid")
        }
    }
}

/// Returns the host and port of a server's address.
fn server_and_port(server: &str) -> String {
    let server = server.split_once("://").map_or(server, |(_, rest)| rest);
    let server = server.to_ascii_lowercase();
    let has_port = server
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok() && !server.ends_with(']'));
    if has_port {
        server
    } else {
        format!("{server}:{DEFAULT_PORT}")
    }
}

/// Returns an address as it is shown in an error. `…` stands for what may be a secret: a login, what follows `?` or `#`, and a
/// port that is no number.
fn shown(text: &str) -> String {
    // A password may contain each of the separators.
    let (login, rest) = match text.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, text),
    };
    let scheme = login.and_then(|login| login.split_once("://"));
    let start = match (login, scheme.and_then(|(scheme, _)| known_scheme(scheme))) {
        (Some(_), Some(scheme)) => format!("{scheme}://…@"),
        (Some(_), None) => "…@".into(),
        (None, _) => String::new(),
    };
    let servers: Vec<String> = rest.split(',').map(shown_server).collect();
    let shown = format!("{start}{}", servers.join(","));
    shown.chars().take(200).collect()
}

fn shown_server(text: &str) -> String {
    let (text, query) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let (scheme, rest) = match text.find("://") {
        Some(at) => text.split_at(at + "://".len()),
        None => ("", text),
    };
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_port = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
    // The colons in brackets belong to an IPv6 address.
    let (brackets, rest) = server.split_at(server.find(']').unwrap_or(0));
    let server = match rest.split_once(':') {
        Some((host, port)) if !is_port(port) => format!("{brackets}{host}:…"),
        Some(_) | None => server.to_string(),
    };
    let query = match query.chars().next() {
        Some(mark) => format!("{mark}…"),
        None => String::new(),
    };
    format!("{scheme}{server}{path}{query}")
}

/// How the client proves who it is.
#[derive(Debug, Clone, Default)]
pub enum HubLogin {
    #[default]
    None,
    User {
        name: String,
        password: SecretString,
    },
    Token(SecretString),
    /// The seed of an NKey.
    NKey(SecretString),
    /// A credentials file with a JWT and a seed.
    Credentials(PathBuf),
}

/// Where the server keeps the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HubStorage {
    #[default]
    File,
    /// The state is lost when all servers have ended.
    Memory,
}

/// What a connection to a hub needs.
#[derive(Debug, Clone)]
pub struct HubSettings {
    pub address: HubAddress,
    pub login: HubLogin,
    /// The secret of the crew, with which each of its messages is signed.
    pub secret: Option<HubSecret>,
    /// File with the certificates of the authorities that the server's certificate may come from.
    pub ca: Option<PathBuf>,
    /// Files with the certificate and the key of this client.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
    /// Number of servers that keep a copy of the state. Applies when the crew is created on the hub.
    pub replicas: usize,
    pub storage: HubStorage,
    /// Maximum size of all stored messages of the crew, in bytes.
    pub mail_bytes_max: i64,
    /// Whether the user has set [`HubSettings::mail_bytes_max`]. It is then applied to a crew with a smaller maximum.
    pub is_mail_max_set: bool,
    /// How long a lease lives without a renewal; at least 1 second. Only tests set another value, so that long outages take
    /// little time in them. All processes of a crew must use the same.
    pub lease_life: Duration,
    /// The unsigned messages that were reported. All connections with clones of these settings report each of them once.
    pub unsigned: UnsignedReports,
}

impl HubSettings {
    /// Returns the settings for a server that needs no login, with one copy of the state, on disk.
    pub fn new(address: HubAddress) -> HubSettings {
        HubSettings {
            address,
            login: HubLogin::None,
            secret: None,
            ca: None,
            client_certificate: None,
            replicas: 1,
            storage: HubStorage::File,
            mail_bytes_max: 256 * 1024 * 1024,
            is_mail_max_set: false,
            lease_life: LEASE_LIFE,
            unsigned: UnsignedReports::default(),
        }
    }

    /// Returns whether the messages of the crew are signed, so that another program that can write to the hub cannot
    /// give tasks or messages to this one.
    pub fn has_secret(&self) -> bool {
        self.secret.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_names_servers_and_crew() {
        for (text, servers, crew) in [
            ("nats://a:4222", &["nats://a:4222"][..], "main"),
            ("localhost", &["nats://localhost"], "main"),
            ("localhost:4222/web", &["nats://localhost:4222"], "web"),
            ("nats://[::1]:4222/web", &["nats://[::1]:4222"], "web"),
            ("nats://[::1]", &["nats://[::1]"], "main"),
            ("tls://a_b.example:1/web", &["tls://a_b.example:1"], "web"),
            (
                "nats://a:1, nats://b:2/web",
                &["nats://a:1", "nats://b:2"],
                "web",
            ),
            ("tls://a,b/web", &["tls://a", "tls://b"], "web"),
            ("tls://a/web,b/web", &["tls://a", "tls://b"], "web"),
            ("NATS://a:1/web", &["nats://a:1"], "web"),
            ("Tls://a,TLS://b/web", &["tls://a", "tls://b"], "web"),
            ("nats:4222/web", &["nats://nats:4222"], "web"),
        ] {
            let address = HubAddress::parse(text).unwrap();
            assert_eq!(address.servers, servers, "{text}");
            assert_eq!(address.crew, crew, "{text}");
        }
    }

    #[test]
    fn addresses_of_a_crew_are_compared_by_servers() {
        let parse = |text: &str| HubAddress::parse(text).unwrap();
        let address = parse("nats://a:4222,nats://[::1]:5/web");
        for (text, expected) in [
            ("tls://[::1]:5,tls://A/web", true),
            ("nats://a:4222,nats://[::1]:5", false),
            ("nats://a:4222/web", false),
            ("nats://a:4222,nats://[::1]/web", false),
        ] {
            assert_eq!(address.is_same_crew(&parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn invalid_address_says_why_and_shows_no_password() {
        for (text, hint) in [
            ("", "'' is no address of a hub: it names no server"),
            (
                "nats://",
                "'nats://' is no address of a hub: it names no server",
            ),
            ("nats:///web", "it names no server"),
            ("nats://:4222/web", "it names no server"),
            ("nats://a,/web", "it names no server"),
            (
                "http://h/x",
                "'http://h/x' is no address of a hub: it must begin with nats:// or tls://",
            ),
            (
                "ws://",
                "'ws://' is no address of a hub: it must begin with nats:// or tls://",
            ),
            (
                "nats://h:p/crew",
                "the port must be a number from 1 to 65535",
            ),
            (
                "nats://h:/crew",
                "the port must be a number from 1 to 65535",
            ),
            (
                "nats://h:0/crew",
                "the port must be a number from 1 to 65535",
            ),
            (
                "nats://h:99999/x",
                "'nats://h:99999/x' is no address of a hub: the port must be a number",
            ),
            ("nats://[::1]:x/web", "the port must be a number"),
            (
                "nats://::1:4222/web",
                "an IPv6 address must be in brackets, such as [::1]",
            ),
            ("nats://[::1/web", "an IPv6 address must be in brackets"),
            ("nats://[x]:4222/web", "the name of the server is invalid"),
            ("nats://a b:4222/web", "the name of the server is invalid"),
            (
                "nats://a?x/web",
                "'nats://a?…' is no address of a hub: it must end after the name of the crew",
            ),
            ("nats://h:4222/a b", "the name of a crew has 1 to 32 "),
            ("nats://h:4222/a/b", "the name of a crew has 1 to 32 "),
            ("nats://a/b.c", "the name of a crew has 1 to 32 "),
            (
                "nats://a:1/web?token=secret",
                "'nats://a:1/web?…' is no address of a hub: it must end after the name of the crew",
            ),
            (
                "nats://a:1/web#secret",
                "'nats://a:1/web#…' is no address of a hub: it must end after the name of the crew",
            ),
            (
                "nats://h:4222/",
                "'nats://h:4222/' is no address of a hub: the name of the crew is missing after '/'",
            ),
            ("nats://h:4222/web/", "'nats://h:4222/web/' is no address"),
            (
                "nats:/host",
                "'nats:/host' is no address of a hub: '//' is missing after nats:",
            ),
            ("NATS:host:4222/web", "'//' is missing after nats:"),
            ("tls:", "'//' is missing after tls:"),
            ("nats://a:1/one,nats://b:1/two", "it names two crews"),
            (
                "nats://a:1,tls://b:1/web",
                "all its servers must have nats://, or all tls://",
            ),
            (
                "nats://bob:secret@h:4222/x",
                "'nats://…@h:4222/x' is no address of a hub: it must not contain a login: set CREWDECK_HUB_USER",
            ),
            ("nats://bob:a/secret,b?c@h/x", "CREWDECK_HUB_USER"),
            ("bob:secret@h", "'…@h' is no address"),
            ("nats://h/x?user=secret@b", "CREWDECK_HUB_USER"),
            ("nats://bob:secret", "port"),
            ("nats://bob:secret:4222", "brackets"),
            ("nats://bob:secret/web,nats://a:1", "port"),
            ("http://bob:secret@a", "it must not contain a login"),
        ] {
            let error = HubAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
            assert!(!error.contains("secret"), "{error}");
            assert!(
                error.ends_with(". Example: nats://hub.example.org:4222/web"),
                "{error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
