//! Lists the checkpoints of agents, and rewinds agents to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::board_view::BoardView;
use super::context::CrewContext;
use super::jobs::JobRunner;
use super::registry::AgentRegistry;
use super::work_directory::work_directory;
use super::worktrees::TaskWorktrees;
use crate::agent::checkpoint_state::{AgentCheckpoints, RewindOrder, busy};
use crate::agent::checkpoints::rewound_note;
use crate::agent::driver::Control;
use crate::agent::shown_events;
use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, ConversationChange, PathList, RestoredFiles, RewindPreview,
    RewindScope,
};
use crate::domain::ids::Name;
use crate::protocol::event::AgentEvent;
use crate::store::{CheckpointError, Checkpoints, StoreError, TranscriptFile, rewind_log};

/// Maximum number of checkpoints in one list.
const LISTED_MAX: usize = 500;

/// Executes the user's commands about checkpoints.
pub struct CheckpointService {
    context: Arc<CrewContext>,
    registry: Arc<AgentRegistry>,
    board: Arc<BoardView>,
    worktrees: Arc<TaskWorktrees>,
    jobs: Arc<JobRunner>,
    /// What the agents use; `None` if the settings turn checkpoints off.
    used: Option<AgentCheckpoints>,
    store: Checkpoints,
}

impl CheckpointService {
    pub fn new(
        context: Arc<CrewContext>,
        registry: Arc<AgentRegistry>,
        board: Arc<BoardView>,
        worktrees: Arc<TaskWorktrees>,
        jobs: Arc<JobRunner>,
        used: Option<AgentCheckpoints>,
    ) -> CheckpointService {
        // The agents and the user share what is known about the work directories.
        let store = match &used {
            Some(used) => used.store.clone(),
            None => Checkpoints::open(&context.root),
        };
        CheckpointService {
            context,
            registry,
            board,
            worktrees,
            jobs,
            used,
            store,
        }
    }

    /// Publishes the checkpoints of an agent.
    pub async fn list(&self, agent: &Name) -> Result<(), String> {
        let (store, name) = (self.store.clone(), agent.clone());
        let read = move || {
            let mut all = store.list()?;
            all.retain(|checkpoint| checkpoint.content.agent.same(&name));
            all.truncate(LISTED_MAX);
            Ok((all, store.check().err()))
        };
        let (checkpoints, error) = blocking(read).await.map_err(|e| e.to_string())?;
        let off = match (&self.used, error) {
            (None, _) => "the setting checkpoints.enabled is false".to_string(),
            (Some(_), Some(error)) => error.to_string(),
            (Some(_), None) => String::new(),
        };
        let event = AgentEvent::CheckpointsListed { checkpoints, off };
        self.context.publish(event.of(agent.clone())).await;
        Ok(())
    }

    /// Publishes what a rewind of an agent to a checkpoint would change.
    pub async fn show(&self, agent: &Name, id: CheckpointId) -> Result<(), String> {
        let (store, root) = (self.store.clone(), self.context.root.clone());
        let read = move || {
            let checkpoint = store.find(id)?;
            let conversation = conversation_change(&root, &checkpoint);
            let preview = match store.preview(id) {
                // The conversation can be rewound without the folder.
                Err(CheckpointError::NoFolder(_)) => RewindPreview::default(),
                preview => preview?,
            };
            let preview = RewindPreview {
                conversation,
                ..preview
            };
            Ok((checkpoint, preview))
        };
        let (checkpoint, mut preview) = blocking(read).await.map_err(|e| e.to_string())?;
        if checkpoint.content.session != self.context.session {
            preview.conversation = None;
        }
        preview.shared_with = self.others_in(agent, &self.folder_of(&checkpoint)).await;
        let event = AgentEvent::CheckpointShown {
            checkpoint: id,
            preview,
        };
        self.context.publish(event.of(agent.clone())).await;
        Ok(())
    }

