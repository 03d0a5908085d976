//! The crew's MCP servers: one pool that all agents share, its events, and the user's actions on it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::attachments;
use super::context::{CrewContext, lock};
use super::offers::OfferLists;
use super::server_events::ServerEvents;
use crate::agent::driver::run_blocking;
use crate::domain::attachment::AttachedImage;
use crate::domain::chat::ToolCall;
use crate::domain::ids::Name;
use crate::domain::mcp::{ServerConfig, ServerStatus};
use crate::domain::text::{escape_control_chars, one_line};
use crate::domain::trust::ApprovalCheck;
use crate::mcp::{
    ApprovedConfig, CallProgress, McpImage, PoolEvent, PoolOptions, ServerPool, ToolCatalog,
    without_forbidden_nulls,
};
use crate::process::browser;
use crate::protocol::ServerAction;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};
use crate::tools::host::{ServerHost, ServerOutput};

/// Minimum time between two published progress reports of a call.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// The MCP servers of a crew, as configured.
pub struct ServerParts {
    pub configs: Vec<ServerConfig>,
    /// The names of the servers about whose missing approval the user was already informed.
    pub unapproved: BTreeSet<String>,
    /// Checks before each start whether the user has approved the server.
    pub trust: Arc<dyn ApprovalCheck>,
    /// The folder in which the tokens of servers with a login are stored. With `None`, the user cannot log in.
    pub logins: Option<PathBuf>,
}

/// The MCP servers of a crew. Exists only if a server is configured.
pub struct CrewServers {
    context: Arc<CrewContext>,
    pool: ServerPool,
    trust: Arc<dyn ApprovalCheck>,
    /// The servers that start with the crew.
    always: Vec<String>,
    /// The token that cancels the login that was started last; `None` before the first login.
    login: Mutex<Option<CancellationToken>>,
    offers: Arc<OfferLists>,
    events: Arc<ServerEvents>,
}

impl CrewServers {
    /// Creates the pool of servers without starting any. Returns `None` if no server is configured. The servers run
    /// under `supervisor`, outside of the sandbox, and end when the crew stops.
    pub fn new(
        context: Arc<CrewContext>,
        parts: Option<ServerParts>,
        supervisor: Option<PathBuf>,
    ) -> Option<Arc<CrewServers>> {
        let parts = parts.filter(|parts| !parts.configs.is_empty())?;
        let events = Arc::new(ServerEvents::default());
        let always = parts.configs.iter().filter(|c| c.is_always_loaded);
        let always = always.map(|config| config.name.clone()).collect();
        let options = PoolOptions {
            supervisor,
            approved_config: approval(
                Arc::clone(&parts.trust),
                parts.unapproved,
                Arc::clone(&events),
            ),
            logins: parts.logins,
            redactor: context.event_sender.redactor().clone(),
            ..PoolOptions::new(context.root.clone())
        };
        let added = Arc::clone(&events);
        let pool = ServerPool::new(parts.configs, options, move |event| added.add(event));
        let offers = Arc::new(OfferLists::default());
        let (published, listing) = (Arc::clone(&events), Arc::clone(&offers));
        context.spawn(published.run(context.clone(), pool.clone(), listing));
        Some(Arc::new(CrewServers {
            context,
            pool,
            trust: parts.trust,
            always,
            login: Mutex::default(),
            offers,
            events,
        }))
    }

    /// Starts the servers that are configured to start with the crew, and publishes the states of all servers.
    pub async fn start_always(&self) {
        for name in &self.always {
            self.pool.start(name);
        }
        self.events.publish(&self.context, &self.pool).await;
    }

    pub fn pool(&self) -> &ServerPool {
        &self.pool
    }

    /// Publishes in the background the resources and prompts of all servers that are ready, and of the server `start`,
    /// which is started if necessary. Ignores a `start` that is not configured. From then on, changed lists are
    /// published too.
    pub fn list_offers(&self, start: Option<&str>) {
        let start = start.filter(|name| self.pool.is_configured(name));
        self.offers.ask(&self.context, &self.pool, start);
    }

