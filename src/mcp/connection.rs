//! Connects to an MCP server: starts its program or opens its URL, and agrees with it on a protocol version.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::{AuthClient, AuthError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::call::{LoginChallenge, describe, login_challenge, needs_new_login};
use super::credentials::CredentialFile;
use super::handler::{Handler, HandlerShared};
use super::line_limit::{EndReason, LineLimit, MESSAGE_MAX};
use super::login;
use super::types::PoolOptions;
use crate::domain::mcp::{ServerConfig, ServerTransport};
use crate::domain::text::{clip, one_line};
use crate::http::client_builder;
use crate::process::{JobExit, LogTail, ServiceProcess, ServiceSpec};

/// Time for which a program may still run after it has closed its output. Then crewdeck kills the program.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which a program may still run after crewdeck has closed its input. Then crewdeck kills the program.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);

/// The environment variable that contains the project directory. Claude Code sets it too, so servers read it.
const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// A connection to an MCP server, whose handshake has succeeded.
pub struct Connection {
    pub service: RunningService<RoleClient, Handler>,
    pub process: Option<ServiceProcess>,
    /// The reason why crewdeck stopped reading the program's output; empty while it reads.
    pub end_reason: EndReason,
}

/// Why a connection to an MCP server could not be established.
#[derive(Debug)]
pub enum ConnectError {
    /// The user must log in to the server.
    NeedsLogin(LoginChallenge),
    /// Another attempt would fail too, for this reason.
    Permanent(String),
    /// Another attempt may succeed. The value says why this one failed.
    Failed(String),
}

/// The requests with which a new connection to an MCP server begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// First `server/discover`; if the server answers with an error, then `initialize`.
    Discover,
    /// Only `initialize`, for servers that crash or hang when they receive an unknown request.
    Initialize,
}

impl Handshake {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Handshake::Discover => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Handshake::Initialize => ClientLifecycleMode::Initialize,
        }
    }
}

/// Connects to the server of `config`. If `first` is [`Handshake::Discover`] and fails with [`ConnectError::Failed`],
/// opens a new connection and tries [`Handshake::Initialize`]. Returns the connection and the handshake that succeeded.
/// Has no time limit: the caller must set one.
///
/// # Errors
/// Fails if the program cannot be started, the URL cannot be reached, the server demands a login, or the handshake
/// fails.
pub async fn connect(
    config: &ServerConfig,
    options: &PoolOptions,
    shared: &Arc<HandlerShared>,
    first: Handshake,
) -> Result<(Connection, Handshake), ConnectError> {
    match connect_once(config, options, shared, first).await {
        Ok(connection) => Ok((connection, first)),
        Err(ConnectError::Failed(why)) if first == Handshake::Discover => {
            tracing::debug!("MCP server {}: {why}; trying initialize", config.name);
            let second = Handshake::Initialize;
            let connection = connect_once(config, options, shared, second).await?;
            Ok((connection, second))
        }
        Err(error) => Err(error),
    }
}

async fn connect_once(
    config: &ServerConfig,
    options: &PoolOptions,
    shared: &Arc<HandlerShared>,
    handshake: Handshake,
) -> Result<Connection, ConnectError> {
    let handler = Handler(Arc::clone(shared));
    match &config.transport {
        ServerTransport::Program {
            command,
            args,
            env,
            dir,
        } => {
            // A relative work directory is below the project directory. The approval of the server assumes the same.
            let dir = dir.as_deref().unwrap_or(Path::new(""));
            let dir = options.project.join(dir);
            let mut env = env.clone();
            env.entry(PROJECT_VARIABLE.into())
                .or_insert_with(|| options.project.to_string_lossy().into_owned());
            let spec = ServiceSpec {
                argv: [command].into_iter().chain(args).cloned().collect(),
                dir,
                env,
                supervisor: options.supervisor.clone(),
            };
            start_program(&spec, handler, handshake).await
        }
        ServerTransport::Http { url, headers } => {
            let client = client_builder(url)
                // HTTP connections are not reused: a request would stall while an earlier response on the same
                // connection is not read to its end.
                .pool_max_idle_per_host(0)
                .build()
                .map_err(|e| ConnectError::Permanent(describe(&e)))?;
            let mut map = HashMap::new();
            for (name, value) in headers {
                let header = HeaderName::try_from(name)
                    .ok()
                    .zip(HeaderValue::try_from(value).ok());
                let Some((name, mut value)) = header else {
                    let name = clip(&one_line(name), 80);
                    return Err(ConnectError::Permanent(format!(
                        "the header '{name}' has an invalid name or value"
                    )));
                };
                value.set_sensitive(true);
                map.insert(name, value);
            }
            let settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                .custom_headers(map)
                .max_sse_event_size(MESSAGE_MAX);
            let manager = match &options.logins {
                Some(folder) => {
                    let file = CredentialFile::new(folder, url).with_redactor(&options.redactor);
                    let loaded = login::load_manager(url, &config.oauth, file).await;
                    loaded.map_err(|error| login_error(&error))?
                }
                None => None,
            };
            let mode = handshake.mode();
            let served = match manager {
                Some(manager) => {
                    let client = AuthClient::new(client, manager);
                    let transport = StreamableHttpClientTransport::with_client(client, settings);
                    handler.serve_with_lifecycle(transport, mode).await
                }
                None => {
                    let transport = StreamableHttpClientTransport::with_client(client, settings);
                    handler.serve_with_lifecycle(transport, mode).await
                }
            };
            let service = served.map_err(|error| http_error(&error, url))?;
            Ok(Connection {
                service,
                process: None,
                end_reason: EndReason::default(),
            })
        }
    }
}

