//! What can go wrong with a hub, with the cause and what to do.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HubError {
    #[error("'{text}' is no address of a hub: {why}. Example: nats://hub.example.org:4222/web")]
    Address { text: String, why: &'static str },
    #[error(
        "the hub {hub} cannot be reached ({why}): start its NATS server, or correct the address"
    )]
    Unreachable { hub: String, why: String },
    #[error(
        "the host name in the address of the hub {hub} was not found ({why}): check its spelling, and that this machine can resolve it"
    )]
    UnknownHost { hub: String, why: String },
    #[error(
        "the TLS connection to the hub {hub} failed ({why}): check hub.ca, hub.cert and hub.key in your settings"
    )]
    Tls { hub: String, why: String },
    #[error(
        "the hub {hub} rejected the login: set CREWDECK_HUB_USER and CREWDECK_HUB_PASSWORD, CREWDECK_HUB_TOKEN, CREWDECK_HUB_NKEY or CREWDECK_HUB_CREDENTIALS to what its server accepts"
    )]
    Login { hub: String },
    #[error("the login for the hub cannot be used ({why}): correct {what}")]
    InvalidLogin { what: &'static str, why: String },
    #[error(
        "the hub {hub} runs nats-server {version}, but crewdeck needs 2.11.7 or newer: update the server"
    )]
    TooOld { hub: String, version: String },
    #[error(
        "the NATS server of the hub {hub} has no JetStream for this login: start it with --jetstream, or enable JetStream for the account"
    )]
    NoJetStream { hub: String },
    #[error(
        "a newer crewdeck has stored the crew on the hub {hub}: update crewdeck on this machine"
    )]
    Newer { hub: String },
    #[error(
        "the secret of the crew must have {min} to {max} bytes: set CREWDECK_HUB_SECRET, or the file hub.secret_file, to a long random text"
    )]
    SecretLength { min: usize, max: usize },
    #[error(
        "this crew has a secret: set CREWDECK_HUB_SECRET, or hub.secret_file in your settings (hub {hub})"
    )]
    SecretMissing { hub: String },
    #[error(
        "CREWDECK_HUB_SECRET, or the file hub.secret_file, is not the secret of this crew: correct it (hub {hub})"
    )]
    SecretWrong { hub: String },
    #[error(
        "the stream {stream} of the hub {hub} was created without the secret of this crew: set no secret, or use another name for the crew"
    )]
    NotSigned { hub: String, stream: String },
    #[error("the stream {stream} of the hub {hub} is full ({why}): {remedy}; nothing was stored")]
    Full {
        hub: String,
        stream: String,
        why: String,
        remedy: &'static str,
    },
    #[error(
        "the server of the hub {hub} cannot reserve {mebibytes} MiB for the stream {stream} ({why}): lower hub.mail_max_mb, or raise the storage limits of the server; nothing was stored"
    )]
    NoSpace {
        hub: String,
        stream: String,
        mebibytes: i64,
        why: String,
    },
    #[error(
        "the login for the hub {hub} was not sent, because the connection is not encrypted: use tls:// in the address, or set hub.ca"
    )]
    PlainLogin { hub: String },
    #[error(
        "{what} is too large for the hub, whose server accepts {limit} bytes at most: shorten it, or raise max_payload of the server; nothing was stored"
    )]
    TooLarge { what: String, limit: usize },
    #[error(
        "the hub {hub} did not answer within {} s ({why}): check its server and the network; look at the state before you repeat a change, because it may have been stored", within.as_secs()
    )]
    NoAnswer {
        hub: String,
        within: Duration,
        why: String,
    },
    #[error(
        "the login for the hub {hub} lacks a permission ({why}): permit it in the configuration of the server; a lead whose login may create streams creates those that are missing"
    )]
    Denied { hub: String, why: String },
    #[error("the hub {hub} rejected the request: {why}")]
    Rejected { hub: String, why: String },
    #[error("others change the {what} on the hub too often: try again")]
    Contention { what: &'static str },
    #[error(
        "this program no longer has the right to {what}: it could not reach the hub in time, or another program took over; nothing was stored"
    )]
    LostLease { what: String },
    #[error("the connection to the hub has ended: start again")]
    Closed,
    #[error("there is already a request {0} on the hub")]
    RequestExists(String),
}
