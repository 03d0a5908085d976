//! `decide_request`: the lead decides a request of which it is the approver. It is an approver only with the options
//! `--plan lead`, `--shutdown lead` or `--tool lead`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    on_thread, schema_of,
};
use crate::domain::ids::RequestId;
use crate::domain::request::{Decision, Verdict};
use crate::domain::text::{head_and_tail, one_line};

/// Maximum size of a comment, in bytes. A longer comment is cut.
const COMMENT_MAX: usize = 4 * 1024;

pub const TOOL: Tool = Tool {
    name: "decide_request",
    text: include_str!("decide_request.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Lead,
    used_for: ToolUse::Coordination,
    show: |input| {
        let approve = input.get("approve").and_then(Value::as_bool);
        let id = input
            .get("request_id")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let word = if approve == Some(true) {
            "approve"
        } else {
            "reject"
        };
        one_line(&format!("{word} {id}"))
    },
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The request_id in the message about the request.
    request_id: String,
    /// true: approve; false: reject.
    approve: bool,
    /// Reason or advice, which the requester reads.
    #[serde(alias = "feedback")]
    comment: Option<String>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let id = RequestId(input.request_id);
    let (requests, wanted) = (context.stores.requests.clone(), id.clone());
    let found = on_thread(move || requests.get(&wanted).map_err(error_output)).await?;
    let request = found.ok_or_else(|| {
        error_output(format!(
            "there is no request {id}: use the request_id of the message that asks for the decision"
        ))
    })?;
    let verdict = if input.approve {
        Verdict::Approve
    } else {
        Verdict::Reject
    };
    let comment = head_and_tail(&input.comment.unwrap_or_default(), COMMENT_MAX);
    let decision = Decision::on(&request, verdict, context.agent, comment);
    let request = context.host.decide(decision).await.map_err(error_output)?;
    Ok(ToolOutput::ok(format!(
        "The {} request of '{}' is {}",
        request.kind, request.target, request.status
    )))
}
