//! Builds requests for the OpenAI Chat Completions API. Does no I/O.

use serde_json::{Value, json};

use crate::domain::chat::{AnswerOrigin, Block, Message, Role, valid_tool_name};
use crate::domain::redact::PLACEHOLDER_START;
use crate::domain::text::clip;
use crate::model::call_ids::SentIds;
use crate::model::images::{SentImage, SentImages};
use crate::model::{ModelRequest, effort};

use super::dialect::{Deviation, Dialect};

/// Maximum length of a tool's description, in characters. Longer ones are cut, because OpenAI and servers with the same
/// API refuse them.
const DESCRIPTION_MAX: usize = 1024;

/// Returns the JSON body of a Chat Completions request to the server and model of `origin`. Fields and messages always
/// have the same order, because servers cache the prefix of a conversation.
pub fn body(request: &ModelRequest, origin: &AnswerOrigin, dialect: Dialect) -> Value {
    let images = SentImages::of(request);
    let mut ids = SentIds::new(dialect.id_form());
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    for message in request.messages.iter() {
        match message.role {
            Role::User => user(message, &images, dialect, &ids, &mut messages),
            Role::Assistant => messages.push(assistant(message, origin, dialect, &mut ids)),
        }
    }
    let mut body = json!({
        "model": request.model,
        "messages": messages,
        "stream": true,
    });
    if dialect.deviation != Deviation::Mistral {
        body["stream_options"] = json!({"include_usage": true});
    }
    body[dialect.max_tokens] = request.output_max(0).into();
    if !request.tools.is_empty() {
        let tool = |t: &crate::model::ToolSpec| {
            json!({"type": "function", "function": {
                "name": t.name, "description": clip(&t.text, DESCRIPTION_MAX), "parameters": t.schema()}})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(effort) = request.effort {
        body["reasoning_effort"] = effort::openai_word(effort).into();
    }
    body
}

/// Appends a user message as the API expects it. First, each tool result becomes a message of its own, because results
/// must directly follow the calls. Then one message contains the text and the images.
fn user(
    message: &Message,
    images: &SentImages<'_>,
    dialect: Dialect,
    ids: &SentIds<'_>,
    out: &mut Vec<Value>,
) {
    for block in &message.blocks {
        if let Block::ToolResult { call, content, .. } = block {
            let content = if content.is_empty() {
                "(no output)"
            } else {
                content
            };
            let id = ids.result(call);
            out.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
        }
    }
    let has_results = out.last().is_some_and(|last| last["role"] == "tool");
    let has_more = |block: &Block| matches!(block, Block::Text { .. } | Block::Image(_));
    if dialect.deviation == Deviation::Mistral && has_results && message.blocks.iter().any(has_more)
    {
        out.push(json!({"role": "assistant", "content": BETWEEN}));
    }
    let is_image = |block: &Block| matches!(block, Block::Image(_));
    if message.blocks.iter().any(is_image) {
        let parts = message.blocks.iter().filter_map(|b| part(b, images));
        let parts: Vec<Value> = parts.collect();
        out.push(json!({"role": "user", "content": parts}));
        return;
    }
    // The content is a plain string, because servers that cannot read images often accept no list of parts.
    let text = message.text();
    if !text.is_empty() {
        out.push(json!({"role": "user", "content": text}));
    }
}

/// Converts a text or an image to an item of a message's `content` list. Returns `None` for all other blocks.
fn part(block: &Block, images: &SentImages<'_>) -> Option<Value> {
    match block {
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::Image(image) => Some(match images.form(image) {
            SentImage::Data(media_type, data) => json!({"type": "image_url",
                "image_url": {"url": format!("data:{media_type};base64,{data}")}}),
            SentImage::Text(text) => json!({"type": "text", "text": text}),
        }),
        Block::Thinking { .. }
        | Block::ProviderItem(_)
        | Block::ToolCall(_)
        | Block::ToolResult { .. } => None,
    }
}

/// The name that most servers give to the response field with the reasoning of the model.
pub const REASONING: &str = "reasoning_content";
/// The name of the field in a tool call that contains the vendor's own data, such as the signature of Gemini's
/// thoughts.
pub const EXTRA: &str = "extra_content";
/// The text of the assistant message that is inserted between tool results and a user message for servers that refuse a
/// user message directly after tool results.
const BETWEEN: &str = "OK.";

/// Returns the `extra_content` for a tool call without a signature. With this value, Google's server skips the check of
/// the signature.
fn unsigned() -> Value {
    json!({"google": {"thought_signature": "skip_thought_signature_validator"}})
}

/// Converts an answer of a model to the format of the API. Reasoning and vendor data in it are included only if they
/// come from `origin`.
fn assistant<'a>(
    message: &'a Message,
    origin: &AnswerOrigin,
    dialect: Dialect,
    ids: &mut SentIds<'a>,
) -> Value {
    let text = message.text();
    let mut calls = Vec::new();
    let (mut reasoning, mut extra) = (None, None);
    for block in &message.blocks {
        match block {
            Block::ToolCall(call) => {
                let mut sent = json!({"id": ids.call(&call.id), "type": "function", "function": {
                    "name": valid_tool_name(&call.name), "arguments": call.input.to_string()}});
                if let Some(extra) = extra.take() {
                    sent[EXTRA] = extra;
                }
                calls.push(sent);
            }
            Block::ProviderItem(own) if own.origin == *origin => {
                reasoning = own.item.get(REASONING).cloned().or(reasoning);
                // The server refuses a signature that a redaction has changed.
                let sent = own.item.get(EXTRA);
                extra = sent
                    .filter(|e| !e.to_string().contains(PLACEHOLDER_START))
                    .cloned();
            }
            Block::Text { .. }
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolResult { .. } => {}
        }
    }
    // These servers refuse an answer of another model without the field that their own models always send.
    match dialect.deviation {
        Deviation::DeepSeek => reasoning = reasoning.or(Some("".into())),
        // Only the first of parallel calls has a signature. Older models check none.
        Deviation::Gemini if !origin.model.contains("gemini-2") => {
            if let Some(first) = calls.first_mut().filter(|call| call.get(EXTRA).is_none()) {
                first[EXTRA] = unsigned();
            }
        }
        Deviation::Gemini | Deviation::Mistral | Deviation::None => {}
    }
    // Some servers reject a null or missing content, others an empty list of calls.
    let mut out = json!({"role": "assistant", "content": text});
    if !calls.is_empty() {
        out["tool_calls"] = Value::Array(calls);
    }
    if let Some(reasoning) = reasoning {
        out[REASONING] = reasoning;
    }
    out
}
