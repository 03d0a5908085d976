//! The pool of MCP servers of a crew: starts, calls, restarts and ends them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::join_all;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams, ServerResult,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::call::{LinkError, describe};
use super::catalog::Catalog;
use super::content;
use super::credentials::CredentialFile;
use super::server::{PoolContext, Server, StartCause, Wanted};
use super::tools::{DESCRIPTION_MAX, cut_end};
use super::types::{
    CallError, CallProgress, McpContent, McpPrompt, McpPromptMessage, McpResource, McpServerInfo,
    PoolEvent, PoolOptions, ResourceContent, ToolCatalog,
};
use super::{lists, login};
use crate::domain::chat::Role;
use crate::domain::mcp::{ServerConfig, ServerState, ServerStatus, ServerTransport};
use crate::domain::redact::Redactor;
use crate::domain::text::{clip, one_line};

/// Maximum time that servers may take to end when the pool shuts down. After this time, they are killed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time to wait for the end of the Tokio task of a server that is being killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum length, in characters, of a server's command or URL and of an unknown name in an error message. A longer
/// text is cut.
const TARGET_MAX: usize = 200;
/// Maximum number of messages in a prompt of a server. Further messages are left out.
const PROMPT_MESSAGES_MAX: usize = 64;
/// Maximum length, in characters, of a server's name with its version, and of its protocol version. A longer text is
/// cut.
const PROGRAM_MAX: usize = 100;

/// The MCP servers of a crew. Cheap to clone; all clones are the same pool.
///
/// Creating the pool starts nothing: no task, thread or timer exists for a server that was not started. All methods
/// that start servers must be called within a Tokio runtime. When the last clone is dropped, the pool ends its servers.
/// When crewdeck ends or is killed, the supervisors end the servers.
#[derive(Clone)]
pub struct ServerPool {
    context: Arc<PoolContext>,
    servers: Arc<ServerTable>,
}

/// The servers by name. When the table is dropped, the servers end.
struct ServerTable(BTreeMap<String, Arc<Server>>);

impl Drop for ServerTable {
    fn drop(&mut self) {
        for server in self.0.values() {
            server.set_wanted(Wanted::Ended);
        }
    }
}

