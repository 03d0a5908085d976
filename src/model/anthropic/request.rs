//! Builds requests for the Anthropic Messages API, with prompt caching. Does no I/O.

use serde_json::{Map, Value, json};

use crate::domain::chat::{AnswerOrigin, Block, Message, Outcome, Role, valid_tool_name};
use crate::domain::redact::PLACEHOLDER_START;
use crate::model::call_ids::{IdForm, SentIds};
use crate::model::images::{SentImage, SentImages};
use crate::model::{ErrorKind, ModelError, ModelRequest, effort, known_models};

use super::decode::REDACTED;

/// Which settings for thinking, and which thinking of earlier answers, a request contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingForm {
    /// The request contains the maximum number of tokens for thinking (`ModelRequest::thinking_budget`) and the
    /// thinking of earlier answers. Both are left out if the server would refuse the maximum in the current turn.
    Budget,
    /// The request contains the thinking of earlier answers, but no maximum number of tokens: the model decides how
    /// much it thinks. Without an effort in the request, `ModelRequest::thinking_budget` is converted to one.
    Adaptive,
    /// The request contains neither a maximum number of tokens for thinking nor the thinking of earlier answers.
    LeftOut,
}

impl ThinkingForm {
    /// Returns the form to try first for `model`: [`ThinkingForm::Adaptive`] if the built-in table says that the model
    /// decides how much it thinks, else [`ThinkingForm::Budget`].
    pub fn of_model(model: &str) -> ThinkingForm {
        match known_models::find(model) {
            Some(known) if known.adaptive => ThinkingForm::Adaptive,
            Some(_) | None => ThinkingForm::Budget,
        }
    }

    /// Returns the form in which to repeat `request` after it was sent in the form `self` and refused with `error`.
    /// Returns `None` if the error is not about thinking, or if `self` is already [`ThinkingForm::LeftOut`].
    ///
    /// If `may_switch` is true and the error is about the kind of thinking, the next form after
    /// [`ThinkingForm::Budget`] is [`ThinkingForm::Adaptive`], and vice versa. Otherwise the next form is
    /// [`ThinkingForm::LeftOut`]. The words of the error message decide, because there is no error code for this.
    pub fn after_refusal(
        self,
        error: &ModelError,
        request: &ModelRequest,
        may_switch: bool,
    ) -> Option<ThinkingForm> {
        let lower = error.message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let has_own_effort = self == ThinkingForm::Adaptive && request.effort.is_none();
        let is_effort = has_own_effort && has(&["output_config"]);
        if error.kind != ErrorKind::BadRequest || !(is_effort || has(&["thinking", "signature"])) {
            return None;
        }
        let is_kind = may_switch && (is_effort || has(&["thinking.type", "adaptive"]));
        match self {
            ThinkingForm::Budget if is_kind => Some(ThinkingForm::Adaptive),
            ThinkingForm::Adaptive if is_kind => Some(ThinkingForm::Budget),
            ThinkingForm::Budget | ThinkingForm::Adaptive => Some(ThinkingForm::LeftOut),
            ThinkingForm::LeftOut => None,
        }
    }
}

