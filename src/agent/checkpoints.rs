//! Records checkpoints before an agent changes files, and rewinds the agent to a checkpoint.

use std::time::Duration;

use super::checkpoint_state::{AgentCheckpoints, RewindOrder};
use super::driver::{Driver, LogCompleteness};
use super::published_calls::summarise_call;
use super::shown_conversation::{shown_events, without_tags};
use super::turn::TurnInput;
use crate::domain::chat::{Block, Message, ToolCall};
use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, CheckpointReason, ConversationPlace, NewCheckpoint, PathList,
    RestoredFiles, RewindScope,
};
use crate::domain::conversation::Conversation;
use crate::domain::team::Activity;
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventSender;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};
use crate::store::{CheckpointError, Checkpoints, FoundPlace, GitError, StoreError};
use crate::tools::{Access, path_below_root};

/// Time after which the user sees that a checkpoint is being recorded.
const SHOWN_AFTER: Duration = Duration::from_millis(300);

impl Driver {
    /// Remembers the place at which a turn begins.
    pub(super) fn begin_turn_of_checkpoints(&mut self) {
        if self.state.checkpoint.used.is_none() {
            return;
        }
        let turn = &mut self.state.checkpoint;
        turn.label.clear();
        turn.recorded_at = None;
        turn.has_failed = false;
        let messages = self.state.turn.messages();
        // A place that cannot be computed counts as the start of the conversation, which is then not offered.
        turn.before = self.transcript.place_after(&messages).ok().flatten();
    }

    /// Takes the label of the turn from the first message that it adds to the conversation. `prompt` is the text of the
    /// user in the message, if there is one.
    pub(super) fn label_checkpoints(&mut self, message: &Message, prompt: Option<&str>) {
        if self.state.checkpoint.used.is_none() || !self.state.checkpoint.label.is_empty() {
            return;
        }
        let first = message.blocks.iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let text = prompt.or(first.map(without_tags)).unwrap_or_default();
        self.state.checkpoint.label = NewCheckpoint::label_of(text);
    }

    /// Records a checkpoint if one of `calls` can change files.
    pub(super) async fn record_checkpoint_before(&mut self, calls: &[ToolCall]) {
        let Some(first) = calls.iter().find(|call| self.can_change_files(call)) else {
            return;
        };
        // The calls of one answer have one place in the conversation, so they have one checkpoint.
        let recorded_at = self.state.checkpoint.recorded_at;
        if recorded_at == Some(self.state.turn.messages().len()) {
            return;
        }
        let (reason, label, place) = if recorded_at.is_some() {
            let on = summarise_call(first);
            let label = NewCheckpoint::label_of(&format!("before {} {on}", first.name));
            let messages = self.state.turn.messages();
            // The last message contains the calls.
            let before = messages.split_last().map_or(&[][..], |(_, before)| before);
            let place = self.transcript.place_after(before).ok().flatten();
            (CheckpointReason::Calls, label, place)
        } else {
            let turn = &self.state.checkpoint;
            (
                CheckpointReason::Turn,
                turn.label.clone(),
                turn.before.clone(),
            )
        };
        self.record_checkpoint(reason, label, place).await;
    }

    /// Records a checkpoint before an external agent works on a prompt. Its conversation cannot be rewound.
    pub(super) async fn record_checkpoint_of_external(&mut self) {
        if self.tool_runner.is_external && self.state.checkpoint.recorded_at.is_none() {
            let label = self.state.checkpoint.label.clone();
            self.record_checkpoint(CheckpointReason::Turn, label, None)
                .await;
        }
    }

    fn can_change_files(&self, call: &ToolCall) -> bool {
        let tool = self
            .tool_runner
            .tools
            .iter()
            .find(|tool| tool.name == call.name);
        match tool.map(|tool| tool.access) {
            // A merge changes the files of the checkout.
            Some(Access::Crew) => call.name == "merge_worktree",
            Some(Access::Read) => false,
            // Tools of MCP servers may do anything.
            Some(Access::Write | Access::Run | Access::Delegate) | None => true,
        }
    }

    async fn record_checkpoint(
        &mut self,
        reason: CheckpointReason,
        label: String,
        place: Option<ConversationPlace>,
    ) {
        let Some(checkpoints) = self.state.checkpoint.used.clone() else {
            return;
        };
        if self.state.checkpoint.has_failed {
            return;
        }
        let new = self.new_checkpoint(reason, label, place);
        let store = checkpoints.store.clone();
        let work = blocking(move || store.record(&new));
        tokio::pin!(work);
        let recorded = tokio::select! {
            recorded = &mut work => recorded,
            () = tokio::time::sleep(SHOWN_AFTER) => {
                let (tool, on) = ("checkpoint".into(), "recording the files".into());
                self.activity(Activity::Tool { tool, on }).await;
                work.await
            }
        };
        match recorded {
            Ok(_) => {
                self.state.checkpoint.recorded_at = Some(self.state.turn.messages().len());
                clean_up(checkpoints, self.event_sender.clone(), (self.clock)());
            }
            Err(error) => {
                // Another process uses the checkpoints only for a while.
                self.state.checkpoint.has_failed = !matches!(error, CheckpointError::Busy);
                self.report_checkpoint_error(&error).await;
            }
        }
    }

