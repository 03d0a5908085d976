//! Reads the reports of an agent about its session. Reads liberally: what is missing or has an unknown form is left
//! out. Bounds the size of every text and list.

mod extensions;

use serde_json::Value;

use super::tool_calls::{CALL_TEXT_MAX, ToolCallChange};
use crate::domain::agent_update::{
    AgentPlanEntry, AgentToolKind, AgentToolStatus, ContextUsage, FileDiff, FileLocation,
    PlanEntryStatus,
};
use crate::domain::redact::Redactor;
use crate::domain::text::head_and_tail;
use crate::domain::usage::Usage;

/// Maximum size, in bytes, of the text in one message of the agent's answer or thoughts. A longer text is cut in the
/// middle.
const CHUNK_MAX: usize = 256 * 1024;
/// Maximum number of changed files of a tool call, and maximum number of its locations. Further ones are left out.
const CALL_FILES_MAX: usize = 64;
/// Maximum size, in bytes, of all diffs of a tool call together.
const CALL_DIFFS_MAX: usize = 1024 * 1024;
/// Maximum length of a path, in bytes. Longer paths are left out.
const PATH_MAX: usize = 4096;
/// Maximum length of an id of the protocol, in bytes. Messages with longer ids are ignored.
pub const ID_MAX: usize = 1024;
/// Maximum length of a title, in characters.
pub const TITLE_MAX: usize = 300;
/// Maximum number of entries of a plan.
const PLAN_MAX: usize = 100;
/// Maximum number of slash commands.
const COMMANDS_MAX: usize = 200;

/// One report of an agent about its session.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// A part of the answer's text. Not redacted, because a secret may be split between two parts.
    Text(String),
    /// A part of the model's thinking. Not redacted, because a secret may be split between two parts.
    Thought(String),
    ToolCall(ToolCallChange),
    Plan(Vec<AgentPlanEntry>),
    Context(ContextUsage),
    Title(String),
    Mode(String),
    Commands(Vec<String>),
    Notice(String),
}

/// Returns the report in the `update` of a `session/update` notification; `None` if crewdeck does not use it or it
/// cannot be read.
pub fn parse_update(update: &Value, redactor: &Redactor) -> Option<Report> {
    match update.get("sessionUpdate")?.as_str()? {
        "agent_message_chunk" => Some(Report::Text(chunk_text(update)?)),
        "agent_thought_chunk" => Some(Report::Thought(chunk_text(update)?)),
        "tool_call" | "tool_call_update" => parse_tool_call(update, redactor).map(Report::ToolCall),
        "plan" => Some(Report::Plan(plan(update.get("entries")?, redactor)?)),
        "usage_update" => Some(Report::Context(ContextUsage {
            used: update.get("used")?.as_u64()?,
            size: update.get("size").and_then(Value::as_u64).unwrap_or(0),
            cost: update.get("cost").and_then(dollars),
        })),
        "session_info_update" => {
            let title = update.get("title")?.as_str()?.trim();
            (!title.is_empty()).then(|| Report::Title(short(title, redactor)))
        }
        "current_mode_update" => {
            let mode = id(update, "currentModeId")?;
            Some(Report::Mode(redactor.text(&mode).into_owned()))
        }
        "available_commands_update" => {
            let commands = update.get("availableCommands")?.as_array()?.iter();
            let names = commands.filter_map(|command| command.get("name")?.as_str());
            let names = names.take(COMMANDS_MAX).map(|name| short(name, redactor));
            Some(Report::Commands(names.collect()))
        }
        "notice" => {
            let text = update
                .get("message")
                .or_else(|| update.get("text"))?
                .as_str()?;
            Some(Report::Notice(short(text, redactor)))
        }
        _ => None,
    }
}

/// Returns the tool call in `call`, which is a report about a call or the call in a permission request. Returns `None`
/// if it has no valid id.
pub fn parse_tool_call(call: &Value, redactor: &Redactor) -> Option<ToolCallChange> {
    let text_of = |name: &str| call.get(name).and_then(Value::as_str);
    let mcp_call = extensions::mcp_call(call);
    let status = text_of("status").and_then(tool_status);
    let content = call.get("content").and_then(Value::as_array);
    let text = content.map(|parts| content_text(parts, redactor));
    let diffs = content.map(|parts| diffs(parts, redactor));
    let has_diffs = diffs.as_ref().is_some_and(|diffs| !diffs.is_empty());
    let output = || output_text(call.get("rawOutput")?, has_diffs, redactor);
    let pending_input = extensions::pending_arguments(call);
    let title = mcp_call.as_ref().map(|mcp_call| mcp_call.title.as_str());
    let kind = match &mcp_call {
        Some(_) => Some(AgentToolKind::Other),
        None => extensions::goose_kind(call),
    };
    let change = ToolCallChange {
        id: redactor.text(&id(call, "toolCallId")?).into_owned(),
        title: title
            .or_else(|| text_of("title"))
            .map(|title| short(title, redactor)),
        kind: kind.or_else(|| text_of("kind").map(tool_kind)),
        status,
        raw_input: mcp_call
            .and_then(|mcp_call| mcp_call.arguments)
            .or_else(|| call.get("rawInput"))
            .filter(|input| !input.is_null())
            .or(pending_input.as_ref())
            .map(|input| bounded_json(input, redactor)),
        locations: call
            .get("locations")
            .and_then(Value::as_array)
            .map(|list| locations(list, redactor)),
        text: text
            .clone()
            .filter(|text| !text.is_empty() && pending_input.is_none())
            .or_else(output)
            .or(text.filter(String::is_empty)),
        more_output: extensions::more_output(call).map(|text| head_and_tail(text, CALL_TEXT_MAX)),
        diffs,
        has_more_files: false,
    };
    Some(ToolCallChange {
        has_more_files: has_more_files(call, &change),
        ..change
    })
}

