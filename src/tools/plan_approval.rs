//! `plan_approval`: a teammate submits its plan and waits for the decision.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of};
use crate::domain::request::{NewRequest, RequestKind, RequestStatus};
use crate::domain::text::{head_and_tail, one_line};

/// Maximum size of a plan, in bytes.
const PLAN_MAX: usize = 32 * 1024;

pub const TOOL: Tool = Tool {
    name: "plan_approval",
    text: include_str!("plan_approval.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Teammates,
    show: |input| {
        let plan = input
            .get("plan")
            .and_then(Value::as_str)
            .unwrap_or_default();
        one_line(plan.lines().next().unwrap_or_default())
    },
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The plan: what you will do, step by step, and how you will check it.
    plan: String,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    if input.plan.trim().is_empty() {
        return ToolOutput::error("Error: the plan is empty");
    }
    let plan = head_and_tail(&input.plan, PLAN_MAX);
    let me = &context.agent;
    let asking = NewRequest {
        workdir: context.relative_workdir(),
        ..NewRequest::new(RequestKind::Plan, me, plan)
    };
    let request = match context.host.ask(me, asking).await {
        Ok(request) => request,
        Err(why) => return ToolOutput::error(format!("Error: {why}")),
    };
    let comment = if request.comment.is_empty() {
        String::new()
    } else {
        format!(": {}", request.comment)
    };
    match request.status {
        RequestStatus::Approved => {
            ToolOutput::ok(format!("Plan approved by {}{comment}", request.decided_by))
        }
        RequestStatus::Rejected => ToolOutput::ok(format!(
            "Plan rejected by {}{comment}\nChange the plan and submit it again, or send lead a message.",
            request.decided_by
        )),
        RequestStatus::Pending | RequestStatus::Withdrawn => {
            ToolOutput::error("Error: the plan was withdrawn before a decision: submit it again")
        }
    }
}
