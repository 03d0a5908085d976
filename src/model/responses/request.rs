//! Builds requests for the OpenAI Responses API. Does no I/O.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use crate::domain::chat::{AnswerOrigin, Block, Message, ProviderItem, Role, valid_tool_name};
use crate::domain::redact::PLACEHOLDER_START;
use crate::domain::text::clip;
use crate::model::call_ids::{IdForm, SentIds};
use crate::model::images::{SentImage, SentImages};
use crate::model::{ErrorKind, ModelError, ModelRequest, ToolSpec, effort};

/// Maximum length of a tool's description, in characters. Longer ones are cut, as for Chat Completions.
const DESCRIPTION_MAX: usize = 1024;

/// Which parts about reasoning a request contains. Some models and accounts refuse some of these parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReasoningParts {
    /// Whether the encrypted reasoning of earlier answers is sent.
    pub items: bool,
    /// Whether the request asks for encrypted reasoning. Models without reasoning refuse this.
    pub encrypted: bool,
    /// Whether the request asks for a summary of the reasoning. Models without reasoning and unverified accounts refuse
    /// this.
    pub summary: bool,
}

impl ReasoningParts {
    pub const ALL: ReasoningParts = ReasoningParts {
        items: true,
        encrypted: true,
        summary: true,
    };

    /// Returns the parts for the next try: `self` without the parts that the server has refused with `error`. Returns
    /// `None` if the error has another cause, or if the refused part was not sent. The words of the error message
    /// decide, because servers use different codes.
    pub fn without_refused(self, error: &ModelError) -> Option<ReasoningParts> {
        if error.kind != ErrorKind::BadRequest {
            return None;
        }
        let lower = error.message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if self.summary && has(&["summar"]) {
            return Some(ReasoningParts {
                summary: false,
                ..self
            });
        }
        if self.items
            && has(&[
                "verif",
                "decrypt",
                "invalid_encrypted",
                "reasoning item",
                "'reasoning'",
            ])
            && has(&["encrypted", "reasoning"])
        {
            return Some(ReasoningParts {
                items: false,
                ..self
            });
        }
        if self.encrypted && has(&["encrypted", "'include", "\"include"]) {
            return Some(ReasoningParts {
                items: false,
                encrypted: false,
                ..self
            });
        }
        // Models without reasoning refuse the whole object.
        (self.summary && has(&["reasoning"]) && !has(&["effort"])).then_some(ReasoningParts {
            summary: false,
            ..self
        })
    }
}

/// Returns the JSON body of a Responses request to the server and model of `origin`. Fields and items always have the
/// same order, because servers cache the prefix of a conversation. The server stores nothing: each request contains the
/// whole conversation.
pub fn body(request: &ModelRequest, origin: &AnswerOrigin, parts: ReasoningParts) -> Value {
    let images = SentImages::of(request);
    let mut ids = SentIds::new(IdForm::Strict);
    let mut input = Vec::new();
    for message in request.messages.iter() {
        match message.role {
            Role::User => user(message, &images, &ids, &mut input),
            Role::Assistant => {
                let items = parts.items.then_some(origin);
                assistant(message, items, &mut ids, &mut input);
            }
        }
    }
    let mut body = json!({
        "model": request.model,
        "instructions": request.system,
        "input": input,
        "max_output_tokens": request.output_max(0),
        "store": false,
        "stream": true,
        "prompt_cache_key": cache_key(request),
    });
    if parts.encrypted {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        body["parallel_tool_calls"] = true.into();
    }
    if let Some(effort) = request.effort {
        body["reasoning"]["effort"] = effort::openai_word(effort).into();
    }
    if parts.summary {
        body["reasoning"]["summary"] = "auto".into();
    }
    body
}

/// Returns the `prompt_cache_key`, by which the server finds the machine that has cached the prefix of the
/// conversation. It is the same for all requests of an agent, because it depends only on the agent's name and the
/// system prompt.
fn cache_key(request: &ModelRequest) -> String {
    let mut hash = DefaultHasher::new();
    (request.agent.as_str(), &request.system).hash(&mut hash);
    format!("crewdeck-{:016x}", hash.finish())
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": clip(&tool.text, DESCRIPTION_MAX),
        "parameters": tool.schema(),
        // The API's default is strict, and it refuses a schema without the strict form.
        "strict": tool.is_strict(),
    })
}

/// Appends the results of tool calls, and then a message with the text and the images.
fn user(message: &Message, images: &SentImages<'_>, ids: &SentIds<'_>, out: &mut Vec<Value>) {
    for block in &message.blocks {
        if let Block::ToolResult { call, content, .. } = block {
            let content = if content.is_empty() {
                "(no output)"
            } else {
                content
            };
            let id = ids.result(call);
            out.push(json!({"type": "function_call_output", "call_id": id, "output": content}));
        }
    }
    let is_image = |block: &Block| matches!(block, Block::Image(_));
    if message.blocks.iter().any(is_image) {
        let parts = message.blocks.iter().filter_map(|b| part(b, images));
        let parts: Vec<Value> = parts.collect();
        out.push(json!({"role": "user", "content": parts}));
        return;
    }
    let text = message.text();
    if !text.is_empty() {
        out.push(json!({"role": "user", "content": text}));
    }
}

