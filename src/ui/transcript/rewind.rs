//! Shows in a transcript that the agent was rewound to a checkpoint.

use crate::domain::checkpoint::{CheckpointId, RestoredFiles, RewindScope};
use crate::domain::text::{count_noun, join_names, one_line};
use crate::protocol::AgentEvent;
use crate::protocol::event::NoticeLevel;
use crate::ui::transcript::Transcript;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::entry::InsertedEntry;

/// Maximum number of skipped files that the notice names. Of the others, only the number is given.
const SKIPPED_MAX: usize = 5;

impl Transcript {
    /// Applies [`AgentEvent::Rewound`]; does nothing for other events. If the conversation was restored, it takes the place
    /// of all entries. Then adds an entry about the rewind, and a warning if files were skipped.
    pub(super) fn rewind(&mut self, event: &AgentEvent) {
        let AgentEvent::Rewound {
            checkpoint,
            scope,
            files,
            transcript,
            messages,
            shown,
            ..
        } = event
        else {
            return;
        };
        if messages.is_some() {
            self.clear();
            for event in shown {
                self.apply(event);
            }
        }
        let notice = rewind_notice(*checkpoint, *scope, files, *messages, transcript);
        let entry = InsertedEntry::new(&notice, "");
        self.push(CellKind::Injected(Box::new(entry)));
        if let Some(text) = skipped_notice(files) {
            self.push_notice(NoticeLevel::Warn, &text);
        }
    }
}

/// Returns the text of the entry that says that the agent was rewound. `messages` is the number of messages that are left
/// in the conversation, and `transcript` the path of the file with the old conversation.
pub fn rewind_notice(
    checkpoint: CheckpointId,
    scope: RewindScope,
    files: &RestoredFiles,
    messages: Option<u64>,
    transcript: &str,
) -> String {
    let what = match scope {
        RewindScope::Files => "files",
        RewindScope::Conversation => "conversation",
        RewindScope::Both => "files and conversation",
    };
    let mut parts = Vec::new();
    if scope.includes_files() {
        parts.push(format!(
            "{} changed",
            count_noun(files.changed.count, "file")
        ));
    }
    if let Some(left) = messages {
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        parts.push(format!(
            "{} in the conversation",
            count_noun(left, "message")
        ));
    }
    let details = if parts.is_empty() { "" } else { ": " };
    let mut text = format!(
        "{what} rewound to checkpoint {checkpoint}{details}{}",
        parts.join(", ")
    );
    if let Some(undo) = files.undo {
        text.push_str(&format!(". Undo: /rewind, checkpoint {undo}"));
    }
    if !transcript.is_empty() {
        text.push_str(&format!(". Old conversation: {}", one_line(transcript)));
    }
    text
}

/// Returns the warning about files that a rewind has left as they are, with the reasons; `None` if there are none.
pub fn skipped_notice(files: &RestoredFiles) -> Option<String> {
    let skipped = &files.skipped;
    if skipped.is_empty() {
        return None;
    }
    let names: Vec<String> = skipped.paths.iter().map(|path| one_line(path)).collect();
    let names = join_names(&names, SKIPPED_MAX, skipped.count);
    Some(format!("Left unchanged by the rewind: {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn rewound(scope: RewindScope, shown: Option<Vec<AgentEvent>>) -> AgentEvent {
        AgentEvent::Rewound {
            checkpoint: CheckpointId(12),
            scope,
            files: RestoredFiles::default(),
            transcript: String::new(),
            messages: shown.as_ref().map(|shown| shown.len() as u64),
            shown: shown.unwrap_or_default(),
            prompt: String::new(),
        }
    }

    fn texts(events: &[AgentEvent]) -> Vec<String> {
        let mut transcript = Transcript::default();
        let prompts = ["one", "two", "one"].map(AgentEvent::prompt);
        for event in prompts.iter().chain(events) {
            transcript.apply(event);
        }
        let log = &transcript.log;
        (0..log.len()).map(|at| log.cell(at).kind.text()).collect()
    }

    #[test]
    fn rewind_of_files_adds_only_an_entry() {
        let events = [rewound(RewindScope::Files, None)];
        assert_eq!(
            texts(&events)[2..],
            ["one", "files rewound to checkpoint 12: 0 files changed"]
        );
    }

    #[test]
    fn restored_conversation_takes_the_place_of_all_entries() {
        let shown = ["zero", "one"].map(AgentEvent::prompt).to_vec();
        let events = [rewound(RewindScope::Conversation, Some(shown))];
        assert_eq!(
            texts(&events),
            [
                "zero",
                "one",
                "conversation rewound to checkpoint 12: 2 messages in the conversation"
            ]
        );
        let events = [rewound(RewindScope::Conversation, Some(Vec::new()))];
        assert_eq!(texts(&events).len(), 1);
    }
}
