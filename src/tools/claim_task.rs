//! `claim_task`: claims a ready task.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lenient::LenientRef;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, ToolResult, ToolUse, call, error_output,
    on_thread, schema_of, task_get, task_ref,
};

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;

pub const TOOL: Tool = Tool {
    name: "claim_task",
    text: include_str!("claim_task.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    // An external agent cannot be moved into the task's worktree while it works. Ready tasks are claimed for it between its
    // turns.
    audience: Audience::OwnMembers,
    used_for: ToolUse::Coordination,
    show: task_get::show_id,
    run: |context, input| call(context, input, run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Number of the task; null for the first ready task that fits you.
    #[schemars(with = "Option<u64>")]
    task_id: Option<LenientRef>,
}

async fn run(context: ToolContext, input: Input) -> ToolResult {
    context.host.check_may_claim().map_err(error_output)?;
    let claiming = context.clone();
    let Some(task) = on_thread(move || claim(&claiming, &input)).await? else {
        return Ok(ToolOutput::ok("No task is ready that you can claim."));
    };
    let entered = context.host.enter_worktree(&context.agent, &task).await;
    let place = entered.map_err(error_output)?;
    let mark = result_line(task.id, &context.agent);
    let (subject, description) = (&task.subject, &task.description);
    Ok(ToolOutput::ok(format!(
        "{mark}\n{subject}\n{description}{place}"
    )))
}

fn claim(context: &ToolContext, input: &Input) -> Result<Option<Task>, ToolOutput> {
    let board = &context.stores.board;
    let id = match &input.task_id {
        Some(reference) => Some(task_ref::resolve(board, reference)?),
        None => None,
    };
    let claimed = board.claim(id, &task_ref::claimer(context), (context.clock)());
    claimed.map_err(error_output)
}

/// Returns the first line of the tool result of a successful claim. After a restart, crewdeck searches the conversation
/// for this line.
pub fn result_line(id: TaskId, claimer: &Name) -> String {
    format!("{CLAIMED}{} for {claimer}", id.0)
}

/// Begins [`result_line`].
pub const CLAIMED: &str = "Claimed task #";
