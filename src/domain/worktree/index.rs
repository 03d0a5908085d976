//! The registry of worktrees in `.worktrees/index.json`. Entries and fields of other programs are preserved.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Worktree, WorktreeError, WorktreeName, WorktreeStatus};
use crate::domain::ids::TaskId;
use crate::domain::text::join_names;

/// Maximum number of removed worktrees in the index. If there are more, the ones with the earliest removal are dropped.
pub const REMOVED_MAX: usize = 1000;
/// Maximum number of worktree names that an error message lists.
const NAMES_MAX: usize = 12;

/// The content of `.worktrees/index.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorktreeIndex {
    /// All worktrees, including removed ones.
    #[serde(default)]
    pub worktrees: Vec<IndexEntry>,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An entry of `.worktrees/index.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IndexEntry {
    /// A valid entry.
    Known(Box<Worktree>),
    /// An entry that is not valid, for example because of its name or status. It is written back unchanged and
    /// otherwise ignored.
    Foreign(Value),
}

impl WorktreeIndex {
    /// Returns the worktrees that are not removed, in file order. If several of them have the same name, only the first
    /// is returned.
    pub fn existing_worktrees(&self) -> Vec<&Worktree> {
        let mut all: Vec<&Worktree> = Vec::new();
        for tree in self.known_worktrees().filter(|t| t.exists()) {
            if !all.iter().any(|other| other.name.same(&tree.name)) {
                all.push(tree);
            }
        }
        all
    }

    /// Finds a worktree by its name, regardless of case. Ignores removed worktrees.
    ///
    /// # Errors
    /// Fails if no existing worktree has that name. The message lists the names of the first 12 existing worktrees.
    pub fn find(&self, name: &WorktreeName) -> Result<&Worktree, WorktreeError> {
        self.get(name).ok_or_else(|| self.unknown(name.as_str()))
    }

    /// Like [`WorktreeIndex::find`], but returns `None` if there is no such worktree.
    pub fn get(&self, name: &WorktreeName) -> Option<&Worktree> {
        self.known_worktrees()
            .find(|t| t.exists() && t.name.same(name))
    }

    /// Returns the worktree of a task; `None` if the task has none. Of several worktrees, returns the newest one whose
    /// status is not [`WorktreeStatus::Merged`], or the newest one if all have this status. Ignores removed worktrees.
    pub fn of_task(&self, task: TaskId) -> Option<&Worktree> {
        let is_open = |t: &Worktree| t.status != WorktreeStatus::Merged;
        self.existing_worktrees()
            .into_iter()
            .filter(|t| t.task_id == Some(task))
            .max_by(|a, b| {
                let by_time = a.created_at.0.total_cmp(&b.created_at.0);
                is_open(a).cmp(&is_open(b)).then(by_time)
            })
    }

    /// Returns the first port of each block of ports that is reserved for an existing worktree.
    pub fn reserved_ports(&self) -> Vec<u16> {
        let existing = self.known_worktrees().filter(|t| t.exists());
        existing.filter_map(|tree| tree.port).collect()
    }

    /// Adds a worktree, or replaces the existing worktree of the same name. If removed worktrees have that name, the
    /// new entry is inserted before their entries, because learn-claude-code uses the first entry with a name.
    pub fn put(&mut self, tree: Worktree) {
        let at = self.position(|t| t.exists() && t.name.same(&tree.name));
        if let Some(entry) = at.and_then(|at| self.worktrees.get_mut(at)) {
            *entry = IndexEntry::Known(Box::new(tree));
            return;
        }
        let at = self.position(|t| t.name.same(&tree.name));
        let entry = IndexEntry::Known(Box::new(tree));
        self.worktrees
            .insert(at.unwrap_or(self.worktrees.len()), entry);
        self.drop_oldest_removed();
    }

    /// Changes the existing worktree `name` by calling `rule` with it, and returns the changed worktree.
    ///
    /// # Errors
    /// Fails if no existing worktree has that name. The error lists the names of existing worktrees.
    pub fn change(
        &mut self,
        name: &WorktreeName,
        rule: impl FnOnce(&mut Worktree),
    ) -> Result<Worktree, WorktreeError> {
        let unknown = self.unknown(name.as_str());
        for entry in &mut self.worktrees {
            if let IndexEntry::Known(tree) = entry
                && tree.exists()
                && tree.name.same(name)
            {
                rule(tree);
                return Ok((**tree).clone());
            }
        }
        Err(unknown)
    }

    /// Returns a notice for the user about each entry that is ignored because it is not valid.
    pub fn notices(&self) -> Vec<String> {
        let name = |value: &Value| value.get("name").unwrap_or(value).to_string();
        self.worktrees
            .iter()
            .filter_map(|entry| match entry {
                IndexEntry::Known(_) => None,
                IndexEntry::Foreign(value) => Some(format!(
                    ".worktrees/index.json: the entry {} is ignored: its name or status is not valid",
                    crate::domain::text::clip(&name(value), 60)
                )),
            })
            .collect()
    }

    /// Returns the error for a worktree that does not exist. The error lists the first 12 existing worktrees.
    pub fn unknown(&self, wanted: &str) -> WorktreeError {
        let standing = self.existing_worktrees();
        let names: Vec<String> = standing.iter().map(|t| t.name.to_string()).collect();
        let known = match names.len() {
            0 => "none exist yet".into(),
            all => format!("existing: {}", join_names(&names, NAMES_MAX, all)),
        };
        WorktreeError::Unknown {
            wanted: crate::domain::text::clip(wanted, 80),
            known,
        }
    }

    fn known_worktrees(&self) -> impl Iterator<Item = &Worktree> {
        self.worktrees.iter().filter_map(|entry| match entry {
            IndexEntry::Known(tree) => Some(&**tree),
            IndexEntry::Foreign(_) => None,
        })
    }

    fn position(&self, is: impl Fn(&Worktree) -> bool) -> Option<usize> {
        self.worktrees.iter().position(|entry| match entry {
            IndexEntry::Known(tree) => is(tree),
            IndexEntry::Foreign(_) => false,
        })
    }

    fn drop_oldest_removed(&mut self) {
        let count = self.known_worktrees().filter(|t| !t.exists()).count();
        for _ in REMOVED_MAX..count {
            let removed = self.worktrees.iter().enumerate().filter_map(|(at, entry)| {
                let IndexEntry::Known(tree) = entry else {
                    return None;
                };
                // Other programs may not record when they removed a worktree.
                let when = tree.removed_at.unwrap_or(tree.created_at);
                (!tree.exists()).then_some((at, when.0))
            });
            let Some((at, _)) = removed.min_by(|a, b| a.1.total_cmp(&b.1)) else {
                return;
            };
            self.worktrees.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn tree(name: &str, at: f64) -> Worktree {
        let name = WorktreeName::new(name).unwrap();
        Worktree::new(name, format!("/r/.worktrees/{at}"), Timestamp(at))
    }

    #[test]
    fn learn_claude_code_registry_is_preserved() {
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
            .existing_worktrees()
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
    fn name_can_be_reused_after_removal() {
        let mut index = WorktreeIndex::default();
        index.put(tree("task-1", 1.0));
        index.put(tree("task-2", 2.0));
        let name = WorktreeName::new("TASK-1").unwrap();
        index
            .change(&name, |t| t.mark_removed(Timestamp(3.0)))
            .unwrap();
        assert_eq!(
            index.find(&name).unwrap_err().to_string(),
            "there is no worktree \"TASK-1\": existing: task-2"
        );
        index.put(tree("task-1", 4.0));
        let times: Vec<f64> = index.known_worktrees().map(|t| t.created_at.0).collect();
        assert_eq!(times, [4.0, 1.0, 2.0]);
        assert_eq!(index.existing_worktrees().len(), 2);
    }

    #[test]
    fn unmerged_worktree_of_a_task_is_preferred() {
        let mut index = WorktreeIndex::default();
        for (name, at) in [("task-1", 1.0), ("task-1-2", 2.0), ("task-1-3", 3.0)] {
            index.put(tree(name, at));
        }
        let last = WorktreeName::new("task-1-3").unwrap();
        index
            .change(&last, |t| t.mark_merged("", Timestamp(9.0)))
            .unwrap();
        let found = index.of_task(TaskId(1)).unwrap();
        assert_eq!(found.name.as_str(), "task-1-2");
        assert_eq!(index.of_task(TaskId(2)), None);
    }

    #[test]
    fn only_oldest_removed_entries_are_dropped() {
        let mut index = WorktreeIndex::default();
        index.put(tree("stays", 0.0));
        for n in 0..(REMOVED_MAX + 20) {
            let mut gone = tree(&format!("n{n}"), 1.0);
            // A worktree that takes a name again stands before older ones.
            gone.mark_removed(Timestamp(if n == 0 { 9.0 } else { 1.0 }));
            index.worktrees.push(IndexEntry::Known(Box::new(gone)));
        }
        index.put(tree("new", 2.0));
        assert_eq!(index.worktrees.len(), REMOVED_MAX + 2);
        assert_eq!(index.existing_worktrees().len(), 2);
        let names: Vec<&str> = index.known_worktrees().map(|t| t.name.as_str()).collect();
        assert_eq!(names[..3], ["stays", "n0", "n21"]);
    }
}
