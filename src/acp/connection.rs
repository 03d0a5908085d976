//! One running program that speaks the Agent Client Protocol: starts it, sends requests to it, and ends it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, Lines, UntypedMessage, on_receive_notification, on_receive_request,
};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::lines::{LineWatch, MESSAGE_MAX, read_messages, write_messages};
use super::program::{EndCause, RunningProgram};
use super::route::permission_result;
use super::routes::RouteTable;
use super::types::{AcpCapabilities, AcpError, AcpOptions, PermissionAnswer};
use crate::domain::external_agent::ExternalAgent;
use crate::domain::redact::Redactor;
use crate::domain::text::{clip, one_line};
use crate::process::{LogTail, ServiceProcess, ServiceSpec};

/// The version of the protocol that crewdeck speaks.
const PROTOCOL_VERSION: u64 = 1;
/// The texts that precede the version number in the SDK's errors about an unsupported protocol version.
const VERSION_MISMATCH: [&str; 2] = ["but peer negotiated ", "unsupported ACP protocol version "];
/// The error code with which an agent demands a login.
const LOGIN_REQUIRED: i32 = -32000;
/// Maximum time, in addition to [`AcpOptions::exit_timeout`], to wait for the end of a program whose connection is
/// closed.
const CAUSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length, in characters, of an agent's text in an error.
const MESSAGE_SHOWN_MAX: usize = 300;

/// A running program. When the last reference is dropped, the program is ended.
pub struct AgentConnection {
    pub agent: ExternalAgent,
    pub capabilities: AcpCapabilities,
    pub routes: Arc<RouteTable>,
    pub options: AcpOptions,
    connection: ConnectionTo<Agent>,
    end: EndHandle,
    /// Whether no further session may be opened in the program, because it does not answer.
    is_retired: AtomicBool,
}

/// Ends a program, and knows whether it has ended.
#[derive(Clone)]
pub struct EndHandle {
    stop: CancellationToken,
    /// Why the program ended; `None` while it runs.
    ended: watch::Receiver<Option<EndCause>>,
}

impl EndHandle {
    /// Asks the program to end, and does not wait.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns why the program ended; `None` while it runs.
    pub fn cause(&self) -> Option<EndCause> {
        self.ended.borrow().clone()
    }

    /// Waits until the program has ended.
    pub async fn wait(&self) {
        // Fails if the task that sets the cause was dropped with the runtime: the program is killed then.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }
}

impl Drop for AgentConnection {
    fn drop(&mut self) {
        self.end.stop();
    }
}

/// Returns the environment variables that the program of `agent` gets in addition to the variables that it inherits
/// from crewdeck. No inherited variable contains a secret. The additional variables are those with the vendor's login,
/// those that the preset sets if crewdeck runs as root, and those from the settings.
fn environment(agent: &ExternalAgent) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    if let Some(preset) = agent.preset {
        for name in preset.login_variables {
            if let Ok(value) = std::env::var(name) {
                env.insert(name.to_string(), value);
            }
        }
        if rustix::process::geteuid().is_root() {
            let values = preset.root_env.iter();
            env.extend(values.map(|(name, value)| (name.to_string(), value.to_string())));
        }
    }
    env.extend(agent.env.clone());
    env
}

