//! The streams of a crew on a hub. All names begin with `crewdeck_CREW_`, all subjects with `crewdeck.CREW.`, so that the
//! permissions of a login can be limited to one crew.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, StorageType, Stream};
use async_nats::jetstream::{Context, ErrorCode};

use super::error::HubError;
use super::settings::{HubSettings, HubStorage};
use super::signature::CrewKey;

/// Name of the entry in a stream's metadata with the version of the format of its messages.
const FORMAT_KEY: &str = "crewdeck-format";
/// The version of the format that this program writes, and the highest that it reads.
const FORMAT: u32 = 1;
/// Name of the entry in a stream's metadata that shows that the crew has a secret, and lets others check theirs.
const SECRET_KEY: &str = "crewdeck-secret";
/// How long the server remembers the ids of messages. A write is not repeated after this time.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);
/// The same for messages to agents, which may be sent again after a long interruption of the network. The server needs
/// memory for each id.
const MAIL_DUPLICATE_WINDOW: Duration = Duration::from_secs(20 * 60);
/// How long the server keeps the mark of an expired lease, and the shortest time after which a lease may expire.
const MARKER_LIFE: Duration = Duration::from_secs(1);
// Maximum sizes of the streams, in bytes. The server reserves the space.
const TASKS_BYTES_MAX: i64 = 128 * 1024 * 1024;
const STATE_BYTES_MAX: i64 = 64 * 1024 * 1024;
const LEASES_BYTES_MAX: i64 = 8 * 1024 * 1024;
const EVENTS_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// How long events are stored.
const EVENTS_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Time until a crew's streams must exist, with the election of a leader in a new cluster.
const CREATED_WITHIN: Duration = Duration::from_secs(15);

/// Number of variants of [`StreamKind`].
pub(super) const STREAMS: usize = 5;
const ALL: [StreamKind; STREAMS] = [
    StreamKind::Tasks,
    StreamKind::State,
    StreamKind::Mail,
    StreamKind::Leases,
    StreamKind::Events,
];

pub(super) type OpenStream = Stream<Info>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// The last state of each task: one message per key.
    Tasks,
    /// Requests, roster and read positions: one message per key.
    State,
    /// The messages, one subject per inbox.
    Mail,
    /// One message per lease, which expires unless it is renewed.
    Leases,
    /// The events of agents, one subject per host. The oldest are removed.
    Events,
}

impl StreamKind {
    pub(super) fn index(self) -> usize {
        match self {
            StreamKind::Tasks => 0,
            StreamKind::State => 1,
            StreamKind::Mail => 2,
            StreamKind::Leases => 3,
            StreamKind::Events => 4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            StreamKind::Tasks => "tasks",
            StreamKind::State => "state",
            StreamKind::Mail => "mail",
            StreamKind::Leases => "leases",
            StreamKind::Events => "events",
        }
    }
}

impl StreamKind {
    /// Returns what to do if the stream is full, for errors.
    pub(super) fn full_remedy(self) -> &'static str {
        match self {
            StreamKind::Mail => "raise hub.mail_max_mb, or let the recipients read their messages",
            StreamKind::Tasks | StreamKind::State | StreamKind::Leases | StreamKind::Events => {
                "raise its max_bytes with the tools of NATS"
            }
        }
    }
}

/// Returns the name of a stream.
pub(super) fn name(crew: &str, kind: StreamKind) -> String {
    format!("crewdeck_{crew}_{}", kind.word())
}

pub(super) fn subject(crew: &str, kind: StreamKind, key: &str) -> String {
    format!("crewdeck.{crew}.{}.{key}", kind.word())
}

