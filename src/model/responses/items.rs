//! The output items of a streamed response: messages, reasoning and function calls. Does no I/O.

use serde_json::{Value, json};

use crate::domain::chat::{AnswerOrigin, Block, ProviderItem, ToolCall};
use crate::domain::ids::CallId;
use crate::model::surrogates::Joiner;
use crate::model::{Delta, clip_label, parse_input};

// The types of the items that crewdeck reads.
pub const MESSAGE: &str = "message";
pub const REASONING: &str = "reasoning";
pub const CALL: &str = "function_call";

/// Converts a part of an item's text to a delta.
type ToDelta = fn(String) -> Delta;

/// One item of a response's `output`.
#[derive(Debug)]
pub struct OutputItem {
    /// The position in `output`; `None` if the server sent none.
    pub index: Option<u64>,
    /// The item's id; may be empty.
    pub id: String,
    pub content: ItemContent,
    /// Whether the complete item was received.
    pub is_complete: bool,
    joiner: Joiner,
}

#[derive(Debug)]
pub enum ItemContent {
    Message {
        text: String,
        /// The field `phase`, with which newer models state the role of the message within the turn. They expect the
        /// field to be sent back with the message.
        phase: Option<String>,
    },
    Reasoning {
        /// The summary of the reasoning, or the reasoning itself if the server sends it unencrypted.
        text: String,
        /// The complete item as the server sent it, if it contains encrypted reasoning, else `None`. It is sent back
        /// with the conversation. An item without encrypted reasoning cannot be sent back, because the server has not
        /// stored it.
        encrypted: Option<Value>,
    },
    Call {
        call: String,
        name: String,
        arguments: String,
    },
    /// An item of an unknown type, which is dropped.
    Other,
}

impl OutputItem {
    /// Creates the item that `value` describes, without its content, which comes later in deltas or in the complete
    /// item.
    pub fn new(index: Option<u64>, id: String, value: &Value) -> OutputItem {
        let content = match field(value, "type") {
            MESSAGE => ItemContent::Message {
                text: String::new(),
                phase: None,
            },
            REASONING => ItemContent::Reasoning {
                text: String::new(),
                encrypted: None,
            },
            CALL => ItemContent::Call {
                call: clip_label(field(value, "call_id")),
                name: clip_label(field(value, "name")),
                arguments: String::new(),
            },
            _ => ItemContent::Other,
        };
        OutputItem {
            index,
            id,
            content,
            is_complete: false,
            joiner: Joiner::default(),
        }
    }

