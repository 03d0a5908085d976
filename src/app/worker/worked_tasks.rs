//! What became of the tasks that the teammates of a worker have claimed.

use std::collections::BTreeSet;
use std::mem;

use crate::domain::host::{HostClaim, HostName};
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;
use crate::domain::text::{count_noun, join_names};
use crate::protocol::event::{BoardEvent, EventKind};

/// Maximum number of returned tasks that are named.
const NAMED_MAX: usize = 10;

/// The tasks of a worker since its start.
#[derive(Debug, Default)]
pub struct WorkedTasks {
    open: BTreeSet<TaskId>,
    /// Number of tasks.
    completed: usize,
    returned: BTreeSet<TaskId>,
}

impl WorkedTasks {
    /// Takes changes of the board into account. `own` is the claim of this host.
    pub fn update(&mut self, event: &EventKind, own: &HostClaim) {
        let EventKind::Board(BoardEvent::BoardChanged { changed, removed }) = event else {
            return;
        };
        for task in changed {
            if task.status != TaskStatus::Completed && task.claim.as_ref() == Some(own) {
                self.returned.remove(&task.id);
                self.open.insert(task.id);
            } else if self.open.remove(&task.id) {
                if task.status == TaskStatus::Completed {
                    self.completed += 1;
                } else if task.owner.is_empty() {
                    self.returned.insert(task.id);
                }
            }
        }
        for id in removed {
            self.open.remove(id);
        }
    }

    /// Records that the crew has stopped, which returns its open tasks. After a loss of the hub, they are offered by others, or
    /// are claimed again.
    pub fn stop(&mut self, is_lost: bool) {
        let mut open = mem::take(&mut self.open);
        if !is_lost {
            self.returned.append(&mut open);
        }
    }

    /// Returns what the worker `host` says at its end.
    pub fn summary(&self, host: &HostName) -> String {
        let count = self.returned.len();
        let names = self.returned.iter().take(NAMED_MAX);
        let names: Vec<String> = names.map(TaskId::to_string).collect();
        let names = match count {
            0 => String::new(),
            _ => format!(" ({})", join_names(&names, NAMED_MAX, count)),
        };
        format!(
            "worker {host} has ended: {} completed, {count} returned to the board{names}",
            count_noun(self.completed, "task")
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::domain::task::Task;

    fn changed(tasks: Vec<Task>) -> EventKind {
        EventKind::Board(BoardEvent::BoardChanged {
            changed: tasks.into_iter().map(Arc::new).collect(),
            removed: Vec::new(),
        })
    }

    fn task(id: u64, status: &str, claim: Option<&HostClaim>) -> Task {
        let owner = claim.map_or("", |_| "gpu-1");
        let fields = json!({"id": id, "subject": "a", "status": status, "owner": owner});
        let task: Task = serde_json::from_value(fields).unwrap();
        Task {
            claim: claim.cloned(),
            ..task
        }
    }

    #[test]
    fn summary_has_completed_and_returned_tasks() {
        let claim = |session: &str| HostClaim {
            host: HostName::parse("gpu").unwrap(),
            session: session.into(),
        };
        let (own, other) = (claim("own"), claim("other"));
        let mut tasks = WorkedTasks::default();
        let gpu = &own.host;
        assert_eq!(
            tasks.summary(gpu),
            "worker gpu has ended: 0 tasks completed, 0 returned to the board"
        );
        let (done, claimed) = ("completed", "in_progress");
        for (id, claim) in [(1, &own), (2, &own), (3, &own), (4, &other)] {
            tasks.update(&changed(vec![task(id, claimed, Some(claim))]), &own);
        }
        // Of an earlier session, and of another host.
        tasks.update(
            &changed(vec![task(7, done, None), task(4, done, None)]),
            &own,
        );
        tasks.update(&changed(vec![task(1, done, Some(&own))]), &own);
        tasks.update(&changed(vec![task(2, "pending", None)]), &own);
        tasks.stop(false);
        let text = "worker gpu has ended: 1 task completed, 2 returned to the board (#2, #3)";
        assert_eq!(tasks.summary(gpu), text);
    }

    #[test]
    fn tasks_of_a_lost_session_are_not_returned() {
        let own = HostClaim {
            host: HostName::parse("gpu").unwrap(),
            session: "own".into(),
        };
        let mut tasks = WorkedTasks::default();
        let open = task(1, "in_progress", Some(&own));
        tasks.update(&changed(vec![open]), &own);
        tasks.stop(true);
        let text = "worker gpu has ended: 0 tasks completed, 0 returned to the board";
        assert_eq!(tasks.summary(&own.host), text);
    }
}
