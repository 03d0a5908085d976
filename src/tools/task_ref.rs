//! Task references and task results, shared by all board tools.

use super::lenient::LenientRef;
use super::{ToolContext, ToolOutput};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::store::{Board, Roster, StoreError};

/// Resolves a task reference. If the model wrote a subject instead of a number, the error names the number.
pub fn resolve(board: &Board, reference: &LenientRef) -> Result<TaskId, ToolOutput> {
    board.resolve(&reference.0).map_err(|e| refused(&e))
}

/// Resolves several task references.
pub fn resolve_all(board: &Board, references: &[LenientRef]) -> Result<Vec<TaskId>, ToolOutput> {
    references.iter().map(|r| resolve(board, r)).collect()
}

/// Returns a store error as a tool result.
pub fn refused(error: &StoreError) -> ToolOutput {
    ToolOutput::error(format!("Error: {error}"))
}

/// Returns a task as a tool result: the JSON of its file.
pub fn whole(task: &Task) -> Result<ToolOutput, ToolOutput> {
    let text = serde_json::to_string_pretty(task);
    text.map(ToolOutput::ok)
        .map_err(|e| ToolOutput::error(format!("Error: {e}")))
}

/// Returns the calling agent as a claimer, with its tags from the roster.
pub fn claimer(context: &ToolContext) -> Claimer {
    let team = Roster::open(&context.root).read().unwrap_or_default();
    let tags = team
        .find(&context.agent)
        .map(|m| m.tags.clone())
        .unwrap_or_default();
    Claimer {
        name: context.agent.clone(),
        tags,
    }
}