impl ServerPool {
    /// Creates a pool. `on_event` may be called from any task and must return quickly. It must not own a clone of the
    /// pool, because the pool would then never be dropped. If several servers have the same name, the last one is used.
    pub fn new(
        configs: Vec<ServerConfig>,
        options: PoolOptions,
        on_event: impl Fn(PoolEvent) + Send + Sync + 'static,
    ) -> ServerPool {
        let root = reqwest::Url::from_directory_path(&options.project)
            .map(|url| url.to_string().trim_end_matches('/').to_string())
            .unwrap_or_default();
        let context = Arc::new(PoolContext {
            options,
            catalog: Catalog::default(),
            on_event: Box::new(on_event),
            root,
        });
        let servers = configs.into_iter().map(|config| {
            let server = Server::new(config.clone(), Arc::clone(&context));
            (config.name, Arc::new(server))
        });
        ServerPool {
            servers: Arc::new(ServerTable(servers.collect())),
            context,
        }
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, CallError> {
        let server = self.servers.0.get(name);
        server.ok_or_else(|| CallError::UnknownServer(clip(&one_line(name), TARGET_MAX)))
    }

    /// Starts the servers in `names` that do not run, in parallel, and waits until each is ready or could not be
    /// started. The wait is at most the time-out of each start plus 2 s. Concurrent calls share one start. Servers that
    /// are disabled, have failed or need a login are not started; unknown names are ignored.
    pub async fn ensure_started<S: AsRef<str>>(&self, names: &[S]) {
        let named: Vec<&Arc<Server>> = names
            .iter()
            .filter_map(|name| self.servers.0.get(name.as_ref()))
            .collect();
        for server in &named {
            server.start(StartCause::Demand);
        }
        // A start ends after its time-out. The additional time is for reporting the result.
        let settled = named.iter().map(|server| {
            server.wait_until_settled(server.start_timeout() + SHUTDOWN_TIMEOUT, false)
        });
        join_all(settled).await;
    }

    /// Returns whether a server of this name is configured.
    pub fn is_configured(&self, name: &str) -> bool {
        self.servers.0.contains_key(name)
    }

    /// Returns the configured name of the server that the user has typed as `typed`, regardless of ASCII case. Returns
    /// `None` if no server has this name.
    pub fn resolve_name(&self, typed: &str) -> Option<&str> {
        let mut names = self.servers.0.keys().map(String::as_str);
        let exact = self
            .servers
            .0
            .get_key_value(typed)
            .map(|(name, _)| name.as_str());
        exact.or_else(|| names.find(|name| name.eq_ignore_ascii_case(typed)))
    }

    /// Starts a server without waiting until it is ready. Does nothing if the server runs, is disabled, has failed,
    /// needs a login or is unknown.
    pub fn start(&self, name: &str) {
        if let Some(server) = self.servers.0.get(name) {
            server.start(StartCause::Demand);
        }
    }

    /// Returns the tools of all servers that have become ready. The tools of a server are removed when it fails, is
    /// disabled or demands a login. A server that is being restarted keeps its tools, so that the tool definitions in
    /// the agents' requests do not change.
    pub fn tools(&self) -> ToolCatalog {
        self.context.catalog.current()
    }

    /// Calls the tool `name` (`mcp__SERVER__TOOL`). Starts the server if necessary, and waits while it is being started
    /// or restarted. When `cancel` is cancelled or the future is dropped, tells the server that the call is cancelled.
    ///
    /// The call fails if the server sends neither the result nor a progress report within the time-out of its
    /// configuration, or within 60 s if the configuration sets no time-out. Each progress report is passed to
    /// `on_progress` and restarts this time. A call with progress reports fails after 30 times the time-out.
    ///
    /// # Errors
    /// Fails if no server offers the tool, or if the server is not available, rejects the call or does not answer. A
    /// tool that fails is no error: it returns content with `is_error`.
    pub async fn call(
        &self,
        name: &str,
        input: Map<String, Value>,
        cancel: &CancellationToken,
        on_progress: impl FnMut(CallProgress) + Send,
    ) -> Result<McpContent, CallError> {
        let found = self.context.catalog.find(name);
        let (server, tool) =
            found.ok_or_else(|| CallError::UnknownTool(clip(&one_line(name), TARGET_MAX)))?;
        let server = self.server(&server)?;
        server.count_call();
        let params = CallToolRequestParams::new(tool).with_arguments(input);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        match server.request(request, cancel, on_progress).await? {
            ServerResult::CallToolResult(result) => Ok(content::of_result(result)),
            ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                Ok(McpContent::default())
            }
            ServerResult::CustomResult(result) => Ok(content::of_unknown(&result.0)),
            other => Err(unexpected_error(server, &other)),
        }
    }

