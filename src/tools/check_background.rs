//! `check_background`: shows one background command, or lists all of the caller's.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of};
use crate::domain::ids::JobId;
use crate::domain::job::Job;

pub const TOOL: Tool = Tool {
    name: "check_background",
    text: include_str!("check_background.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    show: show_id,
    run: |context, input| Box::pin(std::future::ready(run(&context, input))),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that background_run returned; null lists all of yours.
    task_id: Option<String>,
}

/// Returns the command's id from the tool input, for one-line displays.
pub fn show_id(input: &Value) -> String {
    let id = input.get("task_id").and_then(Value::as_str);
    crate::domain::text::one_line(id.unwrap_or_default())
}

fn run(context: &ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let jobs = context.host.jobs(&context.agent);
    match input.task_id {
        None if jobs.is_empty() => ToolOutput::ok("No background tasks."),
        None => {
            let lines: Vec<String> = jobs
                .iter()
                .map(|j| format!("{}: [{}] {}", j.id, j.status(), j.title()))
                .collect();
            ToolOutput::ok(lines.join("\n"))
        }
        Some(wanted) => match find_job(&jobs, &wanted) {
            Ok(job) => {
                let output = context.host.job_output(&job.id);
                let output = match (output.trim_end(), job.is_running()) {
                    ("", true) => "(running, no output yet)",
                    ("", false) => "(no output)",
                    (text, _) => text,
                };
                ToolOutput::ok(format!("[{}] {}\n{output}", job.status(), job.title()))
            }
            Err(why) => ToolOutput::error(why),
        },
    }
}

/// Returns the job in `jobs` with the id `wanted`.
///
/// # Errors
/// Text for the model that lists the known ids.
pub fn find_job<'a>(jobs: &'a [Job], wanted: &str) -> Result<&'a Job, String> {
    let wanted = JobId(wanted.trim().trim_start_matches("bg:").to_string());
    jobs.iter().find(|j| j.id == wanted).ok_or_else(|| {
        let ids: Vec<&str> = jobs.iter().map(|j| j.id.0.as_str()).collect();
        let there = if ids.is_empty() {
            "you have no background tasks".to_string()
        } else {
            format!("your background tasks are {}", ids.join(", "))
        };
        format!(
            "Error: Unknown task {}: {there}",
            crate::domain::text::one_line(&wanted.0)
        )
    })
}
