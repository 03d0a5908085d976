//! Answers the requests that MCP servers send to crewdeck, and processes their notifications.
#![allow(deprecated)] // Servers up to protocol 2025-11-25 use roots and log messages.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Notify, mpsc};

use super::types::{CallProgress, ElicitationAnswer};
use crate::domain::text::{clip, one_line};
use crate::process::LogTail;

/// Maximum length, in characters, of a server's text in a notice or a progress report. A longer text is cut.
const SHOWN_MAX: usize = 200;

/// The channels to which the progress reports of running calls are sent. The key is the progress token of the request.
#[derive(Default)]
pub struct ProgressTable(Mutex<HashMap<ProgressToken, mpsc::Sender<CallProgress>>>);

impl ProgressTable {
    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<CallProgress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn insert(&self, token: ProgressToken, sender: mpsc::Sender<CallProgress>) {
        self.lock().insert(token, sender);
    }

    pub fn remove(&self, token: &ProgressToken) {
        self.lock().remove(token);
    }
}

/// What the [`Handler`] of a connection shares with the code that sends requests on it.
pub struct HandlerShared {
    /// The `file:` URI of the project directory, without a slash at its end; empty if the directory is not an absolute
    /// path.
    pub root: String,
    pub elicitation: ElicitationAnswer,
    pub log: LogTail,
    pub progress: ProgressTable,
    /// Notified when the server reports that its tools changed.
    pub tools_changed: Notify,
    /// Called when the server reports that its resources or prompts changed.
    pub on_lists_changed: Box<dyn Fn() + Send + Sync>,
    /// Called with a notice for the user, such as that a request for input was declined.
    pub on_notice: Box<dyn Fn(String) + Send + Sync>,
}

#[derive(Clone)]
pub struct Handler(pub Arc<HandlerShared>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.elicitation = match self.0.elicitation {
            ElicitationAnswer::Decline => None,
            ElicitationAnswer::AcceptDefaults => Some(accepts_forms()),
        };
        let client = Implementation::new("crewdeck", env!("CARGO_PKG_VERSION"));
        // The newest protocol version that `initialize` can agree on; newer ones need `server/discover`.
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![
            Root::new(self.0.root.clone()).with_name("project"),
        ]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let (
            ElicitationAnswer::AcceptDefaults,
            ElicitRequestParams::FormElicitationParams {
                requested_schema, ..
            },
        ) = (self.0.elicitation, &request)
        {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            return Ok(ElicitResult::new(ElicitationAction::Accept)
                .with_content(Value::Object(defaults(&schema))));
        }
        let message = match &request {
            ElicitRequestParams::FormElicitationParams { message, .. }
            | ElicitRequestParams::UrlElicitationParams { message, .. } => message.as_str(),
            _ => "",
        };
        (self.0.on_notice)(format!(
            "its request for input was declined, because crewdeck does not support such requests: {}",
            clip(&one_line(message), SHOWN_MAX)
        ));
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let sender = self.0.progress.lock().get(&params.progress_token).cloned();
        let progress = CallProgress {
            done: params.progress,
            total: params.total,
            message: clip(&one_line(&params.message.unwrap_or_default()), SHOWN_MAX),
        };
        // If the queue of progress reports is full, this report is dropped.
        let _ = sender.map(|sender| sender.try_send(progress));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let text = match &params.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.0.log.push(text.as_bytes());
        self.0.log.push(b"\n");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.tools_changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.0.on_lists_changed)();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        (self.0.on_lists_changed)();
    }
}

/// Returns the client capability that announces support for elicitation (requests for the user's input) with forms.
fn accepts_forms() -> ElicitationCapability {
    serde_json::from_value(serde_json::json!({"form": {}})).unwrap_or_default()
}

/// Returns the default values in the schema of a form. Leaves out properties without a default value.
fn defaults(schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
        .collect()
}
