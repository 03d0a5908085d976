//! Reports unfinished work at the end of a headless run: open tasks, and teammates that are stuck or have failed.

use std::collections::BTreeMap;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::Name;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::team::Activity;
use crate::domain::text::{clip, one_line};
use crate::protocol::event::{AgentEvent, EventKind, TurnEnd};

/// Maximum number of tasks, and maximum number of teammates, that the report names. The others are only counted.
const NAMED_MAX: usize = 5;
/// Maximum length, in characters, of a task's subject or a teammate's reason in the report.
const WORDS_MAX: usize = 120;

/// The teammates that are stuck or have failed, each with the reason.
#[derive(Debug, Default)]
pub struct UnfinishedWork {
    stuck: BTreeMap<Name, String>,
}

impl UnfinishedWork {
    /// Updates the list of stuck teammates if `event` says that a teammate has stopped, failed or continued.
    pub fn update(&mut self, event: &EventKind) {
        let EventKind::Agent { agent, event } = event else {
            return;
        };
        match event {
            AgentEvent::TurnEnded { end } => match end {
                TurnEnd::Failed { error, .. } => self.record(agent, error),
                TurnEnd::Stopped { why } => self.record(agent, why),
                TurnEnd::Done | TurnEnd::Interrupted => self.clear(agent),
            },
            AgentEvent::ActivityChanged { activity } => match activity {
                Activity::Stuck { why } | Activity::Failed { why } => self.record(agent, why),
                Activity::Thinking
                | Activity::Compacting
                | Activity::Tool { .. }
                | Activity::Gone => self.clear(agent),
                Activity::Idle
                | Activity::Backoff { .. }
                | Activity::Queued { .. }
                | Activity::NeedsYou { .. } => {}
            },
            _ => {}
        }
    }

    /// Records a stuck teammate and the reason. Ignores the lead, which is reported separately, and subagents, which
    /// report to the agent that started them.
    fn record(&mut self, agent: &Name, why: &str) {
        if !agent.is_lead() && agent.parent().is_none() {
            let why = clip(&one_line(why), WORDS_MAX);
            self.stuck.insert(agent.clone(), why);
        }
    }

    fn clear(&mut self, agent: &Name) {
        self.stuck.remove(agent);
    }

    /// Returns one line that names the open tasks and stuck teammates; `None` if there are none.
    pub fn summary(&self, board: &TaskGraph) -> Option<String> {
        let open: Vec<&Task> = board
            .tasks()
            .filter(|task| task.status != TaskStatus::Completed)
            .collect();
        let mut parts = Vec::new();
        if !open.is_empty() {
            let count = match open.len() {
                1 => "1 open task".to_string(),
                n => format!("{n} open tasks"),
            };
            parts.push(format!(
                "{count}: {}",
                join_first_names(open.into_iter().map(task))
            ));
        }
        if !self.stuck.is_empty() {
            let stuck = self
                .stuck
                .iter()
                .map(|(name, why)| format!("{name} ({why})"));
            let what = if self.stuck.len() == 1 {
                "stuck teammate"
            } else {
                "stuck teammates"
            };
            parts.push(format!("{what}: {}", join_first_names(stuck)));
        }
        (!parts.is_empty()).then(|| {
            format!(
                "the run ended with {}. List tasks with crewdeck task list, continue with crewdeck run --resume \"…\"",
                parts.join("; ")
            )
        })
    }
}

fn task(task: &Task) -> String {
    let subject = clip(&one_line(&task.subject), WORDS_MAX);
    if task.owner.is_empty() {
        format!("{} {subject}", task.id)
    } else {
        format!("{} {subject} (@{})", task.id, one_line(&task.owner))
    }
}

/// Returns the first [`NAMED_MAX`] items, separated by commas. If there are more, appends how many, as in `3 more`.
fn join_first_names(all: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = all.collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    if more > 0 {
        names.truncate(NAMED_MAX);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::graph::NewTask;
    use crate::domain::ids::TaskId;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    fn name(text: &str) -> Name {
        Name::party(text).unwrap()
    }

    fn turn_end_event(agent: &str, end: TurnEnd) -> EventKind {
        AgentEvent::TurnEnded { end }.of(name(agent))
    }

    fn failed_turn() -> TurnEnd {
        TurnEnd::Failed {
            error: "the API key was refused".into(),
            hint: String::new(),
        }
    }

    #[test]
    fn teammate_that_continues_is_not_stuck() {
        let board = TaskGraph::default();
        let mut unfinished = UnfinishedWork::default();
        assert_eq!(unfinished.summary(&board), None);
        unfinished.update(&turn_end_event("lead", failed_turn()));
        assert_eq!(unfinished.summary(&board), None);
        unfinished.update(&turn_end_event("bob", failed_turn()));
        let words = unfinished.summary(&board).unwrap();
        assert!(
            words.contains("ended with stuck teammate: bob (the API key was refused)."),
            "{words}"
        );
        unfinished.update(&turn_end_event("bob", TurnEnd::Done));
        assert_eq!(unfinished.summary(&board), None);
    }

    #[test]
    fn open_tasks_are_listed_up_to_the_limit() {
        let mut board = TaskGraph::default();
        for n in 1..=7 {
            let new = NewTask {
                subject: format!("task {n}\nmore"),
                description: String::new(),
                blocked_by: Vec::new(),
                tags: Vec::new(),
                worktree: String::new(),
            };
            board.create(TaskId(n), new, Timestamp(1.0)).unwrap();
        }
        board
            .complete(TaskId(1), &name("bob"), Timestamp(2.0))
            .unwrap();
        let words = UnfinishedWork::default().summary(&board).unwrap();
        assert!(words.contains("6 open tasks: #2 task 2"), "{words}");
        assert!(words.contains(", 1 more. List tasks with"), "{words}");
        assert_eq!(words.lines().count(), 1);
    }
}
