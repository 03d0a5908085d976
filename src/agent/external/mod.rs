//! An external agent in the place of a model. Each call of the "model" is one prompt: the external agent works with its
//! own tools until it has finished, and what it does arrives as the stream of the call. Everything around it is the same
//! as for crewdeck's own agents: turns, messages, tasks, budgets, and the conversation on disk.
//!
//! The external agent keeps the conversation itself, so a prompt contains only what is new. A session belongs to a
//! directory: when the agent gets the worktree of another task, it gets a new session. After a restart, the last session
//! is loaded again if the agent can do that; otherwise a new session begins with a summary.

mod call_paths;
pub mod calls;
pub mod crew_tools;
mod hooked_calls;
mod hooks_after;
mod own_tools;
mod permission;
mod prompt_parts;
mod publish;
mod session;
mod shared;
mod updates;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::acp::{AcpAgent, PromptEnd, PromptEndReason, StdioServer};
use crate::domain::agent_update::AgentUpdate;
use crate::domain::chat::Block;
use crate::model::{Delta, ErrorKind, Model, ModelError, ModelRequest, Reply, StopReason};
use hooks_after::HooksAfter;
pub use own_tools::OwnTools;
pub use permission::ExternalPermissions;
use session::OpenSession;
pub use shared::SessionMemory;
use shared::{Deltas, ExternalShared, PromptError, permanent, send};

/// Maximum number of times that a mode is set again in one prompt because the agent has changed it.
const MODE_CHANGES_MAX: u32 = 8;
/// Maximum number of parts of an answer that wait for the driver.
const DELTAS_MAX: usize = 64;

/// An external agent as the model of one teammate.
pub struct ExternalModel {
    shared: Arc<ExternalShared>,
    session: Arc<tokio::sync::Mutex<Option<OpenSession>>>,
}

impl ExternalModel {
    pub fn new(
        agent: Arc<AcpAgent>,
        permissions: ExternalPermissions,
        memory: Arc<dyn SessionMemory>,
        model: String,
        idle_limit: Duration,
    ) -> ExternalModel {
        ExternalModel {
            shared: Arc::new(ExternalShared {
                agent,
                permissions,
                memory,
                model,
                idle_limit,
                server: OnceLock::new(),
            }),
            session: Arc::default(),
        }
    }

    /// Sets the MCP server through which the agent reaches the crew.
    pub fn set_server(&self, server: StdioServer) {
        // A second server would belong to the same teammate.
        let _ = self.shared.server.set(server);
    }

    /// Checks that the agent has a mode in which it keeps its limits and the plan gate.
    ///
    /// # Errors
    /// Returns what is missing, and the setting that adds it.
    pub fn check_mode(&self) -> Result<(), String> {
        self.shared.mode_problem().map_or(Ok(()), Err)
    }

    /// Returns whether a mode is known in which the agent asks before it acts.
    pub fn is_ask_mode_known(&self) -> bool {
        self.shared.agent.agent().ask_mode.is_some()
    }

    /// Closes the session and, if it is the last one of its program, ends the program.
    pub async fn close(&self) {
        if let Some(open) = self.session.lock().await.take() {
            open.session.close().await;
        }
    }
}

impl Model for ExternalModel {
    fn call(&self, request: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        let (sender, receiver) = mpsc::channel(DELTAS_MAX);
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let (shared, session) = (Arc::clone(&self.shared), Arc::clone(&self.session));
        tokio::spawn(async move {
            let work = shared.run(&session, request, &sender);
            let ended = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                ended = work => ended,
            };
            if let Err(error) = ended {
                // The receiver is gone if the turn was interrupted.
                let _ = sender.send(Err(error)).await;
            }
        });
        stream::unfold((receiver, guard), |(mut receiver, guard)| async move {
            let next = receiver.recv().await?;
            Some((next, (receiver, guard)))
        })
        .boxed()
    }

    /// Returns no models: the agent has its own list.
    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn keeps_conversation(&self) -> bool {
        true
    }

    fn is_remote(&self) -> bool {
        false
    }
}

