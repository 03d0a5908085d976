//! Changes of the task graph. Each change is applied completely or not at all, and returns the ids of all tasks that it
//! added, modified or deleted. The ids can also include unmodified tasks, if they are named in a new dependency.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Map;

use super::super::checks::CheckRecord;
use super::super::host::HostClaim;
use super::super::ids::{Name, TaskId};
use super::super::task::{TAKEN_FROM_MAX, Task, TaskStatus};
use super::super::text::{clip, one_line};
use super::super::timestamp::Timestamp;
use super::super::worktree::WorktreeName;
use super::rules::join_ids;
use super::{
    ACCEPTANCE_MAX, Claimer, DESCRIPTION_MAX, GraphError, NewTask, PlannedTask, SUBJECT_MAX,
    TaskEdit, TaskGraph,
};

impl TaskGraph {
    /// Adds a pending task with the number `id`. The number must be new: a task that already has it is replaced.
    ///
    /// # Errors
    /// Fails if the subject is blank, or if the subject or description is too long. Also fails if a blocker is
    /// completed, does not exist, is the task itself, or already waits for the task.
    pub fn create(
        &mut self,
        id: TaskId,
        new: NewTask,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        let subject = checked_subject(&new.subject)?;
        checked_description(&new.description)?;
        let blockers = self.checked_blockers(id, &new.blocked_by)?;
        self.put(Arc::new(Task {
            id,
            subject,
            description: new.description,
            status: TaskStatus::Pending,
            blocked_by: Vec::new(),
            blocks: Vec::new(),
            owner: String::new(),
            worktree: new.worktree,
            tags: new.tags,
            created_at: now,
            updated_at: now,
            attempts: 0,
            taken_from: Vec::new(),
            acceptance: String::new(),
            checks: Vec::new(),
            imported_from: String::new(),
            claim: None,
            extra: Map::new(),
        }));
        let mut changed = vec![id];
        for blocker in blockers {
            changed.extend(self.connect(id, blocker, now));
        }
        Ok(unique(changed))
    }

    /// Adds several pending tasks, which may wait for each other in any order. They get the numbers from `first` on, in
    /// the given order. These numbers must be new. The returned ids begin with those of the new tasks.
    ///
    /// # Errors
    /// Fails as [`TaskGraph::create`] does, and if the dependencies of the new tasks form a cycle. No task is added
    /// then.
    pub fn create_all(
        &mut self,
        first: TaskId,
        planned: &[PlannedTask],
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        let mut next = self.clone();
        let ids: Vec<TaskId> = (first.0..).map(TaskId).take(planned.len()).collect();
        let mut changed = ids.clone();
        for (id, task) in ids.iter().zip(planned) {
            changed.extend(next.create(*id, task.new.clone(), now)?);
            next.alter(*id, |new| {
                new.imported_from.clone_from(&task.imported_from);
            });
        }
        for (id, task) in ids.iter().zip(planned) {
            let on = task.waits_for.iter().filter_map(|at| ids.get(*at).copied());
            let on: Vec<TaskId> = on.collect();
            // Each blocker is checked after the earlier ones are connected, so that no two of them close a cycle.
            for blocker in on {
                next.checked_blockers(*id, &[blocker])?;
                next.connect(*id, blocker, now);
            }
        }
        *self = next;
        Ok(unique(changed))
    }

