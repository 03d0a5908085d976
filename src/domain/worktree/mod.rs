//! The worktree of a task: name, branch, status, and the rules for merging and removing it.

mod branch;
mod checked_out;
mod cloned;
mod error;
mod included;
mod index;
mod missing;
mod outcome;
mod outgoing;
mod paths;
mod ports;
mod removal;
mod settings;
mod state;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::ids::{Name, TaskId};
use super::task::or_default;
use super::text::{clip, one_line};
use super::timestamp::Timestamp;

pub use branch::{
    Branch, BranchState, ChangeSize, Unmerged, mergeable_tasks, tasks_on_branches,
    unmerged_branches,
};
pub use checked_out::CheckedOut;
pub use cloned::ClonedFolders;
pub use error::WorktreeError;
pub use included::{COPIED_NAMES_MAX, INCLUDE_FILE, IncludedFiles};
pub use index::{IndexEntry, WorktreeIndex};
pub use missing::MissingContent;
pub use outcome::{
    BranchMerges, BranchOutcome, Conflict, Created, DiskUse, Merge, Origin, TaskContent,
    WorktreeDiff,
};
pub use outgoing::{GitRemote, OUTGOING_COMMITS_MAX, OutgoingBranch};
pub use paths::PathSummary;
pub use ports::{PORTS_PER_WORKTREE, check_ports, free_ports};
pub use removal::{RemovalMode, check_removal};
pub(super) use settings::read_size;
pub use settings::{CloneFallback, WORKTREE_KEYS, WorktreeSettings};
pub use state::{
    ContentStatus, FILES_MAX, FolderState, GitOperation, Losses, SUBJECTS_MAX, WorktreeState,
};

/// Maximum length of the subject in a commit message, in characters.
const SUBJECT_MAX: usize = 200;
/// Number of names that [`WorktreeName::candidates`] returns for a task. This is also the maximum number of worktrees
/// that a task can have at the same time.
const NAMES_PER_TASK_MAX: u32 = 50;

/// When the branch of a completed task is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergePolicy {
    /// When the user or the lead asks for it.
    #[default]
    Asked,
    /// As soon as the task is completed.
    Auto,
}

/// The name of a worktree. It is also the name of its folder and of the branch `wt/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorktreeName(Name);

impl WorktreeName {
    /// Parses a name: 1 to 32 ASCII letters, digits, `-` or `_`, starting with a letter or digit. The names `lead` and
    /// `user` are not allowed.
    ///
    /// # Errors
    /// Fails if the name is not valid. The message states the rules.
    pub fn new(text: &str) -> Result<WorktreeName, WorktreeError> {
        Name::party(text)
            .ok()
            .filter(|name| !name.same(&Name::lead()) && !name.same(&Name::user()))
            .map(WorktreeName)
            .ok_or_else(|| WorktreeError::Name(clip(text, 80)))
    }

    /// Returns the possible names for the worktree of a task, in order of preference: `task-3`, `task-3-2`, `task-3-3`
    /// and so on. A new worktree gets the first one that is not in use.
    pub fn candidates(task: TaskId) -> impl Iterator<Item = WorktreeName> {
        (1..=NAMES_PER_TASK_MAX).filter_map(move |n| {
            let text = match n {
                1 => format!("task-{}", task.0),
                n => format!("task-{}-{n}", task.0),
            };
            WorktreeName::new(&text).ok()
        })
    }

