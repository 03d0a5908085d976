//! Resolves task references and formats task results, for all board tools.

use super::lenient::LenientRef;
use super::{ToolContext, ToolOutput, ToolResult, error_output};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::store::Board;

/// Returns the number of the referenced task, without checking that the task exists. Fails with text for the model if
/// the model wrote a subject instead of a number; the text names the number of the task with that subject.
pub fn resolve(board: &Board, reference: &LenientRef) -> Result<TaskId, ToolOutput> {
    board.resolve(&reference.0).map_err(error_output)
}

pub fn resolve_all(board: &Board, references: &[LenientRef]) -> Result<Vec<TaskId>, ToolOutput> {
    references.iter().map(|r| resolve(board, r)).collect()
}

/// Returns a tool result with the task as JSON, in the same form as in the task's file.
pub fn to_output(task: &Task) -> ToolResult {
    let text = serde_json::to_string_pretty(task);
    text.map(ToolOutput::ok).map_err(error_output)
}

/// Returns the calling agent with its tags. The tags come from the roster and decide which tasks the agent may claim.
/// If the roster cannot be read, the agent has no tags.
pub fn claimer(context: &ToolContext) -> Claimer {
    let team = context.stores.roster.read().unwrap_or_default();
    let tags = team
        .find(&context.agent)
        .map(|m| m.tags.clone())
        .unwrap_or_default();
    Claimer {
        name: context.agent.clone(),
        tags,
    }
}
