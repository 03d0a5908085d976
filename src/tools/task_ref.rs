//! Task references and task results, said once for all board tools.

use super::loose::TaskRef;
use super::{ToolContext, ToolOutput};
use crate::domain::graph::Claimer;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::text::{clip, one_line};
use crate::store::{Board, Roster, StoreError};

/// Most characters of a model's words that an answer repeats.
const WORDS_MAX: usize = 200;

/// The task that a model means. Words where a number belongs are answered with the number.
pub fn resolve(board: &Board, reference: &TaskRef) -> Result<TaskId, ToolOutput> {
    let words = match reference {
        TaskRef::Id(id) => return Ok(TaskId(*id)),
        TaskRef::Words(words) => words,
    };
    let graph = board.read().map_err(|e| refused(&e))?.graph;
    let same = |t: &&Task| t.subject.trim().eq_ignore_ascii_case(words.trim());
    let shown = clip(&one_line(words), WORDS_MAX);
    Err(ToolOutput::error(match graph.tasks().find(same) {
        Some(task) => format!(
            "Error: '{shown}' is the subject of a task: use its number {}",
            task.id.0
        ),
        None => format!("Error: '{shown}' is not the number of a task (task_list shows them)"),
    }))
}

/// All of them.
pub fn resolve_all(board: &Board, references: &[TaskRef]) -> Result<Vec<TaskId>, ToolOutput> {
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
