//! The tool calls of a session. Agents report a call in parts; this table merges them.

use std::collections::VecDeque;

use serde_json::Value;

use crate::domain::agent_update::{
    AgentToolCall, AgentToolKind, AgentToolStatus, FileDiff, FileLocation,
};
use crate::domain::redact::{RedactingStream, Redactor};
use crate::domain::text::head_and_tail;

/// Maximum number of calls that a session stores. Before one more is stored, the oldest ended call is dropped. If no
/// call has ended, the oldest call is dropped.
const CALLS_MAX: usize = 128;
/// Maximum size, in bytes, of the texts of all stored calls of a session together. Before it is exceeded, calls are
/// dropped as for `CALLS_MAX`.
const CALLS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Maximum size, in bytes, of the output of a tool call, and of its arguments. Output that arrives in pieces can be
/// twice as long.
pub const CALL_TEXT_MAX: usize = 64 * 1024;

/// What a message of an agent says about a tool call. A field is `None` if the message does not mention it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallChange {
    pub id: String,
    pub title: Option<String>,
    pub kind: Option<AgentToolKind>,
    pub status: Option<AgentToolStatus>,
    pub raw_input: Option<Value>,
    pub locations: Option<Vec<FileLocation>>,
    pub text: Option<String>,
    /// A piece of the output, to be appended to the text. Not redacted.
    pub more_output: Option<String>,
    pub diffs: Option<Vec<FileDiff>>,
    /// Whether the message names files that `locations` and `diffs` lack, for example because there are too many.
    pub has_more_files: bool,
}

/// The calls of a session, oldest first.
#[derive(Default)]
pub struct ToolCallTable {
    calls: VecDeque<TrackedCall>,
    /// The sum of the sizes of the calls, in bytes.
    bytes: usize,
    redactor: Redactor,
}

struct TrackedCall {
    call: AgentToolCall,
    /// The size of the call, in bytes.
    size: usize,
    /// Redacts the output that arrives in pieces.
    output: Option<RedactingStream>,
}

impl ToolCallTable {
    pub fn new(redactor: Redactor) -> ToolCallTable {
        ToolCallTable {
            redactor,
            ..ToolCallTable::default()
        }
    }

    /// Merges `change` into the call with the same id, and returns the call. Creates the call if its id is new. An
    /// empty field of `change` does not replace an earlier value, with one exception: an empty text in the change that
    /// ends the call removes the earlier text, which was not output of the tool. A call that has ended stays ended.
    pub fn merge(&mut self, change: ToolCallChange) -> AgentToolCall {
        let known = self
            .calls
            .iter()
            .position(|entry| entry.call.id == change.id);
        let (mut call, mut output) = match known.and_then(|at| self.remove(at)) {
            Some(entry) => (entry.call, entry.output),
            None => (AgentToolCall::new(change.id), None),
        };
        let ends = change.status.is_some_and(AgentToolStatus::is_final);
        if let Some(title) = change.title.filter(|title| !title.trim().is_empty()) {
            call.title = title;
        }
        if let Some(kind) = change.kind.filter(|kind| *kind != AgentToolKind::Other) {
            call.kind = kind;
        }
        if let Some(status) = change.status
            && (status.is_final() || !call.status.is_final())
        {
            call.status = status;
        }
        if let Some(input) = change.raw_input.filter(|input| !is_empty(input)) {
            call.raw_input = Some(input);
        }
        if let Some(locations) = change.locations.filter(|list| !list.is_empty()) {
            call.locations = locations;
        }
        if let Some(text) = change.text.filter(|text| ends || !text.is_empty()) {
            call.text = text;
        }
        if let Some(piece) = change.more_output {
            let stream = output.get_or_insert_with(|| self.redactor.stream());
            append(&mut call.text, &stream.push_text(&piece));
        }
        if call.status.is_final()
            && let Some(mut stream) = output.take()
        {
            append(&mut call.text, &stream.end_text());
        }
        if let Some(diffs) = change.diffs.filter(|list| !list.is_empty()) {
            call.diffs = diffs;
        }
        call.has_more_files |= change.has_more_files;
        let size = size(&call);
        self.make_room(size);
        self.bytes += size;
        // The order stays that of the first messages, except that dropped calls may have moved the position.
        let at = known.map_or(self.calls.len(), |at| at.min(self.calls.len()));
        let entry = TrackedCall {
            call: call.clone(),
            size,
            output,
        };
        self.calls.insert(at, entry);
        call
    }

    /// Returns the calls that have not ended, and removes all calls.
    pub fn take_open(&mut self) -> Vec<AgentToolCall> {
        self.bytes = 0;
        let calls = std::mem::take(&mut self.calls).into_iter();
        let calls = calls.map(|entry| entry.call);
        calls.filter(|call| !call.status.is_final()).collect()
    }

    fn remove(&mut self, at: usize) -> Option<TrackedCall> {
        let entry = self.calls.remove(at)?;
        self.bytes = self.bytes.saturating_sub(entry.size);
        Some(entry)
    }

    /// Drops calls until a call of `bytes` bytes can be added without exceeding `CALLS_MAX` and `CALLS_BYTES_MAX`.
    fn make_room(&mut self, bytes: usize) {
        while self.calls.len() >= CALLS_MAX || self.bytes + bytes > CALLS_BYTES_MAX {
            let ended = self
                .calls
                .iter()
                .position(|entry| entry.call.status.is_final());
            if self.remove(ended.unwrap_or(0)).is_none() {
                return;
            }
        }
    }
}

