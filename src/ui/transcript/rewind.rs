//! Shows in a transcript that the agent was rewound to a checkpoint.

use crate::domain::checkpoint::{CheckpointId, RestoredFiles, RewindScope};
use crate::domain::text::{count_noun, head_and_tail, join_names, one_line};
use crate::protocol::AgentEvent;
use crate::protocol::event::NoticeLevel;
use crate::ui::transcript::Transcript;
use crate::ui::transcript::apply::PROMPT_MAX;
use crate::ui::transcript::cell::CellKind;
use crate::ui::transcript::entry::InsertedEntry;

/// Maximum number of skipped files that the notice names. Of the others, only the number is given.
const SKIPPED_MAX: usize = 5;

impl Transcript {
    /// Applies [`AgentEvent::Rewound`]; does nothing for other events. If the rewind has emptied the conversation, removes
    /// all entries. If it has removed a prompt, marks the place of that prompt, from which on the entries are no longer
    /// part of the conversation. Then adds an entry about the rewind, and a warning if files were skipped.
    pub(super) fn rewind(&mut self, event: &AgentEvent) {
        let AgentEvent::Rewound {
            checkpoint,
            scope,
            files,
            transcript,
            messages,
            prompt,
        } = event
        else {
            return;
        };
        match messages {
            Some(0) => self.clear(),
            Some(_) => self.mark_removed(prompt, *checkpoint),
            None => {}
        }
        let notice = rewind_notice(*checkpoint, *scope, files, *messages, transcript);
        let entry = InsertedEntry::new(&notice, "");
        self.push(CellKind::Injected(Box::new(entry)));
        if let Some(text) = skipped_notice(files) {
            self.push_notice(NoticeLevel::Warn, &text);
        }
    }

    /// Replaces the last prompt with the text `prompt` by a mark that says that the conversation was removed from there
    /// on. Opening the mark shows the prompt. Does nothing if there is no such prompt.
    fn mark_removed(&mut self, prompt: &str, checkpoint: CheckpointId) {
        let wanted = head_and_tail(prompt, PROMPT_MAX);
        let is_wanted = |number: &u64| match self.kind(*number) {
            Some(CellKind::Prompt(text, _)) => !wanted.is_empty() && *text == wanted,
            _ => false,
        };
        let found = self.log.prompts().rev().find(is_wanted);
        if let Some(number) = found {
            let what = format!("removed from here on by the rewind to checkpoint {checkpoint}");
            let entry = InsertedEntry::new(&what, &wanted);
            self.log.change(number, |kind| {
                *kind = CellKind::Injected(Box::new(entry));
            });
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
            "{} left, later ones removed",
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

    fn rewound(scope: RewindScope, messages: Option<u64>, prompt: &str) -> AgentEvent {
        AgentEvent::Rewound {
            checkpoint: CheckpointId(12),
            scope,
            files: RestoredFiles::default(),
            transcript: String::new(),
            messages,
            prompt: prompt.into(),
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
        let events = [rewound(RewindScope::Files, None, "")];
        assert_eq!(
            texts(&events)[2..],
            ["one", "files rewound to checkpoint 12: 0 files changed"]
        );
    }

    #[test]
    fn last_prompt_with_the_text_becomes_the_mark() {
        let events = [rewound(RewindScope::Conversation, Some(1), "one")];
        let expected = [
            "one",
            "two",
            "removed from here on by the rewind to checkpoint 12\none",
            "conversation rewound to checkpoint 12: 1 message left, later ones removed",
        ];
        assert_eq!(texts(&events), expected);
        let unknown = [rewound(RewindScope::Conversation, Some(1), "three")];
        assert_eq!(texts(&unknown)[..3], ["one", "two", "one"]);
    }

    #[test]
    fn emptied_conversation_begins_with_the_rewind() {
        let events = [rewound(RewindScope::Both, Some(0), "one")];
        let expected = "files and conversation rewound to checkpoint 12: 0 files changed, 0 messages left, later ones removed";
        assert_eq!(texts(&events), [expected]);
    }
}
