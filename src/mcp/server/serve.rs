//! Connects to an MCP server, and keeps the list of its tools up to date until the connection ends.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::subscription::watch_lists;
use super::{RunEnd, Server, ServerControl};
use crate::domain::mcp::ServerState;
use crate::mcp::call::{Link, LinkError};
use crate::mcp::connection::{self, ConnectError, Connection, close_process, connect, exit_of};
use crate::mcp::handler::{HandlerShared, ProgressTable};
use crate::mcp::types::PoolEvent;
use crate::mcp::{lists, tools};
use crate::process::{JobExit, ServiceProcess};

/// Maximum time to wait for the end of a connection after its program ended or it was cancelled.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum time between two requests for the list of tools, even if the server reports changes more often.
const LISTING_INTERVAL: Duration = Duration::from_secs(1);

impl Server {
    /// Connects to the server if the user has approved it, and serves the connection until it ends. Returns how it
    /// ended.
    pub(super) async fn run_once(
        self: &Arc<Self>,
        control: &mut watch::Receiver<ServerControl>,
    ) -> RunEnd {
        let (approve, config) = (
            Arc::clone(&self.context.options.approved_config),
            self.config(),
        );
        let approved = tokio::task::spawn_blocking(move || approve(&config)).await;
        let Ok(Some(approved)) = approved else {
            return RunEnd::NotApproved;
        };
        self.set_config(approved);
        self.lock().challenge = None;
        let shared = Arc::new(self.handler_shared());
        let timeout = self.start_timeout();
        let connected = tokio::select! {
            connected = tokio::time::timeout(timeout, self.connect(&shared)) => connected,
            _ = control.changed() => return RunEnd::ControlChanged,
        };
        let connection = match connected {
            Ok(Ok(connection)) => connection,
            Ok(Err(ConnectError::NeedsLogin(challenge))) => {
                self.lock().challenge = Some(challenge);
                return RunEnd::NeedsLogin;
            }
            Ok(Err(ConnectError::Permanent(why))) => return RunEnd::Failed(why),
            Ok(Err(ConnectError::Failed(why))) => return crash(why),
            Err(_) => {
                let seconds = timeout.as_secs_f32();
                let last = self.log.error_suffix();
                return crash(format!("it was not ready within {seconds} s{last}"));
            }
        };
        let since = Instant::now();
        self.lock().link = Some(Link {
            peer: connection.service.peer().clone(),
            shared: Arc::clone(&shared),
        });
        self.set_state(ServerState::Ready);
        match self.serve(connection, &shared, control).await {
            None => RunEnd::ControlChanged,
            Some(_) if self.lock().challenge.is_some() => RunEnd::NeedsLogin,
            Some(why) => RunEnd::Crashed {
                why,
                was_stable: since.elapsed() >= self.context.options.stable_after,
            },
        }
    }

    fn handler_shared(self: &Arc<Self>) -> HandlerShared {
        let (lists, notices) = (Arc::downgrade(self), Arc::downgrade(self));
        HandlerShared {
            root: self.context.root.clone(),
            elicitation: self.context.options.elicitation,
            log: self.log.clone(),
            progress: ProgressTable::default(),
            tools_changed: Notify::new(),
            on_lists_changed: Box::new(move || {
                if let Some(server) = lists.upgrade() {
                    server.emit(PoolEvent::ListsChanged {
                        server: server.name.clone(),
                    });
                }
            }),
            on_notice: Box::new(move |text| {
                if let Some(server) = notices.upgrade() {
                    server.notice(text);
                }
            }),
        }
    }

    /// Connects to the server, and lists and publishes its tools.
    ///
    /// # Errors
    /// Fails if the connection cannot be established or the tools cannot be listed. In the second case, closes the
    /// connection.
    async fn connect(&self, shared: &Arc<HandlerShared>) -> Result<Connection, ConnectError> {
        let first = self.lock().handshake;
        let options = &self.context.options;
        let (connection, handshake) = connect(&self.config(), options, shared, first).await?;
        self.lock().handshake = handshake;
        let link = Link {
            peer: connection.service.peer().clone(),
            shared: Arc::clone(shared),
        };
        match self.list_tools(&link).await {
            Ok(()) => Ok(connection),
            Err(error) => {
                connection::close(connection).await;
                if let LinkError::NeedsLogin(challenge) = error {
                    return Err(ConnectError::NeedsLogin(challenge));
                }
                Err(ConnectError::Failed(format!(
                    "its tools could not be listed: {}{}",
                    error_text(&error),
                    self.log.error_suffix()
                )))
            }
        }
    }