/// Converts a text or an image to an item of a message's `content` list. Returns `None` for all other blocks.
fn part(block: &Block, images: &SentImages<'_>) -> Option<Value> {
    let text = |text: &str| json!({"type": "input_text", "text": text});
    match block {
        Block::Text { text: said } => Some(text(said)),
        Block::Image(image) => Some(match images.form(image) {
            SentImage::Data(media_type, data) => json!({"type": "input_image", "detail": "auto",
                "image_url": format!("data:{media_type};base64,{data}")}),
            SentImage::Text(line) => text(&line),
        }),
        Block::Thinking { .. }
        | Block::ProviderItem(_)
        | Block::ToolCall(_)
        | Block::ToolResult { .. } => None,
    }
}

/// Appends the text, the tool calls and the provider's own items of an answer, in their order. Own items are included
/// only if they come from `origin`; `None` leaves all of them out.
fn assistant<'a>(
    message: &'a Message,
    origin: Option<&AnswerOrigin>,
    ids: &mut SentIds<'a>,
    out: &mut Vec<Value>,
) {
    let mut phase = None;
    for (at, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Text { text } if !text.trim().is_empty() => {
                let mut item = json!({"role": "assistant", "content": text});
                if let Some(phase) = phase.take() {
                    item["phase"] = phase;
                }
                out.push(item);
            }
            Block::ToolCall(call) => out.push(
                json!({"type": "function_call", "call_id": ids.call(&call.id),
                "name": valid_tool_name(&call.name), "arguments": call.input.to_string()}),
            ),
            Block::ProviderItem(own) if origin == Some(&own.origin) => {
                if own.item.get("type").is_some_and(|kind| kind == "message") {
                    phase = own.item.get("phase").cloned();
                } else if is_usable(own, &message.blocks[at + 1..]) {
                    out.push(own.item.clone());
                }
            }
            Block::Text { .. }
            | Block::ProviderItem(_)
            | Block::Image(_)
            | Block::Thinking { .. }
            | Block::ToolResult { .. } => {}
        }
    }
}

/// Returns whether the server accepts the reasoning item `own`. `rest` contains the blocks that follow it in the
/// answer. The server refuses encrypted content that a redaction has changed, and reasoning that no text or tool call
/// follows.
fn is_usable(own: &ProviderItem, rest: &[Block]) -> bool {
    let content = own.item.get("encrypted_content").and_then(Value::as_str);
    let is_redacted = content.is_some_and(|text| text.contains(PLACEHOLDER_START));
    !is_redacted
        && rest.iter().any(|block| match block {
            Block::Text { text } => !text.trim().is_empty(),
            Block::ToolCall(_) => true,
            Block::Image(_)
            | Block::Thinking { .. }
            | Block::ProviderItem(_)
            | Block::ToolResult { .. } => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_refused_parts_are_left_out() {
        let all = ReasoningParts::ALL;
        let no_summary = ReasoningParts {
            summary: false,
            ..all
        };
        let no_items = ReasoningParts {
            items: false,
            ..all
        };
        let not_encrypted = ReasoningParts {
            encrypted: false,
            ..no_items
        };
        for (text, expected) in [
            (
                "Your organization must be verified to generate reasoning summaries.",
                Some(no_summary),
            ),
            (
                "Unsupported parameter: 'reasoning.summary' is not supported with this model.",
                Some(no_summary),
            ),
            (
                "Encrypted content is not supported with this model.",
                Some(not_encrypted),
            ),
            (
                "The encrypted content gAAA... could not be verified. [invalid_encrypted_content]",
                Some(no_items),
            ),
            (
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
                Some(no_items),
            ),
            (
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                None,
            ),
            (
                "Unsupported value: 'max' is not supported with this model.",
                None,
            ),
        ] {
            let error = ModelError::new(ErrorKind::BadRequest, text, "");
            assert_eq!(all.without_refused(&error), expected, "{text}");
        }
        let error = ModelError::new(ErrorKind::Server, "encrypted content", "");
        assert_eq!(all.without_refused(&error), None);
        // Each refusal removes a part, so a request is repeated three times at most.
        let error = ModelError::new(
            ErrorKind::BadRequest,
            "encrypted reasoning summary: not verified",
            "",
        );
        let left = std::iter::successors(Some(all), |parts| parts.without_refused(&error));
        assert_eq!(left.count(), 4);
    }
}
