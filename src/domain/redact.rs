//! Removes secrets from text and puts a placeholder such as `[redacted: GITHUB_TOKEN]` in their place. Finds two kinds
//! of secrets: known values (of secret environment variables and of tokens) and keys with a known format.
//!
//! # Where redaction applies
//!
//! - Tool output is redacted before the model, the screen, the transcript or the journal gets it, also when it is
//!   streamed.
//! - Tool input and prompts reach the model and the tool unchanged, because a command must run as written. They are
//!   redacted on disk and on the screen: in transcripts, events, messages, tasks and requests. A resumed session
//!   therefore has only the placeholder.
//!
//! # Limits
//!
//! Redaction prevents accidental leaks. It does not stop a program that hides a secret on purpose, for example
//! reversed or in base64. Values shorter than [`VALUE_MIN`] bytes are not redacted: they would match unrelated text.

mod cut;
mod rules;
mod shapes;
mod stream;
mod tokens;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use rules::{InputState, Match};
pub use stream::RedactingStream;

/// Minimum length of a known secret value, in bytes, without whitespace around it. Shorter values are not redacted.
pub const VALUE_MIN: usize = 8;
/// Maximum length of a known secret value, in bytes, without whitespace around it. Longer values are not redacted.
pub const VALUE_MAX: usize = 16 * 1024;
/// The start of every placeholder that replaces a secret.
pub const PLACEHOLDER_START: &str = "[redacted: ";

/// Maximum number of values that [`Redactor::add`] keeps. If there are more, the oldest is dropped and no longer
/// redacted.
const ADDED_MAX: usize = 256;

/// Finds and replaces secrets. Cheap to clone; all clones find the same secrets, also those that are added later.
#[derive(Clone)]
pub struct Redactor {
    known: Arc<RwLock<KnownSecrets>>,
}

/// The name and the value of a secret.
type NamedSecret = (String, Vec<u8>);

struct KnownSecrets {
    /// The secrets that were passed to the redactor when it was created.
    fixed: Vec<NamedSecret>,
    /// The secrets that [`Redactor::add`] has added, oldest first.
    added: VecDeque<NamedSecret>,
    /// All secrets in `fixed` and `added`, prepared for the search.
    all: Arc<Secrets>,
}

/// All known secrets, prepared for the search.
struct Secrets {
    /// Names and values of all known secrets, longest value first. If one value is a prefix of another, the longer one
    /// must be matched first.
    values: Vec<NamedSecret>,
    /// For each byte value, whether a secret can begin with that byte. Allows the scan to skip most bytes.
    first_bytes: [bool; 256],
}

/// Returns a redactor that knows no environment variables and finds only secrets with a known format.
impl Default for Redactor {
    fn default() -> Redactor {
        Redactor::new([])
    }
}

/// Prints only the names of the known secrets, not their values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secrets = self.secrets();
        let names = secrets.values.iter().map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.collect();
        f.debug_tuple("Redactor").field(&names).finish()
    }
}