    /// Requests and publishes the list of tools again after a change. Waits until [`LISTING_INTERVAL`] has passed since
    /// `last`, the previous request; `None` if there was none on this connection. Fails if the list cannot be
    /// requested.
    async fn list_again(&self, link: &Link, last: Option<Instant>) -> Result<(), LinkError> {
        if let Some(last) = last {
            tokio::time::sleep_until(last + LISTING_INTERVAL).await;
        }
        self.list_tools(link).await
    }

    async fn list_tools(&self, link: &Link) -> Result<(), LinkError> {
        let info = link.peer.peer_info();
        if info.is_some_and(|info| info.capabilities.tools.is_none()) {
            self.remove_tools();
            return Ok(());
        }
        let listed = tools::convert(&self.config(), lists::tools(link).await?);
        self.publish_tools(listed.tools);
        let last = std::mem::replace(&mut self.lock().last_listing_notice, listed.notice.clone());
        if let Some(notice) = listed.notice.filter(|notice| last.as_ref() != Some(notice)) {
            self.notice(notice);
        }
        Ok(())
    }

    /// Waits until a connection ends. Meanwhile lists the tools again when the server reports that they changed.
    /// Returns why the connection ended; `None` if the user or the pool has ended it.
    async fn serve(
        &self,
        connection: Connection,
        shared: &Arc<HandlerShared>,
        control: &mut watch::Receiver<ServerControl>,
    ) -> Option<String> {
        let Connection {
            service,
            mut process,
            end_reason,
        } = connection;
        let link = Link {
            peer: service.peer().clone(),
            shared: Arc::clone(shared),
        };
        let token = service.cancellation_token();
        let closed = service.waiting();
        tokio::pin!(closed);
        let watching = watch_lists(&link, &self.context.options);
        tokio::pin!(watching);
        let mut listing = None;
        let mut listed_at: Option<Instant> = None;
        let exit = loop {
            tokio::select! {
                _ = &mut closed => break exit_of(process).await,
                exit = wait_for_exit(&mut process) => {
                    // Waiting delivers responses that the program sent before its end.
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut closed).await;
                    break exit;
                }
                () = self.disconnect.notified() => {
                    token.cancel();
                    return Some("it cannot be reached".into());
                }
                _ = control.changed() => {
                    token.cancel();
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut closed).await;
                    close_process(process).await;
                    return None;
                }
                () = shared.tools_changed.notified(), if listing.is_none() => {
                    listing = Some(Box::pin(self.list_again(&link, listed_at)));
                }
                never = &mut watching => match never {},
                result = async {
                    match &mut listing {
                        Some(listing) => listing.await,
                        None => std::future::pending().await,
                    }
                } => {
                    listing = None;
                    listed_at = Some(Instant::now());
                    if let Err(error) = result {
                        let text = format!("its tools could not be listed: {}", error_text(&error));
                        self.lock().last_error = text;
                    }
                }
            }
        };
        let reason = end_reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let last = self.log.error_suffix();
        Some(match (reason, exit) {
            (Some(reason), _) => reason,
            (None, Some(exit)) => format!("it ended ({exit}){last}"),
            (None, None) => format!("it closed the connection{last}"),
        })
    }
}

fn crash(why: String) -> RunEnd {
    RunEnd::Crashed {
        why,
        was_stable: false,
    }
}

async fn wait_for_exit(process: &mut Option<ServiceProcess>) -> Option<JobExit> {
    match process {
        Some(running) => {
            let exit = running.wait().await.ok();
            *process = None;
            exit
        }
        None => std::future::pending().await,
    }
}

fn error_text(error: &LinkError) -> String {
    match error {
        LinkError::Cancelled => "cancelled".into(),
        LinkError::TimedOut(after) => format!("no answer within {} s", after.as_secs_f32()),
        LinkError::Closed => "the connection was closed".into(),
        LinkError::NotSent { why, .. } => why.clone(),
        LinkError::Rejected { message, code } => format!("{message} (code {code})"),
        LinkError::NeedsLogin(_) => "the user must log in".into(),
        LinkError::Unexpected => "the answer is not a list of tools".into(),
    }
}
