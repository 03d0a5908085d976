//! `read_inbox`: returns the number of waiting messages. The messages themselves are delivered without this tool.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, schema_of,
};

pub const TOOL: Tool = Tool {
    name: "read_inbox",
    text: include_str!("read_inbox.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |_| String::new(),
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn run(context: &ToolContext, _: Input) -> ToolResult {
    let pending = context.stores.mailbox.peek(&context.agent);
    let waiting = pending.map_err(error_output)?.messages.len();
    // Only count the messages. The agent's driver delivers them and acknowledges them once the conversation is on disk.
    // If they were taken from the inbox here, a crash could lose them.
    Ok(ToolOutput::ok(match waiting {
        0 => "[]".to_string(),
        n if context.is_external => {
            format!("{n} message(s) wait. They follow when your turn ends.")
        }
        n => format!("{n} message(s) follow before your next step."),
    }))
}

/// Returns the description of this tool for an external agent, which gets messages only between its turns.
pub fn external_text() -> String {
    let text = TOOL.text.trim();
    text.replace("between two tool calls", "when your turn ends")
        .replace("which then follow", "which follow then")
}
