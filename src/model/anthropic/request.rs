//! Builds requests for the Anthropic Messages API, with prompt caching. Does no I/O.

use serde_json::{Map, Value, json};

use crate::domain::chat::{Block, Message, Outcome, Role, valid_tool_name};
use crate::model::ModelRequest;
use crate::model::call_ids::{IdForm, SentIds};
use crate::model::images::{SentImage, SentImages};

/// Returns the JSON body of a Messages request. Sets cache breakpoints at the last tool, the system prompt and the last
/// message: the server caches the request up to each breakpoint.
pub fn body(request: &ModelRequest) -> Value {
    let images = SentImages::of(request);
    let mut ids = SentIds::new(IdForm::Strict);
    let messages = request.messages.iter();
    let mut messages: Vec<Value> = messages
        .filter_map(|m| message(m, &images, &mut ids))
        .collect();
    if let Some(block) = messages.last_mut().and_then(last_block) {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.max_tokens,
        "stream": true,
        "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
        "messages": messages,
    });
    if !request.tools.is_empty() {
        let mut tools: Vec<Value> = request
            .tools
            .iter()
            .map(|t| json!({"name": t.name, "description": t.text, "input_schema": t.schema()}))
            .collect();
        if let Some(Value::Object(last)) = tools.last_mut() {
            last.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
        body["tools"] = Value::Array(tools);
    }
    if let Some(budget) = request.thinking_budget {
        // The limit of the answer includes the thinking.
        body["max_tokens"] = request.max_tokens.saturating_add(budget).into();
        body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
    }
    if let Some(effort) = request.effort {
        body["output_config"] = json!({"effort": effort.word()});
    }
    body
}

fn last_block(message: &mut Value) -> Option<&mut Map<String, Value>> {
    message
        .get_mut("content")?
        .as_array_mut()?
        .last_mut()?
        .as_object_mut()
}

fn message<'a>(
    message: &'a Message,
    images: &SentImages<'_>,
    ids: &mut SentIds<'a>,
) -> Option<Value> {
    let blocks = message.blocks.iter();
    let content: Vec<Value> = blocks.filter_map(|b| block(b, images, ids)).collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

fn block<'a>(
    block: &'a Block,
    images: &SentImages<'_>,
    ids: &mut SentIds<'a>,
) -> Option<Value> {
    match block {
        Block::Text { text } if text.trim().is_empty() => None,
        Block::Text { text } => Some(json!({"type": "text", "text": text})),
        Block::Image(image) => Some(match images.form(image) {
            SentImage::Data(media_type, data) => json!({"type": "image", "source":
                {"type": "base64", "media_type": media_type, "data": data}}),
            SentImage::Text(text) => json!({"type": "text", "text": text}),
        }),
        Block::Thinking {
            text,
            signature: Some(signature),
        } => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
        // Thinking without a signature is left out, because the server rejects it.
        Block::Thinking {
            signature: None, ..
        }
        | Block::ProviderItem(_) => None,
        Block::ToolCall(call) => Some(
            json!({"type": "tool_use", "id": ids.call(&call.id), "name": valid_tool_name(&call.name), "input": call.input}),
        ),
        Block::ToolResult {
            call,
            content,
            outcome,
        } => {
            let content = if content.is_empty() {
                "(no output)"
            } else {
                content
            };
            let id = ids.result(call);
            let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
            if *outcome == Outcome::Error {
                result["is_error"] = true.into();
            }
            Some(result)
        }
    }
}