    /// Carries out the user's action on the server `name`. Does not wait until a start or login has finished: notices
    /// and events report how it ends.
    ///
    /// # Errors
    /// Fails if there is no such server.
    pub async fn act(self: &Arc<Self>, name: &str, action: ServerAction) -> Result<(), String> {
        let Some(log) = self.pool.log_tail(name) else {
            return Err(format!("There is no MCP server {name}."));
        };
        match action {
            ServerAction::Show => {
                self.events.publish(&self.context, &self.pool).await;
                self.show(name, &log).await;
            }
            ServerAction::Restart => self.pool.restart(name),
            ServerAction::Disable => self.pool.set_disabled(name, true),
            ServerAction::Enable => {
                self.pool.set_disabled(name, false);
                self.pool.start(name);
            }
            ServerAction::LogIn => {
                let (own, name) = (Arc::clone(self), name.to_string());
                self.context.spawn(async move { own.log_in(&name).await });
            }
            ServerAction::LogOut => {
                let (own, name) = (Arc::clone(self), name.to_string());
                self.context.spawn(async move { own.log_out(&name).await });
            }
        }
        Ok(())
    }

    /// Publishes `log` as the end of the log of the server `name`.
    async fn show(&self, name: &str, log: &str) {
        let server = name.to_string();
        let log = escape_control_chars(log);
        let shown = CrewEvent::ServerShown { server, log };
        self.context.publish(EventKind::Crew(shown)).await;
    }

    /// Logs in to a server. Opens the login page in the user's browser if possible, and shows its URL in a notice and
    /// below the server's log. Cancels a login that is still running.
    async fn log_in(self: &Arc<Self>, name: &str) {
        let cancel = self.context.stop.child_token();
        if let Some(earlier) = lock(&self.login).replace(cancel.clone()) {
            earlier.cancel();
        }
        let (own, shown) = (Arc::clone(self), name.to_string());
        let login = self.pool.login(name, move |url| {
            let to_do = if browser::open(url) {
                "in the browser that opens, or open"
            } else {
                "with your browser: open"
            };
            let text = format!("Log in to the MCP server {shown} {to_do} {url}");
            let context = Arc::clone(&own.context);
            context.spawn(async move {
                let log = own.pool.log_tail(&shown).unwrap_or_default();
                own.show(&shown, &format!("{log}\n{text}")).await;
                own.context.notice(NoticeLevel::Info, text).await;
            });
        });
        let ended = tokio::select! {
            () = cancel.cancelled() => return,
            ended = login => ended,
        };
        let (level, text) = match ended {
            Ok(()) => (
                NoticeLevel::Info,
                format!("Logged in to the MCP server {name}."),
            ),
            Err(error) => (NoticeLevel::Warn, one_line(&error.to_string())),
        };
        self.context.notice(level, text).await;
    }

    async fn log_out(&self, name: &str) {
        let (level, text) = match self.pool.logout(name).await {
            Ok(true) => (
                NoticeLevel::Info,
                format!("Logged out of the MCP server {name}."),
            ),
            Ok(false) => (
                NoticeLevel::Info,
                format!("You are not logged in to the MCP server {name}."),
            ),
            Err(error) => (NoticeLevel::Warn, one_line(&error.to_string())),
        };
        self.context.notice(level, text).await;
    }

    /// Publishes the progress of a tool call as output of the call.
    fn publish_progress(&self, agent: &Name, call: &ToolCall, progress: &CallProgress) {
        let of = progress.total.map(|total| format!("/{total}"));
        let mut chunk = format!("{}{}", progress.done, of.unwrap_or_default());
        if !progress.message.is_empty() {
            chunk.push_str(&format!(" {}", progress.message));
        }
        chunk.push('\n');
        let chunk = self
            .context
            .event_sender
            .redactor()
            .text(&chunk)
            .into_owned();
        let call = call.id.clone();
        let event = AgentEvent::ToolOutput { call, chunk };
        self.context.event_sender.offer(event.of(agent.clone()));
    }
}

