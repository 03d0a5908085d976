//! A task's worktree: its name, its branch, where it stands, and what may be done with it.

mod branch;
mod checked_out;
mod index;
mod outcome;
mod refusal;
mod state;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{Name, TaskId};
use super::stamp::Stamp;
use super::task::or_default;
use super::text::{clip, one_line};

pub use branch::{Branch, BranchState, ChangeSize, Unmerged, to_merge, unmerged};
pub use checked_out::CheckedOut;
pub use index::{Entry, WorktreeIndex};
pub use outcome::{
    BranchFate, Brought, Conflict, Created, DiskUse, Leftovers, Merge, Origin, WorktreeDiff,
};
pub use refusal::WorktreeError;
pub use state::{
    Busy, Content, FILES_MAX, Losses, OnDisk, Removal, SUBJECTS_MAX, WorktreeState, may_remove,
};

/// Longest subject in a commit's message, in characters.
const SUBJECT_MAX: usize = 200;
/// Most worktrees of one task that stand at the same time.
const ATTEMPTS_MAX: u32 = 50;

/// The name of a worktree, which is also the name of its folder and of the branch `wt/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorktreeName(Name);

impl WorktreeName {
    /// Checks a name: the form of an agent's, and neither `lead` nor `user`.
    ///
    /// # Errors
    /// What a name may be.
    pub fn new(text: &str) -> Result<WorktreeName, WorktreeError> {
        Name::party(text)
            .ok()
            .filter(|name| !name.same(&Name::lead()) && !name.same(&Name::user()))
            .map(WorktreeName)
            .ok_or_else(|| WorktreeError::Name(clip(text, 80)))
    }

    /// The names for a task, best first: `task-3`, then `task-3-2` while the first one still stands, and so on.
    pub fn candidates(task: TaskId) -> impl Iterator<Item = WorktreeName> {
        (1..=ATTEMPTS_MAX).filter_map(move |n| {
            let text = match n {
                1 => format!("task-{}", task.0),
                n => format!("task-{}-{n}", task.0),
            };
            WorktreeName::new(&text).ok()
        })
    }

    /// The task in the name, where it is one of [`WorktreeName::candidates`].
    pub fn task(&self) -> Option<TaskId> {
        let rest = self.as_str().strip_prefix("task-")?;
        let number = rest.split('-').next()?;
        let task = TaskId(number.parse().ok()?);
        WorktreeName::candidates(task)
            .any(|name| name == *self)
            .then_some(task)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether both are one: case does not matter, as it does not on some disks.
    pub fn same(&self, other: &WorktreeName) -> bool {
        self.0.same(&other.0)
    }

    /// Its branch: `wt/NAME`.
    pub fn branch(&self) -> String {
        format!("wt/{}", self.0)
    }
}

impl fmt::Display for WorktreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for WorktreeName {
    type Error = WorktreeError;

    fn try_from(text: String) -> Result<WorktreeName, WorktreeError> {
        WorktreeName::new(&text)
    }
}

impl From<WorktreeName> for String {
    fn from(name: WorktreeName) -> String {
        name.as_str().into()
    }
}

/// Where a worktree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStatus {
    /// It is worked in.
    #[default]
    Active,
    /// It is to stay, by somebody's word.
    Kept,
    /// Its branch was merged; the folder still stands.
    Merged,
    /// It is gone. The entry stays as a record.
    Removed,
}

impl fmt::Display for WorktreeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            WorktreeStatus::Active => "active",
            WorktreeStatus::Kept => "kept",
            WorktreeStatus::Merged => "merged",
            WorktreeStatus::Removed => "removed",
        })
    }
}

