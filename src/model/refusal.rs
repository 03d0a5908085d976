//! Turns HTTP error responses into errors with advice, and reads how long a server asks to wait.
//!
//! Does no I/O, except that a date in the header `retry-after` is compared with the clock.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::provider::ProviderSpec;
use super::{ErrorKind, ModelError};
use crate::domain::text::{clip, one_line};

/// Maximum length of a server's message in an error, in characters. A longer message is cut.
const ERROR_TEXT_MAX: usize = 300;

/// Converts an HTTP error status into an error with a hint. `text` is the server's message. `provider` contains the
/// provider and the name of the environment variable with the API key; it is `None` for the scripted model.
pub fn status_error(
    code: u16,
    text: &str,
    model: &str,
    base: &str,
    provider: Option<(&ProviderSpec, &str)>,
) -> ModelError {
    let key = provider.map_or("the key", |(_, variable)| variable);
    let lower = text.to_lowercase();
    let hints = provider
        .map(|(spec, _)| (spec.refusal_hints)(code, &lower))
        .unwrap_or_default();
    let detail = if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    };
    if let Some(setting) = hints.setting {
        return ModelError::new(
            ErrorKind::Auth,
            format!("the server rejected the request ({code}){detail}"),
            setting,
        );
    }
    if matches!(code, 400 | 413 | 422) && is_too_long(&lower) {
        return ModelError::new(
            ErrorKind::ContextTooLong,
            format!("the conversation is too long for the model{detail}"),
            "",
        );
    }
    if code == 402 || is_out_of_credit(&lower) {
        return ModelError::new(
            ErrorKind::Auth,
            format!("the account has no credit left ({code}){detail}"),
            format!("Check the plan and the billing of the account to which {key} belongs."),
        );
    }
    let (fault, text, hint) = match code {
        401 | 403 => (
            ErrorKind::Auth,
            format!("the API key was refused ({code}){detail}"),
            format!(
                "Check {key}: export the right key, then restart crewdeck.{}",
                hints.key
            ),
        ),
        404 => (
            ErrorKind::UnknownModel,
            format!("'{model}' was not found at {base} (404){detail}"),
            "Select another model with /model in the dashboard or --model NAME, or set another address with --base-url.".into(),
        ),
        // These statuses are retried, as the vendors' own clients do.
        408 | 409 => (
            ErrorKind::Timeout,
            if code == 408 {
                format!("the server timed out (408){detail}")
            } else {
                format!("the server is busy with another request of this conversation (409){detail}")
            },
            "Try again later; the conversation is unchanged.".into(),
        ),
        429 => (
            ErrorKind::RateLimited,
            format!("rate limited (429){detail}"),
            "Wait, or use another model or key.".into(),
        ),
        500..=599 => (
            ErrorKind::Server,
            format!("the server failed ({code}){detail}"),
            "Try again later; the conversation is unchanged.".into(),
        ),
        _ => (
            ErrorKind::BadRequest,
            format!("the server rejected the request ({code}){detail}"),
            hints.request.into(),
        ),
    };
    ModelError::new(fault, text, hint)
}

/// Converts an HTTP status that a script simulates into an error. `wait` is the time that the simulated server asks to
/// wait.
pub fn scripted_status_error(
    code: u16,
    text: &str,
    model: &str,
    wait: Option<Duration>,
) -> ModelError {
    ModelError {
        wait,
        ..status_error(code, text, model, "the script", None)
    }
}

/// Returns the error for a response that the server aborted with the message `text`.
pub fn abort_error(kind: ErrorKind, text: &str) -> ModelError {
    let text = clip(&one_line(text), ERROR_TEXT_MAX);
    let message = format!("the server aborted the response: {text}");
    ModelError::new(kind, message, "")
}

/// Extracts the message from the body of an error response, in one line of at most [`ERROR_TEXT_MAX`] characters.
/// Returns an empty text for HTML.
pub fn body_text(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => error_text(&value),
        Err(_) => String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned(),
    };
    let text = if text.trim_start().starts_with('<') {
        String::new()
    } else {
        text
    };
    clip(&one_line(text.trim()), ERROR_TEXT_MAX)
}

/// Returns the message of a JSON error. The error is `value` or its field `error`. The message is the field `message`,
/// or the error itself if it is a text. If `message` is an object or a list, returns it as JSON.
///
/// If the error's `type` (or its `code`, if it has no type) contains `_`, it is appended in brackets, such as
/// `[rate_limit_error]`. If the error has the field `param` and the message does not name that parameter, the message
/// begins with it, such as `reasoning.effort: …`. Without a message, returns the type or code alone. If these are
/// missing too, returns the field `detail`, else an empty text.
pub fn error_text(value: &Value) -> String {
    let error = value.get("error").unwrap_or(value);
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_string);
    let kind = text("type")
        .or_else(|| text("code"))
        .filter(|k| k.contains('_'));
    // Mistral sends a list of details in place of a text.
    let details = || {
        error
            .get("message")
            .filter(|m| m.is_object() || m.is_array())
    };
    // In front, because the end of a long text is cut.
    let with_field = |message: String| match text("param") {
        Some(field) if !field.is_empty() && !message.contains(&field) => {
            format!("{field}: {message}")
        }
        Some(_) | None => message,
    };
    match (
        text("message")
            .or_else(|| error.as_str().map(str::to_string))
            .or_else(|| details().map(Value::to_string)),
        kind,
    ) {
        (Some(message), Some(kind)) => format!("{} [{kind}]", with_field(message)),
        (Some(message), None) => with_field(message),
        (None, Some(kind)) => kind,
        (None, None) => text("detail").unwrap_or_default(),
    }
}

/// Returns whether an error text, in lower case, says that the conversation exceeds the context window.
pub fn is_too_long(lower: &str) -> bool {
    [
        "exceed_context_size",
        "context_length_exceeded",
        "context length",
        "prompt is too long",
        "maximum context",
        "context window",
        "exceeds the available context",
    ]
    .iter()
    .any(|phrase| lower.contains(phrase))
}

/// Returns whether an error text, in lower case, says that the account has no credit left. Servers report this with 429
/// like a rate limit, but waiting does not help.
pub fn is_out_of_credit(lower: &str) -> bool {
    ["insufficient_quota", "credit balance is too low"]
        .iter()
        .any(|phrase| lower.contains(phrase))
}

/// Returns how long a server asks to wait, from the header `retry-after-ms` or, if that is missing or invalid, from
/// `retry-after` (seconds or a date; a past date means zero). Returns `None` if neither has a valid value.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .map(str::trim)
    };
    let ms = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok());
    let wait = ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
    if wait.is_some() {
        return wait;
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(after).ok()?;
    let at = SystemTime::from(date.timestamp());
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

/// Returns the innermost cause of a connection error without the number of the OS error. The outer errors only repeat
/// the address.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(inner) = root.source() {
        root = inner;
    }
    let text = root.to_string();
    // The number of the OS error does not help the user.
    match text.rsplit_once(" (os error ") {
        Some((message, _)) => message.to_string(),
        None => text,
    }
}

/// Joins an error and its causes with colons. A cause that is already part of the joined text is left out.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = inner.source();
    }
    text
}
