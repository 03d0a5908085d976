//! Detection of dependency cycles. A cycle can exist only if another program has written it to the task files: crewdeck
//! rejects a change that closes a cycle.

use std::collections::BTreeMap;

use super::super::ids::TaskId;
use super::super::task::TaskStatus;
use super::TaskGraph;
use super::change::path_text;

impl TaskGraph {
    /// Returns a message that describes one dependency cycle among open tasks and how to remove it; `None` if there is
    /// no cycle. The tasks of a cycle can never be claimed. Visits all tasks and dependencies.
    pub fn find_cycle(&self) -> Option<String> {
        // Repeatedly remove the tasks without open blockers. Each task that is left is part of a cycle or waits for
        // one.
        let mut open: BTreeMap<TaskId, usize> = BTreeMap::new();
        let mut free = Vec::new();
        for task in self.tasks().filter(|t| t.status != TaskStatus::Completed) {
            let mut blockers = self.open_blockers(task);
            blockers.retain(|id| self.get(*id).is_some());
            blockers.sort_unstable();
            blockers.dedup();
            if blockers.is_empty() {
                free.push(task.id);
            } else {
                open.insert(task.id, blockers.len());
            }
        }
        while let Some(id) = free.pop() {
            for other in self.index.tasks_waiting_for(id) {
                if let Some(count) = open.get_mut(&other) {
                    *count -= 1;
                    if *count == 0 {
                        open.remove(&other);
                        free.push(other);
                    }
                }
            }
        }
        let next = |id: TaskId| {
            let blockers = &self.get(id)?.blocked_by;
            blockers.iter().copied().find(|b| open.contains_key(b))
        };
        let mut way = vec![*open.keys().next()?];
        loop {
            let last = *way.last()?;
            let to = next(last)?;
            if let Some(from) = way.iter().position(|id| *id == to) {
                let path: Vec<TaskId> = way.drain(from..).chain([to]).collect();
                return Some(format!(
                    "{} can never be claimed: {}. Remove one of these dependencies (crewdeck task edit {} --unblock {})",
                    path[0],
                    path_text(&path),
                    last.0,
                    to.0
                ));
            }
            way.push(to);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn cycle(edges: &[(u64, &[u64])]) -> Option<String> {
        let task = |(id, on): &(u64, &[u64])| {
            let text = json!({"id": id, "subject": "s", "blockedBy": on});
            serde_json::from_value(text).unwrap()
        };
        TaskGraph::new(edges.iter().map(task)).find_cycle()
    }

    #[test]
    fn completed_task_breaks_the_cycle() {
        let text = json!([
            {"id": 1, "subject": "s", "blockedBy": [2, 3]},
            {"id": 2, "subject": "s", "blockedBy": [1], "status": "completed"},
            {"id": 3, "subject": "s", "blockedBy": [2]},
        ]);
        let tasks: Vec<crate::domain::task::Task> = serde_json::from_value(text).unwrap();
        assert_eq!(TaskGraph::new(tasks).find_cycle(), None);
    }

    #[test]
    fn first_cycle_is_reported_with_a_fix() {
        assert_eq!(cycle(&[]), None);
        assert_eq!(
            cycle(&[(1, &[]), (2, &[1]), (3, &[1, 2, 2]), (4, &[99])]),
            None
        );
        assert_eq!(
            cycle(&[(1, &[2]), (2, &[1])]).unwrap(),
            "#1 can never be claimed: #1 waits for #2 waits for #1. Remove one of these dependencies (crewdeck task edit 2 --unblock 1)"
        );
        assert!(cycle(&[(7, &[7])]).unwrap().contains("#7 waits for #7"));
        let behind = cycle(&[(1, &[3]), (2, &[]), (3, &[4]), (4, &[5, 2]), (5, &[3])]).unwrap();
        assert!(
            behind.contains("#3 waits for #4 waits for #5 waits for #3"),
            "{behind}"
        );
    }
}