impl ExternalShared {
    /// Runs one prompt with what is new in the conversation of `request`, and sends what the agent does to `deltas`.
    async fn run(
        &self,
        session: &tokio::sync::Mutex<Option<OpenSession>>,
        request: ModelRequest,
        deltas: &Deltas,
    ) -> Result<(), ModelError> {
        let mut slot = session.lock().await;
        let result = self.prompt(&mut slot, &request, deltas).await;
        if let Err(error) = &result {
            // The next call opens a new session, or loads this one.
            if error.lost_session {
                *slot = None;
            }
        }
        result.map_err(|error| error.error)
    }

    async fn prompt(
        &self,
        slot: &mut Option<OpenSession>,
        request: &ModelRequest,
        deltas: &Deltas,
    ) -> Result<(), PromptError> {
        session::ensure(self, slot, request, deltas).await?;
        let Some(open) = slot.as_mut() else {
            return Ok(());
        };
        let content = open.next_content(request);
        let mut answer = ExternalAnswer::default();
        let mut after = HooksAfter::new(&self.permissions, &open.dir);
        let mut mode_changes = 0;
        let end = {
            let prompting = open.session.prompt(&content);
            tokio::pin!(prompting);
            loop {
                let is_busy =
                    answer.has_open_calls() || open.updates.is_asking() || after.is_running();
                let quiet_limit = async {
                    if is_busy {
                        std::future::pending::<()>().await;
                    }
                    tokio::time::sleep(self.idle_limit).await;
                };
                tokio::select! {
                    biased;
                    () = open.updates.wait() => {
                        let updates = open.updates.take();
                        if has_changed_mode(&open.session, &mut open.mode, &updates) {
                            mode_changes += 1;
                        }
                        after.start(&updates).await;
                        answer.process(updates, deltas).await;
                        if mode_changes > MODE_CHANGES_MAX {
                            return Err(self.changes_mode());
                        }
                        self.follow_gate(&open.session, &mut open.mode, open.is_in_checkout).await;
                    }
                    () = after.next(), if after.is_running() => {}
                    end = &mut prompting => break end.map_err(PromptError::from)?,
                    () = quiet_limit => return Err(self.silent()),
                }
                if self.permissions.is_stopped() {
                    open.session.cancel();
                }
            }
        };
        let updates = open.updates.take();
        after.start(&updates).await;
        answer.process(updates, deltas).await;
        after.finish().await;
        open.note_end(&end);
        send(deltas, Delta::Done(answer.reply(&end))).await;
        Ok(())
    }

    /// Changes the mode of the session after a plan was approved.
    async fn follow_gate(
        &self,
        session: &crate::acp::AcpSession,
        mode: &mut Option<String>,
        is_in_checkout: bool,
    ) {
        let wanted = session::wanted_mode(self, is_in_checkout);
        if *mode != wanted
            && let Some(wanted) = &wanted
            && session.set_mode(wanted).await.is_ok()
        {
            *mode = Some(wanted.clone());
        }
    }

    fn changes_mode(&self) -> PromptError {
        let name = &self.agent.agent().name;
        let text = format!("the agent '{name}' changes its mode again and again");
        PromptError {
            error: permanent(
                ErrorKind::Server,
                text,
                "It may no longer ask before it acts.",
            ),
            lost_session: true,
        }
    }

    fn silent(&self) -> PromptError {
        let name = &self.agent.agent().name;
        let seconds = self.idle_limit.as_secs();
        let text = format!("the agent '{name}' has done nothing for {seconds} s");
        let hint =
            "Its session is closed. If the agent needs longer, set a higher model_timeout_s.";
        PromptError {
            error: permanent(ErrorKind::Timeout, text, hint),
            lost_session: true,
        }
    }
}

