//! Decodes the events of the Anthropic Messages API into deltas and a reply. Accepts known deviations of servers from
//! the API. Does no I/O.

use serde_json::{Map, Value};

use crate::domain::chat::{AnswerOrigin, Block, ProviderItem, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::model::http::{SizeLimit, invalid_response};
use crate::model::provider::Decode;
use crate::model::refusal::{abort_error, error_text, is_too_long};
use crate::model::sse::SseEvent;
use crate::model::surrogates::{self, Joiner, Parsed};
use crate::model::{
    Delta, ErrorKind, ModelError, Reply, StopReason, clip_label, parse_input, parse_tokens,
};

/// Maximum number of content blocks in one response. A response with more is rejected.
const BLOCKS_MAX: usize = 1024;

/// Collects the blocks, token counts and stop reason of a streamed response until the reply is complete.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The server and the model that send the response. Signed and encrypted thinking in the reply is marked with it.
    origin: AnswerOrigin,
    blocks: Vec<OpenBlock>,
    stop: Option<StopReason>,
    usage: Usage,
    size: SizeLimit,
}

/// A content block of the response. [`Decoder`] adds it at its start event, and keeps it after its stop event.
#[derive(Debug)]
struct OpenBlock {
    index: u64,
    part: BlockContent,
    /// Joins surrogate pairs in the block's text or input that are split between two events.
    joiner: Joiner,
    /// Whether the stop event of the block was received. After it, [`Decoder::is_repeat`] treats a start event with the
    /// same index as the start of a new block, except for a tool call whose id was already received.
    is_closed: bool,
}

#[derive(Debug)]
enum BlockContent {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    /// A `redacted_thinking` block, unchanged. It contains encrypted thinking that only the server can read.
    Redacted(Value),
    /// A block of an unknown type, which is dropped.
    Other,
}

/// The `type` of a content block with encrypted thinking, which only the server can read.
pub const REDACTED: &str = "redacted_thinking";

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if event.data.is_empty() || event.data == "[DONE]" {
            return Ok(());
        }
        let Parsed {
            value,
            has_placeholders: has_halves,
        } = surrogates::parse(&event.data)
            .map_err(|_| invalid_response("an event that is not JSON"))?;
        let kind = value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or(&event.name);
        match kind {
            "message_start" => {
                if let Some(usage) = value.pointer("/message/usage") {
                    read_usage(&mut self.usage, usage);
                }
            }
            "content_block_start" => self.start(&value, has_halves, out)?,
            "content_block_delta" => self.delta(&value, has_halves, out)?,
            "content_block_stop" => {
                let index = index(&value);
                if let Some(open) = self.blocks.iter_mut().rev().find(|b| b.index == index) {
                    open.is_closed = true;
                }
            }
            "message_delta" => {
                if let Some(stop) = value.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop = Some(stop_reason(stop));
                }
                if let Some(usage) = value.get("usage") {
                    read_usage(&mut self.usage, usage);
                }
            }
            "message_stop" => {
                let reply = self.take_reply();
                out.push(Delta::Done(reply));
            }
            "error" => return Err(stream_error(&value)),
            // Ignores `ping` and unknown events.
            _ => {}
        }
        Ok(())
    }

    fn reply(&mut self) -> Option<Reply> {
        // The closing event has already produced the reply. If no such event arrived, the response is incomplete.
        None
    }
}

impl Decoder {
    /// Creates a decoder for a response from `origin`. Signed and encrypted thinking in the reply is marked with
    /// `origin`, because only that server and model can read or check it.
    pub fn of(origin: &AnswerOrigin) -> Decoder {
        Decoder {
            origin: origin.clone(),
            ..Decoder::default()
        }
    }

