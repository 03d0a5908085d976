//! Reads JSON files that users and other programs write. Limits the size of a file, keeps repeated names in the order
//! of the file, and returns errors with line and column.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::domain::text::{clip, escape_control_chars, one_line};
use crate::store::{os_errors, regular_file};

/// Maximum size of a JSON file that is read, in bytes.
pub const FILE_MAX: u64 = 1024 * 1024;
/// Maximum length, in characters, of a name or value from a file that a message quotes.
const SHOWN_MAX: usize = 200;
/// Maximum length of a message that quotes a file, in characters.
const MESSAGE_MAX: usize = 800;

/// A part of a file that is wrong or has no effect. The rest of the file is still used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblem {
    /// The name of the file in messages: its path relative to the project, or the whole path of a user's file.
    pub file: String,
    /// What is wrong and what to do, on one line and without control characters.
    pub text: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text about a syntax error begins with `:LINE:COLUMN`.
        let gap = if self.text.starts_with(':') { "" } else { ": " };
        write!(f, "{}{gap}{}", self.file, self.text)
    }
}

/// Returns `text`, which comes from a file, so that a message can contain it: on one line, without control characters,
/// cut to [`SHOWN_MAX`] characters.
pub fn format_line(text: &str) -> String {
    clip(&one_line(&escape_control_chars(text)), SHOWN_MAX)
}

/// Returns `text`, a message that quotes a file, on one line, without control characters, cut to [`MESSAGE_MAX`]
/// characters.
pub fn shown_message(text: &str) -> String {
    clip(&one_line(&escape_control_chars(text)), MESSAGE_MAX)
}

/// Reads a file; `None` if it does not exist.
///
/// # Errors
/// Returns why the file cannot be used: it cannot be read, is not a regular file or is too large.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match regular_file::read(path, FILE_MAX) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("cannot be read: {}", os_errors::explain(&e))),
    }
}

/// Parses the content of a file that must be a JSON object. A byte order mark at the start is skipped.
///
/// # Errors
/// Returns `:LINE:COLUMN: ` and what is wrong.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Without this check, serde would also accept an array for a struct.
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    if first.is_some_and(|b| *b != b'{') {
        return Err(":1:1: the file must contain a JSON object".into());
    }
    serde_json::from_slice(bytes).map_err(|e| {
        let whole = e.to_string();
        let what = whole.split(" at line ").next().unwrap_or_default();
        format!(":{}:{}: {}", e.line(), e.column(), format_line(what))
    })
}

/// The entries of a JSON object in the order of the file, including those with a repeated name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entries(pub Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Returns the string in a field; `None` if it is missing or null. Fails if it has another type.
pub fn text<'a>(fields: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{field} must be a string")),
    }
}

/// Returns the boolean in a field; false if it is missing or null. Fails if it has another type.
pub fn flag(fields: &Map<String, Value>, field: &str) -> Result<bool, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(format!("{field} must be true or false")),
    }
}

/// Returns the array of strings in a field; `None` if it is missing or null. Fails if it has another type.
pub fn strings(fields: &Map<String, Value>, field: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("{field} must be an array of strings");
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(all)) => {
            let texts = all.iter().map(|value| value.as_str().map(String::from));
            texts
                .collect::<Option<Vec<_>>>()
                .ok_or_else(wrong)
                .map(Some)
        }
        Some(_) => Err(wrong()),
    }
}
