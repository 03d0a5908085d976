//! `shutdown_response`: a teammate answers a shutdown request.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of};
use crate::domain::ids::RequestId;
use crate::domain::request::Verdict;
use crate::domain::text::{head_and_tail, one_line};

/// Maximum size of a reason, in bytes. A longer reason is cut.
const REASON_MAX: usize = 4 * 1024;

pub const TOOL: Tool = Tool {
    name: "shutdown_response",
    text: include_str!("shutdown_response.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Teammates,
    show: |input| {
        let reason = input.get("reason").and_then(Value::as_str);
        one_line(reason.unwrap_or_default())
    },
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The request_id in the message about the request.
    request_id: String,
    /// true: you shut down; false: you stay.
    approve: bool,
    /// Reason; required when approve is false.
    reason: Option<String>,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let reason = head_and_tail(
        input.reason.as_deref().unwrap_or_default().trim(),
        REASON_MAX,
    );
    let verdict = if input.approve {
        Verdict::Approve
    } else {
        Verdict::Reject
    };
    if verdict == Verdict::Reject && reason.is_empty() {
        return ToolOutput::error(
            "Error: reason is required when approve is false: say why you stay",
        );
    }
    let id = RequestId(input.request_id.trim().to_string());
    match context
        .host
        .answer_shutdown_request(&context.agent, &id, verdict, reason)
        .await
    {
        Ok(()) => ToolOutput::ok(match verdict {
            Verdict::Approve => "Shutdown approved. Finish your current task, then end your turn.",
            Verdict::Reject => "Shutdown rejected. You stay: continue your work.",
        }),
        Err(why) => ToolOutput::error(format!("Error: {why}")),
    }
}
