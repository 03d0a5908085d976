//! The connection to a hub. It is made by the first use, together with the only thread that drives it.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use secrecy::ExposeSecret;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use super::connect_rules::{
    CONNECT_WITHIN, INTERRUPTED, PING, check_is_private, connect_error, is_denial_of, is_encrypted,
    is_login_exposed, lookup_failure, outage_cause,
};
use super::error::HubError;
use super::event_numbers::PublishedEvents;
use super::settings::{HubLogin, HubSettings};
use super::signature::CrewKey;
use super::stream_end::SeenEnds;
use super::streams::{self, OpenStream, STREAMS, StreamKind};

/// Maximum time of one request. A failed request is repeated until its operation runs out of time.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Pause between two looks at the state of the connection.
const CONNECTED_POLL: Duration = Duration::from_millis(20);

/// A hub. Cheap to clone; clones share the connection. Without a use, no thread and no connection exists.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<HubState>,
}

struct HubState {
    settings: HubSettings,
    connected: OnceLock<(Runtime, Arc<HubConnection>)>,
    /// Held while the connection is made.
    connecting: Mutex<FailedAttempt>,
}

/// When the last attempt that failed began, and its error.
pub(super) type FailedAttempt = Option<(Instant, HubError)>;

/// Returns the error of the last attempt if it began while the caller, who asked at `asked_at`, was waiting already. Callers
/// that wait at the same time then fail together, not one after another.
pub(super) fn shared_failure(
    last: Option<&(Instant, HubError)>,
    asked_at: Instant,
) -> Option<HubError> {
    let (began, error) = last?;
    (asked_at <= *began).then(|| error.clone())
}

/// An established connection, as the asynchronous code uses it.
pub(super) struct HubConnection {
    pub client: Client,
    pub jetstream: Context,
    pub settings: HubSettings,
    /// The address, as shown in errors.
    pub name: String,
    /// Signs and verifies messages, if the crew has a secret.
    pub key: Option<CrewKey>,
    /// The numbers of the events that this process has published. The lock is held while events are stored, so that they
    /// are stored in their order.
    pub published: tokio::sync::Mutex<PublishedEvents>,
    opened: [tokio::sync::Mutex<StreamSlot>; STREAMS],
    pub seen_ends: SeenEnds,
    /// How often an opened stream was missing on the server.
    lost_streams: AtomicU64,
    server: Arc<HubEvents>,
}

/// A stream, once it is open.
#[derive(Default)]
struct StreamSlot {
    stream: Option<Arc<OpenStream>>,
    failed: FailedAttempt,
}

/// What the server has reported without a request that it belongs to.
#[derive(Default)]
struct HubEvents {
    /// The last error, and when it arrived.
    error: Mutex<Option<(Instant, String)>>,
    is_connected_once: AtomicBool,
    /// Changes when the stored state may have gone back.
    doubts: watch::Sender<u64>,
    /// Why there is no connection; `None` while there is one, and before the first.
    outage: watch::Sender<Option<String>>,
}

impl HubEvents {
    fn add(&self, event: Event) {
        match event {
            Event::ServerError(error) => {
                let mut last = self.error.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some((Instant::now(), error.to_string()));
            }
            Event::Connected => {
                self.outage.send_replace(None);
                if self.is_connected_once.swap(true, Ordering::Relaxed) {
                    self.doubts.send_modify(|count| *count += 1);
                }
            }
            Event::Disconnected => {
                self.outage.send_replace(Some(INTERRUPTED.into()));
            }
            Event::ClientError(error) => {
                // Errors of the first connection are returned to its caller.
                self.outage.send_if_modified(|cause| match cause {
                    Some(cause) => {
                        let new = outage_cause(&error);
                        let is_new = *cause != new;
                        *cause = new;
                        is_new
                    }
                    None => false,
                });
            }
            _ => {}
        }
    }
}

impl Hub {
    /// Returns the hub at an address. Does not connect yet.
    pub fn new(settings: HubSettings) -> Hub {
        Hub {
            inner: Arc::new(HubState {
                settings,
                connected: OnceLock::new(),
                connecting: Mutex::default(),
            }),
        }
    }

