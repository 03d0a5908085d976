//! Log lines about changes of the board: what happened to a task, who changed it, and which tasks this has unblocked.
//! Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::timestamp::Timestamp;
use crate::ui::model::CrewModel;
use crate::ui::model::event_log::attribution::ActionEffect;
use crate::ui::model::event_log::checks;
use crate::ui::model::event_log::format::task as titled;
use crate::ui::model::event_log::{About, LogSeverity, NewLogLine, Topic};
use crate::ui::text::display_name;

/// Returns the log lines for one change of the board. `model` is the state before the change, `changed` contains the
/// new and changed tasks as they are after the change, and `removed` the numbers of the removed tasks.
pub(in crate::ui) fn change_lines(
    model: &CrewModel,
    changed: &[Arc<Task>],
    removed: &[TaskId],
    at: Timestamp,
) -> Vec<NewLogLine> {
    let board = &model.board;
    let mut out = Vec::new();
    let mut freed = BTreeSet::new();
    for after in changed {
        let frees = frees(board, changed, after);
        freed.extend(frees.iter().copied());
        let news = TaskChange {
            model,
            before: board.get(after.id),
            after,
            at,
        };
        news.lines(&frees, &mut out);
    }
    for after in changed.iter().filter(|t| !freed.contains(&t.id)) {
        if let Some(before) = board.get(after.id) {
            let (was, is) = (before.blocked_by.is_empty(), after.blocked_by.is_empty());
            if !was && is && after.status == TaskStatus::Pending {
                let task = titled(after.id, &after.subject);
                let words = format!("{task} is unblocked");
                out.push(task_line(after, words));
            }
        }
    }
    for id in removed {
        if let Some(before) = board.get(*id) {
            let words = format!(
                "{} was removed from the board (external change)",
                titled(*id, &before.subject)
            );
            out.push(task_line(before, words).tone(LogSeverity::Warn));
        }
    }
    out
}

fn task_line(task: &Task, words: String) -> NewLogLine {
    NewLogLine::new(Topic::Task, words)
        .by(&task.owner)
        .about(About::Task(task.id))
}

/// Returns the tasks that the completion of the task `done` has unblocked. Before the change they listed `done` in
/// `blocked_by`; now they list no blocker. Tasks with an owner are included, completed ones are not. Empty if the
/// change did not complete `done`.
///
/// `board` is the state before the change, and `changed` contains the changed tasks as they are after it.
fn frees(board: &TaskGraph, changed: &[Arc<Task>], done: &Task) -> Vec<TaskId> {
    let was_open = board
        .get(done.id)
        .is_some_and(|t| t.status != TaskStatus::Completed);
    if !was_open || done.status != TaskStatus::Completed {
        return Vec::new();
    }
    let waited = |t: &&Arc<Task>| {
        let before = board.get(t.id);
        before.is_some_and(|b| b.blocked_by.contains(&done.id)) && t.blocked_by.is_empty()
    };
    let open = |t: &&Arc<Task>| t.status != TaskStatus::Completed;
    changed
        .iter()
        .filter(waited)
        .filter(open)
        .map(|t| t.id)
        .collect()
}

fn ids(ids: &[TaskId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(" ")
}

/// A task before and after a change. The methods return parts of the log lines about the change.
struct TaskChange<'a> {
    model: &'a CrewModel,
    before: Option<&'a Task>,
    after: &'a Task,
    at: Timestamp,
}

