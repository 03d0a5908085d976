//! One MCP server: the task that starts it, restarts it after a crash and ends it, and the requests to it.

mod requests;
mod serve;
mod subscription;

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rmcp::service::{Peer, RoleClient};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use super::call::{Link, LoginChallenge};
use super::catalog::Catalog;
use super::connection::Handshake;
use super::types::{McpTool, PoolEvent, PoolOptions};
use crate::domain::mcp::{ServerConfig, ServerState};
use crate::process::LogTail;

/// Maximum number of restarts after consecutive crashes. After one more crash, the server counts as failed.
const RESTARTS_MAX: u32 = 5;

/// Maximum number of notices about a server in [`NOTICES_PERIOD`]. The last one says that further notices are left out.
const NOTICES_MAX: u32 = 10;
const NOTICES_PERIOD: Duration = Duration::from_secs(60);

/// The parts of a pool that all its servers share.
pub struct PoolContext {
    pub options: PoolOptions,
    pub catalog: Catalog,
    pub on_event: Box<dyn Fn(PoolEvent) + Send + Sync>,
    /// The `file:` URI of the project directory, without a slash at its end; empty if the directory is not an absolute
    /// path.
    pub root: String,
}

/// Whether the user and the pool allow a server to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The server may run. It starts when it is needed.
    Available,
    Disabled,
    /// The pool shuts down, so the server must end and not start again.
    Ended,
}

/// Why a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartCause {
    /// An agent needs the server, or the server starts with the crew. A server that has failed or needs a login is not
    /// started.
    Demand,
    User,
}

/// What the user and the pool demand of a server. The server's task watches this value, and ends the connection when
/// the value changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ServerControl {
    wanted: Wanted,
    /// The number of restarts that the user has requested.
    restarts: u64,
}

/// A configured MCP server, whether it runs or not.
pub struct Server {
    pub name: String,
    /// The configuration of the last start; before the first start, the one with which the pool was created.
    config: RwLock<Arc<ServerConfig>>,
    pub log: LogTail,
    pub calls: AtomicU64,
    context: Arc<PoolContext>,
    control: watch::Sender<ServerControl>,
    state: watch::Sender<ServerState>,
    /// Notified to end the connection, because a call could not reach the server or the server demands a login.
    disconnect: Notify,
    running: Mutex<Running>,
}

/// The part of a server's state that changes while it runs.
struct Running {
    /// The task that runs the server. At its end, it sets this field to `None` under the lock, so that there is never a
    /// second task.
    task: Option<JoinHandle<()>>,
    link: Option<Link>,
    last_error: String,
    last_notice: Option<String>,
    /// The start of the current [`NOTICES_PERIOD`], and the number of notices since then.
    notices: (Instant, u32),
    /// The last notice about tools that are left out. It is not repeated after a restart if it has not changed.
    last_listing_notice: Option<String>,
    /// The header with which the server has demanded a login since its last start; `None` if it has demanded none.
    challenge: Option<LoginChallenge>,
    /// The handshake that succeeded last. The next connection tries it first.
    handshake: Handshake,
}

/// How an attempt to run a server ended.
enum RunEnd {
    /// The user restarted or disabled the server, or the pool ends it.
    ControlChanged,
    NotApproved,
    NeedsLogin,
    Failed(String),
    Crashed {
        why: String,
        /// Whether the server was ready for [`PoolOptions::stable_after`] before it crashed. Earlier crashes then no
        /// longer count towards [`RESTARTS_MAX`].
        was_stable: bool,
    },
}