    /// Claims task `id` for `claimer`.
    ///
    /// # Errors
    /// Fails if [`TaskGraph::check_claim`] does.
    pub fn claim(
        &mut self,
        id: TaskId,
        claimer: &Claimer,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        self.check_claim(id, claimer)?;
        self.alter(id, |task| {
            task.owner = claimer.name.to_string();
            task.claim = None;
            task.status = TaskStatus::InProgress;
            task.attempts = task.attempts.saturating_add(1);
            let name = claimer.name.as_str();
            task.taken_from.retain(|t| !t.eq_ignore_ascii_case(name));
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Records for which session of which host task `id` is claimed.
    ///
    /// # Errors
    /// Fails if the task does not exist.
    pub fn set_claim(
        &mut self,
        id: TaskId,
        claim: &HostClaim,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        self.require(id)?;
        self.alter(id, |task| {
            // A field of another program with the same name would be written beside it.
            task.extra.shift_remove("claim");
            task.claim = Some(claim.clone());
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Completes task `id` on behalf of `who` and unblocks the tasks that wait for it. If the task has no owner, `who`
    /// becomes its owner.
    ///
    /// # Errors
    /// Fails if [`TaskGraph::check_complete`] does.
    pub fn complete(
        &mut self,
        id: TaskId,
        who: &Name,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        self.check_complete(id, who)?;
        let mut changed = vec![id];
        self.alter(id, |task| {
            task.owner = who.to_string();
            task.status = TaskStatus::Completed;
            task.blocked_by.clear();
            task.updated_at = now;
        });
        for other in self.index.tasks_waiting_for(id) {
            self.alter(other, |other| {
                other.blocked_by.retain(|b| *b != id);
                other.updated_at = now;
            });
            changed.push(other);
        }
        // Record the unblocked tasks in `blocks` of the completed task. Their `blocked_by` no longer contains the
        // dependency.
        let freed: Vec<TaskId> = changed[1..].to_vec();
        self.alter(id, |task| {
            for other in freed {
                if !task.blocks.contains(&other) {
                    task.blocks.push(other);
                }
            }
        });
        Ok(changed)
    }

    /// Adds results of checks to task `id`. Does not change the time of the task's last change, because the task itself
    /// stays as it is.
    ///
    /// # Errors
    /// Fails if the task does not exist.
    pub fn record_checks(
        &mut self,
        id: TaskId,
        records: &[CheckRecord],
    ) -> Result<Vec<TaskId>, GraphError> {
        self.require(id)?;
        self.alter(id, |task| task.add_checks(records));
        Ok(vec![id])
    }

    /// Sets the acceptance command of task `id`; an empty text removes it.
    ///
    /// # Errors
    /// Fails if the task does not exist or is completed, or the command is too long.
    pub fn set_acceptance(
        &mut self,
        id: TaskId,
        command: &str,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        if self.require(id)?.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        if command.len() > ACCEPTANCE_MAX {
            let text = "acceptance command";
            return Err(GraphError::TooLong(text, ACCEPTANCE_MAX, "bytes"));
        }
        self.alter(id, |task| {
            // A field of another program with the same name would be written beside it.
            task.extra.shift_remove("acceptance");
            task.acceptance = command.trim().to_string();
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Marks task `id` of `claimer` as in progress. If the task has no owner, claims it for `claimer` first.
    ///
    /// # Errors
    /// Fails if the task does not exist, is completed, belongs to another agent, has open blockers, or cannot be
    /// claimed.
    pub fn start(
        &mut self,
        id: TaskId,
        claimer: &Claimer,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        let task = self.require(id)?;
        if task.owner.is_empty() {
            return self.claim(id, claimer, now);
        }
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        Self::check_owner(task, &claimer.name)?;
        let open = self.open_blockers(task);
        if !open.is_empty() {
            return Err(GraphError::Blocked(id, join_ids(&open)));
        }
        self.alter(id, |task| {
            task.status = TaskStatus::InProgress;
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Releases a task on behalf of `who`: the task becomes pending and loses its owner.
    ///
    /// # Errors
    /// Fails if [`TaskGraph::check_release`] does.
    pub fn release(
        &mut self,
        id: TaskId,
        who: &Name,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        self.check_release(id, who)?;
        self.alter(id, |task| {
            task.owner.clear();
            task.claim = None;
            task.status = TaskStatus::Pending;
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Releases a task of `owner` on behalf of the user. Afterwards `owner` can claim the task only by its number,
    /// until the subject or description of the task is edited.
    ///
    /// # Errors
    /// Fails if the task does not exist, has no owner, belongs to another agent, or is completed.
    pub fn take_from_owner(
        &mut self,
        id: TaskId,
        owner: &Name,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        if self.require(id)?.owner.is_empty() {
            return Err(GraphError::NoOwner(id));
        }
        let changed = self.release(id, owner, now)?;
        self.alter(id, |task| {
            task.taken_from
                .retain(|t| !t.eq_ignore_ascii_case(owner.as_str()));
            if task.taken_from.len() >= TAKEN_FROM_MAX {
                task.taken_from.remove(0);
            }
            task.taken_from.push(owner.to_string());
        });
        Ok(changed)
    }

    /// Records in which worktree a task is worked on.
    ///
    /// # Errors
    /// Fails if the task does not exist.
    pub fn bind(
        &mut self,
        id: TaskId,
        worktree: &WorktreeName,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        self.require(id)?;
        self.alter(id, |task| {
            task.worktree = worktree.to_string();
            task.updated_at = now;
        });
        Ok(vec![id])
    }

    /// Changes the subject, description, tags or blockers of a task. A new subject or description also resets the
    /// number of attempts, and empties the list of the agents from which the user took the task away.
    ///
    /// # Errors
    /// Fails if the task does not exist or is completed, or if one of the changes is invalid. No change is applied
    /// then.
    pub fn edit(
        &mut self,
        id: TaskId,
        edit: &TaskEdit,
        now: Timestamp,
    ) -> Result<Vec<TaskId>, GraphError> {
        let task = self.require(id)?;
        if task.status == TaskStatus::Completed {
            return Err(GraphError::Completed(id));
        }
        let subject = edit.subject.as_deref().map(checked_subject).transpose()?;
        if let Some(text) = &edit.description {
            checked_description(text)?;
        }
        for blocker in &edit.unblock {
            if !task.blocked_by.contains(blocker) {
                self.require(*blocker)?;
            }
        }
        let blockers = self.checked_blockers(id, &edit.block_on)?;
        let mut changed = vec![id];
        for blocker in &edit.unblock {
            changed.extend(self.disconnect(id, *blocker, now));
        }
        for blocker in blockers {
            changed.extend(self.connect(id, blocker, now));
        }
        self.alter(id, |task| {
            if let Some(subject) = subject {
                task.subject = subject;
            }
            if let Some(description) = &edit.description {
                task.description.clone_from(description);
            }
            // A task with a new text is treated as a new task: earlier attempts and former owners no longer count.
            if edit.subject.is_some() || edit.description.is_some() {
                task.attempts = 0;
                task.taken_from.clear();
            }
            if let Some(tags) = &edit.tags {
                task.tags.clone_from(tags);
            }
            task.updated_at = now;
        });
        Ok(unique(changed))
    }

    /// Deletes a task and unblocks the tasks that wait for it.
    ///
    /// # Errors
    /// Fails if the task does not exist, or if it has an owner and is not completed.
    pub fn remove(&mut self, id: TaskId, now: Timestamp) -> Result<Vec<TaskId>, GraphError> {
        let task = self.require(id)?;
        if task.status != TaskStatus::Completed && !task.owner.is_empty() {
            return Err(GraphError::Owned(id, task.owner.clone()));
        }
        let mut around = self.index.tasks_waiting_for(id);
        around.extend(self.index.tasks_blocking(id));
        self.forget(id);
        let mut changed = vec![id];
        for other in around.into_iter().filter(|other| *other != id) {
            self.alter(other, |other| {
                other.blocked_by.retain(|b| *b != id);
                other.blocks.retain(|b| *b != id);
                other.updated_at = now;
            });
            changed.push(other);
        }
        Ok(changed)
    }

    fn checked_blockers(&self, id: TaskId, on: &[TaskId]) -> Result<BTreeSet<TaskId>, GraphError> {
        // Without a task that waits for `id`, no chain leads to it. The search would make large imports slow.
        let can_close_cycle = !self.index.tasks_waiting_for(id).is_empty();
        for blocker in on {
            if *blocker == id {
                return Err(GraphError::SelfBlock(id));
            }
            if self.require(*blocker)?.status == TaskStatus::Completed {
                return Err(GraphError::CompletedBlocker(*blocker));
            }
            if can_close_cycle && let Some(path) = self.path(*blocker, id) {
                return Err(GraphError::Cycle {
                    task: id,
                    on: *blocker,
                    path: path_text(&path),
                });
            }
        }
        Ok(on.iter().copied().collect())
    }

    /// Returns the shortest chain of tasks from `from` to `to`, both included, in which each task waits for the next.
    /// Returns `None` if `from` does not wait for `to`, directly or through other tasks.
    fn path(&self, from: TaskId, to: TaskId) -> Option<Vec<TaskId>> {
        let mut previous: BTreeMap<TaskId, TaskId> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if at == to {
                let mut path = vec![at];
                let mut step = at;
                while let Some(before) = previous.get(&step).filter(|_| step != from) {
                    path.push(*before);
                    step = *before;
                }
                path.reverse();
                return Some(path);
            }
            let Some(task) = self.get(at) else { continue };
            for next in &task.blocked_by {
                if *next != from && !previous.contains_key(next) {
                    previous.insert(*next, at);
                    queue.push_back(*next);
                }
            }
        }
        None
    }

    fn connect(&mut self, id: TaskId, blocker: TaskId, now: Timestamp) -> Vec<TaskId> {
        if self
            .get(id)
            .is_some_and(|t| !t.blocked_by.contains(&blocker))
        {
            self.alter(id, |task| {
                task.blocked_by.push(blocker);
                task.blocked_by.sort_unstable();
                task.updated_at = now;
            });
        }
        if self.get(blocker).is_some_and(|t| !t.blocks.contains(&id)) {
            self.alter(blocker, |task| {
                task.blocks.push(id);
                task.blocks.sort_unstable();
                task.updated_at = now;
            });
        }
        vec![id, blocker]
    }

    fn disconnect(&mut self, id: TaskId, blocker: TaskId, now: Timestamp) -> Vec<TaskId> {
        self.alter(id, |task| {
            task.blocked_by.retain(|b| *b != blocker);
            task.updated_at = now;
        });
        if self.get(blocker).is_none() {
            return vec![id];
        }
        self.alter(blocker, |task| {
            task.blocks.retain(|b| *b != id);
            task.updated_at = now;
        });
        vec![id, blocker]
    }

    /// Applies `change` to a task. Does nothing if the task does not exist.
    fn alter(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.get(id) {
            let mut task = task.clone();
            change(&mut task);
            self.put(Arc::new(task));
        }
    }
}

fn checked_subject(text: &str) -> Result<String, GraphError> {
    let subject = one_line(text.trim());
    if subject.is_empty() {
        return Err(GraphError::NoSubject);
    }
    if subject.chars().count() > SUBJECT_MAX {
        return Err(GraphError::TooLong("subject", SUBJECT_MAX, "characters"));
    }
    Ok(subject)
}

fn checked_description(text: &str) -> Result<(), GraphError> {
    if text.len() > DESCRIPTION_MAX {
        return Err(GraphError::TooLong("description", DESCRIPTION_MAX, "bytes"));
    }
    Ok(())
}

pub(super) fn path_text(path: &[TaskId]) -> String {
    let texts: Vec<String> = path.iter().map(ToString::to_string).collect();
    clip(&texts.join(" waits for "), 200)
}

fn unique(mut ids: Vec<TaskId>) -> Vec<TaskId> {
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    ids
}
