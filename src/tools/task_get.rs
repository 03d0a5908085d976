//! `task_get`: returns one task in full.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lenient::LenientRef;
use super::{
    Access, Audience, Tool, ToolContext, ToolResult, ToolUse, call_blocking, error_output,
    schema_of, task_ref,
};

pub const TOOL: Tool = Tool {
    name: "task_get",
    text: include_str!("task_get.md"),
    schema: schema_of::<Input>,
    access: Access::Read,
    audience: Audience::Members,
    used_for: ToolUse::Coordination,
    show: show_id,
    run: |context, input| call_blocking(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the task.
    #[schemars(with = "u64")]
    task_id: LenientRef,
}

/// Returns the task number in a tool input as `#N`, for one-line displays. Empty if the input has none.
pub fn show_id(input: &Value) -> String {
    let id = input
        .get("task_id")
        .map(ToString::to_string)
        .unwrap_or_default();
    if id.is_empty() {
        id
    } else {
        crate::domain::text::one_line(&format!("#{}", id.trim_matches(['"', '#'])))
    }
}

fn run(context: &ToolContext, input: Input) -> ToolResult {
    let id = task_ref::resolve(&context.stores.board, &input.task_id)?;
    let task = context.stores.board.get(id).map_err(error_output)?;
    task_ref::to_output(&task)
}
