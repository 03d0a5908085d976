//! Describes the progress of an idle team, for the lead.

use crate::domain::chat::{Block, Message, Role};
use crate::domain::graph::TaskGraph;
use crate::domain::task::{Task, TaskStatus};

/// The progress of an idle team, as a text for the lead. A board without tasks counts as `Done`.
pub enum TeamProgress {
    Done(String),
    Open(String),
}

pub fn progress(graph: &TaskGraph) -> TeamProgress {
    let all = graph.len();
    match all - graph.done() {
        0 => TeamProgress::Done(format!(
            "All {all} tasks on the board are completed and the team is idle."
        )),
        open => TeamProgress::Open(format!("The team is idle with {open} of {all} tasks open")),
    }
}

/// Returns whether the lead of a resumed session must be informed of the team's progress. This is so if the user or an
/// agent other than the lead has completed a task and the lead's conversation does not mention the current progress.
pub fn is_news(graph: &TaskGraph, conversation: &[Message]) -> bool {
    let (TeamProgress::Done(text) | TeamProgress::Open(text)) = progress(graph);
    let has_heard =
        |block: &Block| matches!(block, Block::Text { text: heard } if heard.contains(&text));
    let mut heard = conversation
        .iter()
        .filter(|m| m.role == Role::User)
        .flat_map(|m| &m.blocks);
    let by_others = |t: &Task| t.status == TaskStatus::Completed && t.owner != "lead";
    graph.tasks().any(by_others) && !heard.any(has_heard)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn empty_board_is_no_news() {
        assert!(!is_news(&TaskGraph::default(), &[]));
        let TeamProgress::Done(text) = progress(&TaskGraph::default()) else {
            panic!("an empty board has no open task");
        };
        assert_eq!(
            text,
            "All 0 tasks on the board are completed and the team is idle."
        );
    }
}