fn config(settings: &HubSettings, kind: StreamKind) -> Config {
    let crew = &settings.address.crew;
    let is_log = matches!(kind, StreamKind::Mail | StreamKind::Events);
    let is_event = kind == StreamKind::Events;
    let is_lease = kind == StreamKind::Leases;
    Config {
        name: name(crew, kind),
        subjects: vec![subject(crew, kind, ">")],
        description: Some(format!("crewdeck, crew {crew}")),
        max_messages_per_subject: if is_log { -1 } else { 1 },
        max_bytes: match kind {
            StreamKind::Tasks => TASKS_BYTES_MAX,
            StreamKind::State => STATE_BYTES_MAX,
            StreamKind::Mail => settings.mail_bytes_max,
            StreamKind::Leases => LEASES_BYTES_MAX,
            StreamKind::Events => EVENTS_BYTES_MAX,
        },
        max_age: if is_event {
            EVENTS_AGE_MAX
        } else {
            Duration::ZERO
        },
        // A full stream rejects new messages: it must not drop what was not read. Events are different: the journal of
        // their host keeps them, and the crew must not stop because of them.
        discard: if is_event {
            DiscardPolicy::Old
        } else {
            DiscardPolicy::New
        },
        storage: match settings.storage {
            HubStorage::File => StorageType::File,
            HubStorage::Memory => StorageType::Memory,
        },
        num_replicas: settings.replicas,
        duplicate_window: if kind == StreamKind::Mail {
            MAIL_DUPLICATE_WINDOW
        } else {
            DUPLICATE_WINDOW
        },
        allow_message_ttl: is_lease,
        subject_delete_marker_ttl: is_lease.then_some(MARKER_LIFE),
        metadata: HashMap::from([(FORMAT_KEY.into(), FORMAT.to_string())]),
        ..Config::default()
    }
}

/// Why a stream was not opened.
enum OpenFailure {
    /// Another attempt would fail too.
    Final(HubError),
    /// The answer to a request about this stream, or that there was none.
    Request(StreamKind, CreateStreamError),
}