    /// Returns how long a lease lives without a renewal.
    pub(super) fn lease_life(&self) -> Duration {
        self.inner.settings.lease_life
    }

    /// Runs `work` on the thread of the connection, and waits for its result. Connects first if necessary. May be called
    /// from every thread, also from those of another runtime.
    ///
    /// # Errors
    /// When the connection cannot be made, or `work` fails.
    pub(super) fn run<T, F>(
        &self,
        work: impl FnOnce(Arc<HubConnection>) -> F,
    ) -> Result<T, HubError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, HubError>> + Send + 'static,
    {
        let (handle, connection) = self.connection()?;
        wait_for(&handle, work(connection))
    }

    /// Runs `work` on the thread of the connection until it ends or is aborted.
    ///
    /// # Errors
    /// When the connection cannot be made.
    pub(super) fn spawn<F>(
        &self,
        work: impl FnOnce(Arc<HubConnection>) -> F,
    ) -> Result<tokio::task::AbortHandle, HubError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (handle, connection) = self.connection()?;
        Ok(handle.spawn(work(connection)).abort_handle())
    }

    /// Runs `work` on the thread of the connection without waiting for it. Does nothing if there is no connection. May be
    /// called where nothing may block. `work` is lost if the hub is dropped before it ends.
    pub(super) fn spawn_if_connected<F>(&self, work: impl FnOnce(Arc<HubConnection>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some((handle, connection)) = self.connected() {
            handle.spawn(work(connection));
        }
    }

    /// Returns the unsigned messages that were found since the last call, one line each. Does not connect, and does not
    /// wait.
    pub(super) fn take_unsigned_reports(&self) -> Vec<String> {
        self.inner.settings.unsigned.take()
    }

    /// Returns why there is no connection; `None` while there is one, and before the first. Does not connect.
    pub(super) fn outage(&self) -> Option<String> {
        let (_, connection) = self.connected()?;
        connection.outage().borrow().clone()
    }

    fn connected(&self) -> Option<(Handle, Arc<HubConnection>)> {
        let (runtime, connection) = self.inner.connected.get()?;
        Some((runtime.handle().clone(), Arc::clone(connection)))
    }

    fn connection(&self) -> Result<(Handle, Arc<HubConnection>), HubError> {
        if let Some(connected) = self.connected() {
            return Ok(connected);
        }
        let asked_at = Instant::now();
        let connecting = &self.inner.connecting;
        let mut failed = connecting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connected) = self.connected() {
            return Ok(connected);
        }
        if let Some(error) = shared_failure(failed.as_ref(), asked_at) {
            return Err(error);
        }
        let began = Instant::now();
        let (runtime, connection) = match start(self.inner.settings.clone()) {
            Ok(started) => started,
            Err(error) => {
                *failed = Some((began, error.clone()));
                return Err(error);
            }
        };
        let handle = runtime.handle().clone();
        // Only this function sets it, and holds the lock.
        let _ = self.inner.connected.set((runtime, Arc::clone(&connection)));
        Ok((handle, connection))
    }
}

/// Makes the connection and its thread.
fn start(settings: HubSettings) -> Result<(Runtime, Arc<HubConnection>), HubError> {
    let hub = settings.address.to_string();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("hub")
        .enable_all()
        .build()
        .map_err(|why| HubError::Unreachable {
            hub,
            why: why.to_string(),
        })?;
    match wait_for(runtime.handle(), connect(settings)) {
        Ok(connection) => Ok((runtime, Arc::new(connection))),
        Err(error) => {
            // Another runtime may own this thread, so the runtime must not be waited for.
            runtime.shutdown_background();
            Err(error)
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = &self.inner.settings.address;
        f.debug_tuple("Hub").field(&address.to_string()).finish()
    }
}

impl Drop for HubState {
    fn drop(&mut self) {
        if let Some((runtime, _)) = self.connected.take() {
            // Another runtime may own this thread, so the runtime must not be waited for.
            runtime.shutdown_background();
        }
    }
}

fn wait_for<T: Send + 'static>(
    handle: &Handle,
    work: impl Future<Output = Result<T, HubError>> + Send + 'static,
) -> Result<T, HubError> {
    let (sender, result) = mpsc::sync_channel(1);
    handle.spawn(async move {
        // The receiver waits, and ends only with the process.
        let _ = sender.send(work.await);
    });
    result.recv().unwrap_or(Err(HubError::Closed))
}