/// Appends a piece of output. The middle of a text that becomes too long is left out.
fn append(text: &mut String, piece: &str) {
    text.push_str(piece);
    if text.len() > 2 * CALL_TEXT_MAX {
        *text = head_and_tail(text, CALL_TEXT_MAX);
    }
}

/// Returns whether the arguments of a call are null or empty. Some agents first announce a call with empty arguments.
fn is_empty(input: &Value) -> bool {
    match input {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the approximate size of a call, in bytes.
fn size(call: &AgentToolCall) -> usize {
    let input = call
        .raw_input
        .as_ref()
        .map_or(0, |input| input.to_string().len());
    let diffs = call
        .diffs
        .iter()
        .map(|diff| diff.path.len() + diff.new.len() + diff.old.as_ref().map_or(0, String::len));
    let locations = call.locations.iter().map(|location| location.path.len());
    let texts = call.id.len() + call.title.len() + call.text.len();
    texts + input + diffs.sum::<usize>() + locations.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn change(id: &str) -> ToolCallChange {
        ToolCallChange {
            id: id.into(),
            ..ToolCallChange::default()
        }
    }

    #[test]
    fn partial_updates_are_merged() {
        let mut table = ToolCallTable::default();
        table.merge(ToolCallChange {
            title: Some("Terminal".into()),
            raw_input: Some(json!({})),
            kind: Some(AgentToolKind::Execute),
            ..change("1")
        });
        table.merge(ToolCallChange {
            title: Some("ls".into()),
            raw_input: Some(json!({ "command": "ls" })),
            ..change("1")
        });
        table.merge(ToolCallChange {
            status: Some(AgentToolStatus::InProgress),
            title: Some(String::new()),
            raw_input: Some(Value::Null),
            ..change("1")
        });
        let call = table.merge(ToolCallChange {
            status: Some(AgentToolStatus::Completed),
            text: Some("a.txt".into()),
            ..change("1")
        });
        assert_eq!((call.title.as_str(), call.text.as_str()), ("ls", "a.txt"));
        assert_eq!(call.raw_input, Some(json!({ "command": "ls" })));
        assert_eq!(call.kind, AgentToolKind::Execute);
        let call = table.merge(ToolCallChange {
            status: Some(AgentToolStatus::Pending),
            ..change("1")
        });
        assert_eq!(call.status, AgentToolStatus::Completed);
        assert!(table.take_open().is_empty());
    }

    #[test]
    fn final_text_does_not_remove_the_diff() {
        let mut table = ToolCallTable::default();
        let diff = FileDiff {
            path: "a.txt".into(),
            old: None,
            new: "x".into(),
        };
        table.merge(ToolCallChange {
            diffs: Some(vec![diff.clone()]),
            ..change("1")
        });
        let call = table.merge(ToolCallChange {
            diffs: Some(Vec::new()),
            text: Some("written".into()),
            ..change("1")
        });
        assert_eq!(call.diffs, [diff]);
    }

    #[test]
    fn files_that_were_left_out_stay_noted() {
        let mut table = ToolCallTable::default();
        table.merge(ToolCallChange {
            has_more_files: true,
            ..change("1")
        });
        assert!(table.merge(change("1")).has_more_files);
    }

    #[test]
    fn pieces_of_output_are_appended_and_redacted_across_pieces() {
        let secret = "sk-0123456789abcdef";
        let variables = [("MY_API_KEY".to_string(), secret.to_string())];
        let mut table = ToolCallTable::new(Redactor::new(variables));
        let piece = |text: &str| ToolCallChange {
            more_output: Some(text.into()),
            ..change("1")
        };
        table.merge(piece("one\nkey sk-0123"));
        let call = table.merge(piece("456789abcdef two"));
        assert!(call.text.starts_with("one\nkey "), "{}", call.text);
        let call = table.merge(ToolCallChange {
            status: Some(AgentToolStatus::Completed),
            ..piece(" three")
        });
        assert!(call.text.ends_with(" two three"), "{}", call.text);
        assert!(!call.text.contains("0123"), "{}", call.text);
        for _ in 0..10 {
            let call = table.merge(piece(&"x".repeat(CALL_TEXT_MAX)));
            assert!(call.text.len() <= 2 * CALL_TEXT_MAX);
        }
    }

    #[test]
    fn empty_text_at_the_end_removes_what_was_no_output() {
        let mut table = ToolCallTable::default();
        let text = |text: &str, status| ToolCallChange {
            text: Some(text.into()),
            status: Some(status),
            ..change("1")
        };
        table.merge(text("[in /p]", AgentToolStatus::Pending));
        let call = table.merge(text("", AgentToolStatus::InProgress));
        assert_eq!(call.text, "[in /p]");
        let call = table.merge(text("", AgentToolStatus::Completed));
        assert_eq!(call.text, "");
    }

    #[test]
    fn number_and_size_of_calls_are_bounded() {
        let mut table = ToolCallTable::default();
        for n in 0..3 * CALLS_MAX {
            table.merge(ToolCallChange {
                status: (n % 2 == 1).then_some(AgentToolStatus::Completed),
                ..change(&n.to_string())
            });
        }
        assert!(table.calls.len() <= CALLS_MAX);
        for n in 0..40 {
            table.merge(ToolCallChange {
                text: Some("x".repeat(CALLS_BYTES_MAX / 10)),
                ..change(&n.to_string())
            });
        }
        let sizes = table.calls.iter().map(|entry| size(&entry.call));
        assert_eq!(sizes.sum::<usize>(), table.bytes);
        assert!(table.bytes <= CALLS_BYTES_MAX);
        assert!(table.calls.iter().any(|entry| entry.call.id == "39"));
    }
}
