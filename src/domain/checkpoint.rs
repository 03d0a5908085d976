//! Checkpoints: recorded states of an agent's files, each with the place in the agent's conversation, and what a rewind
//! to a checkpoint would change.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ids::Name;
use super::text::{clip, one_line};
use super::timestamp::Timestamp;
use super::worktree::read_size;

/// The names of the settings in the table `[checkpoints]`.
pub const CHECKPOINT_KEYS: &[&str] = &["enabled", "keep_days", "disk_limit"];
/// The highest accepted value of `keep_days`.
const KEEP_DAYS_MAX: u64 = 365;
/// How long checkpoints are kept if `keep_days` is not set. Checkpoints borrow objects of the project's repository, and
/// `git gc` deletes those that no branch has after two weeks.
const KEEP_DAYS_DEFAULT: u64 = 7;
const DISK_LIMIT_DEFAULT: u64 = 2 * 1024 * 1024 * 1024;

/// Maximum length of a checkpoint's label, in characters.
pub const LABEL_MAX: usize = 200;
/// Maximum number of paths that a preview or a report of a rewind lists. Of the others, only the number is known.
pub const PATHS_MAX: usize = 50;

/// The table `[checkpoints]` of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointSettings {
    /// Whether checkpoints are recorded; true if it is not set.
    pub enabled: Option<bool>,
    /// How long checkpoints are kept, in days.
    pub keep_days: Option<u64>,
    /// Maximum disk usage of all checkpoints, in bytes.
    #[serde(deserialize_with = "read_size")]
    pub disk_limit: Option<u64>,
}

/// How long checkpoints are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointLimits {
    pub keep: Duration,
    /// Maximum size of the repository of checkpoints, in bytes.
    pub disk: u64,
}

impl CheckpointSettings {
    /// Returns these settings, overridden by those that are set in `later`.
    #[must_use]
    pub fn merged_with(self, later: CheckpointSettings) -> CheckpointSettings {
        CheckpointSettings {
            enabled: later.enabled.or(self.enabled),
            keep_days: later.keep_days.or(self.keep_days),
            disk_limit: later.disk_limit.or(self.disk_limit),
        }
    }

    /// Returns the limits; `None` if no checkpoints are recorded.
    pub fn limits(&self) -> Option<CheckpointLimits> {
        let days = self.keep_days.unwrap_or(KEEP_DAYS_DEFAULT);
        let limits = CheckpointLimits {
            keep: Duration::from_secs(days * 24 * 60 * 60),
            disk: self.disk_limit.unwrap_or(DISK_LIMIT_DEFAULT),
        };
        self.enabled.unwrap_or(true).then_some(limits)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// Fails with the accepted values. The message begins with a dot and the name of the setting in the table.
    pub fn check(&self) -> Result<(), String> {
        match self.keep_days {
            Some(days) if !(1..=KEEP_DAYS_MAX).contains(&days) => Err(format!(
                ".keep_days is {days}: give a number from 1 to {KEEP_DAYS_MAX}"
            )),
            Some(_) | None => Ok(()),
        }
    }
}

/// The number of a checkpoint. Numbers are unique in a project and are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckpointId(pub u64);

impl fmt::Display for CheckpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for CheckpointId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<CheckpointId, Self::Err> {
        text.parse().map(CheckpointId)
    }
}

/// Why a checkpoint was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointReason {
    /// Before the first calls of a turn that could change files. The label is the prompt of the turn.
    Turn,
    /// Before later calls of a turn. The label is the first of the calls.
    Calls,
    /// Before a rewind, so that the rewind can be undone.
    Rewind,
}

/// A place in an agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationPlace {
    /// The number of messages before the place; never 0.
    pub messages: u64,
    /// A hash of the messages before the place. It identifies the conversation after a compaction or a rewind has
    /// replaced it.
    pub hash: String,
}

