//! `compact`: requests a summary of the conversation before the next model call.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_now, format_field,
    schema_of,
};

pub const TOOL: Tool = Tool {
    name: "compact",
    text: include_str!("compact.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    // An external agent keeps its own conversation.
    audience: Audience::OwnMembers,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "focus"),
    run: |context, input| call_now(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// What the summary should cover in most detail.
    focus: Option<String>,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let focus = input.focus.unwrap_or_default();
    context.host.compact(&context.agent, focus);
    let text = "Compressing... A summary replaces the conversation before your next step.";
    Ok(ToolOutput::ok(text))
}
