//! `stop_background`: stops a background command.

use schemars::JsonSchema;
use serde::Deserialize;

use super::check_background::{find_job, show_id};
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_now, error_output,
    schema_of,
};

pub const TOOL: Tool = Tool {
    name: "stop_background",
    text: include_str!("stop_background.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    used_for: ToolUse::Work,
    show: show_id,
    run: |context, input| call_now(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that background_run returned.
    task_id: String,
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let jobs = context.host.jobs(&context.agent);
    let id = &find_job(&jobs, &input.task_id)?.id;
    let killed = context.host.kill_job(id, &context.agent);
    killed.map_err(error_output)?;
    Ok(ToolOutput::ok(format!(
        "Background task {id} is being stopped."
    )))
}