    /// Returns the type of the item; empty if it is unknown.
    pub fn kind(&self) -> &'static str {
        match &self.content {
            ItemContent::Message { .. } => MESSAGE,
            ItemContent::Reasoning { .. } => REASONING,
            ItemContent::Call { .. } => CALL,
            ItemContent::Other => "",
        }
    }

    /// Appends `more` to the text, the reasoning or the arguments of the item. `kind` is the item type to which `more`
    /// belongs. Ignores `more` if this item has another type or is already complete. Returns the appended text as a
    /// delta; `None` for arguments, or if nothing was appended. `has_halves` says whether the event with `more`
    /// contains placeholders for lone surrogates (`Parsed::has_placeholders`).
    pub fn push(&mut self, more: &str, has_halves: bool, kind: &str) -> Option<Delta> {
        if self.is_complete {
            return None;
        }
        let (target, delta): (_, Option<ToDelta>) = match (&mut self.content, kind) {
            (ItemContent::Message { text, .. }, MESSAGE) => (text, Some(Delta::Text)),
            (ItemContent::Reasoning { text, .. }, REASONING) => (text, Some(Delta::Thinking)),
            (ItemContent::Call { arguments, .. }, CALL) => (arguments, None),
            _ => return None,
        };
        let more = self.joiner.push(more, has_halves).into_owned();
        target.push_str(&more);
        delta.filter(|_| !more.is_empty()).map(|delta| delta(more))
    }

    /// Begins the next part of the reasoning summary. Appends an empty line and returns it as a delta. Returns `None`
    /// for the first part, for a complete item and for other types of items.
    pub fn begin_summary_part(&mut self) -> Option<Delta> {
        match &mut self.content {
            ItemContent::Reasoning { text, .. } if !self.is_complete && !text.is_empty() => {
                text.push_str(PART_END);
                Some(Delta::Thinking(PART_END.into()))
            }
            _ => None,
        }
    }

    /// Replaces the content by the content of the complete item `value`. Returns what no earlier delta contained: the
    /// rest of the text or reasoning, or the name of the tool call. Returns `None` if there is nothing new to show.
    pub fn complete(&mut self, value: &Value) -> Option<Delta> {
        self.is_complete = true;
        match &mut self.content {
            ItemContent::Message { text, phase } => {
                let part = |part: &Value| match field(part, "type") {
                    "refusal" => field(part, "refusal").to_string(),
                    _ => field(part, "text").to_string(),
                };
                *phase = Some(clip_label(field(value, "phase"))).filter(|p| !p.is_empty());
                replace(text, &mut self.joiner, texts(value, "content", part, "")).map(Delta::Text)
            }
            ItemContent::Reasoning { text, encrypted } => {
                *encrypted = (!field(value, "encrypted_content").is_empty()).then(|| value.clone());
                let part = |part: &Value| field(part, "text").to_string();
                let summary = texts(value, "summary", part, PART_END);
                let whole = if summary.is_empty() {
                    texts(value, "content", part, PART_END)
                } else {
                    summary
                };
                replace(text, &mut self.joiner, whole).map(Delta::Thinking)
            }
            ItemContent::Call {
                call,
                name,
                arguments,
            } => {
                let had_name = !name.is_empty();
                for (label, key) in [(call, "call_id"), (&mut *name, "name")] {
                    let sent = clip_label(field(value, key));
                    if !sent.is_empty() {
                        *label = sent;
                    }
                }
                let whole = match value.get("arguments") {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => String::new(),
                    Some(object) => object.to_string(),
                };
                replace(arguments, &mut self.joiner, whole);
                (!had_name).then(|| Delta::ToolCall(name.clone()))
            }
            ItemContent::Other => None,
        }
    }

    /// Returns the size of the content in bytes.
    pub fn size(&self) -> usize {
        match &self.content {
            ItemContent::Message { text, .. } => text.len(),
            ItemContent::Reasoning { text, encrypted } => {
                let encrypted = encrypted.as_ref().map(|item| item.to_string().len());
                text.len() + encrypted.unwrap_or(0)
            }
            ItemContent::Call { arguments, .. } => arguments.len(),
            ItemContent::Other => 0,
        }
    }

    /// Converts the item to blocks. Each `ProviderItem` among them is marked with `origin`, the server and model that
    /// sent the item.
    pub fn into_blocks(mut self, origin: &AnswerOrigin) -> Vec<Block> {
        let end = self.joiner.end();
        let own = |item: Value| {
            Block::ProviderItem(ProviderItem {
                origin: origin.clone(),
                item,
            })
        };
        match self.content {
            ItemContent::Message { text, phase } => {
                let text = text + end;
                let phase = phase.filter(|_| !text.is_empty());
                let phase = phase.map(|phase| own(json!({"type": MESSAGE, "phase": phase})));
                let text = (!text.is_empty()).then_some(Block::Text { text });
                phase.into_iter().chain(text).collect()
            }
            ItemContent::Reasoning { text, encrypted } => {
                let text = text + end;
                let thinking = (!text.is_empty()).then_some(Block::Thinking {
                    text,
                    signature: None,
                    origin: None,
                });
                thinking.into_iter().chain(encrypted.map(own)).collect()
            }
            ItemContent::Call {
                call,
                name,
                arguments,
            } => {
                let (input, broken) = parse_input(&(arguments + end));
                vec![Block::ToolCall(ToolCall {
                    id: CallId(call),
                    name,
                    input,
                    broken,
                })]
            }
            ItemContent::Other => Vec::new(),
        }
    }
}

/// The text between two parts of a reasoning summary.
pub const PART_END: &str = "\n\n";

/// Replaces `current`, the text from the deltas, by `whole`, the complete text. If `whole` is empty, the server has
/// left it out, and `current` stays. Returns the end of `whole` that follows `current`; `None` if nothing follows or
/// `whole` does not begin with `current`.
fn replace(current: &mut String, joiner: &mut Joiner, whole: String) -> Option<String> {
    if whole.is_empty() {
        return None;
    }
    let rest = whole.strip_prefix(current.as_str()).map(str::to_string);
    *joiner = Joiner::default();
    *current = whole;
    rest.filter(|rest| !rest.is_empty())
}

/// Joins the texts of the elements of the list `key` in `value`. `part` returns the text of one element.
fn texts(value: &Value, key: &str, part: impl Fn(&Value) -> String, separator: &str) -> String {
    let parts = value.get(key).and_then(Value::as_array);
    let parts: Vec<String> = parts.into_iter().flatten().map(part).collect();
    parts.join(separator)
}

fn field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
