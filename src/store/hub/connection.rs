//! The connection to a hub. It is made by the first use, together with the only thread that drives it.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use secrecy::ExposeSecret;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::OnceCell;

use super::error::HubError;
use super::settings::{HubLogin, HubSettings};
use super::streams::{self, OpenStream, STREAMS, StreamKind};

/// Maximum time to connect to one server.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Maximum time of one request. A failed request is repeated until its operation runs out of time.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);

/// A hub. Cheap to clone; clones share the connection. Without a use, no thread and no connection exists.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<HubState>,
}

struct HubState {
    settings: HubSettings,
    connected: Mutex<Option<(Runtime, Arc<HubConnection>)>>,
}

/// An established connection, as the asynchronous code uses it.
pub(super) struct HubConnection {
    pub client: Client,
    pub jetstream: Context,
    pub settings: HubSettings,
    /// The address, as shown in errors.
    pub name: String,
    opened: [OnceCell<OpenStream>; STREAMS],
    /// The last error that the server has reported without a request that it belongs to.
    reported: Arc<Mutex<Option<String>>>,
}

impl Hub {
    /// Returns the hub at an address. Does not connect yet.
    pub fn new(settings: HubSettings) -> Hub {
        let connected = Mutex::default();
        Hub {
            inner: Arc::new(HubState {
                settings,
                connected,
            }),
        }
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
        let (handle, link) = self.link()?;
        wait_for(&handle, work(link))
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
        let (handle, link) = self.link()?;
        Ok(handle.spawn(work(link)).abort_handle())
    }

    fn link(&self) -> Result<(Handle, Arc<HubConnection>), HubError> {
        let connected = &self.inner.connected;
        let mut connected = connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((runtime, link)) = connected.as_ref() {
            return Ok((runtime.handle().clone(), Arc::clone(link)));
        }
        let settings = self.inner.settings.clone();
        let unreachable = |why: std::io::Error| HubError::Unreachable {
            hub: self.inner.settings.address.to_string(),
            why: why.to_string(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hub")
            .enable_all()
            .build()
            .map_err(unreachable)?;
        let link = Arc::new(wait_for(runtime.handle(), connect(settings))?);
        let handle = runtime.handle().clone();
        *connected = Some((runtime, Arc::clone(&link)));
        Ok((handle, link))
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
        let connected = self.connected.get_mut();
        if let Some((runtime, _)) = connected.unwrap_or_else(PoisonError::into_inner).take() {
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
    pub(super) async fn stream(&self, kind: StreamKind) -> Result<&OpenStream, HubError> {
        let slot = &self.opened[kind.index()];
        let open = || streams::open(&self.jetstream, &self.settings, &self.name, kind);
        slot.get_or_try_init(open).await
    }

    /// Returns the subject of a key of a stream.
    pub(super) fn subject(&self, kind: StreamKind, key: &str) -> String {
        streams::subject(&self.settings.address.crew, kind, key)
    }

    /// Fails if the server has reported that the login lacks a permission. It then does not answer the request.
    ///
    /// # Errors
    /// Names the subject.
    pub(super) fn check_permission(&self) -> Result<(), HubError> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_denied = |why: &mut String| why.to_lowercase().contains("permissions violation");
        match reported.take_if(is_denied) {
            Some(why) => Err(HubError::Rejected {
                hub: self.name.clone(),
                why,
            }),
            None => Ok(()),
        }
    }

    /// Returns the error for an operation that got no answer. Names what the server has reported meanwhile, such as a
    /// missing permission.
    pub(super) fn no_answer(&self, within: Duration, why: String) -> HubError {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let hub = self.name.clone();
        match reported.take() {
            Some(why) => HubError::Rejected { hub, why },
            None => HubError::NoAnswer { hub, within, why },
        }
    }
}

async fn connect(settings: HubSettings) -> Result<HubConnection, HubError> {
    // Installs the TLS crypto provider; fails harmlessly if it is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let name = settings.address.to_string();
    let reported = Arc::<Mutex<Option<String>>>::default();
    let options = options(&settings, Arc::clone(&reported)).await?;
    let mut servers = Vec::new();
    for server in &settings.address.servers {
        let address = server.parse::<ServerAddr>();
        servers.push(address.map_err(|_| HubError::Address {
            text: server.clone(),
            why: "the name or the port of the server is invalid",
        })?);
    }
    let connecting = options.connect(servers).await;
    let client = connecting.map_err(|error| connect_error(&name, &error))?;
    if !client.is_server_compatible(2, 11, 0) {
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
    Ok(HubConnection {
        client,
        jetstream,
        settings,
        name,
        opened: Default::default(),
        reported,
    })
}

async fn options(
    settings: &HubSettings,
    reported: Arc<Mutex<Option<String>>>,
) -> Result<ConnectOptions, HubError> {
    let mut options = ConnectOptions::new()
        .name(concat!("crewdeck/", env!("CARGO_PKG_VERSION")))
        .connection_timeout(CONNECT_WITHIN)
        .event_callback(move |event| {
            if let Event::ServerError(error) = event {
                let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
                *reported = Some(error.to_string());
            }
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
    if settings
        .address
        .servers
        .iter()
        .any(|s| s.starts_with("tls://"))
    {
        options = options.require_tls(true);
    }
    if let Some(ca) = &settings.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some((certificate, key)) = &settings.client_certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}

fn connect_error(hub: &str, error: &async_nats::ConnectError) -> HubError {
    let hub = hub.to_string();
    let mut why = error.to_string();
    // A server that needs a certificate ends the connection without a reply to the client's greeting.
    let is_tls = why.contains("certificate") || why.contains("Certificate") || why.contains("TLS");
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            HubError::Login { hub }
        }
        ConnectErrorKind::Tls => HubError::Tls { hub, why },
        _ if is_tls => HubError::Tls { hub, why },
        ConnectErrorKind::TimedOut => HubError::Unreachable {
            hub,
            why: format!("no answer within {} s", CONNECT_WITHIN.as_secs()),
        },
        ConnectErrorKind::ServerParse
        | ConnectErrorKind::Dns
        | ConnectErrorKind::Io
        | ConnectErrorKind::MaxReconnects => {
            if let Some(short) = why.strip_prefix("IO error: ") {
                why = short.to_string();
            }
            HubError::Unreachable { hub, why }
        }
    }
}
