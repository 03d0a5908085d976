//! `shutdown_request`: the lead asks a teammate to shut down.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    format_field, messages, on_thread, schema_of,
};
use crate::domain::ids::Name;
use crate::domain::request::RequestKind;
use crate::domain::text::head_and_tail;

/// Maximum size of a reason, in bytes. A longer reason is cut.
const REASON_MAX: usize = 4 * 1024;

pub const TOOL: Tool = Tool {
    name: "shutdown_request",
    text: include_str!("shutdown_request.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Lead,
    used_for: ToolUse::Coordination,
    show: |input| format_field(input, "teammate"),
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Name of the running teammate that you want to shut down.
    teammate: String,
    /// Reason, which the teammate reads.
    reason: Option<String>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let is_own = |name: Name| name.same(&context.agent);
    if Name::party(input.teammate.trim().trim_start_matches('@')).is_ok_and(is_own) {
        return Err(error_output(
            "you cannot shut yourself down: pass the name of a teammate",
        ));
    }
    let resolving = context.clone();
    let target = on_thread(move || messages::recipient(&resolving, &input.teammate)).await?;
    if target.is_user() {
        return Err(error_output(
            "the user cannot be shut down: pass the name of a teammate",
        ));
    }
    let reason = input.reason;
    let reason = reason.unwrap_or_else(|| "There is no more work for this teammate.".into());
    let reason = head_and_tail(&reason, REASON_MAX);
    let (host, from) = (&context.host, &context.agent);
    let filed = host
        .file(from, RequestKind::Shutdown, &target, reason)
        .await;
    let request = filed.map_err(error_output)?;
    Ok(ToolOutput::ok(format!(
        "Shutdown request {} for '{target}' (status: {}). The answer is delivered to you as a message.",
        request.id, request.status
    )))
}