impl TaskChange<'_> {
    fn lines(&self, frees: &[TaskId], out: &mut Vec<NewLogLine>) {
        let (after, task) = (self.after, titled(self.after.id, &self.after.subject));
        let Some(before) = self.before else {
            if !self.model.event_log.attribution.is_before(after.created_at) {
                out.push(self.creation_line(&task));
            }
            return;
        };
        let owner = display_name(&after.owner);
        if before.status != after.status && after.status == TaskStatus::Completed {
            out.push(self.completion_line(&task, frees));
        } else if !after.owner.is_empty()
            && (before.owner != after.owner
                || (before.status != after.status && after.status == TaskStatus::InProgress))
        {
            let again = match after.attempts {
                0 | 1 => String::new(),
                n => format!(", attempt {n}"),
            };
            out.push(task_line(after, format!("{owner} claimed {task}{again}")));
        } else if !before.owner.is_empty() && after.owner.is_empty() {
            let was = display_name(&before.owner);
            let is_taken =
                after.was_taken_from(&before.owner) && !before.was_taken_from(&before.owner);
            let words = if is_taken {
                format!("{task} is back on the board: you took it from {was}")
            } else {
                format!(
                    "{task} is back on the board: {was} {}",
                    self.why_released(before)
                )
            };
            out.push(task_line(before, words).tone(LogSeverity::Warn));
        } else if before.status != after.status {
            let words = format!("{task} is now {}{}", after.status, self.outside_mark());
            out.push(task_line(after, words));
        }
        self.push_edit_lines(before, &task, out);
        self.push_worktree_line(before, &task, out);
        checks::push_lines(before, after, out);
    }

    /// Returns the agent or user who changed the task; `None` if no recent tool call or user action explains the
    /// change.
    fn by(&self) -> Option<&Name> {
        let actors = &self.model.event_log.attribution;
        actors.who(&ActionEffect::Change(Some(self.after.id)), self.at)
    }

    /// Returns ` (external change)` if no recent tool call or user action explains the change; otherwise an empty text.
    fn outside_mark(&self) -> &'static str {
        match self.by() {
            Some(_) => "",
            None => " (external change)",
        }
    }

    fn creation_line(&self, task: &str) -> NewLogLine {
        let after = self.after;
        let effect = ActionEffect::Create(after.subject.clone());
        let waits = match after.blocked_by.as_slice() {
            [] => String::new(),
            blockers => format!(", blocked by {}", ids(blockers)),
        };
        let line = |words| task_line(after, words);
        let actors = &self.model.event_log.attribution;
        let by = actors.who(&ActionEffect::Write(after.id), self.at);
        match by.or_else(|| actors.who(&effect, self.at)) {
            Some(by) => line(format!(
                "{} created {task}{waits}",
                display_name(by.as_str())
            ))
            .by(by.as_str()),
            // Only a task that crewdeck creates for a merge conflict has a worktree when it is created.
            None if !after.worktree.is_empty() => {
                line(format!("crewdeck created {task}{waits}")).tone(LogSeverity::Warn)
            }
            None => line(format!("{task} was created externally{waits}")),
        }
    }

    fn completion_line(&self, task: &str, frees: &[TaskId]) -> NewLogLine {
        let after = self.after;
        let frees = match frees {
            [] => String::new(),
            freed => format!(" → unblocks {}", ids(freed)),
        };
        let words = match after.owner.as_str() {
            "" => format!("{task} is completed{}{frees}", self.outside_mark()),
            owner => {
                let owner = display_name(owner);
                format!("{owner} completed {task}{}{frees}", self.outside_mark())
            }
        };
        task_line(after, words).tone(LogSeverity::Good)
    }

    /// Returns why the owner has lost the task, as the end of a sentence that begins with the owner's name.
    fn why_released(&self, before: &Task) -> &'static str {
        let is_owner = |by: &Name| by.as_str().eq_ignore_ascii_case(&before.owner);
        if self.by().is_some_and(is_owner) {
            return "released it";
        }
        let here = Name::party(&before.owner)
            .is_ok_and(|name| self.model.present().iter().any(|n| n.same(&name)));
        if here {
            "stopped working on it"
        } else {
            "left"
        }
    }

    fn push_edit_lines(&self, before: &Task, task: &str, out: &mut Vec<NewLogLine>) {
        let after = self.after;
        let by = self.by();
        let who = by.map_or("external change".to_string(), |by| {
            format!("by {}", display_name(by.as_str()))
        });
        let push = |words: String, out: &mut Vec<NewLogLine>| {
            let line = task_line(after, words);
            out.push(match by {
                Some(by) => line.by(by.as_str()),
                None => line,
            });
        };
        let parts: Vec<&str> = [
            (before.subject != after.subject, "subject"),
            (before.description != after.description, "description"),
            (before.tags != after.tags, "tags"),
        ]
        .into_iter()
        .filter_map(|(is_other, part)| is_other.then_some(part))
        .collect();
        if !parts.is_empty() {
            push(format!("{task}: new {} ({who})", parts.join(" and ")), out);
        }
        let new: Vec<TaskId> = after
            .blocked_by
            .iter()
            .filter(|b| !before.blocked_by.contains(b))
            .copied()
            .collect();
        if !new.is_empty() {
            push(
                format!("{task} is now blocked by {} ({who})", ids(&new)),
                out,
            );
        }
    }

    /// Adds a log line if the task got, lost or changed its worktree.
    fn push_worktree_line(&self, before: &Task, task: &str, out: &mut Vec<NewLogLine>) {
        let (was, is) = (before.worktree.as_str(), self.after.worktree.as_str());
        let words = match (was, is) {
            (was, is) if was == is => return,
            ("", is) => format!("wt/{is} was created for {task}"),
            (was, "") => format!("wt/{was} is no longer the worktree of {task}"),
            (was, is) => format!("{task} moved from wt/{was} to wt/{is}"),
        };
        let line = NewLogLine::new(Topic::Worktree, words).by(&self.after.owner);
        out.push(line.about(About::Task(self.after.id)));
    }
}
