//! What a model's server sends, what a model asks of the tools, and what a script says.

use std::path::Path;

use serde_json::{Value, json};

use super::{Held, Lines, bounded, hold, seen};
use crate::model::Delta;
use crate::model::http::Decode;
use crate::model::script::rules::File;
use crate::model::sse::{SseDecoder, SseEvent};
use crate::model::{anthropic, openai};
use crate::tools::policy::{self, PlanGate, Rules, Ruling, Standing};
use crate::tools::table::{self, TABLE};

/// Server-sent events: the first byte says how the rest is cut; both wires then read what came out.
pub fn sse(bytes: &[u8]) -> Held {
    let (step, bytes) = match bytes.split_first() {
        Some((first, rest)) => (usize::from(*first).max(1), rest),
        None => (1, bytes),
    };
    let mut whole = SseDecoder::default();
    let Ok(events) = whole.feed(bytes) else {
        return Ok(());
    };
    for step in [1, step] {
        let mut cut = SseDecoder::default();
        let mut pieces = Vec::new();
        for chunk in bytes.chunks(step) {
            pieces.extend(cut.feed(chunk).map_err(|e| e.message)?);
        }
        hold(pieces == events, || {
            format!("cut every {step} bytes: {pieces:?}, at once: {events:?}")
        })?;
    }
    let size: usize = events.iter().map(|e| e.data.len() + e.name.len()).sum();
    // A byte that is no UTF-8 becomes three.
    bounded("the events", size, bytes.len(), 3)?;
    read(anthropic::decode::Decoder::default(), &events, size)?;
    read(openai::decode::Decoder::default(), &events, size)
}

fn read(mut decoder: impl Decode, events: &[SseEvent], size: usize) -> Held {
    let mut out = Vec::new();
    for event in events {
        if let Err(error) = decoder.event(event, &mut out) {
            return bounded("the error", error.message.len(), size, 4);
        }
    }
    let last = decoder.reply();
    let text: usize = out
        .iter()
        .map(|delta| match delta {
            Delta::Text(text) | Delta::Thinking(text) | Delta::ToolCall(text) => text.len(),
            Delta::Held(_) | Delta::Done(_) => 0,
        })
        .sum();
    bounded("the deltas", text, size, 4)?;
    let replies = out.iter().filter_map(|d| match d {
        Delta::Done(reply) => Some(reply),
        Delta::Held(_) | Delta::Text(_) | Delta::Thinking(_) | Delta::ToolCall(_) => None,
    });
    for reply in replies.chain(&last) {
        let text = serde_json::to_string(&reply.blocks).map_err(|e| e.to_string())?;
        bounded("the reply", text.len(), size, 8)?;
        reply.usage.total();
    }
    Ok(())
}

/// The input of a call, as every tool shows it, and as a command that the policy judges.
pub fn tool(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    let mut inputs = vec![
        json!({"command": text}),
        json!({"pattern": text, "path": text}),
    ];
    inputs.extend(serde_json::from_slice::<Value>(bytes));
    for tool in TABLE {
        for input in &inputs {
            let shown = (tool.show)(input);
            seen(tool.name, &shown, Lines::One)?;
            bounded(tool.name, shown.len(), bytes.len(), 6)?;
        }
    }
    let known: Vec<&str> = TABLE.iter().map(|t| t.name).collect();
    seen("the refusal", &table::unknown(&text, &known), Lines::One)?;
    let rules = Rules::default();
    let standing = Standing {
        rules: &rules,
        gate: PlanGate::Open,
        workdir: Path::new("/project"),
    };
    match policy::judge(&text, &standing) {
        Ruling::Allow => {}
        Ruling::Ask { why } | Ruling::Deny { why } => {
            bounded("the reason", why.len(), bytes.len(), 8)?;
        }
    }
    for scope in policy::scopes(&text, &standing) {
        bounded("the scope", scope.to_string().len(), bytes.len(), 6)?;
    }
    Ok(())
}

/// A script of the scripted model: it is read, and each of its rules answers the script's own text.
pub fn script(bytes: &[u8]) -> Held {
    let text = String::from_utf8_lossy(bytes);
    let file = match File::parse(&text) {
        Ok(file) => file,
        Err(error) => return bounded("the refusal", error.to_string().len(), bytes.len(), 12),
    };
    let rules = match file.rules() {
        Ok(rules) => rules,
        Err(error) => return bounded("the refusal", error.to_string().len(), bytes.len(), 12),
    };
    for answer in rules.iter().filter_map(|r| r.answer_to("lead", &text)) {
        let calls = answer
            .calls
            .iter()
            .map(|(name, input)| name.len() + input.to_string().len());
        let size = answer.say.len() + answer.think.len() + calls.sum::<usize>();
        // A place may stand in every answer often, and holds at most the whole text.
        hold(size <= 4096 + bytes.len() * (bytes.len() + 8), || {
            format!("an answer of {size} bytes from {}", bytes.len())
        })?;
    }
    Ok(())
}
