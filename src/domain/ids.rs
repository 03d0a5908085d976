//! Types for names and ids. Names and task numbers are validated when they are parsed or read from JSON. Ids that
//! consist of text are not validated; [`RequestId::is_safe`] checks an id before it becomes a file name.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Maximum length of the name of an agent or a worktree, in characters.
pub const NAME_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is empty, has more than [`NAME_MAX`] characters, or contains invalid characters. The value is the name,
    /// cut to 80 characters.
    #[error(
        "{0:?} is not a valid name: use 1 to 32 letters, digits, '-' or '_', starting with a letter or digit"
    )]
    Form(String),
    /// The name is reserved: `lead`, `user` or `policy`. If a permission rule decides a request, `policy` is recorded
    /// as the approver.
    #[error("the name {0:?} is reserved: choose another for this teammate")]
    Reserved(String),
}

/// The name of a member of the crew: the lead (`lead`), a teammate, a subagent, or the user (`user`). Also `policy`,
/// the approver that is recorded when a permission rule decides.
///
/// A teammate's name matches `[A-Za-z0-9][A-Za-z0-9_-]{0,31}` and is unique regardless of case. `==` distinguishes
/// upper and lower case; compare names of teammates with [`Name::same`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    pub fn lead() -> Name {
        Name("lead".into())
    }

    pub fn user() -> Name {
        Name("user".into())
    }

    /// Returns the name that is recorded as approver when a permission rule decides.
    pub fn policy() -> Name {
        Name("policy".into())
    }

    /// Parses the name of the lead, a teammate or the user. Checks only characters and length, so `policy` is accepted
    /// too. The name of a subagent is rejected.
    pub fn party(text: &str) -> Result<Name, NameError> {
        let mut chars = text.chars();
        let first_ok = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
        let rest_ok = chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if first_ok && rest_ok && text.len() <= NAME_MAX {
            Ok(Name(text.into()))
        } else {
            Err(NameError::Form(text.chars().take(80).collect()))
        }
    }

    /// Parses the name of a teammate: like [`Name::party`], but rejects `lead`, `user` and `policy` regardless of case.
    pub fn member(text: &str) -> Result<Name, NameError> {
        let name = Name::party(text)?;
        if [Name::lead(), Name::user(), Name::policy()]
            .iter()
            .any(|taken| name.same(taken))
        {
            return Err(NameError::Reserved(text.into()));
        }
        Ok(name)
    }

    /// Returns the name of the subagent of `parent` with the number `n`, such as `alice.2`. Teammates cannot have such
    /// a name.
    pub fn subagent(parent: &Name, n: u64) -> Name {
        Name(format!("{parent}.{n}"))
    }

    /// Returns the agent that started this subagent; `None` if this is not the name of a subagent.
    pub fn parent(&self) -> Option<Name> {
        let (parent, number) = self.0.split_once('.')?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        Name::party(parent).ok().filter(|_| is_number)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether both names are equal regardless of ASCII case.
    pub fn same(&self, other: &Name) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }

    pub fn is_lead(&self) -> bool {
        self.0 == "lead"
    }

    pub fn is_user(&self) -> bool {
        self.0 == "user"
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let subagent = Name(text);
        if subagent.parent().is_some() {
            return Ok(subagent);
        }
        Name::party(&subagent.0).map_err(serde::de::Error::custom)
    }
}

/// The number of a task on the board. Numbers start at 1 and are never reused. 0 means that the number is unknown, as
/// in a task file without a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct TaskId(pub u64);

impl TaskId {
    /// The highest number that is accepted from JSON, 2^53 - 1. Larger numbers lose precision in JSON readers that use
    /// doubles.
    pub const MAX: TaskId = TaskId((1 << 53) - 1);
}

/// A task, as a user or model has named it where the number of a task is expected. Text that is not a number selects no
/// task. It is only compared with the subjects of tasks, so that the error can name the number that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRef {
    Id(TaskId),
    /// Text that is not a number. It may be the subject of a task.
    Subject(String),
}