/// A worktree as `.worktrees/index.json` holds it. Unknown fields are kept in `extra` and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its name.
    pub name: WorktreeName,
    /// The absolute path of its folder, for other programs; crewdeck itself goes by the name.
    #[serde(default, deserialize_with = "or_default")]
    pub path: String,
    /// Its branch, for other programs: always `wt/NAME`.
    #[serde(default, deserialize_with = "or_default")]
    pub branch: String,
    /// The task it is for.
    #[serde(default)]
    pub task_id: Option<TaskId>,
    /// Where it stands.
    #[serde(default, deserialize_with = "or_default")]
    pub status: WorktreeStatus,
    /// When it was made; zero: unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: Stamp,
    /// When it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Stamp>,
    /// When somebody said that it is to stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_at: Option<Stamp>,
    /// When its branch was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Stamp>,
    /// The commit of the merge; empty: the base had all of it already, or it is not known.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub merged_commit: String,
    /// The branch it started from and is merged into; empty: whatever the main work tree has checked out.
    #[serde(default, deserialize_with = "or_default")]
    pub base: String,
    /// The commit it started from; empty: unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub base_commit: String,
    /// Who works in it; empty: nobody or unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub owner: String,
    /// The task's subject, for the messages of commits.
    #[serde(default, deserialize_with = "or_default")]
    pub subject: String,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Worktree {
    /// A worktree of that name in the folder `path`, about which nothing else is known.
    pub fn new(name: WorktreeName, path: String, now: Stamp) -> Worktree {
        Worktree {
            branch: name.branch(),
            task_id: name.task(),
            name,
            path,
            status: WorktreeStatus::Active,
            created_at: now,
            removed_at: None,
            kept_at: None,
            merged_at: None,
            merged_commit: String::new(),
            base: String::new(),
            base_commit: String::new(),
            owner: String::new(),
            subject: String::new(),
            extra: Map::new(),
        }
    }

    /// Whether it still takes its name: it was not removed.
    pub fn stands(&self) -> bool {
        self.status != WorktreeStatus::Removed
    }

    /// It is to stay.
    pub fn keep(&mut self, now: Stamp) {
        self.status = WorktreeStatus::Kept;
        self.kept_at = Some(now);
    }

    /// Its branch was merged, with that commit where one was made. One that is to stay stays so.
    pub fn merged(&mut self, commit: &str, now: Stamp) {
        if self.status == WorktreeStatus::Active {
            self.status = WorktreeStatus::Merged;
        }
        self.merged_at = Some(now);
        self.merged_commit = commit.into();
    }

    /// Whether its branch was merged and nobody has worked in it since.
    pub fn is_merged(&self) -> bool {
        self.merged_at.is_some() && self.status != WorktreeStatus::Active
    }

    /// Somebody works in it again.
    pub fn reopen(&mut self, owner: &str) {
        self.status = WorktreeStatus::Active;
        self.owner = owner.into();
    }

    /// It is gone.
    pub fn removed(&mut self, now: Stamp) {
        self.status = WorktreeStatus::Removed;
        self.removed_at = Some(now);
    }

    /// The message of commits that concern it: `task #3: subject`.
    pub fn message(&self) -> String {
        let what = match self.task_id {
            Some(task) => format!("task {task}"),
            None => format!("worktree {}", self.name),
        };
        match one_line(self.subject.trim()) {
            subject if subject.is_empty() => what,
            subject => format!("{what}: {}", clip(&subject, SUBJECT_MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn names_that_git_or_the_crew_would_stumble_over_are_refused() {
        let long = "a".repeat(300);
        for bad in [
            "..", ".", "-f", "--force", "a.lock", "a..b", "ok.", "../../x", "a/b", "", "a b",
            "lead", "User", "ä", "a\n", &long,
        ] {
            assert!(WorktreeName::new(bad).is_err(), "{bad:?}");
        }
        for good in ["task-1", "a", "X_9-", "policy"] {
            assert!(WorktreeName::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn a_task_is_known_by_its_names() {
        let names: Vec<String> = WorktreeName::candidates(TaskId(7))
            .take(3)
            .map(String::from)
            .collect();
        assert_eq!(names, ["task-7", "task-7-2", "task-7-3"]);
        for (text, task) in [
            ("task-7", Some(7)),
            ("task-7-2", Some(7)),
            ("task-7-1", None),
            ("task-07", None),
            ("task-7-x", None),
            ("other", None),
        ] {
            let name = WorktreeName::new(text).unwrap();
            assert_eq!(name.task(), task.map(TaskId), "{text}");
        }
    }

    #[test]
    fn messages_are_one_bounded_line() {
        let name = WorktreeName::new("task-3").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Stamp(1.0));
        assert_eq!(tree.message(), "task #3");
        tree.subject = " Two\nlines ".into();
        assert_eq!(tree.message(), "task #3: Two⏎lines");
        tree.subject = "long ".repeat(100);
        assert_eq!(tree.message().chars().count(), "task #3: ".len() + 200);
        tree.task_id = None;
        tree.subject.clear();
        assert_eq!(tree.message(), "worktree task-3");
    }

    #[test]
    fn a_kept_one_stays_kept_when_it_is_merged() {
        let name = WorktreeName::new("a").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Stamp(1.0));
        tree.keep(Stamp(2.0));
        tree.merged("", Stamp(3.0));
        assert_eq!(
            (tree.status, tree.kept_at, tree.merged_at),
            (WorktreeStatus::Kept, Some(Stamp(2.0)), Some(Stamp(3.0)))
        );
        tree.removed(Stamp(4.0));
        assert!(!tree.stands());
    }
}