/// Opens a stream, and creates it if it is missing. Fails if the crew has another secret than `key`. `denial` returns the
/// server's report that the login lacks a permission for a stream; the server then does not answer.
pub(super) async fn open(
    jetstream: &Context,
    settings: &HubSettings,
    hub: &str,
    key: Option<&CrewKey>,
    kind: StreamKind,
    denial: impl Fn(StreamKind) -> Option<String>,
) -> Result<OpenStream, HubError> {
    let began = tokio::time::Instant::now();
    loop {
        let opened = match jetstream
            .get_stream(name(&settings.address.crew, kind))
            .await
        {
            Ok(stream) => Ok(stream),
            Err(_) => create(jetstream, settings, hub, key, kind).await,
        };
        let (asked, error) = match opened {
            Ok(stream) => {
                let stream = check_format(stream, hub)?;
                check_secret(stream.cached_info(), hub, key)?;
                return Ok(enlarge(jetstream, settings, kind, stream).await);
            }
            Err(OpenFailure::Final(error)) => return Err(error),
            Err(OpenFailure::Request(asked, error)) => (asked, error),
        };
        let hub = hub.to_string();
        if let Some(why) = denial(asked).or_else(|| denial(kind)) {
            return Err(HubError::Denied { hub, why });
        }
        let why = error.to_string();
        let no_space = |why: String| HubError::NoSpace {
            hub: hub.clone(),
            stream: name(&settings.address.crew, kind),
            mebibytes: config(settings, kind).max_bytes / (1024 * 1024),
            why,
        };
        let is_temporary = match error.kind() {
            CreateStreamErrorKind::JetStream(cause) => match cause.error_code() {
                ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
                    return Err(HubError::NoJetStream { hub });
                }
                ErrorCode::CLUSTER_NO_PEERS if why.contains("storage") => {
                    return Err(no_space(why));
                }
                ErrorCode::CLUSTER_NOT_AVAILABLE
                | ErrorCode::CLUSTER_NO_PEERS
                | ErrorCode::STREAM_OFFLINE
                | ErrorCode::STREAM_NAME_EXIST => true,
                ErrorCode::STORAGE_RESOURCES_EXCEEDED
                | ErrorCode::MEMORY_RESOURCES_EXCEEDED
                | ErrorCode::INSUFFICIENT_RESOURCES => {
                    return Err(no_space(why));
                }
                _ => false,
            },
            CreateStreamErrorKind::TimedOut
            | CreateStreamErrorKind::JetStreamUnavailable
            | CreateStreamErrorKind::Response => true,
            _ => false,
        };
        if !is_temporary || began.elapsed() > CREATED_WITHIN {
            return Err(HubError::Rejected { hub, why });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Creates the stream `kind` if it is missing. Before that, checks the secret against all other streams of the crew:
/// otherwise a program without the secret could create a stream that the others cannot use.
async fn create(
    jetstream: &Context,
    settings: &HubSettings,
    hub: &str,
    key: Option<&CrewKey>,
    kind: StreamKind,
) -> Result<OpenStream, OpenFailure> {
    let crew = &settings.address.crew;
    for other in ALL.into_iter().filter(|other| *other != kind) {
        // A stream about which the server gives no answer may exist, with another secret.
        let found = find(jetstream, &name(crew, other))
            .await
            .map_err(|error| OpenFailure::Request(other, error))?;
        if let Some(info) = found {
            check_secret(&info, hub, key).map_err(OpenFailure::Final)?;
        }
    }
    let mut new = config(settings, kind);
    if let Some(key) = key {
        new.metadata.insert(SECRET_KEY.into(), key.mark(&new.name));
    }
    let created = jetstream.get_or_create_stream(new).await;
    created.map_err(|error| OpenFailure::Request(kind, error))
}

/// Returns the description of a stream; `None` if the server has answered that it does not exist.
async fn find(jetstream: &Context, stream: &str) -> Result<Option<Info>, CreateStreamError> {
    let subject = format!("STREAM.INFO.{stream}");
    let answer: Response<Info> = jetstream.request(subject, &()).await?;
    match answer {
        Response::Ok(info) => Ok(Some(info)),
        Response::Err { error } if error.code() == 404 => Ok(None),
        Response::Err { error } => Err(error.into()),
    }
}

/// Applies a larger maximum size that the user has set to the messages. The stream stays as it is if the server rejects it.
async fn enlarge(
    jetstream: &Context,
    settings: &HubSettings,
    kind: StreamKind,
    mut stream: OpenStream,
) -> OpenStream {
    let mut config = stream.cached_info().config.clone();
    let wanted = settings.mail_bytes_max;
    let is_set = kind == StreamKind::Mail && settings.is_mail_max_set;
    if is_set && (1..wanted).contains(&config.max_bytes) {
        config.max_bytes = wanted;
        if jetstream.update_stream(config).await.is_ok() {
            // Only the cached copy becomes old if this fails.
            let _ = stream.info().await;
        }
    }
    stream
}

fn check_format(stream: OpenStream, hub: &str) -> Result<OpenStream, HubError> {
    let format = stream.cached_info().config.metadata.get(FORMAT_KEY);
    match format.and_then(|format| format.parse::<u32>().ok()) {
        Some(format) if format > FORMAT => Err(HubError::Newer { hub: hub.into() }),
        Some(_) | None => Ok(stream),
    }
}

/// Fails if the stream belongs to a crew with another secret than `key`.
fn check_secret(info: &Info, hub: &str, key: Option<&CrewKey>) -> Result<(), HubError> {
    let (hub, stream) = (hub.to_string(), info.config.name.clone());
    match (info.config.metadata.get(SECRET_KEY), key) {
        (None, None) => Ok(()),
        (Some(mark), Some(key)) if key.is_mark(&stream, mark) => Ok(()),
        (Some(_), None) => Err(HubError::SecretMissing { hub }),
        (Some(_), Some(_)) => Err(HubError::SecretWrong { hub }),
        (None, Some(_)) => Err(HubError::NotSigned { hub, stream }),
    }
}