/// Parses `3` and `#3` as numbers, everything else as text. Ignores whitespace around a number.
impl std::str::FromStr for TaskRef {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<TaskRef, Self::Err> {
        let number = text.trim().trim_start_matches('#').parse().map(TaskId);
        Ok(number.map_or_else(|_| TaskRef::Subject(text.into()), TaskRef::Id))
    }
}

/// Accepts `3`, `3.0` and `"3"`, because other programs write task numbers in these forms. Rejects numbers above
/// [`TaskId::MAX`].
impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let number = match &value {
            serde_json::Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64().or_else(|| whole(other.as_f64()?)),
        };
        number
            .map(TaskId)
            .filter(|id| *id <= TaskId::MAX)
            .ok_or_else(|| {
                let shown: String = value.to_string().chars().take(40).collect();
                serde::de::Error::custom(format!("{shown} is not the number of a task"))
            })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked before
fn whole(number: f64) -> Option<u64> {
    let fits = (0.0..=9e15).contains(&number) && number.fract() == 0.0;
    fits.then_some(number as u64)
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

text_id!(
    /// The id of a background job: eight characters.
    JobId
);
text_id!(
    /// The id of a message, unique in its inbox. If the writer of the message has set none, the id is derived from the
    /// position of the message in the inbox file.
    MessageId
);
text_id!(
    /// The id of a queued prompt. It is recorded in the agent's log when the prompt is delivered, so that the prompt is
    /// not delivered again after a crash.
    PromptId
);
text_id!(
    /// The id of a request, and the name of its file without `.json`. Check an id from outside with
    /// [`RequestId::is_safe`] before it becomes a file name.
    RequestId
);
text_id!(
    /// The id of a tool call, assigned by the model's server. The tool result refers to it.
    CallId
);

impl RequestId {
    /// Returns whether the id is safe to use as a file name: 1 to 64 ASCII letters, digits, `-` and `_`. Callers must
    /// check ids that other programs or models have written.
    pub fn is_safe(&self) -> bool {
        !self.0.is_empty()
            && self.0.len() <= 64
            && self
                .0
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_for_form_and_reserved_words() {
        for bad in [
            "",
            "-a",
            "_a",
            "a b",
            "a/b",
            "../x",
            "a.lock",
            "a\n",
            "ä",
            &"a".repeat(33),
        ] {
            assert!(
                matches!(Name::member(bad), Err(NameError::Form(_))),
                "{bad:?}"
            );
        }
        for taken in ["lead", "user", "Lead", "USER", "policy"] {
            assert!(
                matches!(Name::member(taken), Err(NameError::Reserved(_))),
                "{taken}"
            );
        }
        for good in ["a", "alice", "Rev-2", "0_x", &"a".repeat(32)] {
            assert!(Name::member(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn task_numbers_are_read_from_numbers_and_strings() {
        for (text, id) in [
            ("3", 3),
            ("0", 0),
            ("3.0", 3),
            ("\"3\"", 3),
            ("9007199254740991", TaskId::MAX.0),
        ] {
            let read: TaskId = serde_json::from_str(text).unwrap();
            assert_eq!(read, TaskId(id), "{text}");
        }
        for text in [
            "-1",
            "1.5",
            "null",
            "\"three\"",
            "\"\"",
            "[1]",
            "9007199254740992",
            "1e300",
        ] {
            let refused = serde_json::from_str::<TaskId>(text).unwrap_err();
            assert!(
                refused.to_string().contains("is not the number of a task"),
                "{text}: {refused}"
            );
        }
    }

    #[test]
    fn unsafe_request_ids_are_recognized() {
        assert!(RequestId("req-1_A".into()).is_safe());
        for bad in ["", "../x", "a/b", "a.json", &"x".repeat(65)] {
            assert!(!RequestId(bad.into()).is_safe(), "{bad:?}");
        }
    }
}
