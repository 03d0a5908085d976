//! `shutdown_request`: the lead asks a teammate to shut down.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, messages, parse, schema_of, shown};
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
    show: |input| shown(input, "teammate"),
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Name of the teammate.
    teammate: String,
    /// Reason, which the teammate reads.
    reason: Option<String>,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let look = context.clone();
    let name = input.teammate.clone();
    let target = match tokio::task::spawn_blocking(move || messages::recipient(&look, &name)).await
    {
        Ok(Ok(target)) if !target.is_user() => target,
        Ok(Ok(_)) => return ToolOutput::error("Error: the user cannot be shut down"),
        Ok(Err(output)) => return output,
        Err(error) => return ToolOutput::error(format!("Error: {error}")),
    };
    let reason = input
        .reason
        .unwrap_or_else(|| "It is no longer needed.".into());
    let reason = head_and_tail(&reason, REASON_MAX);
    match context
        .host
        .file(&context.agent, RequestKind::Shutdown, &target, reason)
        .await
    {
        Ok(request) => ToolOutput::ok(format!(
            "Shutdown request {} for '{target}' (status: {}). The answer is delivered to you as a message.",
            request.id, request.status
        )),
        Err(why) => ToolOutput::error(format!("Error: {why}")),
    }
}
