//! What servers say when they refuse, in words that help, and how long they ask to wait. Pure but for the clock
//! that a date is compared with.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{Fault, ModelError};
use crate::domain::text::{clip, one_line};

/// Most characters of a server's words that an error repeats.
pub const SAID_MAX: usize = 300;

/// Whose wire a server speaks: errors name its variable and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// Anthropic Messages.
    Anthropic,
    /// Chat Completions.
    OpenAi,
    /// No server: the scripted model.
    Script,
}

impl Vendor {
    /// What holds the key, for hints.
    fn key(self) -> &'static str {
        match self {
            Vendor::Anthropic => "ANTHROPIC_API_KEY",
            Vendor::OpenAi => "OPENAI_API_KEY",
            Vendor::Script => "the key",
        }
    }
}

/// A refusal of the server, in words that help.
pub fn refused(code: u16, said: &str, model: &str, base: &str, vendor: Vendor) -> ModelError {
    let key = vendor.key();
    let lower = said.to_lowercase();
    let words = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    if let Some(setting) = header_setting(code, &lower, vendor) {
        return ModelError::new(
            Fault::Auth,
            format!("the server refused the request ({code}){words}"),
            setting,
        );
    }
    if matches!(code, 400 | 413 | 422) && is_too_long(&lower) {
        return ModelError::new(
            Fault::ContextTooLong,
            format!("too long for the model{words}"),
            "",
        );
    }
    if code == 402 || is_out_of_credit(&lower) {
        return ModelError::new(
            Fault::Auth,
            format!("the account has no credit left ({code}){words}"),
            format!("Check the plan and the billing of the account that {key} belongs to."),
        );
    }
    let (fault, text, hint) = match code {
        401 | 403 => (
            Fault::Auth,
            format!("the key was refused ({code}){words}"),
            format!(
                "Check {key}: export the right key, then start crewdeck again.{}",
                other_header(&lower, vendor)
            ),
        ),
        404 => (
            Fault::UnknownModel,
            format!("'{model}' was not found at {base} (404){words}"),
            "Name one that it has: /model in the dashboard lists them, --model NAME sets it. Or name another address with --base-url.".into(),
        ),
        // As the vendors' own programs do, these are tried again.
        408 | 409 => (
            Fault::Timeout,
            if code == 408 {
                format!("the server gave up waiting (408){words}")
            } else {
                format!("the server was busy with another request of this conversation (409){words}")
            },
            "Try again later; the conversation is as it was.".into(),
        ),
        429 => (
            Fault::RateLimited,
            format!("rate limited (429){words}"),
            "Wait a while, or use another model or key.".into(),
        ),
        500..=599 => (
            Fault::Server,
            format!("the server failed ({code}){words}"),
            "Try again later; the conversation is as it was.".into(),
        ),
        _ => (
            Fault::BadRequest,
            format!("the server refused the request ({code}){words}"),
            field_hint(&lower, vendor).into(),
        ),
    };
    ModelError::new(fault, text, hint)
}

/// The error that a server's status stands for, as the scripted model needs it.
pub fn error_for_status(code: u16, said: &str, model: &str, wait: Option<Duration>) -> ModelError {
    ModelError {
        wait,
        ..refused(code, said, model, "the script", Vendor::Script)
    }
}

/// What an error body says, in one line.
pub fn said(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => error_text(&value),
        Err(_) => String::from_utf8_lossy(&body[..body.len().min(2000)]).into_owned(),
    };
    let text = if text.trim_start().starts_with('<') {
        String::new()
    } else {
        text
    };
    clip(&one_line(text.trim()), SAID_MAX)
}

/// The words of an error object, in the shapes that servers use.
pub fn error_text(value: &Value) -> String {
    let error = value.get("error").unwrap_or(value);
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_string);
    let kind = text("type")
        .or_else(|| text("code"))
        .filter(|k| k.contains('_'));
    match (
        text("message").or_else(|| error.as_str().map(str::to_string)),
        kind,
    ) {
        (Some(message), Some(kind)) => format!("{message} [{kind}]"),
        (Some(message), None) => message,
        (None, Some(kind)) => kind,
        (None, None) => text("detail").unwrap_or_default(),
    }
}

/// Whether the words of an error say that the conversation does not fit.
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
    .any(|words| lower.contains(words))
}

/// Whether the words of an error say that the account has used up what was paid for: that does not pass by
/// waiting, although servers say it with 429, as they do for what does.
pub fn is_out_of_credit(lower: &str) -> bool {
    ["insufficient_quota", "credit balance is too low"]
        .iter()
        .any(|words| lower.contains(words))
}

/// What servers say of a key that is wrong, although the words name a header as well.
const WRONG_KEY: &[&str] = &["invalid x-api-key", "invalid bearer token"];

/// What else may be wrong where a wrong key is named by its header.
fn other_header(lower: &str, vendor: Vendor) -> &'static str {
    if vendor == Vendor::Anthropic && WRONG_KEY.iter().any(|words| lower.contains(words)) {
        " If it is right, the server may want it in the other header: [anthropic] key_header in the settings."
    } else {
        ""
    }
}

/// The setting to change when a server complains about the header of Anthropic's key or the version.
fn header_setting(code: u16, lower: &str, vendor: Vendor) -> Option<&'static str> {
    let is_the_key = WRONG_KEY.iter().any(|words| lower.contains(words));
    // The other wire sends its key in one way only.
    if vendor != Vendor::Anthropic || !matches!(code, 400 | 401) || is_the_key {
        return None;
    }
    if lower.contains("anthropic-version") {
        return Some(
            "Set the version that the server wants: [anthropic] version = \"…\" in the settings.",
        );
    }
    let names_header = lower.contains("x-api-key")
        || lower.contains("authorization header")
        || lower.contains("bearer");
    names_header.then_some("Set the other header: [anthropic] key_header = \"bearer\" (or \"x-api-key\") in the settings.")
}

/// The setting to change when a server complains about the bound of an answer.
fn field_hint(lower: &str, vendor: Vendor) -> &'static str {
    let names_field = lower.contains("max_completion_tokens") || lower.contains("max_tokens");
    match vendor {
        Vendor::OpenAi if names_field => {
            "Set [openai] max_tokens_field in the settings (max_tokens or max_completion_tokens), or a smaller max_tokens at their top."
        }
        Vendor::Anthropic if names_field => "Set a smaller max_tokens at the top of the settings.",
        Vendor::OpenAi | Vendor::Anthropic | Vendor::Script => "",
    }
}

/// How long a server asks to wait: `retry-after-ms`, then `retry-after` in seconds or as a date.
pub fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .map(str::trim)
    };
    if let Some(ms) = text("retry-after-ms").and_then(|t| t.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(after).ok()?;
    let at = SystemTime::from(date.timestamp());
    Some(at.duration_since(SystemTime::now()).unwrap_or_default())
}

/// The cause at the root of an error: what is around it repeats the address, layer by layer.
pub fn root(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(inner) = root.source() {
        root = inner;
    }
    let text = root.to_string();
    // The number that the system gives it tells a person nothing.
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_string(),
        None => text,
    }
}

/// An error with its causes: the outermost alone says too little.
pub fn chain(error: &dyn std::error::Error) -> String {
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
