//! Converts what MCP servers send to text and images of limited size. Does no I/O.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use super::types::{McpContent, McpImage, ResourceContent};
use crate::domain::text::{clip, head_and_tail, one_line};

/// Maximum size, in bytes, of the text of one result. A longer text is cut in the middle.
pub const TEXT_MAX: usize = 100 * 1024;
/// Maximum number of images of one result. Further images are left out; a line of text says so.
pub const IMAGES_MAX: usize = 8;
/// Maximum size of one image, in bytes. A larger image is left out; a line of text says so. A stored attachment has the
/// same limit.
pub const IMAGE_MAX: usize = 16 * 1024 * 1024;
/// Maximum length, in characters, of a name, URI, media type or description in a line of text. A longer one is cut.
const SHOWN_MAX: usize = 300;

pub fn of_result(result: CallToolResult) -> McpContent {
    let mut builder = ContentBuilder::default();
    let structured = result.structured_content.filter(|value| !value.is_null());
    let structured = structured.filter(|value| !repeats(value, &result.content));
    for block in result.content {
        builder.block(block);
    }
    if let Some(value) = structured {
        builder.text(&serde_json::to_string_pretty(&value).unwrap_or_default());
    }
    McpContent {
        is_error: result.is_error.unwrap_or(false),
        ..builder.finish()
    }
}

pub fn of_block(block: ContentBlock) -> McpContent {
    let mut builder = ContentBuilder::default();
    builder.block(block);
    builder.finish()
}

/// Returns the content of a resource that the user attaches to a message. Text that the server sends as base64 data is
/// returned as text too.
pub fn of_resource(parts: Vec<ResourceContents>) -> ResourceContent {
    let mut out = ResourceContent::default();
    let mut texts = Vec::new();
    for part in parts {
        match part {
            ResourceContents::TextResourceContents { uri, text, .. } => texts.push((uri, text)),
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let kind = line(&mime_type.unwrap_or_default());
                let size = decoded_size(&blob);
                let mut refuse = |why: &str| {
                    let kind = if kind.is_empty() {
                        "unknown type"
                    } else {
                        &kind
                    };
                    out.refused.push(format!("{kind}, {size} bytes, {why}"));
                };
                let is_image = kind.starts_with("image/");
                if size > IMAGE_MAX {
                    refuse(&format!("over the limit of {IMAGE_MAX} bytes"));
                    continue;
                }
                let Ok(bytes) = STANDARD.decode(blob.trim().as_bytes()) else {
                    refuse("the data is damaged");
                    continue;
                };
                if is_image && out.images.len() < IMAGES_MAX {
                    let media_type = kind;
                    out.images.push(McpImage { media_type, bytes });
                } else if is_image {
                    refuse(&format!("over the limit of {IMAGES_MAX} images"));
                } else if !is_text(&kind) {
                    refuse("neither text nor an image");
                } else {
                    match String::from_utf8(bytes) {
                        Ok(text) => texts.push((uri, text)),
                        Err(_) => refuse("not valid UTF-8"),
                    }
                }
            }
            _ => out.refused.push("content of an unknown kind".into()),
        }
    }
    out.text = match texts.as_slice() {
        [] => None,
        [(_, text)] => Some(text.clone()),
        _ => {
            let parts = texts
                .iter()
                .map(|(uri, text)| format!("[resource {}]\n{text}", line(uri)));
            Some(parts.collect::<Vec<_>>().join("\n"))
        }
    };
    out
}

/// Returns whether content of a media type is text: `text/*`, JSON, XML, YAML or JavaScript.
fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/")
        || ["+json", "+xml", "+yaml"]
            .iter()
            .any(|end| kind.ends_with(end))
        || matches!(
            kind,
            "application/json" | "application/xml" | "application/yaml" | "application/javascript"
        )
}

/// Returns the JSON of a result in an unknown format as text.
pub fn of_unknown(value: &Value) -> McpContent {
    let mut builder = ContentBuilder::default();
    builder.text(&serde_json::to_string_pretty(value).unwrap_or_default());
    builder.finish()
}

/// Returns whether the blocks of a result already contain its structured content `value`, as the protocol recommends.
/// Many servers wrap the structured content in an object with the single key `result`; then it is enough that the
/// blocks contain the value of this key.
fn repeats(value: &Value, blocks: &[ContentBlock]) -> bool {
    let wrapped = value
        .as_object()
        .filter(|fields| fields.len() == 1)
        .and_then(|fields| fields.get("result"));
    is_in_blocks(value, blocks) || wrapped.is_some_and(|value| is_in_blocks(value, blocks))
}

