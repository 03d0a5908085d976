//! Serves an editor over the Agent Client Protocol: carries out the editor's requests, one after the other, and shows
//! the crew's events between them.

use std::path::PathBuf;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, AgentCapabilities, AuthenticateResponse, CancelNotification,
    CancelRequestNotification, Error, Implementation, InitializeRequest, InitializeResponse,
    PromptCapabilities, PromptRequest, SessionCapabilities, SessionCloseCapabilities, SessionId,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::{
    RawJsonRpcId, RawJsonRpcMessage, RawJsonRpcNotification, RawJsonRpcParams, RawJsonRpcRequest,
    RawJsonRpcResponse,
};
use anyhow::Result;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;

use super::connection::{EditorGone, EditorInput, EditorOutput};
use super::features::EditorFeatures;
use super::opening::modes;
use super::session::EditorSession;
use crate::app::describe_error;
use crate::cli::GlobalOptions;
use crate::domain::text::{clip, one_line};
use crate::protocol::Event;

/// Why the connection to the editor ended without an error.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The editor has closed the connection.
    Closed,
    /// The crew has ended by itself.
    CrewEnded,
}

/// The server for one editor. For the editor, crewdeck is the agent.
pub struct EditorServer<'a> {
    pub(super) options: &'a GlobalOptions,
    pub(super) output: EditorOutput,
    pub(super) features: EditorFeatures,
    /// The directory of the project to which all sessions belong: the project of the option `--dir`, or else the
    /// project of the first session. `None` if the option was not given and no session was started yet.
    pub(super) project: Option<PathBuf>,
    pub(super) session: Option<EditorSession>,
}

/// The answer to a JSON-RPC request of the editor.
pub type RpcResult = Result<Value, Error>;

