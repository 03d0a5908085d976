//! Task references and task results, said once for all board tools.

use super::loose::LooseRef;
use super::{ToolContext, ToolOutput};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::store::{Board, Roster, StoreError};

/// The task that a model means. Words where a number belongs are answered with the number.
pub fn resolve(board: &Board, reference: &LooseRef) -> Result<TaskId, ToolOutput> {
    board.resolve(&reference.0).map_err(|e| refused(&e))
}

/// All of them.
pub fn resolve_all(board: &Board, references: &[LooseRef]) -> Result<Vec<TaskId>, ToolOutput> {
    references.iter().map(|r| resolve(board, r)).collect()
}

/// A refusal as the model reads it.
pub fn refused(error: &StoreError) -> ToolOutput {
    ToolOutput::error(format!("Error: {error}"))
}

/// A task as the model reads it: its file.
pub fn whole(task: &Task) -> Result<ToolOutput, ToolOutput> {
    let text = serde_json::to_string_pretty(task);
    text.map(ToolOutput::ok)
        .map_err(|e| ToolOutput::error(format!("Error: {e}")))
}

/// The calling agent as a claimer: its tags are those of the roster.
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
