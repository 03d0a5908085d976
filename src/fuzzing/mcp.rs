//! The fuzz target for responses of MCP servers.

use std::collections::BTreeMap;

use rmcp::model::{CallToolResult, Tool};
use serde_json::Value;

use super::{CheckResult, check_size, check_visible, ensure};
use crate::domain::chat::is_tool_name;
use crate::domain::mcp::{OAuthClient, ServerConfig, ServerSource, ServerTransport};
use crate::mcp::content::{self, IMAGES_MAX, TEXT_MAX};
use crate::mcp::schema::{self, SCHEMA_MAX};
use crate::mcp::tools;
use crate::mcp::{McpContent, McpTool};

/// Maximum length, in bytes, of the marker that shows where a text was cut.
const MARK_MAX: usize = 64;

/// Checks how the response of an MCP server is read: as the result of a tool, as a list of tools, and as a schema.
pub fn mcp(bytes: &[u8]) -> CheckResult {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Ok(());
    };
    if let Ok(result) = serde_json::from_value::<CallToolResult>(value.clone()) {
        check_content(&content::of_result(result), bytes.len())?;
    }
    check_content(&content::of_unknown(&value), bytes.len())?;
    if let Value::Object(fields) = &value {
        check_schema(schema::for_vendors(fields))?;
    }
    let listed = value.get("tools").unwrap_or(&value).clone();
    let Ok(listed) = serde_json::from_value::<Vec<Tool>>(listed) else {
        return Ok(());
    };
    let listed = tools::convert(&config(), listed);
    if let Some(notice) = &listed.notice {
        check_visible("the notice", notice)?;
    }
    for tool in &listed.tools {
        check_tool(tool)?;
    }
    let mut names: Vec<&str> = listed.tools.iter().map(|t| t.name.as_str()).collect();
    names.dedup();
    ensure(names.len() == listed.tools.len(), || {
        format!("two tools have the same name: {names:?}")
    })
}

fn config() -> ServerConfig {
    ServerConfig {
        name: "s".into(),
        source: ServerSource::Project,
        role: None,
        transport: ServerTransport::Http {
            url: String::new(),
            headers: BTreeMap::new(),
        },
        call_timeout: None,
        start_timeout: None,
        oauth: OAuthClient::default(),
        is_always_loaded: false,
    }
}

fn check_content(content: &McpContent, input: usize) -> CheckResult {
    ensure(content.text.len() <= TEXT_MAX + MARK_MAX, || {
        format!("{} bytes of text", content.text.len())
    })?;
    ensure(content.images.len() <= IMAGES_MAX, || {
        format!("{} images", content.images.len())
    })?;
    let size: usize = content.images.iter().map(|image| image.bytes.len()).sum();
    for image in &content.images {
        check_visible("the media type", &image.media_type)?;
    }
    check_size("the images", size, input, 1)
}

fn check_schema(schema: Result<Value, String>) -> CheckResult {
    match schema {
        Ok(schema) => {
            let text = schema.to_string();
            ensure(text.len() <= SCHEMA_MAX, || {
                format!("a schema of {} bytes", text.len())
            })?;
            let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
            ensure(is_object && schema["properties"].is_object(), || text)
        }
        Err(why) => check_visible("the reason", &why),
    }
}

fn check_tool(tool: &McpTool) -> CheckResult {
    ensure(is_tool_name(&tool.name), || {
        format!("the name {:?}", tool.name)
    })?;
    check_visible("the title", &tool.title)?;
    ensure(
        tool.description.len() <= tools::DESCRIPTION_MAX + MARK_MAX,
        || format!("a description of {} bytes", tool.description.len()),
    )?;
    check_schema(Ok(tool.input_schema.clone()))
}
