//! A session of an external agent, as the caller uses it.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol::Error;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::choices::{self, SessionOffer};
use super::connection::AgentConnection;
use super::route::SessionRoute;
use super::types::{
    AcpError, PromptEnd, PromptPart, SessionChoice, SessionHandler, SessionSpec, StdioServer,
    UnsetChoice,
};
use super::update::id;
use crate::domain::external_agent::AgentPreset;

/// Maximum time from the cancellation of a turn until the agent has answered the prompt.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for the answer to `session/close`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time to wait for the end of a program that was asked to stop, in addition to `exit_timeout`.
const EXIT_MARGIN: Duration = Duration::from_secs(2);

/// An open session. Dropping it cancels its turn and closes it without waiting.
pub struct AcpSession {
    connection: Arc<AgentConnection>,
    route: Arc<SessionRoute>,
    offer: SessionOffer,
    unset: Vec<UnsetChoice>,
    /// Whether the agent did not stop a cancelled turn. The session cannot be used any more.
    is_stuck: AtomicBool,
}

/// Cancels the turn of a prompt whose caller no longer waits.
struct CancelOnDrop<'a> {
    session: &'a AcpSession,
    is_armed: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            self.session.cancel();
        }
    }
}

/// Opens a session, and sets its mode, model and effort. Values that cannot be set are no error; see
/// [`AcpSession::unset`].
///
/// # Errors
/// Fails if the program ends, does not answer in time, demands a login, or refuses to open the session. If the agent
/// cannot load the session `spec.load`, the error is [`AcpError::LoadFailed`].
pub async fn open(
    connection: Arc<AgentConnection>,
    spec: &SessionSpec,
    handler: Arc<dyn SessionHandler>,
) -> Result<AcpSession, AcpError> {
    let (route, answer) = match &spec.load {
        Some(session) => load(&connection, spec, session, handler).await?,
        None => open_new(&connection, spec, handler).await?,
    };
    let mut session = AcpSession {
        connection,
        route,
        offer: SessionOffer::new(answer),
        unset: Vec::new(),
        is_stuck: AtomicBool::new(false),
    };
    session.unset =
        choices::set_all(&session.connection, &session.route.id, &session.offer, spec).await;
    if session.connection.is_alive() {
        Ok(session)
    } else {
        Err(session.connection.ended().await)
    }
}

async fn open_new(
    connection: &Arc<AgentConnection>,
    spec: &SessionSpec,
    handler: Arc<dyn SessionHandler>,
) -> Result<(Arc<SessionRoute>, Value), AcpError> {
    const METHOD: &str = "session/new";
    let routes = Arc::clone(&connection.routes);
    let redactor = connection.options.redactor.clone();
    let refusal = connection.agent.refusal();
    let opened = Arc::new(OnceLock::new());
    let on_answer = {
        let opened = Arc::clone(&opened);
        move |answer: &Result<Value, Error>| {
            let session = answer
                .as_ref()
                .ok()
                .and_then(|answer| id(answer, "sessionId"));
            let new = |id| Arc::new(SessionRoute::new(id, handler, &redactor, refusal, false));
            let route = session.map(new);
            if routes.end_opening(route.as_ref())
                && let Some(route) = route
            {
                // Set only here, so it is empty.
                let _ = opened.set(route);
            }
        }
    };
    connection.routes.begin_opening();
    let limit = Some(connection.options.request_timeout);
    let answer = connection
        .request(METHOD, session_params(connection, spec), limit, on_answer)
        .await?;
    match opened.get() {
        Some(route) => Ok((Arc::clone(route), answer)),
        None => Err(AcpError::Unexpected {
            agent: connection.agent.name.clone(),
            method: METHOD.into(),
            what: "it has no session id, or one that is in use".into(),
        }),
    }
}