/// Returns the JSON body of a Messages request to the server and model of `origin`. Sets cache breakpoints at the last
/// tool, the system prompt and the last message: the server caches the request up to each breakpoint.
pub fn body(request: &ModelRequest, origin: &AnswerOrigin, thinking: ThinkingForm) -> Value {
    let images = SentImages::of(request);
    let mut ids = SentIds::new(IdForm::Strict);
    let budget = request.thinking_budget;
    let has_thinking = match thinking {
        ThinkingForm::Budget => budget.is_none() || may_think(&request.messages, origin),
        ThinkingForm::Adaptive => true,
        ThinkingForm::LeftOut => false,
    };
    let own = has_thinking.then_some(origin);
    let messages = request.messages.iter();
    let mut messages: Vec<Value> = messages
        .filter_map(|m| message(m, own, &images, &mut ids))
        .collect();
    if let Some(block) = messages.last_mut().and_then(last_block) {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.output_max(0),
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
    let mut effort = request.effort;
    if let Some(budget) = budget.filter(|_| has_thinking) {
        // The limit of the answer includes the thinking.
        let max = request.output_max(budget);
        body["max_tokens"] = max.into();
        if thinking == ThinkingForm::Adaptive {
            // By default, these models do not show their thinking.
            body["thinking"] = json!({"type": "adaptive", "display": "summarized"});
            effort = effort.or(Some(effort::for_budget(budget)));
        } else {
            // At least half of a limited answer is left for the text.
            let budget = budget.min(max - request.max_tokens.min(max / 2));
            body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
        }
    }
    if let Some(effort) = effort {
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
    origin: Option<&AnswerOrigin>,
    images: &SentImages<'_>,
    ids: &mut SentIds<'a>,
) -> Option<Value> {
    let origin = origin.filter(|origin| !has_changed_thinking(message, origin));
    let blocks = message.blocks.iter();
    let content: Vec<Value> = blocks
        .filter_map(|b| block(b, origin, images, ids))
        .collect();
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (!content.is_empty()).then(|| json!({"role": role, "content": content}))
}

/// Returns whether `block` is signed or encrypted thinking that comes from `origin`. The server refuses all other
/// thinking, because it cannot check it.
fn is_own_thinking(block: &Block, origin: &AnswerOrigin) -> bool {
    match block {
        Block::Thinking {
            signature: Some(_),
            origin: Some(own),
            ..
        } => own == origin,
        Block::ProviderItem(own) => {
            own.origin == *origin && own.item.get("type").is_some_and(|kind| kind == REDACTED)
        }
        Block::Thinking { .. }
        | Block::Text { .. }
        | Block::Image(_)
        | Block::ToolCall(_)
        | Block::ToolResult { .. } => false,
    }
}

/// Returns whether this message contains thinking from `origin` that a redaction has changed. The server refuses
/// changed thinking. It also refuses the rest of the thinking in the message if only the changed block is left out.
fn has_changed_thinking(message: &Message, origin: &AnswerOrigin) -> bool {
    let is_redacted = |text: &str| text.contains(PLACEHOLDER_START);
    let own = message.blocks.iter();
    let mut own = own.filter(|block| is_own_thinking(block, origin));
    own.any(|block| match block {
        Block::Thinking {
            text, signature, ..
        } => is_redacted(text) || signature.as_deref().is_some_and(is_redacted),
        Block::ProviderItem(own) => is_redacted(&own.item.to_string()),
        Block::Text { .. } | Block::Image(_) | Block::ToolCall(_) | Block::ToolResult { .. } => {
            false
        }
    })
}

/// Returns whether the conversation contains thinking that comes from `origin`.
pub fn has_own_thinking(request: &ModelRequest, origin: &AnswerOrigin) -> bool {
    let mut blocks = request.messages.iter().flat_map(|m| &m.blocks);
    blocks.any(|block| is_own_thinking(block, origin))
}

/// Returns whether the server accepts a maximum number of tokens for thinking in the next answer. At the start of a
/// turn, it does. Within a turn, it does only if the first answer of the turn, as it is sent, begins with thinking from
/// `origin`. This is false if another model gave that answer, or if a redaction has changed its thinking.
fn may_think(messages: &[Message], origin: &AnswerOrigin) -> bool {
    let continues = |m: &&Message| m.role == Role::Assistant || m.result_ids().next().is_some();
    let turn = messages.iter().rev().take_while(continues);
    let Some(first) = turn.filter(|m| m.role == Role::Assistant).last() else {
        return true;
    };
    if has_changed_thinking(first, origin) {
        return false;
    }
    let is_sent = |block: &&Block| match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::Thinking { .. } | Block::ProviderItem(_) => is_own_thinking(block, origin),
        Block::Image(_) | Block::ToolCall(_) | Block::ToolResult { .. } => true,
    };
    let first = first.blocks.iter().find(is_sent);
    first.is_some_and(|block| is_own_thinking(block, origin))
}

/// Converts a block to the format of the API. Returns `None` for a blank text, and for thinking that does not come from
/// `origin`. If `origin` is `None`, all thinking is left out.
fn block<'a>(
    block: &'a Block,
    origin: Option<&AnswerOrigin>,
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
        Block::Thinking { .. } | Block::ProviderItem(_)
            if !origin.is_some_and(|origin| is_own_thinking(block, origin)) =>
        {
            None
        }
        Block::Thinking {
            text, signature, ..
        } => Some(json!({"type": "thinking", "thinking": text, "signature": signature})),
        Block::ProviderItem(own) => Some(own.item.clone()),
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