/// Returns whether a block contains `value`: as text, as JSON, or as the data of an image or a sound. Also true if
/// `value` is a list and each of its items is the content of one block, in the same order.
fn is_in_blocks(value: &Value, blocks: &[ContentBlock]) -> bool {
    let media = match &value["type"] {
        Value::String(kind) if kind == "image" || kind == "audio" => value["data"].as_str(),
        _ => value.as_str(),
    };
    let is_in = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => {
            value.as_str() == Some(&text.text)
                || serde_json::from_str::<Value>(&text.text).is_ok_and(|parsed| parsed == *value)
        }
        ContentBlock::Image(image) => media == Some(&image.data),
        ContentBlock::Audio(audio) => media == Some(&audio.data),
        _ => false,
    };
    let is_list = |items: &Vec<Value>| {
        let mut pairs = items.iter().zip(blocks.chunks(1));
        items.len() == blocks.len() && pairs.all(|(item, block)| is_in_blocks(item, block))
    };
    let is_whole_list = !blocks.is_empty() && value.as_array().is_some_and(is_list);
    is_whole_list || blocks.iter().any(is_in)
}

#[derive(Default)]
struct ContentBuilder {
    parts: Vec<String>,
    images: Vec<McpImage>,
}

impl ContentBuilder {
    fn text(&mut self, text: &str) {
        self.parts.push(text.to_string());
    }

    fn block(&mut self, block: ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&text.text),
            ContentBlock::Image(image) => self.image(&image.data, &image.mime_type, "image"),
            ContentBlock::Audio(audio) => {
                let (size, kind) = (decoded_size(&audio.data), line(&audio.mime_type));
                self.parts
                    .push(format!("[audio, {kind}, {size} bytes: not supported]"));
            }
            ContentBlock::Resource(embedded) => self.resource(embedded.resource),
            ContentBlock::ResourceLink(link) => self.parts.push(link_line(&link)),
            // A kind of content that crewdeck does not know, from a later version of the protocol.
            _ => self
                .parts
                .push("[content of an unknown kind: not supported]".into()),
        }
    }

    fn resource(&mut self, contents: ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.parts.push(format!("[resource {}]", line(&uri)));
                self.text(&text);
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let kind = mime_type.unwrap_or_default();
                if kind.starts_with("image/") {
                    self.image(&blob, &kind, &format!("resource {}", line(&uri)));
                } else {
                    let (size, uri, kind) = (decoded_size(&blob), line(&uri), line(&kind));
                    self.parts.push(format!(
                        "[resource {uri}, {kind}, {size} bytes: not text, not shown]"
                    ));
                }
            }
            _ => self
                .parts
                .push("[resource of an unknown kind: not supported]".into()),
        }
    }

    fn image(&mut self, data: &str, media_type: &str, what: &str) {
        let kind = line(media_type);
        let size = decoded_size(data);
        let refusal = if self.images.len() == IMAGES_MAX {
            Some(format!("at most {IMAGES_MAX} images of a result are sent"))
        } else if size > IMAGE_MAX {
            Some(format!("an image may have at most {IMAGE_MAX} bytes"))
        } else {
            None
        };
        if let Some(why) = refusal {
            self.parts
                .push(format!("[{what}, {kind}, {size} bytes: left out, {why}]"));
            return;
        }
        match STANDARD.decode(data.trim().as_bytes()) {
            Ok(bytes) => {
                self.images.push(McpImage {
                    media_type: kind.clone(),
                    bytes,
                });
                let number = self.images.len();
                self.parts
                    .push(format!("[{what} {number}, {kind}, {size} bytes]"));
            }
            Err(_) => self
                .parts
                .push(format!("[{what}, {kind}: the data is damaged]")),
        }
    }

    fn finish(self) -> McpContent {
        McpContent {
            text: head_and_tail(&self.parts.join("\n"), TEXT_MAX),
            images: self.images,
            is_error: false,
        }
    }
}

fn line(text: &str) -> String {
    clip(&one_line(text), SHOWN_MAX)
}

/// Returns the size, in bytes, of base64 data after decoding.
fn decoded_size(data: &str) -> usize {
    let data = data.trim().trim_end_matches('=');
    data.len() * 3 / 4
}

