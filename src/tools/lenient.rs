//! Lenient parsing of tool input. Models write a task number as `3`, `"3"` or `"#3"`, and sometimes a list as text.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::domain::ids::{TaskId, TaskRef};

/// Deserializes an optional string. Also accepts a number. Returns `None` for `null`. Any other value is an error.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(n)) => Some(n.to_string()),
        Some(other) => {
            return Err(D::Error::custom(format!("expected a string, not {other}")));
        }
    })
}

/// Deserializes a list. Also accepts a string that contains a list in JSON, and a single item instead of a list. `null`
/// or a blank string means an empty list. An invalid item is an error.
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

/// A task reference as models write it: `3`, `"3"`, `"#3"`, or the subject of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LenientRef(pub TaskRef);

impl<'de> Deserialize<'de> for LenientRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Ok(id) = TaskId::deserialize(&value) {
            return Ok(LenientRef(TaskRef::Id(id)));
        }
        let text = match value {
            Value::String(text) => text,
            number @ Value::Number(_) => number.to_string(),
            other => {
                return Err(D::Error::custom(format!(
                    "expected the number of a task, not {other}"
                )));
            }
        };
        let Ok(reference) = text.parse();
        Ok(LenientRef(reference))
    }
}

/// Deserializes a list of task references. Also accepts a single reference. `null` or a blank string means an empty
/// list. Unlike [`list`], treats any other string as one reference, and not as a list in JSON.
pub fn refs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LenientRef>, D::Error> {
    let one = |v: Value| serde_json::from_value(v).map_err(D::Error::custom);
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(one).collect(),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Vec::new()),
        Some(other) => Ok(vec![one(other)?]),
    }
}
