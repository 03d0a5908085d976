//! The registry of worktrees: `.worktrees/index.json`, with what other programs wrote in it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Worktree, WorktreeError, WorktreeName, WorktreeStatus};
use crate::domain::ids::TaskId;

/// Most entries of removed worktrees that are kept; the oldest go first.
pub const REMOVED_MAX: usize = 1000;
/// Most names in an error.
const NAMES_MAX: usize = 12;

/// The registry.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorktreeIndex {
    /// All worktrees, also those that are gone.
    #[serde(default)]
    pub worktrees: Vec<Entry>,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One entry of the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// One that is understood.
    Known(Box<Worktree>),
    /// One with a name or a status that crewdeck does not take: written back as it is, and left alone.
    Foreign(Value),
}

impl WorktreeIndex {
    /// The worktrees that are not removed, in the order of the file; of one name only the first.
    pub fn standing(&self) -> Vec<&Worktree> {
        let mut all: Vec<&Worktree> = Vec::new();
        for tree in self.known().filter(|t| t.stands()) {
            if !all.iter().any(|other| other.name.same(&tree.name)) {
                all.push(tree);
            }
        }
        all
    }

    /// The standing worktree of that name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn find(&self, name: &WorktreeName) -> Result<&Worktree, WorktreeError> {
        self.get(name).ok_or_else(|| self.unknown(name.as_str()))
    }

    /// The standing worktree of that name, if there is one.
    pub fn get(&self, name: &WorktreeName) -> Option<&Worktree> {
        self.known().find(|t| t.stands() && t.name.same(name))
    }

    /// The worktree in which a task is worked on: the newest that is not merged, else the newest.
    pub fn of_task(&self, task: TaskId) -> Option<&Worktree> {
        let is_open = |t: &Worktree| t.status != WorktreeStatus::Merged;
        self.standing()
            .into_iter()
            .filter(|t| t.task_id == Some(task))
            .max_by(|a, b| {
                let by_time = a.created_at.0.total_cmp(&b.created_at.0);
                is_open(a).cmp(&is_open(b)).then(by_time)
            })
    }

    /// Enters a worktree or replaces the standing one of its name. It comes before removed ones of the same
    /// name, since the reference takes the first that it finds.
    pub fn put(&mut self, tree: Worktree) {
        let at = self.place(|t| t.stands() && t.name.same(&tree.name));
        if let Some(entry) = at.and_then(|at| self.worktrees.get_mut(at)) {
            *entry = Entry::Known(Box::new(tree));
            return;
        }
        let at = self.place(|t| t.name.same(&tree.name));
        let entry = Entry::Known(Box::new(tree));
        self.worktrees
            .insert(at.unwrap_or(self.worktrees.len()), entry);
        self.forget_old();
    }

    /// Changes the standing worktree of that name; what became of it comes back.
    ///
    /// # Errors
    /// The names that there are.
    pub fn change(
        &mut self,
        name: &WorktreeName,
        rule: impl FnOnce(&mut Worktree),
    ) -> Result<Worktree, WorktreeError> {
        let unknown = self.unknown(name.as_str());
        for entry in &mut self.worktrees {
            if let Entry::Known(tree) = entry
                && tree.stands()
                && tree.name.same(name)
            {
                rule(tree);
                return Ok((**tree).clone());
            }
        }
        Err(unknown)
    }

    /// What is in the way of entries that are left alone, a line each.
    pub fn notices(&self) -> Vec<String> {
        let name = |value: &Value| value.get("name").unwrap_or(value).to_string();
        self.worktrees
            .iter()
            .filter_map(|entry| match entry {
                Entry::Known(_) => None,
                Entry::Foreign(value) => Some(format!(
                    ".worktrees/index.json: {} is left alone: its name or status is not known",
                    crate::domain::text::clip(&name(value), 60)
                )),
            })
            .collect()
    }

    /// The error for a worktree that is not there.
    pub fn unknown(&self, wanted: &str) -> WorktreeError {
        let standing = self.standing();
        let mut names: Vec<&str> = standing.iter().map(|t| t.name.as_str()).collect();
        let more = names.len().saturating_sub(NAMES_MAX);
        names.truncate(NAMES_MAX);
        let known = match (names.is_empty(), more) {
            (true, _) => "there is none yet".into(),
            (false, 0) => format!("there is {}", names.join(", ")),
            (false, more) => format!("there is {} and {more} more", names.join(", ")),
        };
        WorktreeError::Unknown {
            wanted: crate::domain::text::clip(wanted, 80),
            known,
        }
    }

    fn known(&self) -> impl Iterator<Item = &Worktree> {
        self.worktrees.iter().filter_map(|entry| match entry {
            Entry::Known(tree) => Some(&**tree),
            Entry::Foreign(_) => None,
        })
    }

    fn place(&self, is: impl Fn(&Worktree) -> bool) -> Option<usize> {
        self.worktrees.iter().position(|entry| match entry {
            Entry::Known(tree) => is(tree),
            Entry::Foreign(_) => false,
        })
    }

    fn forget_old(&mut self) {
        let count = self.known().filter(|t| !t.stands()).count();
        for _ in REMOVED_MAX..count {
            let Some(at) = self.place(|t| !t.stands()) else {
                return;
            };
            self.worktrees.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Stamp;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn tree(name: &str, at: f64) -> Worktree {
        let name = WorktreeName::new(name).unwrap();
        Worktree::new(name, format!("/r/.worktrees/{at}"), Stamp(at))
    }

    #[test]
    fn what_the_reference_wrote_is_read_and_written_back() {
        let text = json!({
            "worktrees": [
                {"name": "auth-refactor", "path": "/r/.worktrees/auth-refactor", "branch": "wt/auth-refactor",
                 "task_id": 1, "status": "active", "created_at": 1730.5, "color": "red"},
                {"name": "old", "path": "/r/.worktrees/old", "branch": "wt/old", "task_id": null,
                 "status": "removed", "created_at": 1.0, "removed_at": 2.0},
                {"name": "v1.2", "path": "/r/.worktrees/v1.2", "branch": "wt/v1.2", "status": "active"},
                {"name": "odd", "status": "sleeping"},
            ],
            "theme": {"a": 1},
        });
        let index: WorktreeIndex = serde_json::from_value(text.clone()).unwrap();
        let standing: Vec<(&str, Option<TaskId>)> = index
            .standing()
            .iter()
            .map(|t| (t.name.as_str(), t.task_id))
            .collect();
        assert_eq!(standing, [("auth-refactor", Some(TaskId(1)))]);
        assert_eq!(index.notices().len(), 2, "{:?}", index.notices());
        let back = serde_json::to_value(&index).unwrap();
        assert_eq!(back["theme"], text["theme"]);
        assert_eq!(back["worktrees"][2], text["worktrees"][2]);
        assert_eq!(back["worktrees"][3], text["worktrees"][3]);
        let first = back["worktrees"][0].as_object().unwrap();
        for (key, value) in text["worktrees"][0].as_object().unwrap() {
            assert_eq!(&first[key], value, "{key}");
        }
        assert_eq!(back["worktrees"][1]["removed_at"], 2.0);
        assert_eq!(back["worktrees"][1]["task_id"], Value::Null);
    }

    #[test]
    fn a_name_is_free_after_its_removal_and_the_new_one_is_found_first() {
        let mut index = WorktreeIndex::default();
        index.put(tree("task-1", 1.0));
        index.put(tree("task-2", 2.0));
        let name = WorktreeName::new("TASK-1").unwrap();
        index.change(&name, |t| t.removed(Stamp(3.0))).unwrap();
        assert_eq!(
            index.find(&name).unwrap_err().to_string(),
            "there is no worktree \"TASK-1\": there is task-2"
        );
        index.put(tree("task-1", 4.0));
        let times: Vec<f64> = index.known().map(|t| t.created_at.0).collect();
        assert_eq!(times, [4.0, 1.0, 2.0]);
        assert_eq!(index.standing().len(), 2);
    }

    #[test]
    fn the_open_worktree_of_a_task_comes_before_merged_ones() {
        let mut index = WorktreeIndex::default();
        for (name, at) in [("task-1", 1.0), ("task-1-2", 2.0), ("task-1-3", 3.0)] {
            index.put(tree(name, at));
        }
        let last = WorktreeName::new("task-1-3").unwrap();
        index.change(&last, |t| t.merged("", Stamp(9.0))).unwrap();
        let found = index.of_task(TaskId(1)).unwrap();
        assert_eq!(found.name.as_str(), "task-1-2");
        assert_eq!(index.of_task(TaskId(2)), None);
    }

    #[test]
    fn old_removed_entries_are_forgotten_and_standing_ones_never() {
        let mut index = WorktreeIndex::default();
        index.put(tree("stays", 0.0));
        for n in 0..(REMOVED_MAX + 20) {
            let mut gone = tree(&format!("n{n}"), 1.0);
            gone.removed(Stamp(1.0));
            index.worktrees.push(Entry::Known(Box::new(gone)));
        }
        index.put(tree("new", 2.0));
        assert_eq!(index.worktrees.len(), REMOVED_MAX + 2);
        assert_eq!(index.standing().len(), 2);
    }
}
