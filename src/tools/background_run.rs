//! `background_run`: starts a command in the background.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::host::JobSpec;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, bash, call, error_output,
    schema_of,
};

/// Default time limit of a background command. The 300 seconds of learn-claude-code are too short for many builds.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Maximum time limit that a call may set for its background command. A longer limit is reduced to this value.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

pub const TOOL: Tool = Tool {
    name: "background_run",
    text: include_str!("background_run.md"),
    schema: schema_of::<Input>,
    access: Access::Run,
    audience: Audience::Members,
    used_for: ToolUse::Work,
    show: bash::TOOL.show,
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command, run with `bash -c`.
    command: String,
    /// Seconds after which the command is stopped; null for 1800, at most 86400.
    timeout_s: Option<u64>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    if input.command.trim().is_empty() {
        return Err(error_output("the command is empty"));
    }
    let timeout = input
        .timeout_s
        .map_or(TIMEOUT, |s| Duration::from_secs(s.max(1)).min(TIMEOUT_MAX));
    let order = JobSpec {
        agent: context.agent.clone(),
        command: input.command,
        workdir: context.workdir.clone(),
        timeout,
        added: context.host.added_environment(&context.workdir).await,
    };
    let job = context.host.start_job(order).map_err(error_output)?;
    let (id, title) = (&job.id, job.title());
    Ok(ToolOutput::ok(format!(
        "Background task {id} started: {title}"
    )))
}