impl ServerHost for CrewServers {
    fn status(&self) -> Vec<ServerStatus> {
        self.pool.status()
    }

    fn decisions_hash(&self) -> u64 {
        self.trust.decisions_hash()
    }

    fn start<'a>(&'a self, names: &'a [String]) -> BoxFuture<'a, ()> {
        Box::pin(self.pool.ensure_started(names))
    }

    fn tools(&self) -> ToolCatalog {
        self.pool.tools()
    }

    fn tool_changes(&self) -> watch::Receiver<u64> {
        self.events.tool_changes()
    }

    fn instructions(&self, server: &str) -> Option<String> {
        let info = self.pool.server_info(server)?;
        let redactor = self.context.event_sender.redactor();
        Some(redactor.text(&info.instructions).into_owned())
    }

    fn call<'a>(
        &'a self,
        agent: &'a Name,
        call: &'a ToolCall,
    ) -> BoxFuture<'a, Result<ServerOutput, String>> {
        Box::pin(async move {
            let input = call.input.as_object().cloned().unwrap_or_default();
            let catalog = self.pool.tools();
            let tool = catalog.tools.iter().find(|tool| tool.name == call.name);
            let input = match tool {
                Some(tool) => without_forbidden_nulls(input, &tool.input_schema),
                None => input,
            };
            let cancel = CancellationToken::new();
            let _ends_with_this = cancel.clone().drop_guard();
            let mut last: Option<Instant> = None;
            let progress = |progress: CallProgress| {
                if last.is_none_or(|last| last.elapsed() >= PROGRESS_EVERY) {
                    last = Some(Instant::now());
                    self.publish_progress(agent, call, &progress);
                }
            };
            let called = self.pool.call(&call.name, input, &cancel, progress).await;
            self.events.add_call();
            let content = called.map_err(|error| error.to_string())?;
            let mut text = content.text;
            let images = if content.images.is_empty() {
                Vec::new()
            } else {
                let (root, name) = (self.context.root.clone(), call.name.clone());
                let work = move || Ok(prepare(&root, &name, content.images));
                let (images, problems) = run_blocking(work).await.map_err(|e| e.to_string())?;
                text.push_str(&problems);
                images
            };
            Ok(ServerOutput {
                text,
                images,
                is_error: content.is_error,
            })
        })
    }
}

/// Returns a function that checks before each start of a server whether the user has approved the server, and returns its
/// approved configuration. If the server is not approved, the function collects a notice with the reason, once until the
/// server may start. Servers in `unapproved` get no notice, because the user was already informed about them.
fn approval(
    trust: Arc<dyn ApprovalCheck>,
    unapproved: BTreeSet<String>,
    events: Arc<ServerEvents>,
) -> ApprovedConfig {
    let reported = Mutex::new(unapproved);
    Arc::new(move |config| match trust.check_server(config) {
        Ok(approved) => {
            // If the approval ends, the user gets a notice again.
            lock(&reported).remove(&config.name);
            Some(approved)
        }
        Err(not) => {
            if lock(&reported).insert(config.name.clone()) {
                let server = config.name.clone();
                events.add(PoolEvent::Notice {
                    server,
                    text: not.why,
                });
            }
            None
        }
    })
}

/// Prepares and stores the images of a tool result. Returns the images that can be used, and a text with one line for
/// each image that cannot be used.
fn prepare(root: &Path, tool: &str, images: Vec<McpImage>) -> (Vec<AttachedImage>, String) {
    let (mut out, mut problems) = (Vec::new(), String::new());
    for (at, image) in images.into_iter().enumerate() {
        let name = format!("{tool} {}", at + 1);
        match attachments::image_of(root, name, &image.bytes) {
            Ok(image) => out.push(image),
            Err(why) => {
                problems.push_str(&format!("\n[Image {} cannot be shown: {why}]", at + 1));
            }
        }
    }
    (out, problems)
}