    fn start(
        &mut self,
        value: &Value,
        has_halves: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        if self.blocks.len() >= BLOCKS_MAX {
            return Err(invalid_response(&format!(
                "a response with more than {BLOCKS_MAX} blocks"
            )));
        }
        let block = value.get("content_block").unwrap_or(&Value::Null);
        if self.is_repeat(index(value), block) {
            return Ok(());
        }
        let text = |key: &str| {
            block
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_string()
        };
        let mut joiner = Joiner::default();
        let part = match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let first = joiner.push(&text("text"), has_halves).into_owned();
                if !first.is_empty() {
                    out.push(Delta::Text(first.clone()));
                }
                BlockContent::Text(first)
            }
            Some("thinking") => BlockContent::Thinking {
                text: joiner.push(&text("thinking"), has_halves).into_owned(),
                signature: text("signature"),
            },
            Some("tool_use") => {
                let name = clip_label(&text("name"));
                out.push(Delta::ToolCall(name.clone()));
                let input = block
                    .get("input")
                    .cloned()
                    .unwrap_or_else(|| Value::Object(Map::new()));
                BlockContent::Call {
                    id: clip_label(&text("id")),
                    name,
                    input,
                    json: String::new(),
                }
            }
            Some(REDACTED) => BlockContent::Redacted(block.clone()),
            Some(_) | None => BlockContent::Other,
        };
        self.size.add(&block.to_string())?;
        self.blocks.push(OpenBlock {
            index: index(value),
            part,
            joiner,
            is_closed: false,
        });
        Ok(())
    }

    /// Returns whether the start event of a content block repeats one that was already received. A proxy may send an
    /// event twice, but the tool call in it must run only once. The index alone does not identify a block, because some
    /// servers number all blocks 0.
    fn is_repeat(&self, index: u64, block: &Value) -> bool {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        self.blocks.iter().any(|open| {
            let is_open = open.index == index && !open.is_closed;
            match (&open.part, text("type")) {
                (BlockContent::Call { id, .. }, "tool_use") if !id.is_empty() => {
                    *id == clip_label(text("id"))
                }
                (BlockContent::Call { .. }, "tool_use") => is_open && text("id").is_empty(),
                (BlockContent::Text(_), "text")
                | (BlockContent::Thinking { .. }, "thinking")
                | (BlockContent::Redacted(_), REDACTED) => is_open,
                (
                    BlockContent::Call { .. }
                    | BlockContent::Text(_)
                    | BlockContent::Thinking { .. }
                    | BlockContent::Redacted(_)
                    | BlockContent::Other,
                    _,
                ) => false,
            }
        })
    }

    fn delta(
        &mut self,
        value: &Value,
        has_halves: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let index = index(value);
        let delta = value.get("delta").unwrap_or(&Value::Null);
        let more = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(open) = self.blocks.iter_mut().rev().find(|b| b.index == index) else {
            return Ok(());
        };
        for key in ["text", "thinking", "signature", "partial_json"] {
            self.size.add(more(key))?;
        }
        match &mut open.part {
            BlockContent::Text(text) => {
                let more = open.joiner.push(more("text"), has_halves);
                text.push_str(&more);
                if !more.is_empty() {
                    out.push(Delta::Text(more.into()));
                }
            }
            BlockContent::Thinking { text, signature } => {
                let thinking = open.joiner.push(more("thinking"), has_halves);
                text.push_str(&thinking);
                signature.push_str(more("signature"));
                if !thinking.is_empty() {
                    out.push(Delta::Thinking(thinking.into()));
                }
            }
            BlockContent::Call { json, .. } => {
                json.push_str(&open.joiner.push(more("partial_json"), has_halves));
            }
            BlockContent::Redacted(_) | BlockContent::Other => {}
        }
        Ok(())
    }

    fn take_reply(&mut self) -> Reply {
        let parts = std::mem::take(&mut self.blocks);
        let blocks: Vec<Block> = parts
            .into_iter()
            .filter_map(|open| block(open.part, open.joiner, &self.origin))
            .collect();
        let calls = blocks.iter().any(|b| matches!(b, Block::ToolCall(_)));
        let fallback = if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        };
        Reply {
            blocks,
            stop: self.stop.take().unwrap_or(fallback),
            usage: self.usage,
        }
    }
}

