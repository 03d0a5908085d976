//! `list_teammates`: lists the members of the team.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking,
    error_output, schema_of,
};

pub const TOOL: Tool = Tool {
    name: "list_teammates",
    text: include_str!("list_teammates.md"),
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
    let team = context.stores.roster.read().map_err(error_output)?;
    if team.members.is_empty() {
        return Ok(ToolOutput::ok("No teammates."));
    }
    let mut lines = vec![format!("Team: {}", team.team_name)];
    lines.extend(
        team.members
            .iter()
            .map(|m| format!("  {} ({}): {}", m.name, m.role, m.status)),
    );
    Ok(ToolOutput::ok(lines.join("\n")))
}