/// Returns whether the agent has left `mode`, the mode that crewdeck has set, according to `updates`, and stores its own in
/// `mode`. Does nothing if crewdeck has set no mode.
fn has_changed_mode(
    session: &crate::acp::AcpSession,
    mode: &mut Option<String>,
    updates: &[AgentUpdate],
) -> bool {
    let reported = updates.iter().rev().find_map(|update| match update {
        AgentUpdate::Mode(id) => Some(id),
        _ => None,
    });
    let Some((id, set)) = reported.zip(mode.as_deref()) else {
        return false;
    };
    let is_other = session.mode_id(set).as_ref() != Some(id);
    if is_other {
        *mode = Some(id.clone());
    }
    is_other
}

/// The answer of an agent to one prompt, as it arrives.
#[derive(Default)]
struct ExternalAnswer {
    /// The parts that are complete, because a tool call followed.
    parts: Vec<String>,
    /// The part that is arriving.
    text: String,
    thoughts: String,
    /// The calls that have not ended.
    open_calls: std::collections::BTreeSet<String>,
    calls: usize,
}

/// Maximum size of an answer in the conversation, in bytes. The middle of a longer one is left out.
const ANSWER_MAX: usize = 256 * 1024;

impl ExternalAnswer {
    fn has_open_calls(&self) -> bool {
        !self.open_calls.is_empty()
    }

    async fn process(&mut self, updates: Vec<AgentUpdate>, deltas: &Deltas) {
        for update in updates {
            match update {
                AgentUpdate::Text(text) => {
                    if self.text.len() < ANSWER_MAX {
                        self.text.push_str(&text);
                    }
                    send(deltas, Delta::Text(text)).await;
                }
                AgentUpdate::Thought(text) => {
                    if self.thoughts.len() < ANSWER_MAX {
                        self.thoughts.push_str(&text);
                    }
                    send(deltas, Delta::Thinking(text)).await;
                }
                AgentUpdate::ToolCall(call) => {
                    let is_new = !self.open_calls.contains(&call.id) && !call.status.is_final();
                    if is_new {
                        self.calls += 1;
                        self.end_part(deltas).await;
                    }
                    if call.status.is_final() {
                        self.open_calls.remove(&call.id);
                    } else {
                        self.open_calls.insert(call.id.clone());
                    }
                    send(deltas, Delta::External(AgentUpdate::ToolCall(call))).await;
                }
                other => send(deltas, Delta::External(other)).await,
            }
        }
    }

    /// Ends the part of the answer before a tool call, so that both are shown in their order.
    async fn end_part(&mut self, deltas: &Deltas) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.thoughts.clear();
            self.parts.push(text.clone());
            send(deltas, Delta::Part(text)).await;
        }
    }

    fn reply(self, end: &PromptEnd) -> Reply {
        let mut blocks: Vec<Block> = self.parts.into_iter().map(Block::text).collect();
        if !self.thoughts.is_empty() {
            blocks.push(Block::Thinking {
                text: self.thoughts,
                signature: None,
                origin: None,
            });
        }
        let is_empty = self.text.trim().is_empty() && blocks.is_empty();
        if !self.text.trim().is_empty() {
            blocks.push(Block::text(self.text));
        } else if is_empty && self.calls > 0 {
            blocks.push(Block::text("(no text)"));
        }
        Reply {
            blocks,
            stop: match end.reason {
                PromptEndReason::EndTurn | PromptEndReason::Cancelled => StopReason::EndTurn,
                PromptEndReason::MaxTokens => StopReason::MaxTokens,
                PromptEndReason::Refusal => StopReason::Refusal,
                PromptEndReason::MaxRequests => StopReason::Other("max_turn_requests".into()),
                PromptEndReason::Other => StopReason::Other("unknown".into()),
            },
            usage: end.usage.unwrap_or_default(),
        }
    }
}
