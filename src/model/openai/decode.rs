//! Decodes the chunks of the Chat Completions API into deltas and a reply. Accepts known deviations of servers from the
//! API. Does no I/O.

use serde_json::{Value, json};

use super::dialect::{Deviation, Dialect};
use super::request::{EXTRA, REASONING};

use crate::domain::chat::{AnswerOrigin, Block, ProviderItem, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::model::http::{SizeLimit, invalid_response};
use crate::model::provider::Decode;
use crate::model::refusal::{abort_error, error_text, is_out_of_credit, is_too_long};
use crate::model::sse::SseEvent;
use crate::model::surrogates::{self, Joiner, Parsed};
use crate::model::{
    Delta, ErrorKind, ModelError, Reply, StopReason, clip_label, parse_input, parse_tokens,
};

/// Maximum number of tool calls in one response. A response with more is rejected.
const CALLS_MAX: usize = 256;

/// Collects the text, thinking, tool calls and token counts of a streamed response until the reply is complete.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The server and the model that send the response. Each [`ProviderItem`] of the reply contains it.
    origin: AnswerOrigin,
    /// Whether the server demands that the reasoning of its model is sent back with the conversation.
    keeps_reasoning: bool,
    text: String,
    text_joiner: Joiner,
    thinking: String,
    thinking_joiner: Joiner,
    calls: Vec<PartialCall>,
    finish: Option<StopReason>,
    usage: Usage,
    size: SizeLimit,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    joiner: Joiner,
    /// Data of the vendor that belongs to the call and must be sent back with it.
    extra: Option<Value>,
}

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done(out);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let Parsed {
            value,
            has_placeholders: has_halves,
        } = surrogates::parse(data).map_err(|_| invalid_response("an event that is not JSON"))?;
        if value.get("error").is_some_and(|e| !e.is_null()) {
            return Err(stream_error(&value));
        }
        if let Some(usage) = value.get("usage") {
            read_usage(&mut self.usage, usage);
        }
        let Some(choice) = value.pointer("/choices/0") else {
            return Ok(());
        };
        // A server that does not stream sends `message` in place of `delta`.
        let delta = choice
            .get("delta")
            .or_else(|| choice.get("message"))
            .unwrap_or(&Value::Null);
        self.delta(delta, has_halves, out)?;
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(stop_reason(finish));
        }
        Ok(())
    }

    fn reply(&mut self) -> Option<Reply> {
        // The reply is built at the end of the stream and not at the finish reason, because the token counts may follow
        // the finish reason.
        let finish = self.finish.take()?;
        Some(self.take_reply(finish))
    }
}

impl Decoder {
    /// Creates a decoder for a response from `origin`. Each [`ProviderItem`] in the reply is marked with `origin`.
    pub fn of(origin: &AnswerOrigin, dialect: Dialect) -> Decoder {
        Decoder {
            origin: origin.clone(),
            keeps_reasoning: dialect.deviation == Deviation::DeepSeek,
            ..Decoder::default()
        }
    }

    /// Completes the reply at the `[DONE]` marker. Does not wait for the end of the stream, because some servers keep
    /// the connection open after the marker. If the server has sent no finish reason, derives one from the content. If
    /// there is no content either, does nothing.
    fn done(&mut self, out: &mut Vec<Delta>) {
        let guessed = if !self.calls.is_empty() {
            Some(StopReason::ToolUse)
        } else if !self.text.is_empty() {
            Some(StopReason::EndTurn)
        } else {
            None
        };
        if let Some(finish) = self.finish.take().or(guessed) {
            let reply = self.take_reply(finish);
            out.push(Delta::Done(reply));
        }
    }

