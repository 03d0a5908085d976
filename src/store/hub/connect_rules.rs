//! When a connection may be made, how long it may take, and what the server's errors mean.

use std::net::IpAddr;
use std::time::Duration;

use async_nats::{ClientError, ConnectErrorKind, ServerAddr};
use tokio::time::timeout;

use super::error::HubError;
use super::settings::{HubLogin, HubSettings};

/// Maximum time to connect to one server.
pub(super) const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Pause after which the client asks a server that sends nothing whether it is there. It uses another server when it would
/// have to ask for the third time without an answer. This must be much shorter than a lease, which a host would lose
/// otherwise although the other servers of the cluster answer.
pub(super) const PING: Duration = Duration::from_secs(1);

/// Why there is no connection before the first failed attempt to connect again.
pub(super) const INTERRUPTED: &str = "the connection was interrupted";

/// Returns whether an error of the server says that the login lacks a permission for `subject`, for a request about
/// `stream`, or for answers. The error names the subject in quotes.
pub(super) fn is_denial_of(error: &str, subject: &str, stream: &str) -> bool {
    let is_denial = error.to_lowercase().contains("permissions violation");
    let denied = error.split('"').nth(1).unwrap_or_default();
    let is_about_stream = denied.starts_with("$JS.") && denied.split('.').any(|p| p == stream);
    is_denial && (denied == subject || denied.starts_with("_INBOX.") || is_about_stream)
}

/// Returns whether the connection must use TLS.
pub(super) fn is_encrypted(settings: &HubSettings) -> bool {
    let mut servers = settings.address.servers.iter();
    servers.any(|server| server.starts_with("tls://"))
        || settings.ca.is_some()
        || settings.client_certificate.is_some()
}

/// Fails if a password or token would be sent over a network without TLS.
pub(super) fn check_is_private(settings: &HubSettings, hub: &str) -> Result<(), HubError> {
    let mut servers = settings.address.servers.iter();
    if is_login_exposed(settings) && !servers.all(|server| is_loopback(server)) {
        return Err(HubError::PlainLogin { hub: hub.into() });
    }
    Ok(())
}

/// Returns whether a server gets a password or token without TLS. The client must then use only the servers of the address: a
/// server on this machine can name others of its cluster, which are on other machines.
pub(super) fn is_login_exposed(settings: &HubSettings) -> bool {
    let is_secret_sent = matches!(settings.login, HubLogin::User { .. } | HubLogin::Token(_));
    is_secret_sent && !is_encrypted(settings)
}

/// Returns whether a server, such as `nats://127.0.0.1:4222`, is on this machine.
fn is_loopback(server: &str) -> bool {
    let host = server.split_once("://").map_or(server, |(_, rest)| rest);
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => host.split_once(':').map_or(host, |(host, _)| host),
    };
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Returns why no server of the address can be found by its name; `None` if one can be, or if that is not known in time.
pub(super) async fn lookup_failure(settings: &HubSettings) -> Option<String> {
    let mut failure = None;
    for server in &settings.address.servers {
        let address = server.parse::<ServerAddr>().ok()?;
        let found = timeout(CONNECT_WITHIN, address.socket_addrs()).await;
        failure = Some(found.ok()?.err()?.to_string());
    }
    failure
}

/// Returns the error for a connection that could not be made.
pub(super) fn connect_error(hub: &str, error: &async_nats::ConnectError) -> HubError {
    let hub = hub.to_string();
    let mut why = error.to_string();
    // A server that needs a certificate ends the connection without a reply to the client's greeting.
    // A server without TLS answers with a message that is no part of TLS.
    let is_tls = ["certificate", "Certificate", "TLS", "corrupt message"];
    let is_tls = is_tls.iter().any(|word| why.contains(word));
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            HubError::Login { hub }
        }
        ConnectErrorKind::Dns => {
            let short = why.strip_prefix("DNS error: ").map(String::from);
            let why = short.unwrap_or(why);
            HubError::UnknownHost { hub, why }
        }
        ConnectErrorKind::Tls => HubError::Tls { hub, why },
        _ if is_tls => HubError::Tls { hub, why },
        ConnectErrorKind::TimedOut => HubError::Unreachable {
            hub,
            why: format!("no answer within {} s", CONNECT_WITHIN.as_secs()),
        },
        ConnectErrorKind::ServerParse | ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
            if let Some(short) = why.strip_prefix("IO error: ") {
                why = short.to_string();
            }
            HubError::Unreachable { hub, why }
        }
    }
}

