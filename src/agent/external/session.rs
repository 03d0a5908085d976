//! Opens the session of an external agent in the directory of its task, and loads it again after a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::prompt_parts::{self, Known, SessionKnowledge};
use super::shared::{Deltas, ExternalShared, PromptError, SessionState, permanent, send};
use super::updates::UpdateQueue;
use crate::acp::{AcpError, AcpSession, SessionChoice, SessionSpec, UnsetChoice};
use crate::domain::agent_update::AgentUpdate;
use crate::model::{Delta, ErrorKind, ModelRequest};

/// An open session of an external agent, and which part of the conversation the agent has already received in it.
pub struct OpenSession {
    pub session: AcpSession,
    pub updates: Arc<UpdateQueue>,
    pub dir: PathBuf,
    /// The mode that crewdeck has set, or to which the agent has changed since then. `None` if crewdeck has set none.
    pub mode: Option<String>,
    /// Whether the agent works in the user's checkout without a task.
    pub is_in_checkout: bool,
    pub knowledge: SessionKnowledge,
}

impl OpenSession {
    fn new(
        session: AcpSession,
        updates: Arc<UpdateQueue>,
        spec: SessionSpec,
        known: Known,
    ) -> OpenSession {
        OpenSession {
            session,
            updates,
            dir: spec.cwd,
            mode: spec.mode,
            is_in_checkout: false,
            knowledge: SessionKnowledge::new(known),
        }
    }
}

/// Returns the mode in which the session should be, as [`OwnTools::mode`](super::OwnTools::mode) selects it; `None` if
/// crewdeck does not know this mode of the agent. `is_in_checkout` is true if the agent works in the user's checkout
/// without a task.
pub fn wanted_mode(shared: &ExternalShared, is_in_checkout: bool) -> Option<String> {
    let permissions = &shared.permissions;
    let agent = shared.agent.agent();
    let mode = permissions
        .own_tools
        .mode(agent, permissions.gate(), is_in_checkout);
    mode.map(str::to_string)
}

