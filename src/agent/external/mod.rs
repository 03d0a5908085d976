//! Uses an external agent, which is another vendor's coding agent, in place of a model. Each model call is one prompt:
//! the external agent works with its own tools until it has finished, and what it does arrives as the stream of the
//! call. Turns, messages, tasks, budgets and the conversation on disk work as for crewdeck's own agents.
//!
//! The external agent stores the conversation itself, so a prompt contains only what is new since the last prompt. A
//! session belongs to a directory: when the agent gets the worktree of another task, it gets a new session. After a
//! restart, the last session is loaded again if the agent can do that; otherwise a new session begins with a summary.

mod answer;
mod call_paths;
pub mod calls;
pub mod crew_tools;
mod hooked_calls;
mod hooks_after;
mod mode_change;
mod own_tools;
mod permission;
mod prompt_parts;
mod publish;
mod session;
mod shared;
mod updates;

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::acp::{AcpAgent, AcpError, StdioServer, UnsetChoice};
use crate::domain::agent_update::AgentUpdate;
use crate::model::{Delta, ErrorKind, Model, ModelError, ModelRequest};
use answer::ExternalAnswer;
use hooks_after::HooksAfter;
use mode_change::ModeChange;
pub use own_tools::OwnTools;
pub use permission::ExternalPermissions;
use session::OpenSession;
pub use shared::SessionMemory;
use shared::{Deltas, ExternalShared, PromptError, SessionState, permanent, send};

/// Maximum number of times that a mode is set again in one prompt because the agent has changed it.
const MODE_CHANGES_MAX: u32 = 8;
/// Maximum number of deltas of an answer that wait for the driver.
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
                unloadable: Mutex::default(),
            }),
            session: Arc::default(),
        }
    }

    /// Sets the MCP server through which the agent reaches the crew. Only the first call has an effect.
    pub fn set_server(&self, server: StdioServer) {
        // A second server would belong to the same teammate.
        let _ = self.shared.server.set(server);
    }

    /// Checks that crewdeck knows the mode that the agent needs. While a plan must be approved, this is a mode in which
    /// the agent only plans. Otherwise, if the agent may not write, it is a mode in which the agent changes no files.
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
            match error.session {
                SessionState::Usable => {}
                SessionState::Unusable => {
                    if let Some(open) = slot.take() {
                        open.session.close().await;
                    }
                }
                SessionState::Hung => self.abandon(&mut slot).await,
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
        let content = open.knowledge.next_content(request);
        let before = open.knowledge.clone();
        let mut answer = ExternalAnswer::default();
        let mut mode = ModeChange::default();
        let mut after = HooksAfter::new(&self.permissions, &open.dir);
        let mut mode_changes = 0;
        let end = {
            let on_sent = || open.knowledge.note_sent(request);
            let prompting = open.session.prompt_with(&content, on_sent);
            tokio::pin!(prompting);
            loop {
                let is_calling = answer.has_open_calls();
                let is_waiting = open.updates.is_asking() || after.is_running();
                let quiet_limit = async {
                    if is_waiting {
                        std::future::pending::<()>().await;
                    }
                    if is_calling {
                        self.wait_for_call(deltas).await;
                    } else {
                        tokio::time::sleep(self.idle_limit).await;
                    }
                };
                tokio::select! {
                    biased;
                    set = mode.changed() => {
                        // An agent that is not set back may no longer ask before it acts.
                        if set.1.is_err() && mode_changes > 0 {
                            return Err(self.left_mode());
                        }
                        self.note_mode(set, &mut open.mode, deltas).await;
                    }
                    () = open.updates.wait() => {
                        let updates = open.updates.take();
                        if mode.note_updates(&open.session, &mut open.mode, &updates) {
                            mode_changes += 1;
                        }
                        after.start(&updates).await;
                        answer.process(updates, deltas).await;
                        if mode_changes > MODE_CHANGES_MAX {
                            return Err(self.left_mode());
                        }
                        let wanted = session::wanted_mode(self, open.is_in_checkout);
                        mode.begin(&open.session, open.mode.as_ref(), wanted);
                    }
                    () = after.next(), if after.is_running() => {}
                    end = &mut prompting => break end,
                    () = quiet_limit => return Err(self.silent(is_calling)),
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
        if let Err(AcpError::Rejected { .. }) = &end
            && !answer.has_updates()
        {
            // The agent has not begun, so it may not have recorded the prompt.
            open.knowledge = before;
        }
        let end = end.map_err(PromptError::from)?;
        open.knowledge.note_end(&end);
        send(deltas, Delta::Done(answer.reply(&end))).await;
        Ok(())
    }

    /// Gives up the session in `slot`, because its turn has not ended or its program hangs. Ends the program and waits
    /// for its end, so that it changes nothing any more. The program goes on if another teammate's turn runs in it;
    /// then the session is not loaded again.
    async fn abandon(&self, slot: &mut Option<OpenSession>) {
        if let Some(open) = slot.take() {
            let id = open.session.id().to_string();
            if !open.session.abandon().await {
                self.never_load(&id);
            }
        }
    }

    /// Waits as long as a tool call may run without any report of the agent ([`ExternalShared::call_limit`]). Warns the
    /// user after half of this time.
    async fn wait_for_call(&self, deltas: &Deltas) {
        let half = self.call_limit() / 2;
        tokio::time::sleep(half).await;
        let text = format!(
            "{} has reported nothing for {} s while a tool call runs. It is given up after {} s.",
            self.teammate(),
            half.as_secs(),
            self.call_limit().as_secs()
        );
        send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
        tokio::time::sleep(self.call_limit().saturating_sub(half)).await;
    }

    /// Records the result of setting the mode `mode` during a prompt: if it was set, stores it in `current`; else
    /// notifies the user.
    async fn note_mode(
        &self,
        (mode, set): (String, Result<(), UnsetChoice>),
        current: &mut Option<String>,
        deltas: &Deltas,
    ) {
        match set {
            Ok(()) => *current = Some(mode),
            Err(unset) => {
                let text = format!(
                    "{} stays in its mode for planning until its turn ends: {unset}.",
                    self.teammate()
                );
                send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
            }
        }
    }

    fn left_mode(&self) -> PromptError {
        let name = &self.agent.agent().name;
        let text = format!("the agent '{name}' has left its mode, and could not be set back to it");
        PromptError {
            error: permanent(
                ErrorKind::Server,
                text,
                "It may no longer ask before it acts.",
            ),
            session: SessionState::Hung,
        }
    }

    fn silent(&self, is_calling: bool) -> PromptError {
        let name = &self.agent.agent().name;
        let (limit, cause) = if is_calling {
            (self.call_limit(), " while a tool call runs")
        } else {
            (self.idle_limit, "")
        };
        let seconds = limit.as_secs();
        let text = format!("the agent '{name}' has done nothing for {seconds} s{cause}");
        let hint =
            "Its session was given up. If the agent needs longer, set a higher model_timeout_s.";
        PromptError {
            error: permanent(ErrorKind::Timeout, text, hint),
            session: SessionState::Hung,
        }
    }
}
