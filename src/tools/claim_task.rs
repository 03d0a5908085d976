//! `claim_task`: claims a ready task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lenient::LenientRef;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, parse, schema_of, task_get, task_ref,
};

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;

pub const TOOL: Tool = Tool {
    name: "claim_task",
    text: include_str!("claim_task.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    show: task_get::show_id,
    run: |context, input| Box::pin(run(context, input)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the task; null for the first ready task that fits you.
    #[schemars(with = "Option<u64>")]
    task_id: Option<LenientRef>,
}

async fn run(context: ToolContext, input: Value) -> ToolOutput {
    let on_thread = context.clone();
    let claimed = tokio::task::spawn_blocking(move || claim(&on_thread, input)).await;
    let task = match claimed {
        Ok(Ok(Some(task))) => task,
        Ok(Ok(None)) => return ToolOutput::ok("No task is ready."),
        Ok(Err(output)) => return output,
        Err(error) => return ToolOutput::error(format!("Error: the tool failed: {error}")),
    };
    match context.host.enter_worktree(&context.agent, &task).await {
        Ok(place) => {
            let mark = result_line(task.id, &context.agent);
            let (subject, description) = (&task.subject, &task.description);
            ToolOutput::ok(format!("{mark}\n{subject}\n{description}{place}"))
        }
        Err(why) => ToolOutput::error(format!("Error: {why}")),
    }
}

fn claim(context: &ToolContext, input: Value) -> Result<Option<Task>, ToolOutput> {
    let input: Input = parse(input)?;
    let board = &context.board;
    let id = match &input.task_id {
        Some(reference) => Some(task_ref::resolve(board, reference)?),
        None => None,
    };
    let claimed = board.claim(id, &task_ref::claimer(context), (context.clock)());
    claimed.map_err(|e| task_ref::store_error(&e))
}

/// Returns the first line of the tool result of a successful claim. A restart searches the conversation for it.
pub fn result_line(id: TaskId, claimer: &Name) -> String {
    format!("Claimed task #{} for {claimer}", id.0)
}