fn link_line(link: &Resource) -> String {
    let mut text = format!("[resource link {}: {}", line(&link.uri), line(&link.name));
    if let Some(description) = &link.description {
        text.push_str(&format!(", {}", line(description)));
    }
    if let Some(kind) = &link.mime_type {
        text.push_str(&format!(", {}", line(kind)));
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn result(value: Value) -> McpContent {
        of_result(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn all_kinds_of_content_are_kept_in_order() {
        let content = result(json!({"isError": true, "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAEC", "mimeType": "image/png"},
            {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain"},
            {"type": "resource", "resource": {"uri": "x://t", "text": "inner"}},
            {"type": "resource", "resource": {"uri": "x://i", "mimeType": "image/jpeg", "blob": "AAE="}},
            {"type": "resource", "resource": {"uri": "x://b", "mimeType": "application/zip", "blob": "AAE="}},
            {"type": "image", "data": "???", "mimeType": "image/png"},
        ]}));
        assert_eq!(
            content.text.lines().collect::<Vec<_>>(),
            [
                "one",
                "[image 1, image/png, 3 bytes]",
                "[audio, audio/wav, 3 bytes: not supported]",
                "[resource link file:///a: a, text/plain]",
                "[resource x://t]",
                "inner",
                "[resource x://i 2, image/jpeg, 2 bytes]",
                "[resource x://b, application/zip, 2 bytes: not text, not shown]",
                "[image, image/png: the data is damaged]",
            ]
        );
        assert!(content.is_error);
        assert_eq!(content.images.len(), 2);
        assert_eq!(content.images[0].bytes, [0, 1, 2]);
    }

    #[test]
    fn resources_are_text_images_or_refused() {
        let read = |parts: Value| of_resource(serde_json::from_value(parts).unwrap());
        let found = read(json!([
            {"uri": "x://t", "text": "one"},
            {"uri": "x://j", "mimeType": "application/json; charset=utf-8", "blob": "e30="},
            {"uri": "x://i", "mimeType": "image/png", "blob": "AAE="},
            {"uri": "x://z", "mimeType": "application/zip", "blob": "AAE="},
            {"uri": "x://n", "blob": "AAE="},
            {"uri": "x://u", "mimeType": "text/plain", "blob": "//8="},
            {"uri": "x://d", "mimeType": "image/png", "blob": "???"},
        ]));
        assert_eq!(
            found.text.as_deref(),
            Some("[resource x://t]\none\n[resource x://j]\n{}")
        );
        assert_eq!(found.images[0].bytes, [0, 1]);
        assert_eq!(
            found.refused,
            [
                "application/zip, 2 bytes, neither text nor an image",
                "unknown type, 2 bytes, neither text nor an image",
                "text/plain, 2 bytes, not valid UTF-8",
                "image/png, 2 bytes, the data is damaged",
            ]
        );
        let one = read(json!([{"uri": "x://t", "text": "one"}]));
        assert_eq!(one.text.as_deref(), Some("one"));
        assert_eq!(read(json!([])), ResourceContent::default());
        let many = vec![json!({"uri": "x://i", "mimeType": "image/png", "blob": "AAE="}); 9];
        let many = read(Value::Array(many));
        assert_eq!((many.images.len(), many.refused.len()), (IMAGES_MAX, 1));
    }

    #[test]
    fn structured_content_is_shown_once() {
        let structured = json!({"a": 1});
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        for (content, value, shown) in [
            (json!([]), structured.clone(), "{\n  \"a\": 1\n}"),
            (text("{ \"a\":1 }"), structured.clone(), "{ \"a\":1 }"),
            (text("plain"), json!({"result": "plain"}), "plain"),
            (text("42"), json!({"result": 42}), "42"),
            (
                json!([{"type": "text", "text": "a"}, {"type": "text", "text": "2"}]),
                json!({"result": ["a", 2]}),
                "a\n2",
            ),
            (
                text("Done"),
                json!({"result": {"id": 7}}),
                "Done\n{\n  \"result\": {\n    \"id\": 7\n  }\n}",
            ),
            (
                json!([{"type": "audio", "data": "AAEC", "mimeType": "audio/wav"}]),
                json!({"result": {"type": "audio", "data": "AAEC", "mimeType": "audio/wav", "_meta": null}}),
                "[audio, audio/wav, 3 bytes: not supported]",
            ),
            (
                json!([{"type": "image", "data": "AAEC", "mimeType": "image/png"}]),
                json!({"result": "AAEC"}),
                "[image 1, image/png, 3 bytes]",
            ),
            (text("seen"), structured, "seen\n{\n  \"a\": 1\n}"),
        ] {
            let found = result(json!({"content": content, "structuredContent": value}));
            assert_eq!(found.text, shown);
        }
    }

    #[test]
    fn text_and_images_are_bounded() {
        let content = result(json!({"content": [{"type": "text", "text": "é".repeat(TEXT_MAX)}]}));
        assert!(content.text.len() < TEXT_MAX + 100);
        assert!(content.text.contains("bytes cut here"), "no mark");
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let content = result(json!({"content": vec![image; 20]}));
        assert_eq!(content.images.len(), IMAGES_MAX);
        assert_eq!(content.text.matches("left out").count(), 12);
    }
}