async fn load(
    connection: &Arc<AgentConnection>,
    spec: &SessionSpec,
    session: &str,
    handler: Arc<dyn SessionHandler>,
) -> Result<(Arc<SessionRoute>, Value), AcpError> {
    let failed = |why: String| AcpError::LoadFailed {
        agent: connection.agent.name.clone(),
        session: session.to_string(),
        why,
    };
    if !connection.capabilities.loads_sessions {
        return Err(failed("the agent cannot load sessions".into()));
    }
    let redactor = &connection.options.redactor;
    let refusal = connection.agent.refusal();
    let route = SessionRoute::new(session.to_string(), handler, redactor, refusal, true);
    let route = Arc::new(route);
    if !connection.routes.add(&route) {
        return Err(failed("the session is open already".into()));
    }
    let mut params = session_params(connection, spec);
    params["sessionId"] = session.into();
    let on_answer = {
        let route = Arc::clone(&route);
        move |_: &Result<Value, Error>| route.end_loading()
    };
    let limit = Some(connection.options.request_timeout);
    let answer = connection
        .request("session/load", params, limit, on_answer)
        .await;
    match answer {
        Ok(answer) => Ok((route, answer)),
        Err(error) => {
            connection.routes.remove(session);
            Err(match error {
                AcpError::Rejected { message, .. } => failed(message),
                other => other,
            })
        }
    }
}

fn session_params(connection: &AgentConnection, spec: &SessionSpec) -> Value {
    let server = |server: &StdioServer| {
        let env = server.env.iter();
        let env: Vec<Value> = env
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        json!({
            "name": server.name, "command": server.command, "args": server.args, "env": env,
        })
    };
    let servers: Vec<Value> = spec.mcp_servers.iter().map(server).collect();
    let mut params = json!({ "cwd": spec.cwd.to_string_lossy(), "mcpServers": servers });
    let preset = connection.agent.preset;
    if let Some(meta) = preset.and_then(AgentPreset::session_meta) {
        params["_meta"] = meta;
    }
    params
}

impl AcpSession {
    /// Returns the id with which the session can be loaded again.
    pub fn id(&self) -> &str {
        &self.route.id
    }

    /// Returns the mode, model and effort of the specification that could not be set when the session was opened.
    pub fn unset(&self) -> &[UnsetChoice] {
        &self.unset
    }

    /// Runs a turn: sends `content` to the agent and waits until the turn has ended. Waits first for the end of an
    /// earlier turn whose prompt was dropped. Dropping the future cancels the turn.
    ///
    /// # Errors
    /// Fails if the program ends, answers with an error, or does not stop within 10 s after the turn was cancelled; in
    /// the last case, every further prompt fails immediately. Also fails if an earlier turn has not ended after 10 s.
    pub async fn prompt(&self, content: &[PromptPart]) -> Result<PromptEnd, AcpError> {
        self.prompt_with(content, || {}).await
    }