/// Returns whether `change` lacks files of `call`, because there are too many, because a path is missing, is too long
/// or contains a secret, or because the arguments are too large.
fn has_more_files(call: &Value, change: &ToolCallChange) -> bool {
    fn list<'a>(call: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
        call.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    }
    let path = |of: &'_ Value| of.get("path").and_then(Value::as_str).map(str::to_string);
    let locations = list(call, "locations").map(path);
    let kept = change
        .locations
        .iter()
        .flatten()
        .map(|l| Some(l.path.clone()));
    let is_diff = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("diff");
    let diffs = list(call, "content").filter(is_diff).map(path);
    let kept_diffs = change.diffs.iter().flatten().map(|d| Some(d.path.clone()));
    let is_cut = change.raw_input.as_ref().is_some_and(Value::is_string)
        && call.get("rawInput").is_some_and(|input| !input.is_string());
    is_cut || locations.ne(kept) || diffs.ne(kept_diffs)
}

/// Returns the text in the field `name` if it is a valid id: 1 to [`ID_MAX`] bytes.
pub fn id(of: &Value, name: &str) -> Option<String> {
    let id = of.get(name)?.as_str()?;
    (1..=ID_MAX).contains(&id.len()).then(|| id.to_string())
}

/// Returns the tokens that an agent reports in `usage`; `None` if it reports neither input nor output tokens. Reads the
/// names of the protocol and those that agents use in extensions.
pub fn usage(usage: &Value) -> Option<Usage> {
    let number = |names: &[&str]| names.iter().find_map(|name| usage.get(name)?.as_u64());
    let input = number(&[
        "inputTokens",
        "input_tokens",
        "promptTokens",
        "promptTokenCount",
    ]);
    let output = number(&["outputTokens", "output_tokens", "candidatesTokenCount"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let read = number(&[
        "cachedReadTokens",
        "cached_read_tokens",
        "cachedInputTokens",
    ])
    .unwrap_or(0);
    let write = number(&["cachedWriteTokens", "cached_write_tokens"]).unwrap_or(0);
    // Some agents count cached tokens as input, others do not. The total shows which.
    let total = number(&["totalTokens", "total_tokens"]);
    let apart = input
        .saturating_add(output)
        .saturating_add(read)
        .saturating_add(write);
    let includes_cached = total.is_some_and(|total| total < apart);
    Some(Usage {
        input: if includes_cached {
            input.saturating_sub(read).saturating_sub(write)
        } else {
            input
        },
        output,
        cache_read: read,
        cache_write: write,
    })
}

/// Returns `text` redacted and cut to at most [`TITLE_MAX`] characters.
pub fn short(text: &str, redactor: &Redactor) -> String {
    redactor.clip(text, TITLE_MAX)
}

fn chunk_text(update: &Value) -> Option<String> {
    let text = block_text(update.get("content")?)?;
    Some(head_and_tail(&text, CHUNK_MAX))
}

/// Returns the text of a content block. A link, and an embedded file without text, become their URI in brackets; an
/// image becomes `[image]`, audio becomes `[audio]`. Returns `None` for a block of another kind.
fn block_text(block: &Value) -> Option<String> {
    let text = |of: &Value, name: &str| Some(of.get(name)?.as_str()?.to_string());
    match block.get("type")?.as_str()? {
        "text" => text(block, "text"),
        "resource_link" => text(block, "uri").map(|uri| format!("[{uri}]")),
        "resource" => {
            let resource = block.get("resource")?;
            text(resource, "text").or_else(|| text(resource, "uri").map(|uri| format!("[{uri}]")))
        }
        "image" => Some("[image]".into()),
        "audio" => Some("[audio]".into()),
        _ => None,
    }
}

fn content_text(parts: &[Value], redactor: &Redactor) -> String {
    let mut out = String::new();
    for part in parts {
        let text = match part.get("type").and_then(Value::as_str) {
            Some("content") => part.get("content").and_then(block_text),
            _ => None,
        };
        let Some(text) = text else { continue };
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&redactor.head_and_tail(&text, CALL_TEXT_MAX));
        if out.len() > 2 * CALL_TEXT_MAX {
            out = head_and_tail(&out, CALL_TEXT_MAX);
        }
    }
    head_and_tail(&out, CALL_TEXT_MAX)
}

/// Returns the text in `output`, the `rawOutput` of a call without text in its content. If `has_diffs` is true, returns
/// `None` for an object of an unknown form, because such an object repeats the diffs.
fn output_text(output: &Value, has_diffs: bool, redactor: &Redactor) -> Option<String> {
    let text = match output {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let names = [
                "output",
                "formatted_output",
                "aggregated_output",
                "stdout",
                "error",
            ];
            let known = names.iter().find_map(|name| fields.get(*name)?.as_str());
            match known.map(str::to_string).or_else(|| mcp_result(output)) {
                Some(text) => text,
                None if has_diffs => return None,
                None => output.to_string(),
            }
        }
        Value::Array(_) | Value::Bool(_) | Value::Number(_) => output.to_string(),
    };
    Some(redactor.head_and_tail(&text, CALL_TEXT_MAX))
}

