//! Secrets taken out of text: the values of variables that hold secrets, and keys that are known by their shape. What
//! stood there is named in its place: `[redacted: GITHUB_TOKEN]`.
//!
//! # Where it is done
//!
//! - What a tool brings back, whole or piece by piece, passes here before anybody sees it: the model, the screen, the
//!   transcript and the journal all hold the same.
//! - What the model or the person writes (the input of a call, a prompt) reaches the model and the tool as it is: a
//!   conversation is sent as it was said, and a command must run as it was asked for. On disk and on screen, in
//!   transcripts, events, letters, tasks and requests, it stands redacted; so a session that is gone on with knows such
//!   a word only by its mark.
//!
//! # How far it goes
//!
//! It is for keys that come along by accident. A program that is meant to hide one (backwards, in base64) can.
//! A value shorter than [`VALUE_MIN`] is not looked for: it would be found everywhere.

mod shapes;
mod stream;
mod tokens;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use stream::Stream;

/// Shortest value of a variable that is looked for, in bytes.
pub const VALUE_MIN: usize = 8;
/// Longest one.
pub const VALUE_MAX: usize = 16 * 1024;
/// How every mark begins.
pub const MARK: &str = "[redacted: ";

/// What to look for. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    known: Arc<Known>,
}

struct Known {
    /// Names and values, the longest value first: it is the one that stands there when another is its start.
    values: Vec<(String, Vec<u8>)>,
    /// Bytes with which anything secret can begin: a table by byte, for most bytes are looked at no further.
    begins: [bool; 256],
}

/// One that knows keys by their shape alone.
impl Default for Redactor {
    fn default() -> Redactor {
        Redactor::new([])
    }
}

/// The values are secrets.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.known.values.iter().map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.collect();
        f.debug_tuple("Redactor").field(&names).finish()
    }
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Here<'a> {
    /// Nothing secret begins here.
    Nothing,
    /// So many bytes are a secret; what it is. The first `kept` of them say so and stay.
    Secret {
        kept: usize,
        length: usize,
        what: &'a str,
    },
    /// A secret may begin here: more must come before it is known.
    Perhaps,
    /// The same, and it goes on behind those bytes for as long as its body does.
    Begun {
        kept: usize,
        length: usize,
        what: &'a str,
        body: shapes::Body,
    },
}

/// Whether more may come behind the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is all there.
    Whole,
    /// More may come.
    Open,
}

impl Redactor {
    /// One that looks for the values of these variables, and for keys by their shape. Values that are shorter than
    /// [`VALUE_MIN`] or longer than [`VALUE_MAX`] are left out.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Redactor {
        let fits = |value: &Vec<u8>| (VALUE_MIN..=VALUE_MAX).contains(&value.len());
        let mut values: Vec<(String, Vec<u8>)> = variables
            .into_iter()
            .map(|(name, value)| (name, value.trim().as_bytes().to_vec()))
            .filter(|(_, value)| fits(value))
            .collect();
        values.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then_with(|| a.cmp(b)));
        let mut begins = shapes::begins();
        for first in values.iter().filter_map(|(_, value)| value.first()) {
            begins[usize::from(*first)] = true;
        }
        Redactor {
            known: Arc::new(Known { values, begins }),
        }
    }

    /// A text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Secrets begin and end between two characters, so what stays is text.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The same for bytes that may be no text.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut stream = self.stream();
        let mut out = stream.push(bytes);
        out.append(&mut stream.end());
        if out == bytes {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned(out)
        }
    }

    /// Takes secrets out of every text in a JSON value; keys of objects stay. In how many texts there was one comes
    /// back.
    pub fn json(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(_) => 0,
                Cow::Owned(clean) => {
                    *text = clean;
                    1
                }
            },
            Value::Array(all) => all.iter_mut().map(|one| self.json(one)).sum(),
            Value::Object(fields) => fields.values_mut().map(|one| self.json(one)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Plain data without its secrets: all texts in it, as [`Redactor::json`] finds them. Data that can not be put into
    /// JSON and back comes back as it is.
    pub fn data<T: Serialize + DeserializeOwned>(&self, data: T) -> T {
        let Ok(mut value) = serde_json::to_value(&data) else {
            return data;
        };
        match self.json(&mut value) {
            0 => data,
            _ => serde_json::from_value(value).unwrap_or(data),
        }
    }

    /// Whether a secret is in the text.
    pub fn finds(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// For a text that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// What stands at the start of `rest`, behind the byte `before`.
    fn look(&self, before: Option<u8>, rest: &[u8], end: End) -> Here<'_> {
        match self.value(rest, end) {
            Here::Nothing => {}
            found => return found,
        }
        let found = shapes::look(before, rest, end);
        let (Here::Secret { kept, .. } | Here::Begun { kept, .. }) = found else {
            return found;
        };
        // A value that is known by its name is called by it.
        match rest.get(kept..).filter(|_| kept > 0) {
            Some(behind) => match self.value(behind, end) {
                Here::Secret { .. } => Here::Nothing,
                Here::Perhaps => Here::Perhaps,
                Here::Nothing | Here::Begun { .. } => found,
            },
            None => found,
        }
    }

    fn value(&self, rest: &[u8], end: End) -> Here<'_> {
        for (name, value) in &self.known.values {
            if rest.starts_with(value) {
                return Here::Secret {
                    kept: 0,
                    length: value.len(),
                    what: name,
                };
            }
            // The longer ones come first: one of them may still follow where a shorter one stands.
            if end == End::Open && value.starts_with(rest) {
                return Here::Perhaps;
            }
        }
        Here::Nothing
    }

    /// Whether anything secret can begin with this byte.
    fn can_begin(&self, byte: u8) -> bool {
        self.known.begins[usize::from(byte)]
    }
}

#[cfg(test)]
mod tests;
