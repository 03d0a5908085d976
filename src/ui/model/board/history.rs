//! The history of each task, derived from changes of the board and from notices about the task's branch. Pure.
//!
//! The history depends only on events, so a resumed or replayed session shows the same history.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::{clip, one_line};
use crate::domain::timestamp::Timestamp;
use crate::ui::text::display_name;

/// Maximum number of [`HistoryStep`]s in memory, for all tasks together. If there are more, the oldest are dropped.
pub const STEPS_MAX: usize = 20_000;
/// Maximum length of the text of one step, in characters. A longer text is cut.
const WORDS_MAX: usize = 200;

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryStep {
    Claimed {
        /// The new owner of the task.
        by: String,
        /// The number of claims of the task so far, including this one.
        attempt: u32,
    },
    Released {
        /// The owner before the release of the task.
        by: String,
    },
    Completed {
        /// The owner who completed the task; empty if the task had no owner.
        by: String,
    },
    /// The last blocker of the task was completed or removed.
    Unblocked,
    /// The task had no blockers and now has some.
    Blocked,
    /// The subject, description or tags of the task changed.
    Edited,
    /// The text of a notice about the task's branch, such as that it was merged or has a conflict.
    Branch(String),
}

impl HistoryStep {
    /// Returns a description of the step for the page of the task.
    pub fn words(&self) -> String {
        match self {
            HistoryStep::Claimed { by, attempt: 0..=1 } => format!("claimed by {by}"),
            HistoryStep::Claimed { by, attempt } => format!("claimed by {by}, attempt {attempt}"),
            HistoryStep::Released { by } => format!("released by {by}"),
            HistoryStep::Completed { by } if by.is_empty() => "completed".into(),
            HistoryStep::Completed { by } => format!("completed by {by}"),
            HistoryStep::Unblocked => "unblocked".into(),
            HistoryStep::Blocked => "blocked by other tasks".into(),
            HistoryStep::Edited => "edited".into(),
            HistoryStep::Branch(words) => words.clone(),
        }
    }
}

/// The latest steps of all tasks, at most [`STEPS_MAX`].
#[derive(Debug, Default)]
pub struct History {
    steps: VecDeque<(TaskId, Timestamp, HistoryStep)>,
    /// The time of the last observed change of each task, other than an edit. Holds only tasks that are on the board.
    since: HashMap<TaskId, Timestamp>,
    /// Whether steps were dropped because there were more than [`STEPS_MAX`].
    is_cut: bool,
}

impl History {
    /// Records how the tasks in `changed` differ from `board`, the state before the change: at most one step for each
    /// task. Records nothing for a task that is not on `board` yet. `removed` names the tasks that the change removes
    /// from the board, and `at` is the time of the event.
    pub fn record_changes(
        &mut self,
        board: &TaskGraph,
        changed: &[Arc<Task>],
        removed: &[TaskId],
        at: Timestamp,
    ) {
        for task in changed {
            let Some(before) = board.get(task.id) else {
                continue;
            };
            // The time in the task file is more exact than that of the event, unless the clock of the program that
            // wrote it is ahead.
            let known = task.updated_at.0 > 0.0 && task.updated_at.0 <= at.0;
            let at = if known { task.updated_at } else { at };
            match step(before, task) {
                None => {}
                Some(HistoryStep::Edited) => {
                    // An edit does not change the status, so the time of the last change before it is kept.
                    self.since.entry(task.id).or_insert(before.updated_at);
                    self.push(task.id, at, HistoryStep::Edited);
                }
                Some(step) => {
                    self.since.insert(task.id, at);
                    self.push(task.id, at, step);
                }
            }
        }
        for id in removed {
            self.since.remove(id);
        }
    }

    /// Adds a notice to the history of the task whose worktree is `NAME`, if the text of the notice begins with
    /// `wt/NAME`. Ignores other notices.
    pub fn record_notice(&mut self, board: &TaskGraph, text: &str, at: Timestamp) {
        let Some(name) = text.strip_prefix("wt/") else {
            return;
        };
        let end = name.find(char::is_whitespace).unwrap_or(name.len());
        let of = |t: &&Task| t.worktree == name[..end];
        if let Some(task) = board.tasks().find(of) {
            let words = clip(&one_line(text), WORDS_MAX);
            self.push(task.id, at, HistoryStep::Branch(words));
        }
    }

    fn push(&mut self, id: TaskId, at: Timestamp, step: HistoryStep) {
        self.steps.push_back((id, at, step));
        if self.steps.len() > STEPS_MAX {
            self.steps.pop_front();
            self.is_cut = true;
        }
    }

    /// Returns the steps of a task, newest first.
    pub fn of(&self, id: TaskId) -> impl Iterator<Item = (Timestamp, &HistoryStep)> {
        let steps = self.steps.iter().rev();
        steps.filter(move |s| s.0 == id).map(|s| (s.1, &s.2))
    }

    /// Returns whether steps were dropped because there were more than [`STEPS_MAX`].
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns when `task` got its current status. If no change of the task was observed, returns the time in its task
    /// file; `None` if that has no time.
    pub fn since(&self, task: &Task) -> Option<Timestamp> {
        let at = self.since.get(&task.id).copied();
        Some(at.unwrap_or(task.updated_at)).filter(|at| at.0 > 0.0)
    }
}

