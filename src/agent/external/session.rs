//! The session of an external agent: opened for the directory of its task, and loaded again after a restart.

use std::path::PathBuf;
use std::sync::Arc;

use super::prompt_parts::{self, Known, SessionKnowledge};
use super::shared::{Deltas, ExternalShared, PromptError, SessionState, permanent, send};
use super::updates::UpdateQueue;
use crate::acp::{AcpError, AcpSession, SessionChoice, SessionSpec, UnsetChoice};
use crate::domain::agent_update::AgentUpdate;
use crate::model::{Delta, ErrorKind, ModelRequest};
use crate::tools::policy::PlanGate;

/// An open session, with what it knows of the conversation.
pub struct OpenSession {
    pub session: AcpSession,
    pub updates: Arc<UpdateQueue>,
    pub dir: PathBuf,
    /// The mode that is set.
    pub mode: Option<String>,
    pub knowledge: SessionKnowledge,
}

/// Returns the mode that the session should have: the one for planning while a plan must be approved, else the one in
/// which the agent asks before it acts.
pub fn wanted_mode(shared: &ExternalShared) -> Option<String> {
    let agent = shared.agent.agent();
    match shared.permissions.gate() {
        PlanGate::Closed => agent
            .plan_mode()
            .map(str::to_string)
            .or_else(|| agent.ask_mode.clone()),
        PlanGate::Open => agent.ask_mode.clone(),
    }
}

/// Opens a session for the directory of `request` unless `slot` has one that fits the conversation.
pub async fn ensure(
    shared: &ExternalShared,
    slot: &mut Option<OpenSession>,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<(), PromptError> {
    let fits = |open: &OpenSession| {
        open.dir == request.workdir && open.knowledge.known.fits(request) && open.session.is_alive()
    };
    if slot.as_ref().is_some_and(fits) {
        return follow_gate(shared, slot).await;
    }
    // The new session is opened before the old one is closed, because the last session of a program ends the program.
    let old = slot.take();
    let updates = UpdateQueue::new(shared.permissions.clone(), request.workdir.clone());
    let updates = Arc::new(updates);
    let load = shared.memory.last(&request.workdir);
    let load = load.filter(|id| shared.may_load(id));
    let spec = SessionSpec {
        cwd: request.workdir.clone(),
        mcp_servers: shared.server.get().cloned().into_iter().collect(),
        mode: wanted_mode(shared),
        model: Some(shared.model.clone()).filter(|model| !model.is_empty()),
        effort: request.effort.map(|effort| effort.word().to_string()),
        // The conversation was emptied, so the agent must not continue with it.
        load: load.filter(|_| prompt_parts::has_answer(request)),
    };
    let opened = open(shared, spec, &updates, request, deltas).await;
    let (session, known) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            *slot = old;
            return Err(error);
        }
    };
    for unset in session.unset() {
        if let Err(error) = check_unset(shared, unset, deltas).await {
            *slot = old;
            session.close().await;
            return Err(error);
        }
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
        knowledge: SessionKnowledge::new(known),
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
                let known = Known::first(prompt_parts::answered(request), request);
                return Ok((session, known));
            }
            Err(error) => {
                let why = match error {
                    AcpError::LoadFailed { why, .. } => why,
                    // The program crashes or hangs at this session, and would do so again.
                    AcpError::Ended { .. }
                    | AcpError::TimedOut { .. }
                    | AcpError::Unexpected { .. } => error.to_string(),
                    other => return Err(other.into()),
                };
                let agent = &shared.agent.agent().name;
                let text = format!(
                    "{} cannot continue its session of {agent} ({why}), and begins a new one with a summary.",
                    shared.teammate()
                );
                send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
                if let Some(session) = spec.load.take() {
                    shared.never_load(&session);
                }
            }
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
            session: SessionState::Unusable,
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
                session: SessionState::Unusable,
            });
        }
        open.mode.clone_from(&wanted);
    }
    Ok(())
}