    /// Does the same as [`AcpSession::prompt`], and calls `on_sent` when `content` is sent. `on_sent` is not called if
    /// the future is dropped while it waits for the end of an earlier turn.
    ///
    /// # Errors
    /// Fails as [`AcpSession::prompt`] does.
    pub async fn prompt_with(
        &self,
        content: &[PromptPart],
        on_sent: impl FnOnce(),
    ) -> Result<PromptEnd, AcpError> {
        const METHOD: &str = "session/prompt";
        self.begin_turn().await?;
        let params = json!({ "sessionId": self.id(), "prompt": self.blocks(content) });
        let route = Arc::clone(&self.route);
        let end = Arc::new(OnceLock::new());
        let on_answer = {
            let end = Arc::clone(&end);
            move |answer: &Result<Value, Error>| {
                // Set only here, so it is empty.
                let _ = end.set(route.end_turn(answer.as_ref().ok()));
            }
        };
        let token = self.route.turn_token().unwrap_or_default();
        let mut guard = CancelOnDrop {
            session: self,
            is_armed: true,
        };
        let answer = self.connection.request(METHOD, params, None, on_answer);
        let cancelled = async {
            token.cancelled().await;
            tokio::time::sleep(CANCEL_TIMEOUT).await;
        };
        // The first poll of `answer`, which follows at once, sends the request.
        on_sent();
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            () = cancelled => {
                guard.is_armed = false;
                self.is_stuck.store(true, Ordering::Relaxed);
                return Err(AcpError::TimedOut {
                    agent: self.connection.agent.name.clone(),
                    method: "session/cancel".into(),
                    after: CANCEL_TIMEOUT,
                });
            }
        };
        guard.is_armed = false;
        let is_lost = matches!(answer, Err(AcpError::Ended { .. }));
        match (end.get().cloned().flatten(), answer) {
            (Some(end), _) if !is_lost => Ok(end),
            (_, Err(error)) => {
                if is_lost {
                    self.route.end_turn(None);
                }
                Err(error)
            }
            (_, Ok(_)) => Err(AcpError::Unexpected {
                agent: self.connection.agent.name.clone(),
                method: METHOD.into(),
                what: "how the turn ended is unknown".into(),
            }),
        }
    }

    async fn begin_turn(&self) -> Result<(), AcpError> {
        let limit = CANCEL_TIMEOUT;
        if !self.is_stuck.load(Ordering::Relaxed) {
            if !self.connection.is_alive() {
                return Err(self.connection.ended().await);
            }
            if self.route.begin_turn() {
                return Ok(());
            }
            let is_idle = timeout(limit, self.route.wait_until_idle()).await.is_ok();
            if is_idle && self.route.begin_turn() {
                return Ok(());
            }
        }
        Err(AcpError::NotAvailable {
            agent: self.connection.agent.name.clone(),
            why: "still runs an earlier turn".into(),
        })
    }

    /// Cancels the running turn and does not wait. Its prompt then ends, and its permission requests are answered with
    /// `cancelled`. Does nothing if no turn runs.
    pub fn cancel(&self) {
        if self.route.cancel_turn() {
            self.connection
                .notify("session/cancel", json!({ "sessionId": self.id() }));
        }
    }

    /// Sets the mode of the session to the one whose id or name is `mode`.
    ///
    /// # Errors
    /// Fails if the agent does not offer the mode or refuses it. The text says why.
    pub async fn set_mode(&self, mode: &str) -> Result<(), UnsetChoice> {
        let choice = SessionChoice::Mode;
        let set = choices::set(&self.connection, self.id(), &self.offer, choice, mode).await;
        set.map_err(|why| UnsetChoice {
            choice,
            value: mode.to_string(),
            why,
        })
    }

    /// Returns the id of the mode with this id or name; `None` if the agent does not offer it.
    pub fn mode_id(&self, mode: &str) -> Option<String> {
        self.offer.id_of(SessionChoice::Mode, mode)
    }

    /// Waits until the program has ended, and returns the error with the cause.
    pub async fn ended(&self) -> AcpError {
        self.connection.ended().await
    }

    /// Closes the session: cancels its turn, and, if the agent can close sessions, asks it to and waits at most 2 s for
    /// its answer. Closing the last session of a program ends the program.
    pub async fn close(self) {
        self.cancel();
        if self.connection.capabilities.closes_sessions && self.connection.is_alive() {
            let params = json!({ "sessionId": self.id() });
            let limit = Some(CLOSE_TIMEOUT);
            // An agent that does not answer keeps the session until its program ends.
            let _ = self
                .connection
                .request("session/close", params, limit, |_| {})
                .await;
        }
    }

    /// Gives up a session whose turn does not end or whose program hangs: closes the session, prevents further sessions
    /// in its program, and ends the program. The program is not ended if another of its sessions runs a turn. Returns
    /// whether the program has ended. If not, the turn may still run, so the session must not be loaded again.
    pub async fn abandon(self) -> bool {
        let connection = Arc::clone(&self.connection);
        connection.retire();
        self.close().await;
        if connection.routes.has_turn() {
            return false;
        }
        let end = connection.end_handle();
        end.stop();
        let limit = connection.options.exit_timeout + EXIT_MARGIN;
        timeout(limit, end.wait()).await.is_ok()
    }

    /// Returns whether the program of the session still runs.
    pub fn is_alive(&self) -> bool {
        self.connection.is_alive()
    }

    fn blocks(&self, content: &[PromptPart]) -> Vec<Value> {
        let takes_images = self.connection.capabilities.images;
        let block = |part: &PromptPart| match part {
            PromptPart::Text(text) => json!({ "type": "text", "text": text }),
            PromptPart::Image { media_type, data } if takes_images => {
                json!({ "type": "image", "mimeType": media_type, "data": data })
            }
            PromptPart::Image { .. } => json!({
                "type": "text",
                "text": "[The user attached an image here. It was left out, because you cannot read images.]",
            }),
            PromptPart::File { path } => json!({
                "type": "resource_link",
                "uri": file_uri(path),
                "name": path.file_name().unwrap_or(path.as_os_str()).to_string_lossy(),
            }),
        };
        content.iter().map(block).collect()
    }
}

impl Drop for AcpSession {
    fn drop(&mut self) {
        self.cancel();
        self.connection.routes.remove(self.id());
    }
}

fn file_uri(path: &Path) -> String {
    let mut out = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(
            file_uri(Path::new("/a b/ä.txt")),
            "file:///a%20b/%C3%A4.txt"
        );
    }
}
