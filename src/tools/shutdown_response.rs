//! `shutdown_response`: a teammate answers a shutdown request.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    format_field, schema_of,
};
use crate::domain::ids::RequestId;
use crate::domain::request::Verdict;
use crate::domain::text::head_and_tail;

/// Maximum size of a reason, in bytes. A longer reason is cut.
const REASON_MAX: usize = 4 * 1024;

pub const TOOL: Tool = Tool {
    name: "shutdown_response",
    text: include_str!("shutdown_response.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Teammates,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "reason"),
    run: |context, input| call(context, input, run),
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

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let reason = head_and_tail(
        input.reason.as_deref().unwrap_or_default().trim(),
        REASON_MAX,
    );
    if !input.approve && reason.is_empty() {
        let why = "reason is required when approve is false: say why you cannot shut down yet";
        return Err(error_output(why));
    }
    let (verdict, text) = if input.approve {
        let text = "Shutdown approved. Finish your current task, then end your turn.";
        (Verdict::Approve, text)
    } else {
        (
            Verdict::Reject,
            "Shutdown rejected. You stay: continue your work.",
        )
    };
    let (host, id) = (
        &context.host,
        RequestId(input.request_id.trim().to_string()),
    );
    let answered = host.answer_shutdown_request(&context.agent, &id, verdict, reason);
    answered.await.map_err(error_output)?;
    Ok(ToolOutput::ok(text))
}