impl AgentConnection {
    /// Starts the program of `agent` and agrees with it on the protocol.
    ///
    /// # Errors
    /// Fails if the program cannot be started, ends, does not answer in time, or speaks another version. The program
    /// has then ended, or ends soon.
    pub async fn start(
        agent: &ExternalAgent,
        options: &AcpOptions,
    ) -> Result<AgentConnection, AcpError> {
        let cannot_start = |why: String| AcpError::CannotStart {
            agent: agent.name.clone(),
            why: options.redactor.text(&why).into_owned(),
        };
        let spec = ServiceSpec {
            argv: agent.argv.clone(),
            dir: options.project.clone(),
            env: environment(agent),
            supervisor: options.supervisor.clone(),
        };
        let started = ServiceProcess::start(&spec).await;
        let (process, streams) = started.map_err(|e| cannot_start(spec.start_error(&e)))?;
        let (log, watch) = (LogTail::default(), Arc::new(LineWatch::default()));
        let routes = Arc::new(RouteTable::default());
        let stop = CancellationToken::new();
        let transport = Lines::new(
            write_messages(streams.stdin, Arc::clone(&watch)),
            read_messages(streams.stdout, MESSAGE_MAX, log.clone(), Arc::clone(&watch)),
        );
        let (for_updates, for_requests) = (Arc::clone(&routes), Arc::clone(&routes));
        let (sender, connection) = oneshot::channel();
        let stopped = stop.clone();
        let driver = Client
            .v1()
            .name("crewdeck")
            .on_receive_notification(
                async move |message: UntypedMessage, _| {
                    if message.method == "session/update" {
                        for_updates.update(message.params);
                    }
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |message: UntypedMessage, responder: Responder, _| {
                    answer(&for_requests, &message, responder)
                },
                on_receive_request!(),
            )
            .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
                // Fails only if the caller no longer waits. Then `stop` is cancelled.
                let _ = sender.send(connection.clone());
                tokio::select! {
                    () = connection.incoming_closed() => {}
                    () = stopped.cancelled() => {}
                }
                Ok(())
            });
        let (ended_sender, ended) = watch::channel(None);
        let end = EndHandle {
            stop: stop.clone(),
            ended,
        };
        let running = RunningProgram {
            process,
            log: log.clone(),
            stderr: log.follow(streams.stderr),
            watch,
            stop: stop.clone(),
            redactor: options.redactor.clone(),
            exit_timeout: options.exit_timeout,
        };
        let all_routes = Arc::clone(&routes);
        tokio::spawn(async move {
            let cause = running.serve(driver, &spec).await;
            // First, so that the caller has seen the end of its calls when it learns the cause.
            all_routes.end_all();
            ended_sender.send_replace(Some(cause));
        });
        // Ends the program if this future is dropped, or at an error below.
        let guard = stop.drop_guard();
        let Ok(connection) = connection.await else {
            end.wait().await;
            let cause = end.cause().map_or_else(String::new, |cause| cause.why);
            return Err(cannot_start(cause));
        };
        let mut this = AgentConnection {
            agent: agent.clone(),
            capabilities: AcpCapabilities::default(),
            routes,
            options: options.clone(),
            connection,
            end,
            is_retired: AtomicBool::new(false),
        };
        this.capabilities = this.initialize().await.map_err(|error| match error {
            AcpError::Ended { why, .. } => cannot_start(why),
            other => other,
        })?;
        guard.disarm();
        Ok(this)
    }

    async fn initialize(&self) -> Result<AcpCapabilities, AcpError> {
        const METHOD: &str = "initialize";
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
            },
            "clientInfo": {
                "name": "crewdeck",
                "title": "crewdeck",
                "version": env!("CARGO_PKG_VERSION"),
            },
        });
        let limit = Some(self.options.start_timeout);
        let answer = self.request(METHOD, params, limit, |_| {}).await;
        let answer = answer.map_err(|error| match error {
            // The SDK makes this error itself.
            AcpError::Rejected { ref message, .. } => match mismatched_version(message) {
                Some(version) => AcpError::UnsupportedVersion {
                    agent: self.agent.name.clone(),
                    version,
                },
                None => error,
            },
            other => other,
        })?;
        let version = answer.get("protocolVersion").cloned().unwrap_or_default();
        if version.as_u64() != Some(PROTOCOL_VERSION) {
            return Err(AcpError::UnsupportedVersion {
                agent: self.agent.name.clone(),
                version: clip(&one_line(&version.to_string()), 40),
            });
        }
        let has = |path: &str| {
            let value = answer.pointer(&format!("/agentCapabilities{path}"));
            value.is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
        };
        Ok(AcpCapabilities {
            loads_sessions: has("/loadSession"),
            closes_sessions: has("/sessionCapabilities/close"),
            images: has("/promptCapabilities/image"),
        })
    }

    /// Sends a request and waits for the answer, at most `limit`; without limit if it is `None`. `on_answer` is called
    /// with the answer, even if the caller no longer waits. It is called before any later message of the agent is
    /// processed.
    ///
    /// # Errors
    /// Fails if the program ends, does not answer in time, or answers with an error.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        limit: Option<Duration>,
        on_answer: impl FnOnce(&Result<Value, Error>) + Send + 'static,
    ) -> Result<Value, AcpError> {
        let answer = self.send(method, params, on_answer);
        let received = match limit {
            Some(limit) => timeout(limit, answer)
                .await
                .map_err(|_| AcpError::TimedOut {
                    agent: self.agent.name.clone(),
                    method: method.to_string(),
                    after: limit,
                })?,
            None => answer.await,
        };
        match received {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) if !is_lost(&error) => Err(self.rejection(method, &error)),
            Ok(Err(_)) | Err(_) => Err(self.ended().await),
        }
    }

    /// Sends a request without waiting. The returned receiver gets the answer. If the program ends before it has
    /// answered, the receiver fails or gets an error for which `is_lost` is true. `on_answer` is called as in
    /// [`AgentConnection::request`].
    pub fn send(
        &self,
        method: &str,
        params: Value,
        on_answer: impl FnOnce(&Result<Value, Error>) + Send + 'static,
    ) -> oneshot::Receiver<Result<Value, Error>> {
        let (sender, receiver) = oneshot::channel();
        let message = UntypedMessage {
            method: method.to_string(),
            params,
        };
        let request = self.connection.prepare_request(message);
        let sent = request.on_receiving_result(move |answer| {
            on_answer(&answer);
            // Fails if the caller no longer waits.
            let _ = sender.send(answer);
            std::future::ready(Ok(()))
        });
        if let Err(error) = sent {
            tracing::debug!("{method} was not sent: {}", error.message);
        }
        receiver
    }

    /// Sends a notification. Does nothing if the program has ended.
    pub fn notify(&self, method: &str, params: Value) {
        let message = UntypedMessage {
            method: method.to_string(),
            params,
        };
        // Fails only if the connection has ended.
        let _ = self.connection.send_notification(message);
    }

    /// Converts the error with which the agent has answered `method`. The result is [`AcpError::NeedsLogin`] if the
    /// error code demands a login, else [`AcpError::Rejected`].
    pub fn rejection(&self, method: &str, error: &Error) -> AcpError {
        let text = error_text(error, &self.options.redactor);
        let (agent, code) = (self.agent.name.clone(), i32::from(error.code));
        if code == LOGIN_REQUIRED {
            return AcpError::NeedsLogin { agent, why: text };
        }
        AcpError::Rejected {
            agent,
            method: method.to_string(),
            message: text,
            code,
        }
    }

    /// Waits until the program has ended, and returns [`AcpError::Ended`] with the cause. If the program was asked to
    /// end or the connection is closed, waits at most [`AcpOptions::exit_timeout`] plus `CAUSE_TIMEOUT`, because it may
    /// be impossible to kill the program.
    pub async fn ended(&self) -> AcpError {
        let limit = self.options.exit_timeout + CAUSE_TIMEOUT;
        if self.end.stop.is_cancelled() || self.connection.is_incoming_closed() {
            // A bound for the case that the program cannot be killed.
            let _ = timeout(limit, self.end.wait()).await;
        } else {
            self.end.wait().await;
        }
        let cause = self.end.cause();
        AcpError::Ended {
            agent: self.agent.name.clone(),
            why: cause.map_or_else(|| "it cannot be killed".into(), |cause| cause.why),
        }
    }

    /// Prevents further sessions from being opened in the program. Open sessions continue.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }

    pub fn end_handle(&self) -> &EndHandle {
        &self.end
    }

    /// Returns whether requests can still be sent.
    pub fn is_alive(&self) -> bool {
        self.end.cause().is_none()
            && !self.end.stop.is_cancelled()
            && !self.connection.is_incoming_closed()
    }
}

