//! A task of the board and its file format.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::checks::{self, CheckRecord};
use super::host::HostClaim;
use super::ids::TaskId;
use super::timestamp::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started. Can be claimed if it has no owner and no open blockers.
    #[default]
    Pending,
    /// The owner works on the task.
    InProgress,
    /// Finished. Cannot be reopened. Older files write `done`.
    #[serde(alias = "done")]
    Completed,
}

impl TaskStatus {
    /// Returns the mark of a task in a list: `[ ]`, `[>]` or `[x]`.
    pub fn mark(self) -> &'static str {
        match self {
            TaskStatus::Pending => "[ ]",
            TaskStatus::InProgress => "[>]",
            TaskStatus::Completed => "[x]",
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TaskStatus::Pending => "pending",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Completed => "completed",
        })
    }
}

/// A task as stored in `.tasks/task_N.json`. Unknown fields are kept in `extra` and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Task {
    /// The number of the task. If the file lacks this field, the number is 0 after parsing and is then taken from the
    /// file name.
    #[serde(default, deserialize_with = "or_default")]
    pub id: TaskId,
    /// What to do, in one line. Older files call this field `title`.
    pub subject: String,
    /// Everything else that the owner needs to know.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "or_default")]
    pub status: TaskStatus,
    /// Blockers that are not completed. A blocker is removed from this list when it is completed.
    #[serde(rename = "blockedBy", default, deserialize_with = "or_default")]
    pub blocked_by: Vec<TaskId>,
    /// Tasks that wait for this one or have waited for it. Entries stay after this task is completed, so that the graph
    /// can still show the dependencies.
    #[serde(default, deserialize_with = "or_default")]
    pub blocks: Vec<TaskId>,
    /// The agent or user that works on the task or has completed it; empty if there is none. Not a
    /// [`super::ids::Name`], because other programs write this field too.
    #[serde(default, deserialize_with = "or_default")]
    pub owner: String,
    /// The name of the task's worktree; empty if it has none.
    #[serde(default, deserialize_with = "or_default")]
    pub worktree: String,
    /// Tags that a teammate must have to claim the task; empty if every teammate may claim it.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// When the task was created; zero if unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: Timestamp,
    /// When the task was last changed; zero if unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub updated_at: Timestamp,
    /// How often the task was claimed since its subject or description was last edited.
    #[serde(default, deserialize_with = "or_default")]
    pub attempts: u32,
    /// Names of agents from which the user took the task away, oldest first, at most [`TAKEN_FROM_MAX`]. The task is no
    /// longer assigned to these agents automatically, but they may claim it by its number. A claim removes the name of
    /// the claimer; a new subject or description removes all names.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub taken_from: Vec<String>,
    /// The command that must succeed in the task's worktree before the task is completed, in addition to the checks of
    /// the settings; empty if there is none.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub acceptance: String,
    /// The last result of each check that ran for this task, oldest first, at most
    /// [`checks::CHECK_RECORDS_MAX`]. Only shown to the user: whether a task may be completed is decided by the results
    /// that crewdeck keeps by content.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub checks: Vec<CheckRecord>,
    /// Where an imported task comes from: the URL of an issue, or a hash of the item in a file. A later import skips
    /// what is already on the board. Empty if the task was not imported.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub imported_from: String,
    /// For which session of which host the task was claimed; `None` for a crew on one machine, and for a claim of the
    /// user.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Option::is_none"
    )]
    pub claim: Option<HostClaim>,
    /// Fields written by other programs, which crewdeck preserves.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Maximum number of agents in [`Task::taken_from`]. If there are more, the oldest is dropped.
pub const TAKEN_FROM_MAX: usize = 16;

/// The name of the field [`Task::checks`] in the file.
const CHECKS: &str = "checks";
/// The name of the field [`Task::acceptance`] in the file.
const ACCEPTANCE: &str = "acceptance";
/// The key of [`Task::claim`].
const CLAIM: &str = "claim";

/// Older names of fields, each with its current name.
const SPELLINGS: &[(&str, &str)] = &[("title", "subject"), ("blocked_by", "blockedBy")];

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Task, D::Error> {
        // If a key occurs twice, the last value wins.
        let mut fields = Map::deserialize(deserializer)?;
        for (old, new) in SPELLINGS {
            // If both names are present, a field with the old name belongs to another program and is kept in `extra`.
            if !fields.contains_key(*new)
                && let Some(value) = fields.shift_remove(*old)
            {
                fields.insert((*new).into(), value);
            }
        }
        // Fields with these names that have another form belong to another program.
        let is_foreign = |name: &str, value: &Value| match name {
            CHECKS => checks::from_json(value).is_none(),
            CLAIM => !value.is_null() && HostClaim::deserialize(value).is_err(),
            _ => !(value.is_string() || value.is_null()),
        };
        let mut foreign = Vec::new();
        for name in [CHECKS, ACCEPTANCE, CLAIM] {
            if fields
                .get(name)
                .is_some_and(|value| is_foreign(name, value))
                && let Some(value) = fields.shift_remove(name)
            {
                foreign.push((name.to_string(), value));
            }
        }
        let mut task =
            Task::deserialize(Value::Object(fields)).map_err(serde::de::Error::custom)?;
        task.extra.extend(foreign);
        Ok(task)
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Task::serialize(self, serializer)
    }
}