impl Redactor {
    /// Returns a redactor that finds the values of the environment variables `variables`, pairs of name and value, and
    /// secrets with a known format. Whitespace around a value is removed. Values shorter than [`VALUE_MIN`] or longer
    /// than [`VALUE_MAX`] bytes are ignored.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Redactor {
        Redactor::of(Vec::new(), variables)
    }

    /// Returns a redactor that redacts the secrets of this redactor and the values of `variables`. Values that are too
    /// short or too long for [`Redactor::new`] are ignored. Values that are added later to one of the two redactors are
    /// unknown to the other.
    #[must_use]
    pub fn with(&self, variables: impl IntoIterator<Item = (String, String)>) -> Redactor {
        Redactor::of(self.secrets().values.clone(), variables)
    }

    fn of(
        mut fixed: Vec<NamedSecret>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Redactor {
        fixed.extend(variables.into_iter().filter_map(usable));
        Redactor {
            known: Arc::new(RwLock::new(KnownSecrets {
                all: Arc::new(Secrets::new(fixed.clone())),
                fixed,
                added: VecDeque::new(),
            })),
        }
    }

    /// Adds a secret that became known while crewdeck runs, such as a renewed token. All clones of this redactor redact
    /// the value from then on, with `name` in the placeholder. Does nothing if the redactor already has the value, or
    /// if the value is shorter or longer than [`Redactor::new`] allows. Of the values added in this way, only the last
    /// 256 are redacted.
    pub fn add(&self, name: &str, value: &str) {
        let Some(new) = usable((name.to_string(), value.to_string())) else {
            return;
        };
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.all.values.iter().any(|(_, value)| *value == new.1) {
            return;
        }
        if known.added.len() == ADDED_MAX {
            known.added.pop_front();
        }
        known.added.push_back(new);
        let all = known.fixed.iter().chain(&known.added).cloned().collect();
        known.all = Arc::new(Secrets::new(all));
    }

    fn secrets(&self) -> Arc<Secrets> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known.all)
    }

    /// Returns the text with a placeholder in place of each secret. The result is borrowed if the text contains no
    /// secret.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Secrets begin and end at character boundaries, so the rest is valid UTF-8.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Like [`Redactor::text`], for bytes that may not be UTF-8.
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

    /// Redacts every string in a JSON value, except the names of object fields. Returns the number of strings that
    /// changed.
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

    /// Redacts all strings in serializable data, except the names of object fields in its JSON form. Data that cannot
    /// be converted to JSON and back is returned unchanged, with its secrets.
    pub fn data<T: Serialize + DeserializeOwned>(&self, data: T) -> T {
        let Ok(mut value) = serde_json::to_value(&data) else {
            return data;
        };
        match self.json(&mut value) {
            0 => data,
            _ => serde_json::from_value(value).unwrap_or(data),
        }
    }

    pub fn has_secret(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Returns a redactor for input that arrives in pieces.
    pub fn stream(&self) -> RedactingStream {
        RedactingStream::new(self.clone())
    }
}

/// Returns the secret without whitespace around its value; `None` if the value is then shorter than [`VALUE_MIN`] or
/// longer than [`VALUE_MAX`] bytes.
fn usable((name, value): (String, String)) -> Option<NamedSecret> {
    let value = value.trim().as_bytes().to_vec();
    let fits = (VALUE_MIN..=VALUE_MAX).contains(&value.len());
    fits.then_some((name, value))
}

impl Secrets {
    fn new(mut values: Vec<NamedSecret>) -> Secrets {
        values.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then_with(|| a.cmp(b)));
        let mut first_bytes = shapes::first_bytes();
        for first in values.iter().filter_map(|(_, value)| value.first()) {
            first_bytes[usize::from(*first)] = true;
        }
        Secrets {
            values,
            first_bytes,
        }
    }

    /// Checks whether a secret begins at the start of `rest`. `before` is the byte in front of `rest`; `None` at the
    /// start of the input. `end` says whether more input may follow `rest`.
    fn match_at(&self, before: Option<u8>, rest: &[u8], end: InputState) -> Match<'_> {
        match self.match_value(rest, end) {
            Match::Nothing => {}
            found => return found,
        }
        let found = shapes::match_at(before, rest, end);
        let (Match::Secret { prefix, .. } | Match::OpenSecret { prefix, .. }) = found else {
            return found;
        };
        // If the text after the prefix is the value of a variable, match nothing at the prefix. The value is then
        // matched at its own position, so that the placeholder names the variable.
        match rest.get(prefix..).filter(|_| prefix > 0) {
            Some(after) => match self.match_value(after, end) {
                Match::Secret { .. } => Match::Nothing,
                Match::Incomplete => Match::Incomplete,
                Match::Nothing | Match::OpenSecret { .. } => found,
            },
            None => found,
        }
    }

    fn match_value(&self, rest: &[u8], end: InputState) -> Match<'_> {
        for (name, value) in &self.values {
            if rest.starts_with(value) {
                return Match::Secret {
                    prefix: 0,
                    length: value.len(),
                    label: name,
                };
            }
            // Longer values come first, so a longer one may still match where a shorter one does.
            if end == InputState::Partial && value.starts_with(rest) {
                return Match::Incomplete;
            }
        }
        Match::Nothing
    }

    fn can_begin(&self, byte: u8) -> bool {
        self.first_bytes[usize::from(byte)]
    }
}

#[cfg(test)]
mod tests;
