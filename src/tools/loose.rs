//! What models write where a number or a text is wanted: `3`, `"3"`, `"#3"`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text, also where the model wrote a number.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(n)) => Some(n.to_string()),
        Some(other) => {
            return Err(D::Error::custom(format!(
                "a text is wanted here, not {other}"
            )));
        }
    })
}

/// A reference to a task as a model writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRef {
    /// Its number.
    Id(u64),
    /// Something else, most often its subject.
    Words(String),
}

impl<'de> Deserialize<'de> for TaskRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(n) => n
                .as_u64()
                .map(TaskRef::Id)
                .ok_or_else(|| D::Error::custom(format!("{n} is not the number of a task"))),
            Value::String(text) => Ok(match text.trim().trim_start_matches('#').parse() {
                Ok(id) => TaskRef::Id(id),
                Err(_) => TaskRef::Words(text),
            }),
            other => Err(D::Error::custom(format!(
                "a task's number is wanted here, not {other}"
            ))),
        }
    }
}

/// Some references: a list, one alone, or nothing.
pub fn refs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<TaskRef>, D::Error> {
    let one = |v: Value| serde_json::from_value(v).map_err(D::Error::custom);
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(one).collect(),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
        Some(other) => Ok(vec![one(other)?]),
    }
}
