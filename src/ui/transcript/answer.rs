//! An answer of a model, either complete or the part that was streamed so far.

use serde_json::Value;

use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::head_tail_text::HeadTailText;
use crate::ui::transcript::markdown::{Piece, Pieces};

/// Maximum number of lines of a text at which the search for a tool call tries to parse JSON.
const LOOKS_MAX: usize = 16;

#[derive(Debug, Default)]
pub struct Answer {
    pub text: HeadTailText,
    /// What the model thought before it wrote `text`; may be empty.
    pub thinking: HeadTailText,
    /// How long the model thought, in milliseconds; 0 if unknown.
    pub thought_ms: u64,
    /// Whether the thinking is shown as one line (folded) or completely.
    pub fold: Fold,
    pub progress: StreamState,
    /// Identifies the text of this answer within the transcript. A part of the key of cached layouts. Two answers may
    /// have the same `origin` only if their texts are equal.
    pub origin: u64,
    pieces: Pieces,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamState {
    /// The answer is streamed, and more text may arrive.
    #[default]
    Open,
    /// The answer is complete or was cut off.
    Closed,
    /// The answer is complete and contains a tool call that the model wrote as text, so that it was not run.
    ClosedWithCall,
}

impl Answer {
    /// Creates an empty answer that will be streamed.
    pub fn streaming(origin: u64) -> Answer {
        Answer {
            origin,
            ..Answer::default()
        }
    }

    /// Creates a complete answer. The caller must set `origin`.
    pub fn complete(text: &str, thinking: &str) -> Answer {
        let mut out = Answer::default();
        out.push_thinking(thinking);
        out.push_text(text);
        out.progress = if contains_tool_call(text) {
            StreamState::ClosedWithCall
        } else {
            StreamState::Closed
        };
        out
    }

    /// Appends text to the answer and updates its [`Piece`]s. If [`HeadTailText`] cuts the middle of the text because
    /// it is too long, computes all pieces again.
    pub fn push_text(&mut self, more: &str) {
        let before = self.text.epoch();
        self.text.push(more);
        if self.text.epoch() != before {
            self.pieces = Pieces::default();
        }
        self.pieces.read(self.text.as_str());
    }

    pub fn push_thinking(&mut self, more: &str) {
        self.thinking.push(more);
    }

    /// Marks a streamed answer as ended. Does not change an answer that has already ended.
    pub fn close(&mut self) {
        if self.progress == StreamState::Open {
            self.progress = StreamState::Closed;
        }
    }

    /// Returns whether the answer has neither text nor thinking.
    pub fn is_blank(&self) -> bool {
        self.text.is_blank() && self.thinking.is_blank()
    }

    /// Returns the parts of the text that are laid out separately.
    pub fn pieces(&self) -> Vec<Piece> {
        self.pieces.of(self.text.as_str())
    }
}

/// Returns whether a text contains a tool call. With some chat templates, models write calls into the text of an answer
/// as JSON, alone or in tags. A call counts only at the start of a line, so that a sentence that mentions a call does
/// not count. Incomplete JSON does not count, and of the lines that begin with `{` or `[{` only the first `LOOKS_MAX`
/// are examined.
pub fn contains_tool_call(text: &str) -> bool {
    const TAGS: [&str; 4] = [
        "<tool_call>",
        "<function=",
        "<|python_tag|>",
        "[TOOL_CALLS]",
    ];
    let mut at = 0;
    let mut looks = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if TAGS.iter().any(|tag| content.starts_with(tag)) {
            return true;
        }
        // A list of calls begins with a bracket.
        let object = content.strip_prefix('[').unwrap_or(content).trim_start();
        if object.starts_with('{') && looks < LOOKS_MAX {
            looks += 1;
            if is_call(&text[at + line.len() - object.len()..]) {
                return true;
            }
        }
        at += line.len();
    }
    false
}

fn is_call(text: &str) -> bool {
    let Some(Ok(Value::Object(fields))) = serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .next()
    else {
        return false;
    };
    let fields = match fields.get("function") {
        Some(Value::Object(inner)) => inner,
        Some(_) | None => &fields,
    };
    let has_input = ["arguments", "parameters"]
        .iter()
        .filter_map(|name| fields.get(*name))
        .any(|v| v.is_object() || v.is_string());
    fields.get("name").is_some_and(Value::is_string) && has_input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_calls_but_not_text_about_calls() {
        let cases = [
            (r#"{"name": "bash", "arguments": {"command": "ls"}}"#, true),
            (
                "I run it:\n```json\n{\n  \"name\": \"bash\",\n  \"arguments\": {}\n}\n```",
                true,
            ),
            (r#"{"name": "x", "parameters": "{}"} and more"#, true),
            (r#"[{"name": "x", "arguments": {}}]"#, true),
            (
                r#"{"type": "function", "function": {"name": "x", "arguments": {}}}"#,
                true,
            ),
            ("<tool_call>\n{\"name\"", true),
            ("Text.\n  <function=bash>", true),
            ("", false),
            ("the name is add, its arguments are {a, b}", false),
            ("a `<tool_call>` tag", false),
            (r#"as in {"name": "x", "arguments": {}}"#, false),
            (r#"{"name": "crewdeck", "version": "0.1.0"}"#, false),
            (r#"{"name": "bash", "arguments": {"comm"#, false),
        ];
        for (text, expected) in cases {
            assert_eq!(contains_tool_call(text), expected, "{text}");
        }
    }

    #[test]
    fn many_braces_cost_little() {
        assert!(!contains_tool_call(&"{\n".repeat(100_000)));
        assert!(!contains_tool_call(&"{\"a\":".repeat(40_000)));
    }
}
