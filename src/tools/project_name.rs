//! `project_name`: the name of the project's folder.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_now, schema_of,
};

pub const TOOL: Tool = Tool {
    name: "project_name",
    text: include_str!("project_name.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: |_| String::new(),
    run: |context, input| call_now(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn run(context: &ToolContext, _: Input) -> ToolResult {
    let name = context.root.file_name().unwrap_or_default();
    Ok(ToolOutput::ok(name.to_string_lossy()))
}