/// Returns why a lost connection cannot be made again. The client reports only the kind of the error.
pub(super) fn outage_cause(error: &ClientError) -> String {
    let ClientError::Other(kind) = error else {
        return error.to_string();
    };
    let is = |known: ConnectErrorKind| *kind == known.to_string();
    if is(ConnectErrorKind::Io) {
        "no server accepts the connection".into()
    } else if is(ConnectErrorKind::TimedOut) {
        format!("no answer within {} s", CONNECT_WITHIN.as_secs())
    } else if is(ConnectErrorKind::Dns) {
        "the host name was not found".into()
    } else if is(ConnectErrorKind::Tls) {
        "the TLS connection failed".into()
    } else if is(ConnectErrorKind::AuthorizationViolation) || is(ConnectErrorKind::Authentication) {
        "the login is rejected".into()
    } else {
        kind.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{HubAddress, LEASE_LIFE};
    use super::*;

    #[test]
    fn server_without_answers_is_left_before_a_lease_is_lost() {
        // The last renewal may have been sent a fourth of the life earlier, and a fifth at the end is not used.
        let noticed_after = PING * 3;
        assert!(LEASE_LIFE / 4 + noticed_after + CONNECT_WITHIN < LEASE_LIFE * 4 / 5);
    }

    #[test]
    fn cause_says_more_than_the_kind_of_the_error() {
        let other = |kind: ConnectErrorKind| outage_cause(&ClientError::Other(kind.to_string()));
        assert_eq!(
            other(ConnectErrorKind::Io),
            "no server accepts the connection"
        );
        assert_eq!(other(ConnectErrorKind::TimedOut), "no answer within 3 s");
        let unknown = ClientError::Other("odd".into());
        assert_eq!(outage_cause(&unknown), "odd");
    }

    #[test]
    fn password_without_tls_is_exposed() {
        let settings = |address: &str, login| HubSettings {
            login,
            ..HubSettings::new(HubAddress::parse(address).unwrap())
        };
        let user = || HubLogin::User {
            name: "crew".into(),
            password: "secret".to_string().into(),
        };
        assert!(is_login_exposed(&settings("nats://127.0.0.1", user())));
        assert!(!is_login_exposed(&settings("tls://127.0.0.1", user())));
        assert!(!is_login_exposed(&settings(
            "nats://127.0.0.1",
            HubLogin::None
        )));
    }

    #[test]
    fn denial_names_the_whole_subject_or_the_stream() {
        let (subject, stream) = ("crewdeck.main.mail.bob", "crewdeck_main_mail");
        let denied =
            |subject: &str| format!("nats: Permissions Violation for Publish to \"{subject}\"");
        for (named, expected) in [
            (subject, true),
            ("crewdeck.main.mail.bobby", false),
            ("$JS.API.STREAM.CREATE.crewdeck_main_mail", true),
            (
                "$JS.API.CONSUMER.CREATE.crewdeck_main_mail.c1.crewdeck.main.mail.>",
                true,
            ),
            ("$JS.API.STREAM.CREATE.crewdeck_main_mail2", false),
            ("_INBOX.abc.*", true),
        ] {
            assert_eq!(
                is_denial_of(&denied(named), subject, stream),
                expected,
                "{named}"
            );
        }
        assert!(!is_denial_of("nats: stale connection", subject, stream));
    }
}