impl<'a> EditorServer<'a> {
    /// Creates a server without a session. `project` is the project of the option `--dir`, if it was given.
    pub fn new(
        options: &'a GlobalOptions,
        output: EditorOutput,
        project: Option<PathBuf>,
    ) -> EditorServer<'a> {
        EditorServer {
            options,
            output,
            features: EditorFeatures::default(),
            project,
            session: None,
        }
    }

    /// Serves the editor until it closes the connection or the crew ends.
    pub async fn serve(&mut self, input: &mut mpsc::Receiver<EditorInput>) -> ConnectionEnd {
        loop {
            let served = tokio::select! {
                message = input.recv() => match message {
                    Some(EditorInput::Message(message)) => self.receive(message).await,
                    Some(EditorInput::Malformed { id, error }) => {
                        self.output.respond(id, Err(error)).await
                    }
                    None => return ConnectionEnd::Closed,
                },
                event = next_event(&mut self.session) => match event {
                    Some(event) => self.show(&event).await,
                    None => return ConnectionEnd::CrewEnded,
                },
            };
            if let Err(EditorGone) = served {
                return ConnectionEnd::Closed;
            }
        }
    }

    /// Ends the crew, if one runs.
    ///
    /// # Errors
    /// Fails if the crew cannot save its state.
    pub async fn stop(mut self) -> Result<()> {
        match self.session.take() {
            Some(session) => session.stop(&mut self.output).await,
            None => Ok(()),
        }
    }

    async fn show(&mut self, event: &Event) -> Result<(), EditorGone> {
        match &mut self.session {
            Some(session) => session.handle(event, &mut self.output).await,
            None => Ok(()),
        }
    }

    async fn receive(&mut self, message: RawJsonRpcMessage) -> Result<(), EditorGone> {
        match message {
            RawJsonRpcMessage::Request(request) => self.request(request).await,
            RawJsonRpcMessage::Notification(notification) => {
                self.notification(notification);
                Ok(())
            }
            RawJsonRpcMessage::Response(response) => {
                let (id, answer) = match response {
                    RawJsonRpcResponse::Result { id, result } => (id, Some(result)),
                    RawJsonRpcResponse::Error { id, .. } => (id, None),
                };
                match &mut self.session {
                    Some(session) => session.answer(&id, answer, &mut self.output).await,
                    None => Ok(()),
                }
            }
        }
    }

    fn notification(&mut self, notification: RawJsonRpcNotification) {
        let Some(session) = &mut self.session else {
            return;
        };
        let RawJsonRpcNotification { method, params } = notification;
        if *method == *AGENT_METHOD_NAMES.session_cancel {
            let cancel = parse::<CancelNotification>(params);
            if cancel.is_ok_and(|cancel| cancel.session_id == session.id) {
                session.cancel(None);
            }
        } else if *method == *"$/cancel_request"
            && let Ok(cancel) = parse::<CancelRequestNotification>(params)
        {
            session.cancel(Some(&RawJsonRpcId::from(cancel.request_id)));
        }
    }

    async fn request(&mut self, request: RawJsonRpcRequest) -> Result<(), EditorGone> {
        let RawJsonRpcRequest { id, method, params } = request;
        let names = &AGENT_METHOD_NAMES;
        let answer = match &*method {
            m if m == names.initialize => self.initialize(params),
            m if m == names.authenticate => result(&AuthenticateResponse::new()),
            m if m == names.session_new => return self.new_session(id, params).await,
            m if m == names.session_load => return self.load_session(id, params).await,
            m if m == names.session_resume => return self.resume_session(id, params).await,
            m if m == names.session_list => self.list_sessions(params).await,
            m if m == names.session_close => self.close_session(params).await,
            m if m == names.session_prompt => return self.prompt(id, params).await,
            m if m == names.session_set_mode => self.set_mode(params),
            _ => Err(Error::method_not_found().data(Value::from(&*method))),
        };
        self.output.respond(id, answer).await
    }

    /// Answers the request `initialize` with protocol version 1, the only version that crewdeck supports. An editor
    /// that does not support it ends the connection.
    fn initialize(&mut self, params: Option<RawJsonRpcParams>) -> RpcResult {
        let request: InitializeRequest = parse(params)?;
        self.features = EditorFeatures::of(&request.client_capabilities);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let prompts = PromptCapabilities::new().image(true).embedded_context(true);
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .session_capabilities(sessions);
        let version = env!("CARGO_PKG_VERSION");
        let info = Implementation::new("crewdeck", version).title("crewdeck");
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(info);
        result(&response)
    }

    async fn prompt(
        &mut self,
        id: RawJsonRpcId,
        params: Option<RawJsonRpcParams>,
    ) -> Result<(), EditorGone> {
        let request = match parse::<PromptRequest>(params) {
            Ok(request) => request,
            Err(error) => return self.output.respond(id, Err(error)).await,
        };
        match &mut self.session {
            Some(session) if session.id == request.session_id => {
                session.prompt(id, request.prompt, &mut self.output).await
            }
            _ => {
                let error = unknown_session(&request.session_id);
                self.output.respond(id, Err(error)).await
            }
        }
    }

    fn set_mode(&mut self, params: Option<RawJsonRpcParams>) -> RpcResult {
        let request: SetSessionModeRequest = parse(params)?;
        let Some(project) = self.project.as_ref().filter(|_| {
            let session = self.session.as_ref();
            session.is_some_and(|session| session.id == request.session_id)
        }) else {
            return Err(unknown_session(&request.session_id));
        };
        let modes = modes(self.options, project);
        let modes = modes.map_err(|error| Error::new(-32603, describe_error(&error)))?;
        if request.mode_id == modes.current_mode_id {
            return result(&SetSessionModeResponse::new());
        }
        let why = format!(
            "the mode cannot be changed while the crew runs: start crewdeck acp with --tool {}",
            clip(&one_line(&request.mode_id.to_string()), 30)
        );
        Err(Error::invalid_params().data(Value::from(why)))
    }
}

fn unknown_session(id: &SessionId) -> Error {
    let text = format!(
        "session {} does not run: only the session that was opened last does. Load it again, or open a new one.",
        clip(&one_line(&id.to_string()), 64)
    );
    Error::resource_not_found(None).data(Value::from(text))
}

/// Converts the parameters of a JSON-RPC message to the type that its method needs.
///
/// # Errors
/// Fails if the parameters do not have this type.
pub fn parse<T: DeserializeOwned>(params: Option<RawJsonRpcParams>) -> Result<T, Error> {
    let params = params.map_or_else(|| serde_json::json!({}), RawJsonRpcParams::into_value);
    serde_json::from_value(params)
        .map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

/// Converts a method's response to the answer to a JSON-RPC request.
pub fn result(response: &impl Serialize) -> RpcResult {
    serde_json::to_value(response)
        .map_err(|error| Error::internal_error().data(Value::from(error.to_string())))
}

/// Waits for the next event of the session's crew. Returns `None` if the crew has ended. Waits forever if there is no
/// session.
async fn next_event(session: &mut Option<EditorSession>) -> Option<Event> {
    match session {
        Some(session) => session.next().await,
        None => std::future::pending().await,
    }
}
