//! What models write where a number or a text is wanted: `3`, `"3"`, `"#3"`.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::domain::ids::{TaskId, TaskRef};

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

/// A list, also where the model wrote it as JSON in a text, or one item without a list.
pub fn list<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let read = |value| serde_json::from_value(value).map_err(D::Error::custom);
    let value = match Option::<Value>::deserialize(deserializer)? {
        Some(Value::String(text)) if text.trim().is_empty() => Value::Null,
        Some(Value::String(text)) => serde_json::from_str(&text).map_err(D::Error::custom)?,
        Some(value) => value,
        None => Value::Null,
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .into_iter()
            .map(|item| serde_json::from_value(item).map_err(D::Error::custom))
            .collect(),
        one => Ok(vec![read(one)?]),
    }
}

/// A task as a model names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseRef(pub TaskRef);

impl<'de> Deserialize<'de> for LooseRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Ok(id) = TaskId::deserialize(&value) {
            return Ok(LooseRef(TaskRef::Id(id)));
        }
        let text = match value {
            Value::String(text) => text,
            number @ Value::Number(_) => number.to_string(),
            other => {
                return Err(D::Error::custom(format!(
                    "a task's number is wanted here, not {other}"
                )));
            }
        };
        let Ok(reference) = text.parse();
        Ok(LooseRef(reference))
    }
}

/// Some references: a list, one alone, or nothing.
pub fn refs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LooseRef>, D::Error> {
    let one = |v: Value| serde_json::from_value(v).map_err(D::Error::custom);
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(one).collect(),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
        Some(other) => Ok(vec![one(other)?]),
    }
}