    fn new_checkpoint(
        &self,
        reason: CheckpointReason,
        label: String,
        place: Option<ConversationPlace>,
    ) -> NewCheckpoint {
        let folder = path_below_root(&self.tool_runner.root, &self.tool_runner.workdir);
        let session = self
            .state
            .checkpoint
            .used
            .as_ref()
            .map(|c| c.session.clone());
        NewCheckpoint {
            agent: self.name.clone(),
            session: session.unwrap_or_default(),
            folder: if folder.is_empty() {
                ".".into()
            } else {
                folder
            },
            at: (self.clock)(),
            reason,
            label,
            starts_conversation: place.is_none() && !self.tool_runner.is_external,
            place,
        }
    }

    /// Reports an error to the user; the same one only once. Outside of a repository there are no checkpoints, which the
    /// list of checkpoints says.
    async fn report_checkpoint_error(&mut self, error: &CheckpointError) {
        let text = format!("No checkpoint was recorded: {error}");
        if is_without_repository(error) || self.state.checkpoint.reported == text {
            return;
        }
        self.state.checkpoint.reported.clone_from(&text);
        let agent = Some(self.name.clone());
        let level = NoticeLevel::Warn;
        self.publish(EventKind::Crew(CrewEvent::Notice { level, agent, text }))
            .await;
    }

    /// Carries out an order to rewind this agent, which is idle. Publishes the result.
    pub async fn rewind(&mut self, order: RewindOrder) {
        let RewindOrder {
            checkpoint,
            scope,
            reply,
        } = order;
        let done = match self.rewind_to(&checkpoint, scope).await {
            Ok((event, changed)) => {
                self.publish(event.of(self.name.clone())).await;
                Ok(changed)
            }
            Err(error) => Err(format!("Nothing was rewound: {error}.")),
        };
        // The sender of the order may have gone.
        let _ = reply.send(done);
    }

    async fn rewind_to(
        &mut self,
        checkpoint: &Checkpoint,
        scope: RewindScope,
    ) -> Result<(AgentEvent, PathList), CheckpointError> {
        self.repair_log().await;
        let place = self.transcript.place_after(&self.state.turn.messages())?;
        // Everything that can fail comes before the files are changed.
        let found = if scope.includes_conversation() {
            Some(self.prepare_rewind(checkpoint).await?)
        } else {
            None
        };
        let files = if scope.includes_files() {
            self.restore_files(checkpoint.id, place).await?
        } else {
            self.record_undo(checkpoint, place).await
        };
        let (mut transcript, mut messages, mut prompt) = (String::new(), None, String::new());
        let mut shown = Vec::new();
        match found {
            Some((found, archive)) => {
                let present = self.conversation();
                let removed = present.messages.get(found.conversation.messages.len()..);
                prompt = self.removed_prompt(checkpoint, removed.unwrap_or_default());
                self.replace_conversation(found.with_present(present)).await;
                transcript = archive;
                let left = self.state.turn.messages();
                messages = Some(left.len() as u64);
                shown = shown_events(&left);
            }
            None => {
                let note = rewound_note(&checkpoint.content.folder, &files.changed);
                if let Some(note) = note {
                    self.tool_runner.mailbox.note(note);
                }
            }
        }
        let changed = files.changed.clone();
        let event = AgentEvent::Rewound {
            checkpoint: checkpoint.id,
            scope,
            files,
            transcript,
            messages,
            shown,
            prompt,
        };
        Ok((event, changed))
    }

    /// Finds the conversation at a checkpoint and archives the present one. Returns the path of the archive too.
    async fn prepare_rewind(
        &self,
        checkpoint: &Checkpoint,
    ) -> Result<(FoundPlace, String), CheckpointError> {
        if self.state.log_completeness != LogCompleteness::Complete {
            let why = "the log of the conversation is empty or incomplete";
            return Err(StoreError::from(std::io::Error::other(why)).into());
        }
        let (log, wanted) = (self.transcript.clone(), checkpoint.clone());
        blocking(move || {
            let found = log.find_place(&wanted)?;
            Ok((found, log.archive()?))
        })
        .await
    }