/// Answers a request of the agent. crewdeck serves only permission requests.
fn answer(
    routes: &RouteTable,
    message: &UntypedMessage,
    responder: Responder,
) -> Result<(), Error> {
    if message.method != "session/request_permission" {
        return responder.respond_with_error(Error::method_not_found());
    }
    let Some(routed) = routes.permission(&message.params) else {
        return responder.respond(permission_result(PermissionAnswer::Cancelled, &[]));
    };
    tokio::spawn(async move {
        let answer = routed.route.decide(routed.request, &routed.cancel).await;
        // Fails only if the connection has ended.
        let _ = responder.respond(permission_result(answer, &routed.options));
    });
    Ok(())
}

/// Returns the version that an error of the SDK names as not supported; `None` for any other error.
fn mismatched_version(message: &str) -> Option<String> {
    let mut marks = VERSION_MISMATCH.iter();
    let rest = marks.find_map(|mark| Some(message.split_once(mark)?.1))?;
    let digits = rest.chars().take_while(char::is_ascii_alphanumeric);
    Some(digits.take(20).collect())
}

/// Returns whether the error comes from the SDK and means that the connection has ended. Any other error is an answer
/// of the agent.
fn is_lost(error: &Error) -> bool {
    agent_client_protocol::is_incoming_transport_closed(error)
        || agent_client_protocol::is_connection_terminated(error)
}

/// Returns the text of an agent's error. Many agents write the cause into `data`.
fn error_text(error: &Error, redactor: &Redactor) -> String {
    let detail = error.data.as_ref().and_then(|data| {
        let fields = ["details", "message", "error", "reason"];
        let text = data
            .as_str()
            .or_else(|| fields.iter().find_map(|name| data.get(*name)?.as_str()));
        text.map(|text| format!("{}: {text}", error.message))
    });
    let text = detail.unwrap_or_else(|| error.message.clone());
    clip(&one_line(&redactor.text(&text)), MESSAGE_SHOWN_MAX)
}