fn block(part: BlockContent, mut joiner: Joiner, origin: &AnswerOrigin) -> Option<Block> {
    match part {
        BlockContent::Text(mut text) => {
            text.push_str(joiner.end());
            (!text.is_empty()).then_some(Block::Text { text })
        }
        BlockContent::Thinking {
            mut text,
            signature,
        } => {
            text.push_str(joiner.end());
            let signature = (!signature.is_empty()).then_some(signature);
            let origin = signature.is_some().then(|| origin.clone());
            Some(Block::Thinking {
                text,
                signature,
                origin,
            })
        }
        BlockContent::Call {
            id,
            name,
            input,
            mut json,
        } => {
            json.push_str(joiner.end());
            let (input, broken) = if json.trim().is_empty() {
                (input, None)
            } else {
                parse_input(&json)
            };
            Some(Block::ToolCall(ToolCall {
                id: CallId(id),
                name,
                input,
                broken,
            }))
        }
        BlockContent::Redacted(item) => Some(Block::ProviderItem(ProviderItem {
            origin: origin.clone(),
            item,
        })),
        BlockContent::Other => None,
    }
}

/// Parses a complete message from a server that did not stream, although the request asked for a stream. `decoder` must
/// be new.
///
/// # Errors
/// Fails if `value` is an error or has no content, or if the content exceeds a limit.
pub fn parse_message(mut decoder: Decoder, value: &Value) -> Result<Reply, ModelError> {
    if value.get("type").and_then(Value::as_str) == Some("error") || value.get("error").is_some() {
        return Err(stream_error(value));
    }
    let content = value.get("content").and_then(Value::as_array);
    let content = content.ok_or_else(|| invalid_response("a response without content"))?;
    for (at, block) in content.iter().enumerate() {
        let start = serde_json::json!({"index": at, "content_block": block});
        decoder.start(&start, false, &mut Vec::new())?;
    }
    if let Some(usage) = value.get("usage") {
        read_usage(&mut decoder.usage, usage);
    }
    decoder.stop = value
        .get("stop_reason")
        .and_then(Value::as_str)
        .map(stop_reason);
    Ok(decoder.take_reply())
}

fn index(value: &Value) -> u64 {
    value.get("index").and_then(Value::as_u64).unwrap_or(0)
}

fn stop_reason(text: &str) -> StopReason {
    match text {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextExceeded,
        other => StopReason::Other(clip_label(other)),
    }
}

fn read_usage(usage: &mut Usage, value: &Value) {
    for (key, slot) in [
        ("input_tokens", &mut usage.input),
        ("output_tokens", &mut usage.output),
        ("cache_read_input_tokens", &mut usage.cache_read),
        ("cache_creation_input_tokens", &mut usage.cache_write),
    ] {
        if let Some(count) = parse_tokens(value.get(key)) {
            *slot = count;
        }
    }
}

/// Converts an error that the server sent in a response with status 200.
fn stream_error(value: &Value) -> ModelError {
    let text = error_text(value);
    let lower = text.to_lowercase();
    let kind = value
        .pointer("/error/type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fault = match kind {
        "overloaded_error" | "api_error" | "server_error" => ErrorKind::Server,
        "timeout_error" => ErrorKind::Timeout,
        "rate_limit_error" => ErrorKind::RateLimited,
        "authentication_error" | "permission_error" => ErrorKind::Auth,
        "not_found_error" => ErrorKind::UnknownModel,
        _ if is_too_long(&lower) => ErrorKind::ContextTooLong,
        "" => ErrorKind::Server,
        _ => ErrorKind::BadRequest,
    };
    abort_error(fault, &text)
}