    fn delta(
        &mut self,
        delta: &Value,
        has_halves: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let text = |key: &str| {
            delta
                .get(key)
                .and_then(Value::as_str)
                .filter(|t| !t.is_empty())
        };
        if let Some(thinking) = text(REASONING).or_else(|| text("reasoning")) {
            self.size.add(thinking)?;
            let thinking = self.thinking_joiner.push(thinking, has_halves);
            self.thinking.push_str(&thinking);
            if !thinking.is_empty() {
                out.push(Delta::Thinking(thinking.into()));
            }
        }
        if let Some(content) = text("content").or_else(|| text("refusal")) {
            self.size.add(content)?;
            let content = self.text_joiner.push(content, has_halves);
            self.text.push_str(&content);
            if !content.is_empty() {
                out.push(Delta::Text(content.into()));
            }
        }
        for part in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            self.call(part, has_halves, out)?;
        }
        Ok(())
    }

    /// Adds `part` to the tool call with the same index, or starts a call with this index. If `part` has no index, its
    /// id and name decide:
    ///
    /// - Neither id nor name: `part` continues the last call.
    /// - The id of an earlier call: `part` continues that call.
    /// - Otherwise `part` starts a new call.
    ///
    /// # Errors
    /// Fails if the response contains more than [`CALLS_MAX`] calls or is too large.
    fn call(
        &mut self,
        part: &Value,
        has_halves: bool,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let index = part.get("index").and_then(Value::as_u64);
        let text = |path: &str| {
            part.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (id, name) = (clip_label(text("/id")), clip_label(text("/function/name")));
        let known = match index {
            Some(_) => self.calls.iter().position(|c| c.index == index),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|c| !id.is_empty() && c.id == id),
        };
        let at = match known {
            Some(at) => at,
            None if self.calls.len() < CALLS_MAX => {
                self.calls.push(PartialCall {
                    index,
                    ..PartialCall::default()
                });
                out.push(Delta::ToolCall(name.clone()));
                self.calls.len() - 1
            }
            None => {
                return Err(invalid_response(&format!(
                    "a response with more than {CALLS_MAX} tool calls"
                )));
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = id;
        }
        if let Some(extra) = part.get(EXTRA).filter(|extra| extra.is_object()) {
            self.size.add_bytes(extra.to_string().len())?;
            call.extra = Some(extra.clone());
        }
        // Some servers repeat the name in every part.
        if call.name.is_empty() {
            call.name = name;
        }
        match part.pointer("/function/arguments") {
            Some(Value::String(more)) => {
                self.size.add(more)?;
                let more = call.joiner.push(more, has_halves);
                call.arguments.push_str(&more);
            }
            Some(Value::Null) | None => {}
            Some(object) => {
                let more = object.to_string();
                self.size.add(&more)?;
                call.arguments
                    .push_str(&call.joiner.push(&more, has_halves));
            }
        }
        Ok(())
    }

    fn take_reply(&mut self, finish: StopReason) -> Reply {
        let mut blocks = Vec::new();
        let origin = std::mem::take(&mut self.origin);
        let own = |key: &str, value: Value| {
            Block::ProviderItem(ProviderItem {
                origin: origin.clone(),
                item: json!({ key: value }),
            })
        };
        let mut thinking = std::mem::take(&mut self.thinking);
        thinking.push_str(self.thinking_joiner.end());
        if self.keeps_reasoning && !thinking.is_empty() {
            blocks.push(own(REASONING, thinking.as_str().into()));
        }
        if !thinking.is_empty() {
            blocks.push(Block::Thinking {
                text: thinking,
                signature: None,
                origin: None,
            });
        }
        let mut text = std::mem::take(&mut self.text);
        text.push_str(self.text_joiner.end());
        if !text.is_empty() {
            blocks.push(Block::Text { text });
        }
        for mut call in std::mem::take(&mut self.calls) {
            call.arguments.push_str(call.joiner.end());
            let (input, broken) = parse_input(&call.arguments);
            blocks.extend(call.extra.map(|extra| own(EXTRA, extra)));
            blocks.push(Block::ToolCall(ToolCall {
                id: CallId(call.id),
                name: call.name,
                input,
                broken,
            }));
        }
        Reply {
            blocks,
            stop: finish,
            usage: self.usage,
        }
    }
}

/// Parses a complete response from a server that did not stream, although the request asked for a stream. `decoder`
/// must be new.
///
/// # Errors
/// Fails if `value` is an error object, contains no choices or exceeds a limit.
pub fn parse_completion(mut decoder: Decoder, value: &Value) -> Result<Reply, ModelError> {
    let event = SseEvent {
        name: String::new(),
        data: value.to_string(),
    };
    decoder.event(&event, &mut Vec::new())?;
    if value.pointer("/choices/0").is_none() {
        return Err(invalid_response("a response without choices"));
    }
    let finish = decoder.finish.take().unwrap_or(StopReason::EndTurn);
    Ok(decoder.take_reply(finish))
}

fn stop_reason(text: &str) -> StopReason {
    match text {
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(clip_label(other)),
    }
}

fn read_usage(usage: &mut Usage, value: &Value) {
    let count = |path: &str| parse_tokens(value.pointer(path));
    let cached = count("/prompt_tokens_details/cached_tokens").unwrap_or(0);
    if let Some(prompt) = count("/prompt_tokens") {
        usage.cache_read = cached.min(prompt);
        usage.input = prompt - usage.cache_read;
    }
    if let Some(output) = count("/completion_tokens") {
        usage.output = output;
    }
}

/// Converts an error that the server sent in a response with status 200.
fn stream_error(value: &Value) -> ModelError {
    let text = error_text(value);
    let lower = text.to_lowercase();
    let code = value.pointer("/error/code").and_then(Value::as_u64);
    let fault = match code {
        _ if is_too_long(&lower) => ErrorKind::ContextTooLong,
        _ if is_out_of_credit(&lower) => ErrorKind::Auth,
        _ if lower.contains("rate limit") || lower.contains("rate_limit") => ErrorKind::RateLimited,
        Some(429) => ErrorKind::RateLimited,
        Some(401 | 403) => ErrorKind::Auth,
        Some(404) => ErrorKind::UnknownModel,
        Some(408 | 409) => ErrorKind::Timeout,
        Some(400..=499) => ErrorKind::BadRequest,
        Some(_) | None => ErrorKind::Server,
    };
    abort_error(fault, &text)
}
