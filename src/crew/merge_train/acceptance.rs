//! The acceptance commands of all tasks whose work is on a branch: those that cannot run keep the branch out of a train.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{RunningTrain, TrainRunner, TrainTask};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{TrainMember, train_members};
use crate::domain::task::Task;

impl TrainRunner {
    /// Returns the other tasks of the worktree of each of `tasks`.
    pub(super) fn others_of(
        graph: &TaskGraph,
        tasks: &[TrainTask],
    ) -> BTreeMap<TaskId, Vec<Arc<Task>>> {
        let others = |(task, name): &TrainTask| {
            let here = graph
                .tasks()
                .filter(|other| other.worktree == name.as_str() && other.id != task.id);
            let here: Vec<Arc<Task>> = here.map(|other| Arc::new(other.clone())).collect();
            (task.id, here)
        };
        tasks.iter().map(others).collect()
    }

    /// Takes the branches out of a train that have an acceptance command that the user has set and that is not in the file
    /// of its task any more, and the branches that build on them. Returns their tasks, each with the reason.
    pub(super) fn refuse_members(
        &self,
        graph: &TaskGraph,
        running: &mut RunningTrain,
    ) -> Vec<(TaskId, String)> {
        let ids: Vec<TaskId> = running.tasks.keys().copied().collect();
        let mut refused: BTreeMap<TaskId, String> = BTreeMap::new();
        for TrainMember { task, needs } in train_members(graph, &ids) {
            let members = running.tasks_of(&[task]);
            let mut own = members
                .iter()
                .flat_map(|member| self.checks.refused_acceptance(member));
            let below = needs.iter().find(|id| refused.contains_key(*id));
            let why = match (own.next(), below) {
                (Some(why), _) => why,
                (None, Some(below)) => format!("it builds on {below}, which cannot be merged"),
                (None, None) => continue,
            };
            refused.insert(task, why);
        }
        running.tasks.retain(|id, _| !refused.contains_key(id));
        refused.into_iter().collect()
    }
}