    /// Returns the task for which [`WorktreeName::candidates`] contains this name; `None` if there is no such task.
    pub fn task(&self) -> Option<TaskId> {
        let rest = self.as_str().strip_prefix("task-")?;
        let number = rest.split('-').next()?;
        let task = TaskId(number.parse().ok()?);
        WorktreeName::candidates(task)
            .any(|name| name == *self)
            .then_some(task)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns whether both names are equal regardless of case, because some file systems ignore case.
    pub fn same(&self, other: &WorktreeName) -> bool {
        self.0.same(&other.0)
    }

    /// Returns the name of the branch: `wt/NAME`.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStatus {
    #[default]
    Active,
    /// The user marked the worktree to be kept, so it is not removed automatically.
    Kept,
    /// The branch was merged; the worktree is not removed yet.
    Merged,
    /// The folder was removed. The entry stays in the index as a record.
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

/// How far a worktree is in its life, besides its [`WorktreeStatus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreePhase {
    /// The owner of a task works in it or has worked in it.
    #[default]
    Used,
    /// It was created before an agent claimed its task, and no agent has worked in it.
    Spare,
    /// The teardown command has begun in it, but it was not removed. Ends when the setup command has run again.
    TornDown,
    /// A merge train has merged its branch with content that no check has seen, because a hook has changed it. The branch
    /// counts as merged only when the checks are green on its base branch.
    MergedUnchecked,
}

impl WorktreePhase {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
    fn is_default(&self) -> bool {
        *self == WorktreePhase::default()
    }
}

/// A worktree as stored in `.worktrees/index.json`. Unknown fields are kept in `extra` and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worktree {
    pub name: WorktreeName,
    /// The absolute path of the folder. Written for other programs; crewdeck derives the path from the name.
    #[serde(default, deserialize_with = "or_default")]
    pub path: String,
    /// The branch, always `wt/NAME`. Written for other programs.
    #[serde(default, deserialize_with = "or_default")]
    pub branch: String,
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: WorktreeStatus,
    /// When the worktree was created; zero if unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_at: Option<Timestamp>,
    /// The merge commit; empty if it is unknown, or if the merge created no commit.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub merged_commit: String,
    /// The branch that the worktree started from and is merged into. If it is empty or no longer exists, the worktree
    /// is merged into the branch that is checked out in the main worktree.
    #[serde(default, deserialize_with = "or_default")]
    pub base: String,
    /// The commit that the worktree started from; empty if unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub base_commit: String,
    /// The agent that last claimed a task in this worktree; empty if unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub owner: String,
    /// The subject that the task had when the worktree was created, used in the message of the merge commit; may be
    /// empty.
    #[serde(default, deserialize_with = "or_default")]
    pub subject: String,
    /// The first of the [`PORTS_PER_WORKTREE`] ports that are reserved for servers in the worktree; `None` if none are
    /// reserved yet.
    #[serde(
        default,
        deserialize_with = "port_or_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub port: Option<u16>,
    /// Whether the files that [`INCLUDE_FILE`] lists are still to be copied into the worktree.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub include_pending: bool,
    /// Whether folders are still to be cloned into the worktree, and the setup command is still to be run in it.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub setup_pending: bool,
    /// How far the worktree is in its life.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "WorktreePhase::is_default"
    )]
    pub phase: WorktreePhase,
    /// Why the setup command failed, such as `exit code 1`; empty if it succeeded or has not run.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub setup_error: String,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Worktree {
    pub fn new(name: WorktreeName, path: String, now: Timestamp) -> Worktree {
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
            port: None,
            include_pending: false,
            setup_pending: false,
            phase: WorktreePhase::default(),
            setup_error: String::new(),
            extra: Map::new(),
        }
    }

    /// Returns whether the worktree has not been removed, which means that its name is in use.
    pub fn exists(&self) -> bool {
        self.status != WorktreeStatus::Removed
    }

    /// Marks the worktree to be kept, so that it is not removed automatically.
    pub fn mark_kept(&mut self, now: Timestamp) {
        self.status = WorktreeStatus::Kept;
        self.kept_at = Some(now);
    }

    /// Records that the branch was merged. `commit` is the merge commit; empty if it is unknown or the merge created
    /// none. Only the status `Active` changes to `Merged`: a worktree that is marked to be kept stays so.
    pub fn mark_merged(&mut self, commit: &str, now: Timestamp) {
        if self.status == WorktreeStatus::Active {
            self.status = WorktreeStatus::Merged;
        }
        self.merged_at = Some(now);
        self.merged_commit = commit.into();
        if self.phase == WorktreePhase::MergedUnchecked {
            self.phase = WorktreePhase::Used;
        }
    }

    /// Returns whether a merge of the branch is recorded and the worktree was not [reopened](Self::reopen) since. The
    /// branch can have newer commits, because work that continues in the existing folder does not reopen the worktree.
    pub fn is_merged(&self) -> bool {
        self.merged_at.is_some() && self.status != WorktreeStatus::Active
    }

    /// Makes the worktree active again, with the owner `owner`. Used when the lost folder of the worktree is created
    /// again.
    pub fn reopen(&mut self, owner: &str) {
        self.status = WorktreeStatus::Active;
        self.owner = owner.into();
    }

    pub fn mark_removed(&mut self, now: Timestamp) {
        self.status = WorktreeStatus::Removed;
        self.removed_at = Some(now);
        self.setup_pending = false;
        self.phase = WorktreePhase::default();
    }

    /// Returns the message of the commit that merges the worktree's branch, such as `task #3: subject`.
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

/// Deserializes a port. Any other value counts as none, because other programs may use the field for something else.
fn port_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    let number = value.and_then(|value| value.as_u64());
    Ok(number.and_then(|number| u16::try_from(number).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn invalid_and_reserved_worktree_names_are_rejected() {
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
    fn task_is_derived_from_candidate_names() {
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
    fn commit_messages_are_one_bounded_line() {
        let name = WorktreeName::new("task-3").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Timestamp(1.0));
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
    fn port_that_is_no_port_counts_as_none() {
        let read = |port: Value| {
            let text = serde_json::json!({"name": "a", "port": port});
            serde_json::from_value::<Worktree>(text).unwrap().port
        };
        assert_eq!(read(20_010.into()), Some(20_010));
        for other in [Value::Null, "20010".into(), 70_000.into(), (-1).into()] {
            assert_eq!(read(other), None);
        }
        let name = WorktreeName::new("a").unwrap();
        let tree = Worktree::new(name, String::new(), Timestamp(1.0));
        let text = serde_json::to_value(tree).unwrap();
        for absent in [
            "port",
            "include_pending",
            "setup_pending",
            "phase",
            "setup_error",
        ] {
            assert!(text.get(absent).is_none(), "{absent}");
        }
    }

    #[test]
    fn merging_a_kept_worktree_keeps_its_status() {
        let name = WorktreeName::new("a").unwrap();
        let mut tree = Worktree::new(name, "/x".into(), Timestamp(1.0));
        tree.mark_kept(Timestamp(2.0));
        tree.mark_merged("", Timestamp(3.0));
        assert_eq!(
            (tree.status, tree.kept_at, tree.merged_at),
            (
                WorktreeStatus::Kept,
                Some(Timestamp(2.0)),
                Some(Timestamp(3.0))
            )
        );
        tree.mark_removed(Timestamp(4.0));
        assert!(!tree.exists());
    }
}