async fn start_program(
    spec: &ServiceSpec,
    handler: Handler,
    handshake: Handshake,
) -> Result<Connection, ConnectError> {
    if !spec.dir.is_dir() {
        let why = format!(
            "the work directory {} does not exist",
            shown_path(&spec.dir)
        );
        return Err(ConnectError::Permanent(why));
    }
    let log = handler.0.log.clone();
    let (process, streams) = ServiceProcess::start(spec)
        .await
        .map_err(|e| ConnectError::Permanent(spec.start_error(&e)))?;
    log.follow(streams.stderr);
    let end_reason = EndReason::default();
    let stdout = LineLimit::new(streams.stdout, MESSAGE_MAX, Arc::clone(&end_reason));
    let transport =
        AsyncRwTransport::new_client(stdout, streams.stdin).with_max_line_length(usize::MAX);
    match handler
        .serve_with_lifecycle(transport, handshake.mode())
        .await
    {
        Ok(service) => Ok(Connection {
            service,
            process: Some(process),
            end_reason,
        }),
        Err(error) => Err(program_error(spec, process, &error, &end_reason, &log).await),
    }
}

/// Ends the program after its handshake failed, and returns why the handshake failed.
async fn program_error(
    spec: &ServiceSpec,
    mut process: ServiceProcess,
    error: &ClientInitializeError,
    end_reason: &EndReason,
    log: &LogTail,
) -> ConnectError {
    if matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    ) && let Ok(ended) = tokio::time::timeout(EXIT_TIMEOUT, process.wait()).await
    {
        return match ended {
            Ok(exit) => ConnectError::Failed(format!(
                "it ended before it answered ({}){}",
                exit,
                log.error_suffix()
            )),
            Err(error) => ConnectError::Permanent(spec.start_error(&error)),
        };
    }
    process.end().await;
    let reason = end_reason
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let why = reason.unwrap_or_else(|| format!("the handshake failed: {}", handshake_error(error)));
    ConnectError::Failed(format!("{why}{}", log.error_suffix()))
}

fn shown_path(path: &Path) -> String {
    clip(&one_line(&path.display().to_string()), 200)
}

/// Returns the error for stored tokens that cannot be used.
fn login_error(error: &AuthError) -> ConnectError {
    if needs_new_login(error) {
        return ConnectError::NeedsLogin(LoginChallenge::new());
    }
    ConnectError::Failed(format!(
        "cannot use the stored login tokens: {}",
        describe(error)
    ))
}

fn http_error(error: &ClientInitializeError, url: &str) -> ConnectError {
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return http_error(fallback, url);
    }
    if let ClientInitializeError::TransportError { error, .. } = error
        && let Some(challenge) = login_challenge(error.error.as_ref())
    {
        return ConnectError::NeedsLogin(challenge);
    }
    let text = handshake_error(error);
    let origin = crate::http::origin(url).unwrap_or_default();
    ConnectError::Failed(format!("cannot connect to {origin}: {text}"))
}

/// Returns why a handshake failed. Leaves out the type names that the SDK's own messages contain.
fn handshake_error(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => describe(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake_error(fallback),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "the server's answer is not a handshake response".into()
        }
        other => describe(other),
    }
}

/// Ends a connection: closes the program's input, waits, and kills the program if it still runs.
pub async fn close(mut connection: Connection) {
    // Closing the connection also waits, so that the program has time to end.
    let _ = connection.service.close_with_timeout(CLOSE_TIMEOUT).await;
    close_process(connection.process).await;
}

/// Waits for the end of a program whose input is closed. Kills the program after [`CLOSE_TIMEOUT`].
pub async fn close_process(process: Option<ServiceProcess>) {
    if let Some(mut process) = process
        && tokio::time::timeout(CLOSE_TIMEOUT, process.wait())
            .await
            .is_err()
    {
        process.end().await;
    }
}

/// Waits until the program of a closed connection has ended, and returns how it ended. Returns `None` if there is no
/// program, if the wait failed, or if the program still ran after [`EXIT_TIMEOUT`] and was killed.
pub async fn exit_of(process: Option<ServiceProcess>) -> Option<JobExit> {
    let mut process = process?;
    match tokio::time::timeout(EXIT_TIMEOUT, process.wait()).await {
        Ok(exit) => exit.ok(),
        Err(_) => {
            process.end().await;
            None
        }
    }
}