    /// Rewinds an agent to one of its checkpoints.
    ///
    /// # Errors
    /// Returns the reason if the checkpoint is not one of the agent's, if the agent or another agent works in the
    /// directory, or if the rewind fails.
    pub async fn rewind(
        &self,
        agent: &Name,
        id: CheckpointId,
        scope: RewindScope,
    ) -> Result<(), String> {
        let store = self.store.clone();
        let checkpoint = blocking(move || store.find(id))
            .await
            .map_err(|e| e.to_string())?;
        if !checkpoint.content.agent.same(agent) {
            let owner = &checkpoint.content.agent;
            return Err(format!(
                "Checkpoint {id} belongs to {owner}: rewind {owner} to it."
            ));
        }
        if scope.includes_conversation() && checkpoint.content.session != self.context.session {
            return Err(format!(
                "Checkpoint {id} is from another session: only its files can be restored."
            ));
        }
        let folder = self.folder_of(&checkpoint);
        let folder_name = checkpoint.content.folder.clone();
        let others = self.others_in(agent, &folder).await;
        if scope.includes_files() {
            self.check_idle(&others)?;
        }
        self.check_idle(std::slice::from_ref(agent))?;
        let changed = match self.registry.find(agent) {
            Some(handle) => {
                let (reply, answer) = oneshot::channel();
                let order = RewindOrder {
                    checkpoint,
                    scope,
                    reply,
                };
                let sent = handle.control.try_send(Control::Rewind(Box::new(order)));
                sent.map_err(|_| busy(agent))?;
                let gone = || format!("{agent} ended before it was rewound.");
                answer.await.map_err(|_| gone())??
            }
            None => self.rewind_absent(agent, checkpoint, scope).await?,
        };
        for name in others {
            let note = rewound_note(&folder_name, &changed);
            if let Some((mailbox, note)) = self.registry.mailbox_of(&name).zip(note) {
                mailbox.note(note);
            }
        }
        Ok(())
    }

    /// Rewinds an agent that does not run.
    async fn rewind_absent(
        &self,
        agent: &Name,
        checkpoint: Checkpoint,
        scope: RewindScope,
    ) -> Result<PathList, String> {
        let (store, root, now) = (
            self.store.clone(),
            self.context.root.clone(),
            self.context.now(),
        );
        let id = checkpoint.id;
        let conversation = self.context.transcript(agent);
        let work = move || {
            // Everything that can fail comes before the files are changed.
            if scope.includes_conversation() {
                conversation.find_place(&checkpoint)?;
            }
            let files = if scope.includes_files() {
                store.restore(id, now)?
            } else {
                RestoredFiles {
                    undo: store
                        .record_undo(&checkpoint, now)
                        .or_else(without_folder)?,
                    ..RestoredFiles::default()
                }
            };
            let log = if scope.includes_conversation() {
                let log = rewind_log(&root, &checkpoint)?;
                Some((log, shown_events(&conversation.messages()?)))
            } else {
                None
            };
            Ok((files, log))
        };
        let (files, log) = blocking(work).await.map_err(|e| e.to_string())?;
        let (transcript, messages, shown) = match log {
            Some((log, shown)) => (log.transcript, Some(log.messages), shown),
            None => (String::new(), None, Vec::new()),
        };
        let changed = files.changed.clone();
        let event = AgentEvent::Rewound {
            checkpoint: id,
            scope,
            files,
            transcript,
            messages,
            shown,
            prompt: String::new(),
        };
        self.context.publish(event.of(agent.clone())).await;
        Ok(changed)
    }

    /// Checks that none of `agents` is in a turn or has a background job.
    fn check_idle(&self, agents: &[Name]) -> Result<(), String> {
        for name in agents {
            if self
                .registry
                .find(name)
                .is_some_and(|handle| handle.is_working())
            {
                return Err(busy(name));
            }
            if self.jobs.is_running(Some(name)) {
                return Err(format!(
                    "A background job of {name} is running: stop it in /jobs, or wait until it ends, then rewind."
                ));
            }
        }
        Ok(())
    }

    /// Returns the other running agents that work in the directory `dir`.
    async fn others_in(&self, agent: &Name, dir: &Path) -> Vec<Name> {
        let mut others = Vec::new();
        for (name, _) in self.registry.all() {
            if name.same(agent) {
                continue;
            }
            let place = (&*self.context, &*self.board, &*self.worktrees);
            if work_directory(place, &name).await == dir {
                others.push(name);
            }
        }
        others
    }

    fn folder_of(&self, checkpoint: &Checkpoint) -> PathBuf {
        match checkpoint.content.folder.as_str() {
            "." | "" => self.context.root.clone(),
            folder => self.context.root.join(folder),
        }
    }
}

/// Returns what a rewind changes in the conversation on disk; `None` if the conversation at the checkpoint is not
/// available.
fn conversation_change(root: &Path, checkpoint: &Checkpoint) -> Option<ConversationChange> {
    let content = &checkpoint.content;
    let log = TranscriptFile::open(root, &content.session, &content.agent);
    let found = log.find_place(checkpoint).ok()?;
    Some(found.change_of(&log.messages().ok()?))
}

/// Returns no checkpoint if the folder no longer exists, whose files need not be recorded then.
fn without_folder(error: CheckpointError) -> Result<Option<CheckpointId>, CheckpointError> {
    match error {
        CheckpointError::NoFolder(_) => Ok(None),
        error => Err(error),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckpointError> + Send + 'static,
) -> Result<T, CheckpointError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(StoreError::from(std::io::Error::other(error)).into()),
    }
}
