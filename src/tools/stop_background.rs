//! `stop_background`: stops a background command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::check_background::{find_job, show_id};
use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of};

pub const TOOL: Tool = Tool {
    name: "stop_background",
    text: include_str!("stop_background.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    show: show_id,
    run: |context, input| Box::pin(std::future::ready(run(&context, input))),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that background_run returned.
    task_id: String,
}

fn run(context: &ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let jobs = context.host.jobs(&context.agent);
    let stopped = find_job(&jobs, &input.task_id).and_then(|job| {
        let killed = context.host.kill_job(&job.id, &context.agent);
        killed.map(|()| job).map_err(|why| format!("Error: {why}"))
    });
    match stopped {
        Ok(job) => ToolOutput::ok(format!("Background task {} is being stopped.", job.id)),
        Err(why) => ToolOutput::error(why),
    }
}
