//! `merge_worktree`: merges the branch of a completed task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lenient::LenientRef;
use super::task_get::show_id;
use super::{Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of, task_ref};

pub const TOOL: Tool = Tool {
    name: "merge_worktree",
    text: include_str!("merge_worktree.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Lead,
    show: show_id,
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the completed task.
    #[schemars(with = "u64")]
    task_id: LenientRef,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let input: Input = match parse(input) {
        Ok(input) => input,
        Err(output) => return output,
    };
    let board = context.board.clone();
    let found =
        tokio::task::spawn_blocking(move || task_ref::resolve(&board, &input.task_id)).await;
    let id = match found {
        Ok(Ok(id)) => id,
        Ok(Err(output)) => return output,
        Err(error) => return ToolOutput::error(format!("Error: {error}")),
    };
    match context.host.merge(id).await {
        Ok(text) => ToolOutput::ok(text),
        Err(why) => ToolOutput::error(format!("Error: {why}")),
    }
}
