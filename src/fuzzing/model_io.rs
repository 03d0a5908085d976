//! The fuzz targets of server-sent events, tool calls and model scripts.

use std::path::Path;

use serde_json::{Value, json};

use super::{CheckResult, check_size, check_visible, ensure};
use crate::model::Delta;
use crate::model::provider::Decode;
use crate::model::providers::wires;
use crate::model::script::rules::ScriptFile;
use crate::model::sse::{SseDecoder, SseEvent};
use crate::tools::policy::{self, PermissionRules, PlanGate, PolicyContext, Ruling};
use crate::tools::table::{self, TABLE};

/// Checks the parser of server-sent events and the response decoders. The first byte is a chunk size. Splitting the
/// other bytes into chunks of this size must produce the same events as parsing them in one piece.
pub fn sse(bytes: &[u8]) -> CheckResult {
    let (step, bytes) = match bytes.split_first() {
        Some((first, rest)) => (usize::from(*first).max(1), rest),
        None => (1, bytes),
    };
    let mut whole = SseDecoder::default();
    let Ok(events) = whole.feed(bytes) else {
        return Ok(());
    };
    for step in [1, step] {
        let mut decoder = SseDecoder::default();
        let mut chunked = Vec::new();
        for chunk in bytes.chunks(step) {
            chunked.extend(decoder.feed(chunk).map_err(|e| e.message)?);
        }
        ensure(chunked == events, || {
            format!("in chunks of {step} bytes: {chunked:?}, at once: {events:?}")
        })?;
    }
    let size: usize = events.iter().map(|e| e.data.len() + e.name.len()).sum();
    // Each invalid UTF-8 byte becomes a character of three bytes, so the output can be three times as long.
    check_size("the events", size, bytes.len(), 3)?;
    for provider in wires() {
        decode((provider.decoder)(), &events, size)?;
    }
    Ok(())
}

fn decode(mut decoder: Box<dyn Decode>, events: &[SseEvent], size: usize) -> CheckResult {
    let mut out = Vec::new();
    for event in events {
        if let Err(error) = decoder.event(event, &mut out) {
            return check_size("the error", error.message.len(), size, 4);
        }
    }
    let last = decoder.reply();
    let text: usize = out
        .iter()
        .map(|delta| match delta {
            Delta::Text(text)
            | Delta::Part(text)
            | Delta::Thinking(text)
            | Delta::ToolCall(text) => text.len(),
            Delta::Waiting(_) | Delta::External(_) | Delta::Done(_) => 0,
        })
        .sum();
    check_size("the deltas", text, size, 4)?;
    let replies = out.iter().filter_map(|d| match d {
        Delta::Done(reply) => Some(reply),
        Delta::Waiting(_)
        | Delta::Text(_)
        | Delta::Thinking(_)
        | Delta::Part(_)
        | Delta::External(_)
        | Delta::ToolCall(_) => None,
    });
    for reply in replies.chain(&last) {
        let text = serde_json::to_string(&reply.blocks).map_err(|e| e.to_string())?;
        check_size("the reply", text.len(), size, 8)?;
        reply.usage.total();
    }
    Ok(())
}

/// Checks how tool inputs are shown: the text contains no control or invisible characters, and its length is limited.
/// Also checks that the reasons and scopes of the permission policy for commands have limited lengths.
pub fn tool(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let mut inputs = vec![
        json!({"command": text}),
        json!({"pattern": text, "path": text}),
    ];
    inputs.extend(serde_json::from_slice::<Value>(bytes));
    for tool in TABLE {
        for input in &inputs {
            let shown = (tool.show)(input);
            check_visible(tool.name, &shown)?;
            check_size(tool.name, shown.len(), bytes.len(), 6)?;
        }
    }
    let known: Vec<&str> = TABLE.iter().map(|t| t.name).collect();
    check_visible("the error", &table::unknown(&text, &known))?;
    let rules = PermissionRules::default();
    let standing = PolicyContext {
        rules: &rules,
        gate: PlanGate::Open,
        workdir: Path::new("/project"),
    };
    match policy::judge(&text, &standing) {
        Ruling::Allow => {}
        Ruling::Ask { why } | Ruling::Deny { why } => {
            check_size("the reason", why.len(), bytes.len(), 8)?;
        }
    }
    for scope in policy::scopes(&text, &standing) {
        check_size("the scope", scope.to_string().len(), bytes.len(), 6)?;
    }
    Ok(())
}

/// Checks a script of the scripted model: parses it and applies each rule to the script's own text.
pub fn script(bytes: &[u8]) -> CheckResult {
    let text = String::from_utf8_lossy(bytes);
    let file = match ScriptFile::parse(&text) {
        Ok(file) => file,
        Err(error) => return check_size("the error", error.to_string().len(), bytes.len(), 12),
    };
    let rules = match file.rules() {
        Ok(rules) => rules,
        Err(error) => return check_size("the error", error.to_string().len(), bytes.len(), 12),
    };
    for answer in rules.iter().filter_map(|r| r.answer_to("lead", &text)) {
        let calls = answer
            .calls
            .iter()
            .map(|(name, input)| name.len() + input.to_string().len());
        let size = answer.say.len() + answer.think.len() + calls.sum::<usize>();
        // Each placeholder in the script inserts at most the whole text.
        ensure(size <= 4096 + bytes.len() * (bytes.len() + 8), || {
            format!("a response of {size} bytes from {}", bytes.len())
        })?;
    }
    Ok(())
}