/// What is recorded about a checkpoint besides its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewCheckpoint {
    /// The agent whose files are recorded.
    pub agent: Name,
    /// The session of the agent.
    pub session: String,
    /// The agent's work directory, relative to the root; `.` for the root itself.
    pub folder: String,
    pub at: Timestamp,
    pub reason: CheckpointReason,
    /// What happened next, in one line of at most [`LABEL_MAX`] characters.
    pub label: String,
    /// The place in the conversation to which a rewind returns; `None` if the conversation was empty, or is held by an
    /// external agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ConversationPlace>,
    /// Whether a rewind of the conversation empties it, because it was empty at this checkpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starts_conversation: bool,
}

/// A recorded checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: CheckpointId,
    #[serde(flatten)]
    pub content: NewCheckpoint,
}

impl NewCheckpoint {
    /// Returns whether a rewind to the checkpoint can restore the conversation.
    pub fn has_conversation(&self) -> bool {
        self.place.is_some() || self.starts_conversation
    }

    /// Returns the label of the checkpoint that is recorded before a rewind to this one, whose number is `id`.
    pub fn undo_label(&self, id: CheckpointId) -> String {
        // The label of an undo names what was undone, not the whole chain of rewinds.
        match self.reason {
            CheckpointReason::Rewind => format!("before rewind to {id}"),
            CheckpointReason::Turn | CheckpointReason::Calls => {
                NewCheckpoint::label_of(&format!("before rewind to {id}: {}", self.label))
            }
        }
    }

    /// Returns `text` as a label: on one line, and shortened.
    pub fn label_of(text: &str) -> String {
        clip(&one_line(text), LABEL_MAX)
    }
}

/// What a rewind restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    Files,
    Conversation,
    Both,
}

impl RewindScope {
    pub fn includes_files(self) -> bool {
        matches!(self, RewindScope::Files | RewindScope::Both)
    }

    pub fn includes_conversation(self) -> bool {
        matches!(self, RewindScope::Conversation | RewindScope::Both)
    }
}

/// Paths of files, of which at most [`PATHS_MAX`] are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathList {
    /// The first paths, relative to the work directory. Bytes that are not UTF-8 are replaced by `�`.
    pub paths: Vec<String>,
    /// The number of all paths.
    pub count: usize,
}

impl PathList {
    pub fn add(&mut self, path: impl Into<String>) {
        self.count += 1;
        if self.paths.len() < PATHS_MAX {
            self.paths.push(path.into());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// What a rewind changes in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationChange {
    /// Nothing.
    Unchanged,
    /// The last messages are removed. The value is their number.
    Removed(u64),
    /// The conversation was compacted, emptied or rewound since, so another one takes its place. The value is the number
    /// of its messages.
    Replaced(u64),
}

/// What a rewind to a checkpoint would change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RewindPreview {
    /// A table of the files that the rewind changes, in the form of `git diff --stat`; empty if it changes none.
    pub stat: String,
    /// The diff from the present files to those of the checkpoint. A long diff is cut at its end.
    pub diff: String,
    /// The number of files that the rewind changes, creates or deletes.
    pub files: usize,
    /// The files that the rewind leaves as they are, because the checkpoint does not contain them: they are too large,
    /// or could not be read.
    pub not_recorded: PathList,
    /// The number of commits that were made in the work directory since the checkpoint. They stay on the branch.
    pub commits: usize,
    /// What the rewind changes in the conversation; `None` if the conversation cannot be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationChange>,
    /// Other agents that work in the same directory, whose files the rewind also changes.
    pub shared_with: Vec<Name>,
}

/// The result of a rewind of files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RestoredFiles {
    /// The files that were written or deleted.
    pub changed: PathList,
    /// The files that were left as they are, each with the reason: `big.bin: changed during the rewind`.
    pub skipped: PathList,
    /// The checkpoint that undoes the rewind.
    pub undo: Option<CheckpointId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn list_of_paths_counts_more_than_it_lists() {
        let mut list = PathList::default();
        for n in 0..PATHS_MAX + 3 {
            list.add(n.to_string());
        }
        assert_eq!((list.paths.len(), list.count), (PATHS_MAX, PATHS_MAX + 3));
    }

    #[test]
    fn label_has_one_short_line() {
        let label = NewCheckpoint::label_of(&format!("first\n{}", "x".repeat(500)));
        assert!(!label.contains('\n'));
        assert!(label.chars().count() <= LABEL_MAX);
    }
}
