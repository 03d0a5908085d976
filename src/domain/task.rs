//! One task of the board, with the spellings of its file.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::ids::TaskId;
use super::stamp::Stamp;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun. Claimable when it has no owner and no open blocker.
    #[default]
    Pending,
    /// Somebody works on it.
    InProgress,
    /// Finished for good. `done` is an older spelling.
    #[serde(alias = "done")]
    Completed,
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

/// A task as `.tasks/task_N.json` holds it. Unknown fields are kept in `extra` and written back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Task {
    /// Its number. A file without one says it by its name; it is 0 until that is known.
    #[serde(default, deserialize_with = "or_default")]
    pub id: TaskId,
    /// One line that says what is to be done. `title` is an older spelling.
    pub subject: String,
    /// Everything else the worker should know.
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Where it stands.
    #[serde(default, deserialize_with = "or_default")]
    pub status: TaskStatus,
    /// Open blockers only: an id leaves the list when its task is completed.
    #[serde(rename = "blockedBy", default, deserialize_with = "or_default")]
    pub blocked_by: Vec<TaskId>,
    /// Tasks that wait, or waited, for this one. Kept for ever, so the graph can be drawn afterwards.
    #[serde(default, deserialize_with = "or_default")]
    pub blocks: Vec<TaskId>,
    /// Who works on it or did; empty: nobody. Free text, because other programs write it too.
    #[serde(default, deserialize_with = "or_default")]
    pub owner: String,
    /// The worktree it is worked on in; empty: none.
    #[serde(default, deserialize_with = "or_default")]
    pub worktree: String,
    /// What a claimer must be good at; empty: anybody may claim it.
    #[serde(default, deserialize_with = "or_default")]
    pub tags: Vec<String>,
    /// When it was written down; zero: unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub created_at: Stamp,
    /// When it was last changed; zero: unknown.
    #[serde(default, deserialize_with = "or_default")]
    pub updated_at: Stamp,
    /// How often it was claimed.
    #[serde(default, deserialize_with = "or_default")]
    pub attempts: u32,
    /// From whom the person has taken it, at most [`TAKEN_MAX`]: they do not choose it by themselves again. Whoever is
    /// told its number may claim it all the same.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub taken_from: Vec<String>,
    /// Fields of other programs.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Most names of those from whom a task was taken; the oldest goes.
pub const TAKEN_MAX: usize = 16;

/// Older spellings of fields, and what they are called now.
const SPELLINGS: &[(&str, &str)] = &[("title", "subject"), ("blocked_by", "blockedBy")];

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Task, D::Error> {
        // A key that stands there twice counts as it was written last.
        let mut fields = Map::deserialize(deserializer)?;
        for (old, new) in SPELLINGS {
            // Where both stand there the old one is a field of another program.
            if !fields.contains_key(*new)
                && let Some(value) = fields.shift_remove(*old)
            {
                fields.insert((*new).into(), value);
            }
        }
        Task::deserialize(Value::Object(fields)).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Task::serialize(self, serializer)
    }
}

/// Reads `null` like a missing field: the reference writes `"owner": null` in one of its programs.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

impl Task {
    /// Whether the person has taken it from `name`, who was not told to claim it again since.
    pub fn was_taken_from(&self, name: &str) -> bool {
        let is_same = |taken: &String| taken.eq_ignore_ascii_case(name);
        self.taken_from.iter().any(is_same)
    }

    /// Whether it is claimed by somebody and not yet completed.
    pub fn is_open_for(&self, owner: &str) -> bool {
        self.status != TaskStatus::Completed && self.owner.eq_ignore_ascii_case(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_spellings_and_missing_fields_are_read() {
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
    fn both_spellings_at_once_and_keys_that_stand_there_twice_are_no_trouble() {
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
    fn numbers_of_others_are_the_same_after_a_rewrite() {
        // Read in a hurry, the last digit of a large one is another.
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
                (Stamp(exact), &Value::from(exact))
            );
        }
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
