//! Reads details of tool calls that some agents do not report in the fields of the protocol.

use serde_json::Value;

use crate::domain::agent_update::AgentToolKind;

/// The call of a tool of an MCP server.
pub struct McpCall<'a> {
    /// The name of the tool, such as `mcp__crew__send_message`.
    pub title: String,
    /// The arguments, if they are not in `rawInput`, the field of the protocol.
    pub arguments: Option<&'a Value>,
}

/// Returns the call of an MCP server's tool if Codex or Qwen Code reports it in its own form: Codex as a command, Qwen
/// Code with the arguments as the title. Returns `None` for other calls.
pub fn mcp_call(call: &Value) -> Option<McpCall<'_>> {
    let meta = call.get("_meta")?;
    // Codex reports a command, whose arguments contain the call.
    if meta.get("is_mcp_tool_call").and_then(Value::as_bool) == Some(true) {
        let input = call.get("rawInput")?;
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        return Some(McpCall {
            title: format!("mcp__{}__{}", text("server")?, text("tool")?),
            arguments: input.get("arguments"),
        });
    }
    // The title of Qwen Code consists of the arguments.
    let name = meta.get("toolName")?.as_str()?;
    name.starts_with("mcp__").then(|| McpCall {
        title: name.to_string(),
        arguments: None,
    })
}

/// Returns the kind of a call of a tool of goose's built-in extension `developer`; `None` for other calls. goose itself
/// reports no kind.
pub fn goose_kind(call: &Value) -> Option<AgentToolKind> {
    let tool = call.pointer("/_meta/goose/toolCall")?;
    let text = |name: &str| tool.get(name).and_then(Value::as_str);
    match (text("extensionName")?, text("toolName")?) {
        ("developer", "shell") => Some(AgentToolKind::Execute),
        ("developer", "write" | "edit") => Some(AgentToolKind::Edit),
        _ => None,
    }
}

/// Returns the arguments of a call that waits for a permission, as Gemini CLI reports them: as JSON in the text of the
/// call, which has no output yet. Returns `None` for other calls.
pub fn pending_arguments(call: &Value) -> Option<Value> {
    let text_of = |name: &str| call.get(name).and_then(Value::as_str);
    if text_of("status") != Some("pending") || call.get("rawInput").is_some() {
        return None;
    }
    let text = call.pointer("/content/0/content/text")?.as_str()?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// Returns the next piece of a command's output, as Codex reports it to clients without terminals. Not redacted,
/// because a secret may be split between two pieces.
pub fn more_output(call: &Value) -> Option<&str> {
    let meta = call.get("_meta")?;
    let pieces = ["terminal_output_delta", "terminal_output"];
    let piece = pieces.iter().find_map(|name| meta.get(*name)?.get("data"));
    piece?.as_str()
}
