//! Decodes the events of the OpenAI Responses API into deltas and a reply. Accepts known deviations of servers from the
//! API. Does no I/O.

use serde_json::{Value, json};

use super::items::{CALL, ItemContent, MESSAGE, OutputItem, PART_END, REASONING};
use crate::domain::chat::{AnswerOrigin, Block};
use crate::domain::usage::Usage;
use crate::model::http::{SizeLimit, invalid_response};
use crate::model::provider::Decode;
use crate::model::refusal::{abort_error, error_text, is_out_of_credit, is_too_long};
use crate::model::sse::SseEvent;
use crate::model::surrogates;
use crate::model::{Delta, ErrorKind, ModelError, Reply, StopReason, clip_label, parse_tokens};

/// Maximum number of output items in one response. A response with more is rejected.
const ITEMS_MAX: usize = 1024;

/// Collects the output items of a streamed response until the event that completes it.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The server and the model that send the response. Each `ProviderItem` of the reply contains it.
    origin: AnswerOrigin,
    items: Vec<OutputItem>,
    has_refused: bool,
    usage: Usage,
    size: SizeLimit,
}

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let not_json = |_| invalid_response("an event that is not JSON");
        let parsed = surrogates::parse(data).map_err(not_json)?;
        let (mut value, mut has_halves) = (parsed.value, parsed.has_placeholders);
        let kind = value.get("type").and_then(Value::as_str);
        let kind = kind.unwrap_or(&event.name).to_string();
        if has_halves && kind.rsplit('.').next() != Some("delta") {
            value = surrogates::parse_whole(data).map_err(not_json)?;
            has_halves = false;
        }
        let response = value.get("response").unwrap_or(&Value::Null);
        match kind.as_str() {
            "response.output_item.added" => {
                self.open(index(&value), item(&value), out)?;
            }
            "response.output_item.done" => self.close(index(&value), item(&value), out)?,
            "response.output_text.delta" => self.delta(&value, has_halves, MESSAGE, out)?,
            "response.refusal.delta" => {
                self.has_refused = true;
                self.delta(&value, has_halves, MESSAGE, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.delta(&value, has_halves, REASONING, out)?;
            }
            "response.reasoning_summary_part.added" => self.begin_summary_part(&value, out)?,
            "response.function_call_arguments.delta" => {
                self.delta(&value, has_halves, CALL, out)?;
            }
            "response.completed" | "response.incomplete" => {
                let reply = self.end(&kind, response, out)?;
                out.push(Delta::Done(reply));
            }
            "response.failed" => return Err(stream_error(response)),
            "error" => return Err(stream_error(&value)),
            // Some proxies send an error without a type.
            "" if value.get("error").is_some_and(|e| !e.is_null()) => {
                return Err(stream_error(&value));
            }
            // Other events repeat what these contain, or concern tools that crewdeck does not offer.
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
    /// Creates a decoder for a response from `origin`. Each `ProviderItem` in the reply is marked with `origin`.
    pub fn of(origin: &AnswerOrigin) -> Decoder {
        Decoder {
            origin: origin.clone(),
            ..Decoder::default()
        }
    }

    /// Returns the position of the item with the id `id`. If there is none, returns the position of the last incomplete
    /// item of type `kind` with the index `index`; with `None`, the index may be any. This finds the items of servers
    /// that send another id in each event. Returns `None` if no item matches.
    fn position(&self, index: Option<u64>, id: &str, kind: &str) -> Option<usize> {
        let by_id = self
            .items
            .iter()
            .rposition(|item| !id.is_empty() && item.id == id);
        by_id.or_else(|| {
            let is_same = |item: &OutputItem| index.is_none() || item.index == index;
            let is_open =
                |item: &OutputItem| !item.is_complete && item.kind() == kind && is_same(item);
            self.items.iter().rposition(is_open)
        })
    }

    /// Returns the position of the item that `value` describes. If the item is new, adds it, and appends a delta to
    /// `out` if it is a tool call with a name.
    ///
    /// # Errors
    /// Fails if the response has more than [`ITEMS_MAX`] items.
    fn open(
        &mut self,
        index: Option<u64>,
        value: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<usize, ModelError> {
        let id = clip_label(text(value, "id"));
        let known = match index {
            None if id.is_empty() => None,
            _ => self.position(index, &id, text(value, "type")),
        };
        if let Some(at) = known {
            return Ok(at);
        }
        if self.items.len() >= ITEMS_MAX {
            return Err(invalid_response(&format!(
                "a response with more than {ITEMS_MAX} items"
            )));
        }
        let item = OutputItem::new(index, id, value);
        // Without the event that begins the item, the name comes with the complete item.
        if let ItemContent::Call { name, .. } = &item.content
            && !name.is_empty()
        {
            out.push(Delta::ToolCall(name.clone()));
        }
        self.items.push(item);
        Ok(self.items.len() - 1)
    }

    fn delta(
        &mut self,
        value: &Value,
        has_halves: bool,
        kind: &'static str,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let more = text(value, "delta");
        self.size.add(more)?;
        let at = match self.position(index(value), text(value, "item_id"), kind) {
            Some(at) => at,
            // The server has left out the event that begins the item.
            None => self.open(index(value), &json!({"type": kind}), out)?,
        };
        if let Some(delta) = self.items[at].push(more, has_halves, kind) {
            out.push(delta);
        }
        Ok(())
    }

    /// Begins the next part of a reasoning summary. An empty line separates it from the part before.
    ///
    /// # Errors
    /// Fails if the response becomes too large.
    fn begin_summary_part(
        &mut self,
        value: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let at = self.position(index(value), text(value, "item_id"), REASONING);
        let item = at.and_then(|at| self.items.get_mut(at));
        if let Some(delta) = item.and_then(OutputItem::begin_summary_part) {
            self.size.add(PART_END)?;
            out.push(delta);
        }
        Ok(())
    }

    /// Stores the complete item `value`, whose content replaces what the item's deltas contained. Adds the item if it
    /// is new.
    ///
    /// # Errors
    /// Fails if the response has too many items or becomes too large.
    fn close(
        &mut self,
        index: Option<u64>,
        value: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), ModelError> {
        let at = self.open(index, value, out)?;
        let counted = self.items[at].size();
        self.has_refused |= has_refusal(value);
        out.extend(self.items[at].complete(value));
        let more = self.items[at].size().saturating_sub(counted);
        self.size.add_bytes(more)
    }

    /// Completes the response with the final event `kind`, and returns the reply. Items that are not complete yet are
    /// taken from the `output` of `response`.
    ///
    /// # Errors
    /// Fails if the response has too many items or becomes too large.
    fn end(
        &mut self,
        kind: &str,
        response: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<Reply, ModelError> {
        let output = response.get("output").and_then(Value::as_array);
        for (at, value) in output.into_iter().flatten().enumerate() {
            let (index, id) = (u64::try_from(at).ok(), text(value, "id"));
            let is_this = |(place, item): &(usize, &OutputItem)| {
                (!id.is_empty() && item.id == id)
                    || item.index == index
                    || (item.index.is_none() && *place == at)
            };
            let known = self.items.iter().enumerate().find(is_this);
            if known.is_none_or(|(_, item)| !item.is_complete) {
                self.close(index, value, out)?;
            }
        }
        if let Some(usage) = response.get("usage") {
            read_usage(&mut self.usage, usage);
        }
        let mut blocks: Vec<Block> = Vec::new();
        for item in std::mem::take(&mut self.items) {
            for block in item.into_blocks(&self.origin) {
                // A server may send a call twice; it must run only once.
                let is_repeat = matches!(&block, Block::ToolCall(new) if !new.id.0.is_empty()
                    && blocks.iter().any(|b| matches!(b, Block::ToolCall(old) if old.id == new.id)));
                if !is_repeat {
                    blocks.push(block);
                }
            }
        }
        let has_calls = blocks.iter().any(|b| matches!(b, Block::ToolCall(_)));
        let reason = response.pointer("/incomplete_details/reason");
        let stop = match reason.and_then(Value::as_str) {
            Some("max_output_tokens" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            Some(other) => StopReason::Other(clip_label(other)),
            None if kind == "response.incomplete" => StopReason::Other("incomplete".into()),
            None if has_calls => StopReason::ToolUse,
            None if self.has_refused => StopReason::Refusal,
            None => StopReason::EndTurn,
        };
        Ok(Reply {
            blocks,
            stop,
            usage: self.usage,
        })
    }
}

/// Parses a complete response from `origin`, whose server did not stream although the request asked for a stream.
///
/// # Errors
/// Fails if `value` is an error or a failed response, contains no output or exceeds a limit.
pub fn parse_response(origin: &AnswerOrigin, value: &Value) -> Result<Reply, ModelError> {
    if value.get("error").is_some_and(|e| !e.is_null()) || text(value, "status") == "failed" {
        return Err(stream_error(value));
    }
    if !value.get("output").is_some_and(Value::is_array) {
        return Err(invalid_response("a response without output"));
    }
    let kind = format!("response.{}", text(value, "status"));
    Decoder::of(origin).end(&kind, value, &mut Vec::new())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn index(value: &Value) -> Option<u64> {
    value.get("output_index").and_then(Value::as_u64)
}

fn item(value: &Value) -> &Value {
    value.get("item").unwrap_or(&Value::Null)
}

fn has_refusal(item: &Value) -> bool {
    let parts = item.get("content").and_then(Value::as_array);
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| text(part, "type") == "refusal")
}

/// Reads the token counts of a response into `usage`. The output tokens include the reasoning tokens.
fn read_usage(usage: &mut Usage, value: &Value) {
    let count = |path: &str| parse_tokens(value.pointer(path));
    if let Some(input) = count("/input_tokens") {
        let cached = count("/input_tokens_details/cached_tokens").unwrap_or(0);
        let written = count("/input_tokens_details/cache_write_tokens").unwrap_or(0);
        usage.cache_read = cached.min(input);
        usage.cache_write = written.min(input - usage.cache_read);
        usage.input = input - usage.cache_read - usage.cache_write;
    }
    if let Some(output) = count("/output_tokens") {
        usage.output = output;
    }
}

/// Converts an error that the server sent in a response with status 200: the event `error`, with its fields at the top
/// or in `error`, or a failed response.
fn stream_error(value: &Value) -> ModelError {
    let error = value.get("error").filter(|e| !e.is_null()).unwrap_or(value);
    let code = [text(error, "code"), text(error, "type")];
    let code = code
        .into_iter()
        .find(|c| c.contains('_'))
        .unwrap_or_default();
    let message = error.as_str().unwrap_or(text(error, "message"));
    let shown = match (message, code) {
        ("", "") => "it gave no reason".to_string(),
        ("", code) => code.to_string(),
        (message, code) => error_text(&json!({"message": message, "code": code})),
    };
    let lower = format!("{code} {message}").to_lowercase();
    let fault = match code {
        _ if is_too_long(&lower) => ErrorKind::ContextTooLong,
        _ if is_out_of_credit(&lower) => ErrorKind::Auth,
        "invalid_api_key" | "authentication_error" | "permission_error" => ErrorKind::Auth,
        "model_not_found" => ErrorKind::UnknownModel,
        _ if lower.contains("rate limit") || lower.contains("rate_limit") => ErrorKind::RateLimited,
        _ if code.starts_with("invalid_") || code.starts_with("unsupported_") => {
            ErrorKind::BadRequest
        }
        _ => ErrorKind::Server,
    };
    abort_error(fault, &shown)
}
