//! What a model said: whole, or as far as it has come.

use serde_json::Value;

use super::cell::Fold;
use super::kept::Kept;
use super::markdown::{Piece, Pieces};

/// Most places at which an answer is looked through for a tool call.
const LOOKS_MAX: usize = 16;

/// An answer.
#[derive(Debug, Default)]
pub struct Answer {
    /// Its words.
    pub text: Kept,
    /// What was thought before.
    pub thinking: Kept,
    /// How long that took, in milliseconds; 0 where it is not known.
    pub thought_ms: u64,
    /// Whether the thoughts are shown.
    pub fold: Fold,
    /// How far it has come.
    pub progress: Stream,
    /// Tells its words from those of every other answer of the transcript: what is drawn of them is known
    /// by it. Answers of the same words may have the same.
    pub origin: u64,
    pieces: Pieces,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stream {
    /// More may come.
    #[default]
    Open,
    /// It is whole, or nothing more comes.
    Closed,
    /// It is whole, and a tool call stands in it as text.
    ClosedWithCall,
}

impl Answer {
    /// An answer whose first words come now.
    pub fn begun(origin: u64) -> Answer {
        Answer {
            origin,
            ..Answer::default()
        }
    }

    /// An answer that is whole. Its origin is still to be given.
    pub fn whole(text: &str, thinking: &str) -> Answer {
        let mut out = Answer::default();
        out.think(thinking);
        out.say(text);
        out.progress = if holds_call(text) {
            Stream::ClosedWithCall
        } else {
            Stream::Closed
        };
        out
    }

    /// More words.
    pub fn say(&mut self, more: &str) {
        let before = self.text.epoch();
        self.text.push(more);
        if self.text.epoch() != before {
            self.pieces = Pieces::default();
        }
        self.pieces.read(self.text.as_str());
    }

    /// More thoughts.
    pub fn think(&mut self, more: &str) {
        self.thinking.push(more);
    }

    /// Nothing more comes.
    pub fn close(&mut self) {
        if self.progress == Stream::Open {
            self.progress = Stream::Closed;
        }
    }

    /// Whether there is nothing to see of it.
    pub fn is_blank(&self) -> bool {
        self.text.is_blank() && self.thinking.is_blank()
    }

    /// The pieces of its words that are drawn one by one.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.pieces.of(self.text.as_str())
    }
}

/// Whether a text holds what should have been a tool call: some servers' chat templates let models write
/// calls as JSON, bare or in tags. Only what begins a line counts; talk about calls does not.
pub fn holds_call(text: &str) -> bool {
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
        // A list of calls opens with a bracket.
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
    fn calls_in_a_text_are_found_and_talk_about_them_is_not() {
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
            assert_eq!(holds_call(text), expected, "{text}");
        }
    }

    #[test]
    fn many_braces_cost_little() {
        assert!(!holds_call(&"{\n".repeat(100_000)));
        assert!(!holds_call(&"{\"a\":".repeat(40_000)));
    }
}