/// Makes sure that `slot` contains a session for the conversation and the directory of `request`. Keeps the session in
/// `slot` if it fits both; otherwise loads the last session or opens a new one. For an agent without a task, the
/// session of its last task also fits as long as the worktree exists. Fails if no session can be opened, or if the
/// session's mode is unknown or cannot be set.
pub async fn ensure(
    shared: &ExternalShared,
    slot: &mut Option<OpenSession>,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<(), PromptError> {
    shared.check_mode()?;
    let is_without_task =
        request.workdir == shared.permissions.runner.root && !shared.permissions.has_task().await;
    let fits = |open: &OpenSession| {
        let is_there = open.dir == request.workdir || is_without_task && open.dir.is_dir();
        is_there && open.knowledge.known.fits(request) && open.session.is_alive()
    };
    if let Some(open) = slot.as_mut().filter(|open| fits(open)) {
        open.is_in_checkout = is_without_task && open.dir == request.workdir;
        return follow_gate(shared, open).await;
    }
    // The new session is opened before the old one is closed, because the last session of a program ends the program.
    let old = slot.take();
    let root = &shared.permissions.runner.root;
    let last = shared.memory.last().filter(|last| {
        let dir = Path::new(&last.dir);
        // A project that was copied or moved still names the worktrees of the old one.
        let is_worktree = dir.starts_with(root) && dir.is_dir();
        // The conversation was emptied, so the agent must not continue with it.
        prompt_parts::has_answer(request)
            && shared.may_load(&last.id)
            && (dir == request.workdir || is_without_task && is_worktree)
    });
    let is_in_checkout = |dir: &Path| is_without_task && dir == request.workdir;
    let spec_in = |dir: &Path| spec_for(shared, request, dir, is_in_checkout(dir));
    let loading = last.map(|last| SessionSpec {
        load: Some(last.id),
        ..spec_in(Path::new(&last.dir))
    });
    let opened = open_with(shared, loading, spec_in(&request.workdir), request, deltas).await;
    let mut open = match opened {
        Ok(open) => open,
        Err(error) => {
            *slot = old;
            return Err(error);
        }
    };
    open.is_in_checkout = is_in_checkout(&open.dir);
    shared.memory.remember(open.session.id(), &open.dir).await;
    if let Some(old) = old {
        tokio::spawn(old.session.close());
    }
    *slot = Some(open);
    Ok(())
}

fn spec_for(
    shared: &ExternalShared,
    request: &ModelRequest,
    dir: &Path,
    is_in_checkout: bool,
) -> SessionSpec {
    SessionSpec {
        cwd: dir.to_path_buf(),
        mcp_servers: shared.server.get().cloned().into_iter().collect(),
        mode: wanted_mode(shared, is_in_checkout),
        model: Some(shared.model.clone()).filter(|model| !model.is_empty()),
        effort: request.effort.map(|effort| effort.word().to_string()),
        load: None,
    }
}

/// Loads the session that `loading` describes. If `loading` is `None` or the session cannot be loaded, opens the new
/// session that `new` describes. Fails if that cannot be opened, or if its mode cannot be set.
async fn open_with(
    shared: &ExternalShared,
    loading: Option<SessionSpec>,
    new: SessionSpec,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<OpenSession, PromptError> {
    let loaded = match loading {
        Some(spec) => load(shared, spec, request, deltas).await?,
        None => None,
    };
    let open = match loaded {
        Some(open) => open,
        None => {
            let updates = UpdateQueue::new(shared.permissions.clone(), new.cwd.clone());
            let updates = Arc::new(updates);
            let session = shared.agent.open(&new, Arc::clone(&updates) as _).await?;
            OpenSession::new(session, updates, new, Known::Nothing)
        }
    };
    for unset in open.session.unset() {
        if let Err(error) = check_unset(shared, unset, deltas).await {
            open.session.close().await;
            return Err(error);
        }
    }
    Ok(open)
}

/// Loads the session that `spec` describes. If it cannot be loaded, notifies the user, excludes the session from later
/// loading and returns `None`. Fails if the cause is not the session, for example a missing login.
async fn load(
    shared: &ExternalShared,
    spec: SessionSpec,
    request: &ModelRequest,
    deltas: &Deltas,
) -> Result<Option<OpenSession>, PromptError> {
    let updates = UpdateQueue::new(shared.permissions.clone(), spec.cwd.clone());
    let updates = Arc::new(updates);
    let error = match shared.agent.open(&spec, Arc::clone(&updates) as _).await {
        Ok(session) => {
            // What the agent reports while it loads is already in the conversation.
            updates.take();
            let known = Known::first(prompt_parts::answered(request), request);
            return Ok(Some(OpenSession::new(session, updates, spec, known)));
        }
        Err(error) => error,
    };
    let why = match error {
        AcpError::LoadFailed { why, .. } => why,
        // The program crashes or hangs at this session, and would do so again.
        AcpError::Ended { .. } | AcpError::TimedOut { .. } | AcpError::Unexpected { .. } => {
            error.to_string()
        }
        other => return Err(other.into()),
    };
    let agent = &shared.agent.agent().name;
    let text = format!(
        "{} cannot continue its session of {agent} ({why}), and begins a new one with a summary.",
        shared.teammate()
    );
    send(deltas, Delta::External(AgentUpdate::Notice(text))).await;
    if let Some(session) = &spec.load {
        shared.never_load(session);
    }
    Ok(None)
}

/// Processes `unset`, a choice that could not be set in a new session. Fails if it is the mode, because the agent may
/// then act without asking. Otherwise only notifies the user.
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

async fn follow_gate(shared: &ExternalShared, open: &mut OpenSession) -> Result<(), PromptError> {
    let wanted = wanted_mode(shared, open.is_in_checkout);
    if open.mode != wanted
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
