//! `team_size`: counts the members of the team.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_blocking, failed,
    schema_of,
};
use crate::store::Roster;

pub const TOOL: Tool = Tool {
    name: "team_size",
    text: include_str!("team_size.md"),
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
    let team = Roster::open(&context.root).read().map_err(failed)?;
    Ok(ToolOutput::ok(team.members.len().to_string()))
}
