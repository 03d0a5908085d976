//! The plan that the editor shows: the tasks of the board, or the lead's todo list while the board has no tasks to
//! show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus};

use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::{clip, one_line};
use crate::domain::todo::{TodoList, TodoStatus};
use crate::protocol::{AgentEvent, BoardEvent, EventKind};

/// Maximum number of tasks in the plan. Completed tasks are left out first. A last entry contains the number of the
/// tasks that are left out.
const ENTRIES_MAX: usize = 50;
/// Maximum length of the text of an entry in the plan, in characters. A longer text is cut.
const ENTRY_MAX: usize = 200;

/// The plan that the editor shows, with the entries that were sent to the editor last.
#[derive(Debug, Default)]
pub struct EditorPlan {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    /// The tasks that were already completed when the session began. The plan does not show them while they are
    /// completed.
    earlier: BTreeSet<TaskId>,
    todos: TodoList,
    sent: Vec<PlanEntry>,
}

impl EditorPlan {
    /// Returns an empty plan that never shows the completed tasks `earlier`.
    pub fn new(earlier: BTreeSet<TaskId>) -> EditorPlan {
        EditorPlan {
            earlier,
            ..EditorPlan::default()
        }
    }

    /// Records the event. Returns the whole plan if it has changed, else `None`.
    pub fn update(&mut self, event: &EventKind) -> Option<Plan> {
        match event {
            EventKind::Board(BoardEvent::BoardChanged { changed, removed }) => {
                for task in changed {
                    self.tasks.insert(task.id, Arc::clone(task));
                }
                for id in removed {
                    self.tasks.remove(id);
                }
            }
            EventKind::Agent {
                agent,
                event: AgentEvent::TodoChanged { list },
            } if agent.is_lead() => self.todos = list.clone(),
            _ => return None,
        }
        let entries = self.entries();
        if entries == self.sent {
            return None;
        }
        self.sent.clone_from(&entries);
        Some(Plan::new(entries))
    }

    fn entries(&self) -> Vec<PlanEntry> {
        let is_shown = |task: &&Arc<Task>| {
            task.status != TaskStatus::Completed || !self.earlier.contains(&task.id)
        };
        let mut tasks: Vec<&Arc<Task>> = self.tasks.values().filter(is_shown).collect();
        if tasks.is_empty() {
            return self
                .todos
                .items()
                .iter()
                .map(|todo| {
                    let status = match todo.status {
                        TodoStatus::Pending => PlanEntryStatus::Pending,
                        TodoStatus::InProgress => PlanEntryStatus::InProgress,
                        TodoStatus::Completed => PlanEntryStatus::Completed,
                    };
                    entry(&todo.text, status)
                })
                .collect();
        }
        let all = tasks.len();
        if all > ENTRIES_MAX {
            // A stable sort: within both groups, tasks stay in the order of their numbers.
            tasks.sort_by_key(|task| task.status == TaskStatus::Completed);
            tasks.truncate(ENTRIES_MAX);
            tasks.sort_by_key(|task| task.id);
        }
        let mut entries: Vec<PlanEntry> = tasks.iter().map(|task| task_entry(task)).collect();
        if all > entries.len() {
            let text = format!("… {} more tasks on the board", all - entries.len());
            entries.push(entry(&text, PlanEntryStatus::Pending));
        }
        entries
    }
}

fn task_entry(task: &Task) -> PlanEntry {
    let status = match task.status {
        TaskStatus::Pending => PlanEntryStatus::Pending,
        TaskStatus::InProgress => PlanEntryStatus::InProgress,
        TaskStatus::Completed => PlanEntryStatus::Completed,
    };
    let (id, subject) = (task.id, &task.subject);
    let blockers: Vec<String> = task.blocked_by.iter().map(ToString::to_string).collect();
    let more = match (task.owner.as_str(), blockers.is_empty()) {
        ("", true) => String::new(),
        ("", false) => format!(" (waits for {})", blockers.join(", ")),
        (owner, _) => format!(" ({owner})"),
    };
    entry(&format!("{id} {subject}{more}"), status)
}

fn entry(text: &str, status: PlanEntryStatus) -> PlanEntry {
    PlanEntry::new(
        clip(&one_line(text), ENTRY_MAX),
        PlanEntryPriority::Medium,
        status,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::domain::todo::TodoItem;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn task(id: u64, status: &str) -> Arc<Task> {
        let task = json!({ "id": id, "subject": format!("Task {id}"), "status": status, "owner": if status == "pending" { "" } else { "bob" } });
        Arc::new(serde_json::from_value(task).unwrap())
    }

    fn changed(changed: Vec<Arc<Task>>, removed: Vec<TaskId>) -> EventKind {
        EventKind::Board(BoardEvent::BoardChanged { changed, removed })
    }

    fn texts(plan: Option<Plan>) -> Vec<String> {
        let entries = plan.unwrap().entries.into_iter();
        entries.map(|entry| entry.content).collect()
    }

    #[test]
    fn board_is_the_plan_and_the_todo_list_while_it_is_empty() {
        let mut plan = EditorPlan::new(BTreeSet::from([TaskId(1)]));
        let todo = TodoItem {
            id: "1".into(),
            text: "read".into(),
            status: TodoStatus::InProgress,
        };
        let list = TodoList::new(vec![todo]).unwrap();
        let todos = AgentEvent::TodoChanged { list };
        assert_eq!(
            texts(plan.update(&todos.clone().of(Name::lead()))),
            ["read"]
        );
        // Neither a teammate's todo list nor a task of earlier work changes the plan.
        assert_eq!(plan.update(&todos.of(Name::member("bob").unwrap())), None);
        assert_eq!(
            plan.update(&changed(vec![task(1, "completed")], vec![])),
            None
        );
        let shown = plan.update(&changed(
            vec![task(2, "pending"), task(3, "in_progress")],
            vec![],
        ));
        assert_eq!(texts(shown), ["#2 Task 2", "#3 Task 3 (bob)"]);
        let shown = plan.update(&changed(vec![], vec![TaskId(2), TaskId(3)]));
        assert_eq!(texts(shown), ["read"]);
    }

    #[test]
    fn long_plan_leaves_out_completed_tasks_and_says_so() {
        let mut plan = EditorPlan::default();
        let tasks = (1..=60).map(|id| task(id, if id <= 20 { "completed" } else { "pending" }));
        let shown = texts(plan.update(&changed(tasks.collect(), vec![])));
        assert_eq!(shown.len(), ENTRIES_MAX + 1);
        assert_eq!(shown.last().unwrap(), "… 10 more tasks on the board");
        assert_eq!(
            shown.iter().filter(|text| text.contains("(bob)")).count(),
            10
        );
    }
}
