//! Rewinds an agent's conversation on disk to a checkpoint.

use std::path::Path;

use super::checkpoints::CheckpointError;
use super::transcript::TranscriptFile;
use crate::domain::chat::Message;
use crate::domain::checkpoint::{Checkpoint, ConversationChange};
use crate::domain::conversation::{Conversation, TurnState};

/// The conversation at a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPlace {
    /// The conversation up to the place, with the agent's other state at that time.
    pub conversation: Conversation,
}

/// The result of a rewind of a conversation on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewoundLog {
    /// The file with the conversation before the rewind, relative to the root.
    pub transcript: String,
    /// The number of messages that are left.
    pub messages: u64,
    /// What has changed.
    pub change: ConversationChange,
}

impl TranscriptFile {
    /// Finds the conversation at a checkpoint.
    ///
    /// # Errors
    /// When the checkpoint has no place in the conversation, no log contains the place, or a log cannot be read.
    pub fn find_place(&self, checkpoint: &Checkpoint) -> Result<FoundPlace, CheckpointError> {
        let content = &checkpoint.content;
        if content.starts_conversation {
            let conversation = Conversation::default();
            return Ok(FoundPlace { conversation });
        }
        let place = content
            .place
            .as_ref()
            .ok_or(CheckpointError::NoPlace(checkpoint.id))?;
        let records = self.records_before(place)?;
        let records = records.ok_or(CheckpointError::NoPlace(checkpoint.id))?;
        let mut conversation = Conversation::from_records(records);
        self.attachments().load_images(&mut conversation.messages);
        Ok(FoundPlace { conversation })
    }
}

impl FoundPlace {
    /// Returns what changes if the conversation takes the place of one with these messages.
    pub fn change_of(&self, present: &[Message]) -> ConversationChange {
        let found = &self.conversation.messages;
        if present == found.as_slice() {
            ConversationChange::Unchanged
        } else if present.starts_with(found) {
            ConversationChange::Removed((present.len() - found.len()) as u64)
        } else {
            ConversationChange::Replaced(found.len() as u64)
        }
    }

    /// Returns the conversation at the place with those parts of `present` that a rewind does not take back: what was
    /// spent, and what was already delivered to the agent.
    pub fn with_present(self, present: Conversation) -> Conversation {
        let at_place = self.conversation;
        Conversation {
            messages: at_place.messages,
            todo: at_place.todo,
            files: at_place.files,
            plan: present.plan,
            spent: present.spent,
            cost: present.cost,
            calls: present.calls,
            unreported_jobs: present.unreported_jobs,
            lead: present.lead,
            inbox: present.inbox,
            prompts: present.prompts,
            turn: TurnState::Ended,
        }
    }
}

/// Rewinds the conversation of an agent that does not run to a checkpoint: archives the agent's log and replaces it by
/// the part before the place.
///
/// # Errors
/// When the conversation at the checkpoint is not available, or the log cannot be archived or written. The log is then
/// unchanged.
pub fn rewind_log(root: &Path, checkpoint: &Checkpoint) -> Result<RewoundLog, CheckpointError> {
    let content = &checkpoint.content;
    let log = TranscriptFile::open(root, &content.session, &content.agent);
    let found = log.find_place(checkpoint)?;
    let present = log.load()?.conversation;
    let change = found.change_of(&present.messages);
    let transcript = log.archive()?;
    let rewound = found.with_present(present);
    let messages = rewound.messages.len() as u64;
    log.replace(&TranscriptFile::records(&rewound))?;
    Ok(RewoundLog {
        transcript,
        messages,
        change,
    })
}
