//! `claim_task`: takes a ready task.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::loose::LooseRef;
use super::{
    Access, Audience, Tool, ToolContext, ToolOutput, blocking, parse, schema_of, task_get, task_ref,
};

use crate::domain::ids::{Name, TaskId};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "claim_task",
    text: include_str!("claim_task.md"),
    schema: schema_of::<Input>,
    access: Access::Crew,
    audience: Audience::Members,
    show: task_get::show_id,
    run: |context, input| Box::pin(blocking(context, input, run)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The task's number; the first ready one if missing.
    #[schemars(with = "Option<u64>")]
    task_id: Option<LooseRef>,
}

fn run(context: &ToolContext, input: Value) -> Result<ToolOutput, ToolOutput> {
    let input: Input = parse(input)?;
    let board = &context.board;
    let id = match &input.task_id {
        Some(reference) => Some(task_ref::resolve(board, reference)?),
        None => None,
    };
    let claimed = board.claim(id, &task_ref::claimer(context), (context.clock)());
    match claimed.map_err(|e| task_ref::refused(&e))? {
        Some(task) => {
            let mark = mark(task.id, &context.agent);
            let (subject, description) = (task.subject, task.description);
            Ok(ToolOutput::ok(format!("{mark}\n{subject}\n{description}")))
        }
        None => Ok(ToolOutput::ok("No task is ready.")),
    }
}

/// How the answer to a claim begins.
pub fn mark(id: TaskId, claimer: &Name) -> String {
    format!("Claimed task #{} for {claimer}", id.0)
}
