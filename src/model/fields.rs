//! Parses fields of responses: inputs of tool calls, names and token counts. Limits their size, and drops implausible
//! counts.

use serde_json::Value;

use super::surrogates;

/// Maximum size of the stored text of an invalid tool input, in bytes. The middle of a longer text is left out.
const BROKEN_MAX: usize = 4 * 1024;

/// Parses the input of a tool call. If `text` is not a JSON object, returns an empty object, so that the conversation
/// stays valid. In this case, also returns `text`, cut to [`BROKEN_MAX`] bytes, for the error message to the model. An
/// empty text and `null` count as an empty object.
pub(crate) fn parse_input(text: &str) -> (Value, Option<String>) {
    let empty = || Value::Object(serde_json::Map::new());
    if text.trim().is_empty() {
        return (empty(), None);
    }
    match surrogates::parse_whole(text) {
        Ok(value) if value.is_object() => (value, None),
        Ok(Value::Null) => (empty(), None),
        Ok(_) | Err(_) => (
            empty(),
            Some(crate::domain::text::head_and_tail(text, BROKEN_MAX)),
        ),
    }
}

/// Maximum length of a name or an id in a response, in characters. A longer one is cut; valid ones are much shorter.
const LABEL_MAX: usize = 256;

/// Clips a name or id from a server to [`LABEL_MAX`] characters, because a faulty server may send names and ids of any
/// length.
pub(crate) fn clip_label(text: &str) -> String {
    crate::domain::text::clip(text, LABEL_MAX)
}

/// Maximum plausible token count. A larger count is an error of the server and is ignored.
const TOKENS_MAX: u64 = 100_000_000;

/// Parses a token count from a server. Returns `None` for an implausible value: negative, not an integer or above
/// [`TOKENS_MAX`]. Such a value would distort the token totals.
pub(crate) fn parse_tokens(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|count| *count <= TOKENS_MAX)
}