/// Returns the text in the result of an MCP server's tool; `None` if `output` is something else.
fn mcp_result(output: &Value) -> Option<String> {
    let parts = output.pointer("/result/content")?.as_array()?.iter();
    let texts: Vec<String> = parts.filter_map(block_text).collect();
    Some(texts.join("\n"))
}

fn diffs(parts: &[Value], redactor: &Redactor) -> Vec<FileDiff> {
    let mut out = Vec::new();
    let mut room = CALL_DIFFS_MAX;
    for part in parts {
        if part.get("type").and_then(Value::as_str) != Some("diff") || out.len() == CALL_FILES_MAX {
            continue;
        }
        let Some(path) = path(part, redactor) else {
            continue;
        };
        let mut cut = |text: &str| {
            let text = redactor.head_and_tail(text, room / 2);
            room = room.saturating_sub(text.len());
            text
        };
        let old = part.get("oldText").and_then(Value::as_str).map(&mut cut);
        let new = part.get("newText").and_then(Value::as_str).map(&mut cut);
        out.push(FileDiff {
            path,
            old,
            new: new.unwrap_or_default(),
        });
    }
    out
}

fn locations(list: &[Value], redactor: &Redactor) -> Vec<FileLocation> {
    let places = list.iter().filter_map(|location| {
        let line = location.get("line").and_then(Value::as_u64);
        Some(FileLocation {
            path: path(location, redactor)?,
            line: line.and_then(|line| u32::try_from(line).ok()),
        })
    });
    places.take(CALL_FILES_MAX).collect()
}

fn path(of: &Value, redactor: &Redactor) -> Option<String> {
    let path = of.get("path")?.as_str()?;
    (path.len() <= PATH_MAX).then(|| redactor.text(path).into_owned())
}

fn bounded_json(value: &Value, redactor: &Redactor) -> Value {
    let size = value.to_string().len();
    if size > CALL_TEXT_MAX {
        return Value::String(format!("[{size} bytes, too large to show]"));
    }
    let mut value = value.clone();
    redactor.json(&mut value);
    redact_names(&mut value, redactor);
    value
}

/// Redacts the names of all object fields.
fn redact_names(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| redact_names(one, redactor)),
        Value::Object(fields) => {
            let renamed = std::mem::take(fields).into_iter().map(|(name, mut one)| {
                redact_names(&mut one, redactor);
                (redactor.text(&name).into_owned(), one)
            });
            fields.extend(renamed);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn plan(entries: &Value, redactor: &Redactor) -> Option<Vec<AgentPlanEntry>> {
    let entries = entries.as_array()?.iter().filter_map(|entry| {
        Some(AgentPlanEntry {
            text: short(entry.get("content")?.as_str()?, redactor),
            status: match entry.get("status").and_then(Value::as_str) {
                Some("in_progress") => PlanEntryStatus::InProgress,
                Some("completed") => PlanEntryStatus::Completed,
                _ => PlanEntryStatus::Pending,
            },
        })
    });
    Some(entries.take(PLAN_MAX).collect())
}

fn dollars(cost: &Value) -> Option<f64> {
    let amount = cost.get("amount")?.as_f64()?;
    let is_dollars = cost.get("currency").and_then(Value::as_str) == Some("USD");
    (is_dollars && amount.is_finite() && amount >= 0.0).then_some(amount)
}

fn tool_kind(kind: &str) -> AgentToolKind {
    match kind {
        "read" => AgentToolKind::Read,
        "edit" => AgentToolKind::Edit,
        "delete" => AgentToolKind::Delete,
        "move" => AgentToolKind::Move,
        "search" => AgentToolKind::Search,
        "execute" => AgentToolKind::Execute,
        "think" => AgentToolKind::Think,
        "fetch" => AgentToolKind::Fetch,
        "switch_mode" => AgentToolKind::SwitchMode,
        _ => AgentToolKind::Other,
    }
}

fn tool_status(status: &str) -> Option<AgentToolStatus> {
    match status {
        "pending" => Some(AgentToolStatus::Pending),
        "in_progress" => Some(AgentToolStatus::InProgress),
        "completed" => Some(AgentToolStatus::Completed),
        "failed" => Some(AgentToolStatus::Failed),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
