//! The session of an external agent: opened for the directory of its task, and loaded again after a restart.

use std::path::PathBuf;
use std::sync::Arc;

use super::prompt_parts::{self, Known};
use super::shared::{Deltas, ExternalShared, PromptError, permanent, send};
use super::updates::UpdateQueue;
use crate::acp::{
    AcpError, AcpSession, PromptEnd, PromptPart, SessionChoice, SessionSpec, UnsetChoice,
};
use crate::domain::agent_update::AgentUpdate;
use crate::model::{Delta, ErrorKind, ModelRequest};

/// An open session, with what it knows of the conversation.
pub struct OpenSession {
    pub session: AcpSession,
    pub updates: Arc<UpdateQueue>,
    pub dir: PathBuf,
    /// The mode that is set.
    pub mode: Option<String>,
    known: Known,
    /// What the next prompt must say about calls that were refused.
    refusals: Option<String>,
}

impl OpenSession {
    /// Returns the content of the next prompt: what is new in the conversation of `request`.
    pub fn next_content(&mut self, request: &ModelRequest) -> Vec<PromptPart> {
        let mut parts: Vec<PromptPart> = Vec::new();
        parts.extend(self.refusals.take().map(PromptPart::Text));
        parts.extend(prompt_parts::new_parts(request, &self.known));
        self.known = Known::Messages(request.messages.len());
        parts
    }

    pub fn note_end(&mut self, end: &PromptEnd) {
        self.refusals = end.refusal_notice();
    }
}

/// Returns the mode that the session should have: the one for planning while a plan must be approved, else the one in
/// which the agent asks before it acts.
pub fn wanted_mode(shared: &ExternalShared) -> Option<String> {
    let permissions = &shared.permissions;
    let agent = shared.agent.agent();
    let mode = permissions.own_tools.mode(agent, permissions.gate());
    mode.map(str::to_string)
}

/// Opens a session for the directory of `request` unless `slot` has one that fits the conversation.
pub async fn ensure(
    shared: &ExternalShared,
    slot: &mut Option<OpenSession>,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<(), PromptError> {
    shared.check_mode()?;
    let fits =
        |open: &OpenSession| open.dir == request.workdir && open.known.fits(request.messages.len());
    if slot.as_ref().is_some_and(fits) {
        return follow_gate(shared, slot).await;
    }
    // The new session is opened before the old one is closed, because the last session of a program ends the program.
    let old = slot.take();
    let updates = UpdateQueue::new(shared.permissions.clone(), request.workdir.clone());
    let updates = Arc::new(updates);
    let load = shared.memory.last(&request.workdir);
    let spec = SessionSpec {
        cwd: request.workdir.clone(),
        mcp_servers: shared.server.get().cloned().into_iter().collect(),
        mode: wanted_mode(shared),
        model: Some(shared.model.clone()).filter(|model| !model.is_empty()),
        effort: request.effort.map(|effort| effort.word().to_string()),
        // The conversation was emptied, so the agent must not continue with it.
        load: load.filter(|_| prompt_parts::has_answer(request)),
    };
    let (session, known) = open(shared, spec, &updates, request, deltas).await?;
    for unset in session.unset() {
        check_unset(shared, unset, deltas).await?;
    }
    shared.memory.remember(session.id(), &request.workdir).await;
    if let Some(old) = old {
        tokio::spawn(old.session.close());
    }
    *slot = Some(OpenSession {
        mode: wanted_mode(shared),
        dir: request.workdir.clone(),
        session,
        updates,
        known,
        refusals: None,
    });
    Ok(())
}

/// Loads the session of `spec`, or opens a new one if there is none or it cannot be loaded.
async fn open(
    shared: &ExternalShared,
    mut spec: SessionSpec,
    updates: &Arc<UpdateQueue>,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<(AcpSession, Known), PromptError> {
    if spec.load.is_some() {
        match shared.agent.open(&spec, Arc::clone(updates) as _).await {
            Ok(session) => {
                // What the agent reports while it loads is already in the conversation.
                updates.take();
                let known = Known::Messages(prompt_parts::answered(request));
                return Ok((session, known));
            }
            Err(AcpError::LoadFailed { why, .. }) => {
                let agent = &shared.agent.agent().name;
                let text = format!(
                    "{} cannot continue its session of {agent} ({why}), and begins a new one with a summary.",
                    shared.teammate()
                );
                send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
                spec.load = None;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let session = shared.agent.open(&spec, Arc::clone(updates) as _).await?;
    Ok((session, Known::Nothing))
}

/// Fails if the mode could not be set, because the agent may then act without asking. Otherwise, publishes what could not
/// be set.
async fn check_unset(
    shared: &ExternalShared,
    unset: &UnsetChoice,
    deltas: &Deltas,
) -> Result<(), PromptError> {
    let agent = &shared.agent.agent().name;
    if unset.choice == SessionChoice::Mode {
        let text = format!("the agent '{agent}' may act without asking you: {unset}");
        let hint = format!("Set mode in [agents.{agent}] to a mode in which the agent asks.");
        return Err(PromptError {
            error: permanent(ErrorKind::BadRequest, text, &hint),
            lost_session: true,
        });
    }
    let text = format!("{} of {agent}: {unset}.", shared.teammate());
    send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
    Ok(())
}

async fn follow_gate(
    shared: &ExternalShared,
    slot: &mut Option<OpenSession>,
) -> Result<(), PromptError> {
    let wanted = wanted_mode(shared);
    if let Some(open) = slot.as_mut()
        && open.mode != wanted
        && let Some(mode) = &wanted
    {
        if let Err(unset) = open.session.set_mode(mode).await {
            let agent = &shared.agent.agent().name;
            let text = format!("the agent '{agent}' may act without asking you: {unset}");
            return Err(PromptError {
                error: permanent(ErrorKind::BadRequest, text, ""),
                lost_session: true,
            });
        }
        open.mode.clone_from(&wanted);
    }
    Ok(())
}
