//! `check_background`: shows one background command of the calling agent, or lists all of them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call_now, error_output,
    format_field, schema_of,
};
use crate::domain::ids::JobId;
use crate::domain::job::Job;
use crate::domain::text::one_line;

pub const TOOL: Tool = Tool {
    name: "check_background",
    text: include_str!("check_background.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    used_for: ToolUse::Work,
    show: show_id,
    run: |context, input| call_now(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that background_run returned; null lists all of yours.
    task_id: Option<String>,
}

/// Returns the id of the background command in the tool input, for one-line displays. Empty if the input has none.
pub fn show_id(input: &Value) -> String {
    format_field(input, "task_id")
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let jobs = context.host.jobs(&context.agent);
    let Some(wanted) = input.task_id else {
        if jobs.is_empty() {
            return Ok(ToolOutput::ok("No background tasks."));
        }
        let line = |j: &Job| format!("{}: [{}] {}", j.id, j.status(), j.title());
        let lines: Vec<String> = jobs.iter().map(line).collect();
        return Ok(ToolOutput::ok(lines.join("\n")));
    };
    let job = find_job(&jobs, &wanted)?;
    let output = context.host.job_output(&job.id);
    let output = match (output.trim_end(), job.is_running()) {
        ("", true) => "(running, no output yet)",
        ("", false) => "(no output)",
        (text, _) => text,
    };
    let (status, title) = (job.status(), job.title());
    Ok(ToolOutput::ok(format!("[{status}] {title}\n{output}")))
}

/// Finds a job by its id, with or without the prefix `bg:`.
///
/// # Errors
/// Returns text for the model that lists the ids of `jobs`.
pub fn find_job<'a>(jobs: &'a [Job], wanted: &str) -> Result<&'a Job, ToolOutput> {
    let wanted = JobId(wanted.trim().trim_start_matches("bg:").to_string());
    jobs.iter().find(|j| j.id == wanted).ok_or_else(|| {
        let ids: Vec<&str> = jobs.iter().map(|j| j.id.0.as_str()).collect();
        let there = if ids.is_empty() {
            "you have no background tasks".to_string()
        } else {
            format!("your background tasks are {}", ids.join(", "))
        };
        let wanted = one_line(&wanted.0);
        error_output(format!("Unknown task {wanted}: {there}"))
    })
}