/// Returns the step that leads from the version `before` of a task to the version `after`; `None` if nothing has
/// changed that the history shows. If several steps fit, returns the first of: completed, claimed, released, unblocked
/// or blocked, edited.
fn step(before: &Task, after: &Task) -> Option<HistoryStep> {
    let by = |task: &Task| clip(&display_name(&task.owner), WORDS_MAX);
    let is_owned = |task: &Task| !task.owner.is_empty();
    if before.status != after.status && after.status == TaskStatus::Completed {
        return Some(HistoryStep::Completed { by: by(after) });
    }
    if is_owned(after) && before.owner != after.owner {
        return Some(HistoryStep::Claimed {
            by: by(after),
            attempt: after.attempts,
        });
    }
    if is_owned(before) && !is_owned(after) {
        return Some(HistoryStep::Released { by: by(before) });
    }
    if before.status != after.status && after.status == TaskStatus::InProgress {
        return Some(HistoryStep::Claimed {
            by: by(after),
            attempt: after.attempts,
        });
    }
    match (before.blocked_by.is_empty(), after.blocked_by.is_empty()) {
        (false, true) => return Some(HistoryStep::Unblocked),
        (true, false) => return Some(HistoryStep::Blocked),
        (true, true) | (false, false) => {}
    }
    let words = |t: &Task| (t.subject.clone(), t.description.clone(), t.tags.clone());
    (words(before) != words(after)).then_some(HistoryStep::Edited)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::graph::{Claimer, TaskEdit};
    use crate::ui::fixture::{NOON, name};
    use crate::ui::panes::board::tests::board;

    /// A board and its history; each change is one second after the previous one.
    struct Story {
        board: TaskGraph,
        history: History,
        now: f64,
    }

    impl Story {
        fn goes_on(&mut self, change: impl FnOnce(&mut TaskGraph, Timestamp)) {
            self.now += 1.0;
            let mut next = self.board.clone();
            change(&mut next, Timestamp(self.now));
            let delta = self.board.delta(&next);
            let (changed, removed) = (&delta.changed, &delta.removed);
            self.history
                .record_changes(&self.board, changed, removed, Timestamp(self.now + 0.5));
            self.board = next;
        }

        fn lines_of(&self, id: u64) -> Vec<String> {
            let of = self.history.of(TaskId(id));
            of.map(|(at, s)| format!("{} {}", at.0 - NOON, s.words()))
                .collect()
        }
    }

    #[test]
    fn each_change_is_recorded_with_its_time() {
        let claimer = |who: &str| Claimer {
            name: name(who),
            tags: vec![],
        };
        let mut story = Story {
            board: board(3, &[(2, 3)], 0),
            history: History::default(),
            now: NOON,
        };
        let whole: Vec<_> = story.board.tasks().cloned().map(Arc::new).collect();
        story
            .history
            .record_changes(&TaskGraph::default(), &whole, &[], Timestamp(NOON));
        assert_eq!(story.lines_of(1), Vec::<String>::new());
        story.goes_on(|b, now| {
            b.claim(TaskId(2), &claimer("bob"), now).unwrap();
        });
        story.goes_on(|b, now| {
            b.release(TaskId(2), &name("bob"), now).unwrap();
        });
        story.goes_on(|b, now| {
            b.claim(TaskId(2), &claimer("carol"), now).unwrap();
        });
        let claimed = story.history.since(story.board.get(TaskId(2)).unwrap());
        assert_eq!(claimed, Some(Timestamp(NOON + 3.0)));
        story.goes_on(|b, now| {
            let edit = TaskEdit {
                subject: Some("Other words".into()),
                ..TaskEdit::default()
            };
            b.edit(TaskId(2), &edit, now).unwrap();
        });
        let edited = story.history.since(story.board.get(TaskId(2)).unwrap());
        assert_eq!(
            edited, claimed,
            "an edit does not change the time of the status"
        );
        story.goes_on(|b, now| {
            b.complete(TaskId(2), &name("carol"), now).unwrap();
        });
        assert_eq!(
            story.lines_of(2),
            [
                "5 completed by carol",
                "4 edited",
                "3 claimed by carol, attempt 2",
                "2 released by bob",
                "1 claimed by bob",
            ]
        );
        assert_eq!(story.lines_of(3), ["5 unblocked"]);
    }

    #[test]
    fn branch_notices_are_added_to_their_task() {
        let mut tasks: Vec<Task> = board(2, &[], 0).tasks().cloned().collect();
        tasks[1].worktree = "task-2".into();
        let board = TaskGraph::new(tasks);
        let mut history = History::default();
        for text in [
            "wt/task-2 is merged into main.",
            "wt/task-22 is merged",
            "else",
        ] {
            history.record_notice(&board, text, Timestamp(NOON));
        }
        let lines: Vec<String> = history.of(TaskId(2)).map(|(_, s)| s.words()).collect();
        assert_eq!(lines, ["wt/task-2 is merged into main."]);
    }

    #[test]
    fn only_the_newest_steps_are_kept() {
        let mut history = History::default();
        for at in 0..STEPS_MAX + 5 {
            history.push(TaskId(at as u64), Timestamp(NOON), HistoryStep::Edited);
        }
        assert_eq!((history.steps.len(), history.is_cut()), (STEPS_MAX, true));
        assert_eq!(history.of(TaskId(4)).count(), 0);
    }
}