impl HubConnection {
    /// Returns a stream of the crew, which is created if it is missing.
    ///
    /// # Errors
    /// When the hub does not answer, or rejects the stream.
    pub(super) async fn stream(&self, kind: StreamKind) -> Result<Arc<OpenStream>, HubError> {
        let asked_at = Instant::now();
        let mut slot = self.opened[kind.index()].lock().await;
        if let Some(stream) = slot.stream.as_ref() {
            return Ok(Arc::clone(stream));
        }
        if let Some(error) = shared_failure(slot.failed.as_ref(), asked_at) {
            return Err(error);
        }
        let (key, began) = (self.key.as_ref(), Instant::now());
        let denial = |of| self.denial(of, "", began);
        let opening = streams::open(
            &self.jetstream,
            &self.settings,
            &self.name,
            key,
            kind,
            denial,
        );
        match opening.await {
            Ok(opened) => {
                let opened = Arc::new(opened);
                slot.stream = Some(Arc::clone(&opened));
                Ok(opened)
            }
            Err(error) => {
                slot.failed = Some((began, error.clone()));
                Err(error)
            }
        }
    }

    /// Records that a stream is missing on the server, so that its next use opens it again.
    pub(super) async fn forget_stream(&self, kind: StreamKind) {
        self.opened[kind.index()].lock().await.stream = None;
        self.lost_streams.fetch_add(1, Ordering::SeqCst);
        self.server.doubts.send_modify(|count| *count += 1);
    }

    /// Returns a number that changes when the stored state may have gone back: after each new connection, because the
    /// server may have lost state or got a backup, and after a stream was missing.
    pub(super) fn epoch(&self) -> u64 {
        let connects = self.client.statistics().connects.load(Ordering::SeqCst);
        connects + self.lost_streams.load(Ordering::SeqCst)
    }

    /// Returns what changes some time after [`HubConnection::epoch`] has changed.
    pub(super) fn doubts(&self) -> watch::Receiver<u64> {
        self.server.doubts.subscribe()
    }

    /// Returns why there is no connection; `None` while there is one.
    pub(super) fn outage(&self) -> watch::Receiver<Option<String>> {
        self.server.outage.subscribe()
    }

    /// Waits until the client is connected; at most until `until`. Returns whether it is. A message that is published
    /// without a connection would wait in the client, and be stored after its sender has got an error.
    pub(super) async fn wait_until_connected(&self, until: Instant) -> bool {
        while self.client.connection_state() != State::Connected {
            if Instant::now() >= until {
                return false;
            }
            tokio::time::sleep(CONNECTED_POLL).await;
        }
        true
    }

    /// Returns the subject of a key of a stream.
    pub(super) fn subject(&self, kind: StreamKind, key: &str) -> String {
        streams::subject(&self.settings.address.crew, kind, key)
    }

    /// Returns the report of the server that the login lacks a permission for the subject or its stream, if the report
    /// has arrived since `began`. The server then does not answer the request.
    pub(super) fn denial(&self, kind: StreamKind, subject: &str, began: Instant) -> Option<String> {
        let stream = streams::name(&self.settings.address.crew, kind);
        let last = self.server.error.lock();
        let last = last.unwrap_or_else(PoisonError::into_inner);
        let (_, why) = last
            .as_ref()
            .filter(|(at, why)| *at >= began && is_denial_of(why, subject, &stream))?;
        Some(why.clone())
    }