/// Deserializes `null` as the default value, like a missing field, because learn-claude-code writes `"owner": null` for
/// a task without an owner.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

impl Task {
    /// Returns whether [`Task::taken_from`] contains `name`, regardless of case: the user took the task away from
    /// `name`, and since then `name` has not claimed the task, and its subject and description were not edited.
    pub fn was_taken_from(&self, name: &str) -> bool {
        let is_same = |taken: &String| taken.eq_ignore_ascii_case(name);
        self.taken_from.iter().any(is_same)
    }

    /// Adds results of checks, and replaces earlier ones of the same checks.
    pub fn add_checks(&mut self, records: &[CheckRecord]) {
        if records.is_empty() {
            return;
        }
        self.extra.shift_remove(CHECKS);
        checks::merge(&mut self.checks, records);
    }

    /// Returns whether `owner` has claimed the task and not completed it.
    pub fn is_open_for(&self, owner: &str) -> bool {
        self.status != TaskStatus::Completed && self.owner.eq_ignore_ascii_case(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_field_names_and_missing_fields_are_read() {
        let task: Task = serde_json::from_str(
            r#"{"id":3,"title":"old","status":"done","owner":null,"blocked_by":[1],"color":"red"}"#,
        )
        .unwrap();
        assert_eq!(
            (task.subject.as_str(), task.status),
            ("old", TaskStatus::Completed)
        );
        assert_eq!(
            (task.owner.as_str(), task.blocked_by),
            ("", vec![TaskId(1)])
        );
        assert_eq!(task.extra["color"], "red");
    }

    #[test]
    fn current_field_name_and_last_duplicate_win() {
        let text = r#"{"id":1,"subject":"a","title":"b","blockedBy":[2],"blocked_by":[3],"status":"pending","status":"done"}"#;
        let task: Task = serde_json::from_str(text).unwrap();
        assert_eq!(
            (task.subject.as_str(), &task.blocked_by, task.status),
            ("a", &vec![TaskId(2)], TaskStatus::Completed)
        );
        let back = serde_json::to_value(&task).unwrap();
        assert_eq!(back["title"], "b");
        assert_eq!(serde_json::from_value::<Task>(back).unwrap(), task);
    }

    #[test]
    fn large_numbers_survive_a_rewrite_exactly() {
        // A fast but inexact float parser would change the last digit.
        for number in [
            "1.111111111111111e+102",
            "1.1111111111111111e95",
            "1730000000.1234567",
            "1.7976931348623157e308",
        ] {
            let text = format!(r#"{{"id":1,"subject":"s","created_at":{number},"n":{number}}}"#);
            let task: Task = serde_json::from_str(&text).unwrap();
            let exact: f64 = number.parse().unwrap();
            assert_eq!(
                (task.created_at, &task.extra["n"]),
                (Timestamp(exact), &Value::from(exact))
            );
        }
    }

    #[test]
    fn checks_field_of_another_program_survives_until_a_check_runs() {
        let text = r#"{"id":1,"subject":"s","checks":"by hand","acceptance":{"ok":true}}"#;
        let mut task: Task = serde_json::from_str(text).unwrap();
        let back = serde_json::to_value(&task).unwrap();
        assert_eq!(back["checks"], "by hand");
        assert_eq!(back["acceptance"]["ok"], true);
        let record = CheckRecord::running("test", "bob", Timestamp(1.0), "t");
        task.add_checks(std::slice::from_ref(&record));
        let text = serde_json::to_string(&task).unwrap();
        assert_eq!(text.matches("\"checks\"").count(), 1);
        assert_eq!(
            serde_json::from_str::<Task>(&text).unwrap().checks,
            [record]
        );
    }

    #[test]
    fn unknown_fields_survive_a_rewrite() {
        let text = r#"{"id":1,"subject":"s","zeta":{"deep":[1,2]}}"#;
        let task: Task = serde_json::from_str(text).unwrap();
        let back: Value = serde_json::to_value(&task).unwrap();
        assert_eq!(back["zeta"]["deep"][1], 2);
        assert_eq!(back["blockedBy"], Value::Array(vec![]));
    }
}