impl Server {
    pub fn new(config: ServerConfig, context: Arc<PoolContext>) -> Server {
        Server {
            name: config.name.clone(),
            config: RwLock::new(Arc::new(config)),
            log: LogTail::default(),
            calls: AtomicU64::new(0),
            context,
            control: watch::Sender::new(ServerControl {
                wanted: Wanted::Available,
                restarts: 0,
            }),
            state: watch::Sender::new(ServerState::Idle),
            disconnect: Notify::new(),
            running: Mutex::new(Running {
                task: None,
                link: None,
                last_error: String::new(),
                last_notice: None,
                notices: (Instant::now(), 0),
                last_listing_notice: None,
                challenge: None,
                handshake: Handshake::Discover,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the configuration of the last start; before the first start, the one with which the pool was created.
    pub fn config(&self) -> Arc<ServerConfig> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&config)
    }

    fn set_config(&self, new: ServerConfig) {
        let mut config = self.config.write().unwrap_or_else(PoisonError::into_inner);
        *config = Arc::new(new);
    }

    pub fn state(&self) -> ServerState {
        self.state.borrow().clone()
    }

    /// Returns the maximum time from the start of the server until it has sent its list of tools.
    pub fn start_timeout(&self) -> Duration {
        let default = self.context.options.start_timeout;
        self.config().start_timeout.unwrap_or(default)
    }

    pub fn last_error(&self) -> String {
        self.lock().last_error.clone()
    }

    fn emit(&self, event: PoolEvent) {
        (self.context.on_event)(event);
    }

    fn set_state(&self, state: ServerState) {
        self.state.send_replace(state);
        self.emit(PoolEvent::StateChanged {
            server: self.name.clone(),
        });
    }

    fn notice(&self, text: String) {
        let mut running = self.lock();
        if running.last_notice.as_ref() == Some(&text) {
            return;
        }
        running.last_notice = Some(text.clone());
        if running.notices.0.elapsed() > NOTICES_PERIOD {
            running.notices = (Instant::now(), 0);
        }
        running.notices.1 += 1;
        let text = match running.notices.1.cmp(&NOTICES_MAX) {
            Ordering::Less => text,
            Ordering::Equal => {
                "too many notices about this server: further ones are left out for up to 1 min"
                    .into()
            }
            Ordering::Greater => return,
        };
        drop(running);
        self.emit(PoolEvent::Notice {
            server: self.name.clone(),
            text,
        });
    }

    /// Starts the server's task and does not wait. Does nothing if the task is already running, or if the server is
    /// disabled or must end. For [`StartCause::Demand`], also does nothing if the server has failed or needs a login.
    pub fn start(self: &Arc<Self>, cause: StartCause) {
        let mut running = self.lock();
        let may_start = match self.state() {
            ServerState::Idle | ServerState::WaitsForApproval => true,
            ServerState::Failed { .. } | ServerState::NeedsLogin => cause == StartCause::User,
            ServerState::Disabled
            | ServerState::Starting
            | ServerState::Ready
            | ServerState::Restarting { .. } => false,
        };
        if !may_start || running.task.is_some() || self.control.borrow().wanted != Wanted::Available
        {
            return;
        }
        self.state.send_replace(ServerState::Starting);
        running.task = Some(tokio::spawn(Arc::clone(self).run()));
        drop(running);
        self.emit(PoolEvent::StateChanged {
            server: self.name.clone(),
        });
    }

    /// Ends the server if it runs, and starts it again, even if it is disabled, has failed or needs a login. Does not
    /// wait.
    pub fn restart(self: &Arc<Self>) {
        self.control.send_modify(|control| {
            control.restarts += 1;
            if control.wanted == Wanted::Disabled {
                control.wanted = Wanted::Available;
            }
        });
        self.leave_disabled();
        self.start(StartCause::User);
    }

    /// Sets whether the server may run. Ends a running server unless `wanted` is [`Wanted::Available`]; does not start
    /// it. Has no effect once [`Wanted::Ended`] is set.
    pub fn set_wanted(&self, wanted: Wanted) {
        self.control.send_if_modified(|control| {
            let is_change = control.wanted != Wanted::Ended && control.wanted != wanted;
            if is_change {
                control.wanted = wanted;
            }
            is_change
        });
        match wanted {
            Wanted::Available => self.leave_disabled(),
            Wanted::Disabled if self.lock().task.is_none() => {
                self.remove_tools();
                self.set_state(ServerState::Disabled);
            }
            Wanted::Disabled | Wanted::Ended => {}
        }
    }

    fn leave_disabled(&self) {
        if self.state() == ServerState::Disabled {
            self.set_state(ServerState::Idle);
        }
    }

    /// Removes and returns the server's task, so that the caller can wait for its end or abort it. Returns `None` if no
    /// task runs.
    pub fn take_task(&self) -> Option<JoinHandle<()>> {
        self.lock().task.take()
    }

    /// Waits, at most `within`, until the server is no longer starting and, if `includes_restarts`, no longer waiting
    /// for a restart after a crash. Returns the state that ended the wait, or the current state if the time is over.
    pub async fn wait_until_settled(
        &self,
        within: Duration,
        includes_restarts: bool,
    ) -> ServerState {
        let mut state = self.state.subscribe();
        let is_settled = |state: &ServerState| match state {
            ServerState::Starting => false,
            ServerState::Restarting { .. } => !includes_restarts,
            ServerState::WaitsForApproval
            | ServerState::Disabled
            | ServerState::Idle
            | ServerState::Ready
            | ServerState::NeedsLogin
            | ServerState::Failed { .. } => true,
        };
        // By now, another agent may have started the server again: what counts is the state that ended the wait. If the
        // time is over, it is the current state.
        match tokio::time::timeout(within, state.wait_for(is_settled)).await {
            Ok(Ok(settled)) => settled.clone(),
            Ok(Err(_)) | Err(_) => self.state(),
        }
    }

    /// Runs the server and restarts it after crashes, until it is ended, fails, or waits for an approval or a login.
    async fn run(self: Arc<Self>) {
        let mut control = self.control.subscribe();
        let mut crashes = 0;
        loop {
            let seen = *control.borrow_and_update();
            let end = if seen.wanted == Wanted::Available {
                self.run_once(&mut control).await
            } else {
                RunEnd::ControlChanged
            };
            self.lock().link = None;
            let has_changed = matches!(end, RunEnd::ControlChanged);
            let mut state = match end {
                RunEnd::ControlChanged => ServerState::Idle,
                RunEnd::NotApproved => ServerState::WaitsForApproval,
                RunEnd::NeedsLogin => ServerState::NeedsLogin,
                RunEnd::Failed(why) => ServerState::Failed { why },
                RunEnd::Crashed { why, was_stable } => {
                    crashes = if was_stable { 1 } else { crashes + 1 };
                    if crashes <= RESTARTS_MAX {
                        if self.wait_for_restart(why, crashes, &mut control).await {
                            crashes = 0;
                        }
                        continue;
                    }
                    let why = format!("{why} (after {RESTARTS_MAX} restarts)");
                    ServerState::Failed { why }
                }
            };
            let mut running = self.lock();
            // If the user or the pool has decided otherwise in the meantime, that decision determines the state.
            let now = *self.control.borrow();
            if has_changed || now != seen {
                match now.wanted {
                    Wanted::Available => {
                        drop(running);
                        crashes = 0;
                        self.set_state(ServerState::Starting);
                        continue;
                    }
                    Wanted::Disabled => state = ServerState::Disabled,
                    Wanted::Ended => state = ServerState::Idle,
                }
            }
            running.task = None;
            let mut notice = None;
            if let ServerState::Failed { why } = &state {
                running.last_error.clone_from(why);
                notice = Some(format!(
                    "it failed and is not restarted automatically: {why}"
                ));
            }
            self.state.send_replace(state);
            drop(running);
            self.remove_tools();
            if let Some(notice) = notice {
                self.notice(notice);
            }
            self.emit(PoolEvent::StateChanged {
                server: self.name.clone(),
            });
            return;
        }
    }

    /// Waits before a crashed server is restarted. The delay depends on `crashes`, the number of consecutive crashes.
    /// Returns true if [`ServerControl`] changed and so ended the wait early: the user restarted or disabled the
    /// server, or the pool shuts down. Returns false if the delay has elapsed.
    async fn wait_for_restart(
        &self,
        why: String,
        crashes: u32,
        control: &mut watch::Receiver<ServerControl>,
    ) -> bool {
        self.lock().last_error.clone_from(&why);
        let delay = self.context.options.delay_after(crashes);
        self.set_state(ServerState::Restarting {
            why: why.clone(),
            retry_in_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        });
        if crashes == 1 {
            self.notice(format!("{why}. It is being restarted"));
        }
        let has_changed = tokio::select! {
            () = tokio::time::sleep(delay) => false,
            _ = control.changed() => true,
        };
        if control.borrow().wanted == Wanted::Available {
            self.set_state(ServerState::Starting);
        }
        has_changed
    }

    fn remove_tools(&self) {
        self.publish_tools(Vec::new());
    }

    fn publish_tools(&self, tools: Vec<McpTool>) {
        if let Some(generation) = self.context.catalog.replace(&self.name, tools) {
            self.emit(PoolEvent::ToolsChanged { generation });
        }
    }

    /// Returns the SDK's handle for sending requests to the server; `None` unless the server is ready.
    pub fn peer(&self) -> Option<Peer<RoleClient>> {
        Some(self.lock().link.as_ref()?.peer.clone())
    }

    /// Returns the header with which the server demanded a login; empty if there was none.
    pub fn login_challenge(&self) -> LoginChallenge {
        self.lock().challenge.clone().unwrap_or_default()
    }

    pub fn count_call(&self) {
        self.calls.fetch_add(1, atomic::Ordering::Relaxed);
    }
}