    /// Fails if the server has reported since `began` that the login lacks the permission.
    ///
    /// # Errors
    /// Names the subject.
    pub(super) fn check_permission(
        &self,
        kind: StreamKind,
        subject: &str,
        began: Instant,
    ) -> Result<(), HubError> {
        match self.denial(kind, subject, began) {
            Some(why) => Err(HubError::Denied {
                hub: self.name.clone(),
                why,
            }),
            None => Ok(()),
        }
    }

    /// Returns the error for an operation that got no answer.
    pub(super) fn no_answer(&self, within: Duration, why: String) -> HubError {
        let hub = self.name.clone();
        HubError::NoAnswer { hub, within, why }
    }
}

async fn connect(settings: HubSettings) -> Result<HubConnection, HubError> {
    // Installs the TLS crypto provider; fails harmlessly if it is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let name = settings.address.to_string();
    if let Err(error) = check_is_private(&settings, &name) {
        // TLS is no remedy for a wrong host name.
        return Err(match lookup_failure(&settings).await {
            Some(why) => HubError::UnknownHost { hub: name, why },
            None => error,
        });
    }
    let server = Arc::<HubEvents>::default();
    let options = options(&settings, Arc::clone(&server)).await?;
    let mut servers = Vec::new();
    for server in &settings.address.servers {
        let address = server.parse::<ServerAddr>();
        servers.push(address.map_err(|_| HubError::Address {
            text: server.clone(),
            why: "the name of the server is invalid",
        })?);
    }
    let connecting = options.connect(servers).await;
    let client = connecting.map_err(|error| connect_error(&name, &error))?;
    // Earlier ones accept several changes of which each expects the same state.
    if !client.is_server_compatible(2, 11, 7) {
        let version = client.server_info().version;
        return Err(HubError::TooOld { hub: name, version });
    }
    let jetstream = ContextBuilder::new()
        .timeout(REQUEST_WITHIN)
        .ack_timeout(REQUEST_WITHIN)
        .build(client.clone());
    if !client.server_info().jetstream && jetstream.query_account().await.is_err() {
        return Err(HubError::NoJetStream { hub: name });
    }
    let secret = settings.secret.as_ref();
    Ok(HubConnection {
        client,
        jetstream,
        key: secret.map(|secret| CrewKey::new(secret, &settings.address.crew)),
        settings,
        name,
        published: tokio::sync::Mutex::default(),
        opened: Default::default(),
        seen_ends: SeenEnds::default(),
        lost_streams: AtomicU64::new(0),
        server,
    })
}

async fn options(
    settings: &HubSettings,
    server: Arc<HubEvents>,
) -> Result<ConnectOptions, HubError> {
    let mut options = ConnectOptions::new()
        .name(concat!("crewdeck/", env!("CARGO_PKG_VERSION")))
        .connection_timeout(CONNECT_WITHIN)
        .ping_interval(PING)
        .event_callback(move |event| {
            server.add(event);
            std::future::ready(())
        });
    options = match &settings.login {
        HubLogin::None => options,
        HubLogin::User { name, password } => {
            options.user_and_password(name.clone(), password.expose_secret().into())
        }
        HubLogin::Token(token) => options.token(token.expose_secret().into()),
        HubLogin::NKey(seed) => options.nkey(seed.expose_secret().into()),
        HubLogin::Credentials(path) => {
            options
                .credentials_file(path)
                .await
                .map_err(|why| HubError::InvalidLogin {
                    what: "CREWDECK_HUB_CREDENTIALS",
                    why: why.to_string(),
                })?
        }
    };
    if is_encrypted(settings) {
        options = options.require_tls(true);
    }
    if is_login_exposed(settings) {
        options = options.ignore_discovered_servers();
    }
    if let Some(ca) = &settings.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &settings.client_certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_waited_share_a_failure() {
        let asked_at = Instant::now();
        let began = asked_at + Duration::from_secs(1);
        let failed = (began, HubError::Closed);
        let shared = |at: Instant| shared_failure(Some(&failed), at);
        assert_eq!(shared(asked_at), Some(HubError::Closed));
        assert_eq!(shared(began + Duration::from_secs(1)), None);
        assert_eq!(shared_failure(None, asked_at), None);
    }
}
