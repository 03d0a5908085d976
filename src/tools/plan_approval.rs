//! `plan_approval`: a teammate submits its plan and waits for the decision.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    schema_of,
};
use crate::domain::request::{NewRequest, RequestKind, RequestStatus};
use crate::domain::text::{head_and_tail, one_line};

/// Maximum size of a plan, in bytes. A longer plan is cut in the middle.
const PLAN_MAX: usize = 32 * 1024;

/// The tool result if the wait ends before the plan is decided.
const UNDECIDED_PLAN: &str = "The plan is not decided yet, and the request stays open. End your turn now: the decision \
     arrives as a message, and you continue then. Change nothing until then, and do not submit the plan again.";

pub const TOOL: Tool = Tool {
    name: "plan_approval",
    text: include_str!("plan_approval.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Teammates,
    used_for: ToolUse::Coordination,
    show: |input| {
        let plan = input
            .get("plan")
            .and_then(Value::as_str)
            .unwrap_or_default();
        one_line(plan.lines().next().unwrap_or_default())
    },
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The plan: what you will do, step by step, and how you will check it.
    plan: String,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    if input.plan.trim().is_empty() {
        return Err(error_output(
            "the plan is empty: write what you will do, step by step",
        ));
    }
    let plan = head_and_tail(&input.plan, PLAN_MAX);
    let me = &context.agent;
    let asking = NewRequest {
        workdir: context.relative_workdir(),
        wait_max: context.decision_wait(),
        ..NewRequest::new(RequestKind::Plan, me, plan)
    };
    let request = context.host.ask(me, asking).await.map_err(error_output)?;
    let comment = if request.comment.is_empty() {
        String::new()
    } else {
        format!(": {}", request.comment)
    };
    let by = &request.decided_by;
    match request.status {
        RequestStatus::Approved => Ok(ToolOutput::ok(format!("Plan approved by {by}{comment}"))),
        RequestStatus::Rejected => Ok(ToolOutput::ok(format!(
            "Plan rejected by {by}{comment}\nChange the plan and submit it again, or send lead a message."
        ))),
        RequestStatus::Pending => Ok(ToolOutput::ok(UNDECIDED_PLAN)),
        RequestStatus::Withdrawn => Err(error_output(
            "the plan was withdrawn before a decision: submit it again",
        )),
    }
}
