//! `merge_worktree`: merges the branch of a completed task.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lenient::LenientRef;
use super::task_get::show_id;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    on_thread, schema_of, task_ref,
};

pub const TOOL: Tool = Tool {
    name: "merge_worktree",
    text: include_str!("merge_worktree.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Lead,
    used_for: ToolUse::Coordination,
    show: show_id,
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the completed task.
    #[schemars(with = "u64")]
    task_id: LenientRef,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    let board = context.stores.board.clone();
    let id = on_thread(move || task_ref::resolve(&board, &input.task_id)).await?;
    let merged = context.host.merge(id).await;
    merged.map(ToolOutput::ok).map_err(error_output)
}