    /// Returns the status of each server, sorted by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        let redactor = Redactor::default();
        let all = self.servers.0.values();
        all.map(|server| {
            let config = server.config();
            ServerStatus {
                name: server.name.clone(),
                source: config.source,
                role: config.role.clone(),
                state: server.state(),
                target: target(&config.transport, &redactor),
                tools: self.context.catalog.count(&server.name),
                calls: server.calls.load(Ordering::Relaxed),
                last_error: redactor.text(&server.last_error()).into_owned(),
            }
        })
        .collect()
    }

    /// Returns a server's name, version and instructions; `None` unless the server is ready.
    pub fn server_info(&self, name: &str) -> Option<McpServerInfo> {
        let peer = self.servers.0.get(name)?.peer()?;
        let info = peer.peer_info()?;
        let program = info.server_info.as_ref();
        let program = program.map(|p| format!("{} {}", p.name, p.version));
        let instructions = info.instructions.clone().unwrap_or_default();
        Some(McpServerInfo {
            program: clip(&one_line(&program.unwrap_or_default()), PROGRAM_MAX),
            protocol: clip(&one_line(info.protocol_version.as_str()), PROGRAM_MAX),
            instructions: cut_end(&instructions, DESCRIPTION_MAX),
        })
    }

    /// Returns the last 64 KiB that a server wrote to its standard error or sent as log messages since crewdeck
    /// started, including those from before a restart. `None` if there is no such server. Not redacted; may contain
    /// control characters.
    pub fn log_tail(&self, name: &str) -> Option<String> {
        Some(self.servers.0.get(name)?.log.text())
    }

    /// Ends a server if it runs, and starts it again. Also starts a server that is disabled, has failed or needs a
    /// login. Does not wait.
    pub fn restart(&self, name: &str) {
        if let Some(server) = self.servers.0.get(name) {
            server.restart();
        }
    }

    /// With `true`, ends a server and removes its tools. With `false`, allows it to start again when an agent needs it.
    /// Does not wait.
    pub fn set_disabled(&self, name: &str, is_disabled: bool) {
        if let Some(server) = self.servers.0.get(name) {
            server.set_wanted(if is_disabled {
                Wanted::Disabled
            } else {
                Wanted::Available
            });
        }
    }

    /// Logs in to a server over HTTP with OAuth, stores its tokens and restarts it. Calls `open` with the URL of the
    /// login page, which the user must open in a browser. Waits at most 5 minutes for the user; dropping the future
    /// cancels the login.
    ///
    /// # Errors
    /// Fails if the server is unknown, is a program or offers no login, if the user or the server refuses the login or
    /// the user does not complete it in time, or if the tokens cannot be stored.
    pub async fn login(&self, name: &str, open: impl FnOnce(&str) + Send) -> Result<(), CallError> {
        let server = self.server(name)?;
        let failed = |why: String| CallError::Login {
            server: server.name.clone(),
            why,
        };
        let (url, file) = self.login_file(server).map_err(failed)?;
        let challenge = server.login_challenge();
        let config = server.config();
        login::login(&url, &config.oauth, file, challenge, open)
            .await
            .map_err(failed)?;
        server.restart();
        Ok(())
    }

    /// Deletes the tokens of a server, ends its connection, and connects again without tokens, so that the server
    /// demands a login if it needs one. A disabled server stays disabled. Returns whether there were tokens; without
    /// any, changes nothing.
    ///
    /// # Errors
    /// Fails if the server is unknown or a program, or if the tokens cannot be deleted.
    pub async fn logout(&self, name: &str) -> Result<bool, CallError> {
        let server = self.server(name)?;
        let failed = |why: String| CallError::Logout {
            server: server.name.clone(),
            why,
        };
        let (_, file) = self.login_file(server).map_err(failed)?;
        let deleted = tokio::task::spawn_blocking(move || file.log_out()).await;
        let deleted = deleted.map_err(|error| failed(error.to_string()))?;
        let had_tokens = deleted.map_err(|error| failed(describe(&error)))?;
        if had_tokens && server.state() != ServerState::Disabled {
            server.restart();
        }
        Ok(had_tokens)
    }

    /// Returns the URL of a server and the file with the server's tokens.
    ///
    /// # Errors
    /// Fails if the server is a program and not a URL, or if there is no folder for tokens.
    fn login_file(&self, server: &Server) -> Result<(String, CredentialFile), String> {
        match (&server.config().transport, &self.context.options.logins) {
            (ServerTransport::Http { url, .. }, Some(folder)) => {
                let file = CredentialFile::new(folder, url);
                let file = file.with_redactor(&self.context.options.redactor);
                Ok((url.clone(), file))
            }
            (ServerTransport::Http { .. }, None) => {
                Err("there is no folder for login tokens: set HOME".into())
            }
            (ServerTransport::Program { .. }, _) => {
                Err("it is a program, and only servers over HTTP have a login".into())
            }
        }
    }

    /// Lists at most 1000 resources of a server. Empty if the server offers none. Starts the server if necessary.
    ///
    /// # Errors
    /// Fails if the server is not available or does not answer.
    pub async fn resources(&self, server: &str) -> Result<Vec<McpResource>, CallError> {
        let server = self.server(server)?;
        let link = server.link().await?;
        let info = link.peer.peer_info();
        if info.is_some_and(|info| info.capabilities.resources.is_none()) {
            return Ok(Vec::new());
        }
        match lists::resources(&link).await {
            Ok(found) => Ok(found),
            Err(error) => Err(server.call_error(error).await),
        }
    }

    /// Lists at most 1000 resource templates of a server. Empty if the server does not support templates. Starts the
    /// server if necessary.
    ///
    /// # Errors
    /// Fails if the server is not available or does not answer.
    pub async fn resource_templates(&self, server: &str) -> Result<Vec<McpResource>, CallError> {
        let server = self.server(server)?;
        let link = server.link().await?;
        let info = link.peer.peer_info();
        if info.is_some_and(|info| info.capabilities.resources.is_none()) {
            return Ok(Vec::new());
        }
        match lists::resource_templates(&link).await {
            Ok(found) => Ok(found),
            Err(LinkError::Rejected { .. }) => Ok(Vec::new()),
            Err(error) => Err(server.call_error(error).await),
        }
    }

    /// Reads a resource of a server, and starts the server if necessary.
    ///
    /// # Errors
    /// Fails if the server is unknown or not available, rejects the request or does not answer, or if `cancel` is
    /// cancelled.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<ResourceContent, CallError> {
        let server = self.server(server)?;
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        match server.request(request, cancel, |_| {}).await? {
            ServerResult::ReadResourceResult(result) => Ok(content::of_resource(result.contents)),
            other => Err(unexpected_error(server, &other)),
        }
    }

    /// Lists at most 1000 prompts of a server. Empty if the server offers none. Starts the server if necessary.
    ///
    /// # Errors
    /// Fails if the server is not available or does not answer.
    pub async fn prompts(&self, server: &str) -> Result<Vec<McpPrompt>, CallError> {
        let server = self.server(server)?;
        let link = server.link().await?;
        let info = link.peer.peer_info();
        if info.is_some_and(|info| info.capabilities.prompts.is_none()) {
            return Ok(Vec::new());
        }
        match lists::prompts(&link).await {
            Ok(found) => Ok(found),
            Err(error) => Err(server.call_error(error).await),
        }
    }

    /// Returns the messages of a prompt of a server, at most 64. Starts the server if necessary.
    ///
    /// # Errors
    /// Fails if the server is unknown or not available, rejects the request or does not answer, or if `cancel` is
    /// cancelled.
    pub async fn get_prompt(
        &self,
        server: &str,
        prompt: &str,
        arguments: BTreeMap<String, String>,
        cancel: &CancellationToken,
    ) -> Result<Vec<McpPromptMessage>, CallError> {
        let server = self.server(server)?;
        let arguments = arguments
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)));
        let params = GetPromptRequestParams::new(prompt).with_arguments(arguments.collect());
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let messages = match server.request(request, cancel, |_| {}).await? {
            ServerResult::GetPromptResult(result) => result.messages,
            other => return Err(unexpected_error(server, &other)),
        };
        let messages = messages.into_iter().take(PROMPT_MESSAGES_MAX);
        Ok(messages
            .map(|message| McpPromptMessage {
                role: match message.role {
                    rmcp::model::Role::Assistant => Role::Assistant,
                    rmcp::model::Role::User => Role::User,
                },
                content: content::of_block(message.content),
            })
            .collect())
    }

    /// Ends all servers in parallel: closes their input, waits at most 2 s, and kills each server that still runs, with
    /// all processes that it has started. No server can be started afterwards.
    pub async fn shutdown(&self) {
        let tasks = self.servers.0.values().filter_map(|server| {
            server.set_wanted(Wanted::Ended);
            server.take_task()
        });
        let ended = tasks.map(|mut task| async move {
            if tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut task)
                .await
                .is_err()
            {
                // Aborting the task closes the connection to the server's supervisor, which then kills the server.
                task.abort();
                let _ = tokio::time::timeout(KILL_TIMEOUT, task).await;
            }
        });
        join_all(ended).await;
    }
}

fn unexpected_error(server: &Server, result: &ServerResult) -> CallError {
    let what = match result {
        ServerResult::InputRequiredResult(_) => {
            "requested user input during the call, which crewdeck does not support"
        }
        ServerResult::CreateTaskResult(_) => {
            "answered with an MCP task instead of a result, which crewdeck does not support"
        }
        _ => "sent an answer of the wrong type",
    };
    CallError::Unexpected {
        server: server.name.clone(),
        what: what.into(),
    }
}

/// Returns the command line or the URL of a server on one line, with secrets redacted. A URL is reduced to scheme,
/// host, port and path.
fn target(transport: &ServerTransport, redactor: &Redactor) -> String {
    let text = match transport {
        ServerTransport::Program { command, args, .. } => {
            let words: Vec<&str> = [command]
                .into_iter()
                .chain(args)
                .map(String::as_str)
                .collect();
            words.join(" ")
        }
        ServerTransport::Http { url, .. } => match reqwest::Url::parse(url) {
            Ok(url) => format!("{}{}", url.origin().ascii_serialization(), url.path()),
            Err(_) => "an invalid URL".into(),
        },
    };
    clip(&one_line(&redactor.text(&text)), TARGET_MAX)
}