    async fn restore_files(
        &self,
        id: CheckpointId,
        place: Option<ConversationPlace>,
    ) -> Result<RestoredFiles, CheckpointError> {
        let store = self.checkpoint_store();
        let now = (self.clock)();
        blocking(move || store.restore_at(id, now, place.as_ref())).await
    }

    /// Records the present files and the place in the conversation before a rewind of only the conversation, so that it
    /// can be undone. If that fails, the archive of the conversation is left.
    async fn record_undo(
        &self,
        target: &Checkpoint,
        place: Option<ConversationPlace>,
    ) -> RestoredFiles {
        let label = target.content.undo_label(target.id);
        let new = self.new_checkpoint(CheckpointReason::Rewind, label, place);
        let store = self.checkpoint_store();
        let undo = blocking(move || store.record(&new)).await.ok().flatten();
        RestoredFiles {
            undo,
            ..RestoredFiles::default()
        }
    }

    fn checkpoint_store(&self) -> Checkpoints {
        match &self.state.checkpoint.used {
            Some(checkpoints) => checkpoints.store.clone(),
            None => Checkpoints::open(&self.tool_runner.root),
        }
    }

    async fn replace_conversation(&mut self, conversation: Conversation) {
        let is_open = conversation.todo.has_open();
        self.state
            .turn
            .rewind(conversation.messages, &self.identity);
        self.state.turn.step(TurnInput::TodoSet(is_open));
        self.state.todo.clone_from(&conversation.todo);
        self.state.unanswered.clear();
        self.tool_runner.snapshots.replace(conversation.files);
        self.replace().await;
        self.record_turn_end().await;
        let list = conversation.todo;
        self.publish(AgentEvent::TodoChanged { list }.of(self.name.clone()))
            .await;
    }

    /// Returns the prompt of the user with which the removed messages begin; empty if they begin with something else.
    fn removed_prompt(&self, checkpoint: &Checkpoint, removed: &[Message]) -> String {
        if !self.name.is_lead() || checkpoint.content.reason != CheckpointReason::Turn {
            return String::new();
        }
        let texts = removed
            .first()
            .into_iter()
            .flat_map(|message| &message.blocks);
        let mut texts = texts.filter_map(|block| match block {
            Block::Text { text } => Some(text),
            _ => None,
        });
        let prompt = texts.find(|text| NewCheckpoint::label_of(text) == checkpoint.content.label);
        prompt.cloned().unwrap_or_default()
    }
}

/// Returns the note that tells an agent which files in the directory `folder` were rewound; `None` if none were.
pub fn rewound_note(folder: &str, changed: &PathList) -> Option<String> {
    if changed.is_empty() {
        return None;
    }
    let names: Vec<String> = changed.paths.iter().map(|path| one_line(path)).collect();
    let mut names = names.join(", ");
    if changed.count > changed.paths.len() {
        names.push_str(&format!(
            " and {} more",
            changed.count - changed.paths.len()
        ));
    }
    let folder = match folder {
        "." => "the project directory".into(),
        folder => one_line(folder),
    };
    Some(format!(
        "The user restored files in {folder} to an earlier state: {names}. Read them again before you edit them."
    ))
}

/// Returns whether an error says that there is no repository that can be used. The crew reports that at its start.
fn is_without_repository(error: &CheckpointError) -> bool {
    let (CheckpointError::Git(git) | CheckpointError::Store(StoreError::Git(git))) = error else {
        return false;
    };
    match git {
        GitError::Missing
        | GitError::TooOld(_)
        | GitError::NoRepository(_)
        | GitError::Bare(_)
        | GitError::Damaged(_)
        | GitError::OwnedByOther(_)
        | GitError::LineBreak(_) => true,
        GitError::Start(_)
        | GitError::TimedOut(_)
        | GitError::Stopped(_)
        | GitError::Failed { .. }
        | GitError::TooLong(_)
        | GitError::NoCommits
        | GitError::Remote(_) => false,
    }
}

/// Removes old checkpoints in the background, if it is time.
fn clean_up(checkpoints: AgentCheckpoints, events: EventSender, now: Timestamp) {
    tokio::task::spawn_blocking(move || {
        // An error is not reported: the next checkpoint tries again, and a damaged repository is reported by it.
        if let Ok(Some(done)) = checkpoints.store.clean_up(checkpoints.limits, now)
            && done.is_too_large
        {
            let text = format!(
                "The newest checkpoint needs {} MiB, more than checkpoints.disk_limit. Add large files that need not be kept to .gitignore.",
                done.size / 1024 / 1024
            );
            events.offer(EventKind::notice(NoticeLevel::Warn, text));
        }
    });
}

/// Runs `work`, which accesses files, on a thread for blocking work. A panic in `work` becomes an error.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckpointError> + Send + 'static,
) -> Result<T, CheckpointError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(StoreError::from(std::io::Error::other(error)).into()),
    }
}
