//! Parses the files that declare hooks: `.claude/settings.json`, of which only the hooks are used, and other files of
//! the same form. A mistake in one hook does not affect the others. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json::{self, Entries, flag, format_line, shown_message, strings, text};
use crate::domain::hook::{HookEvent, HookHandler, HookSource, HookSpec, Matcher, ToolRule};
use crate::domain::text::closest_match;

/// Maximum number of hooks in one file. Further hooks are not used.
const HOOKS_MAX: usize = 200;
/// Maximum time-out of a hook. A longer one is reduced to this.
const TIMEOUT_MAX: Duration = Duration::from_hours(24);

const FIELDS: &[&str] = &[
    "type",
    "command",
    "args",
    "timeout",
    "if",
    "async",
    "onFailure",
    "shell",
    "url",
    "headers",
    "allowedEnvVars",
    "statusMessage",
];
/// Fields of a hook that have an effect in Claude Code, but not in crewdeck.
const UNUSED_FIELDS: &[&str] = &["asyncRewake", "once", "rewakeMessage", "rewakeSummary"];
/// Types of hooks that Claude Code runs, but crewdeck does not.
const OTHER_TYPES: &[&str] = &["agent", "mcp_tool", "prompt"];

/// The parsed content of a file that declares hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedHooks {
    pub hooks: Vec<HookSpec>,
    /// For each hook in `hooks`, in the same order, the JSON text of a file that would declare only this hook.
    pub declarations: Vec<String>,
    /// Errors and warnings for the user, in the order of the file.
    pub problems: Vec<String>,
    /// Whether the file sets `disableAllHooks` to true. If so, the hooks of the file are not read.
    pub is_disabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookFile {
    #[serde(default)]
    hooks: Option<Entries>,
    #[serde(default)]
    disable_all_hooks: Option<bool>,
}

/// Parses the content of a file that declares hooks. `file` is the file's name for messages. `is_project` says whether
/// the file belongs to the project, so that its hooks need approval. Errors are in the `problems` of the result; after a
/// syntax error, it has no hooks.
pub fn parse(bytes: &[u8], file: &str, is_project: bool) -> ParsedHooks {
    let mut out = ParsedHooks::default();
    let parsed = match json::parse::<HookFile>(bytes) {
        Ok(parsed) => parsed,
        Err(why) => {
            out.problems.push(why);
            return out;
        }
    };
    if parsed.disable_all_hooks == Some(true) {
        out.is_disabled = true;
        return out;
    }
    let mut index = 0;
    for (name, groups) in parsed.hooks.unwrap_or_default().0 {
        let Some(event) = HookEvent::parse(&name) else {
            out.problems.push(unknown_event(&name));
            continue;
        };
        let Some(groups) = groups.as_array() else {
            out.problems.push(format!("hooks.{name} must be an array"));
            continue;
        };
        for (at, group) in groups.iter().enumerate() {
            let place = format!("hooks.{name}[{at}]");
            match self::group(event, group) {
                Ok((matcher, handlers)) => {
                    for (at, handler) in handlers.iter().enumerate() {
                        let place = format!("{place}.hooks[{at}]");
                        let mut warnings = Vec::new();
                        let source = HookSource {
                            file: file.to_string(),
                            is_project,
                            index,
                        };
                        index += 1;
                        let hook = self::handler(event, &matcher, handler, source, &mut warnings);
                        let said = warnings.into_iter().chain(hook.as_ref().err().cloned());
                        out.problems
                            .extend(said.map(|what| format!("{place}: {}", shown_message(&what))));
                        if let Ok(hook) = hook {
                            let matcher = group.get("matcher").unwrap_or(&Value::Null);
                            let alone = json!([{"matcher": matcher, "hooks": [handler]}]);
                            let alone = json!({"hooks": {event.name(): alone}});
                            out.declarations.push(alone.to_string());
                            out.hooks.push(hook);
                        }
                    }
                }
                Err(why) => out
                    .problems
                    .push(format!("{place}: {}", shown_message(&why))),
            }
        }
    }
    if out.hooks.len() > HOOKS_MAX {
        out.problems.push(format!(
            "only the first {HOOKS_MAX} of {} hooks are used",
            out.hooks.len()
        ));
        out.hooks.truncate(HOOKS_MAX);
        out.declarations.truncate(HOOKS_MAX);
    }
    out
}

fn unknown_event(name: &str) -> String {
    let name = format_line(name);
    if HookEvent::is_elsewhere(&name) {
        return format!("hooks.{name}: crewdeck does not have this event, so its hooks do not run");
    }
    let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.name()).collect();
    match closest_match(&name, &known) {
        Some(nearest) => format!("unknown event 'hooks.{name}': did you mean '{nearest}'?"),
        None => format!(
            "unknown event 'hooks.{name}': use one of {}",
            known.join(", ")
        ),
    }
}

/// Returns the matcher of a group of hooks for `event`, and the group's hooks as unparsed JSON.
///
/// # Errors
/// Returns the reason if the group is not an object, its matcher is invalid, or it has no array of hooks.
fn group(event: HookEvent, group: &Value) -> Result<(Matcher, &[Value]), String> {
    let fields = group
        .as_object()
        .ok_or("must be an object with the array 'hooks'")?;
    let matcher = match fields.get("matcher") {
        Some(Value::String(text)) if event.has_matcher() => Matcher::parse(text)?,
        None | Some(Value::Null | Value::String(_)) => Matcher::All,
        Some(_) => return Err("matcher must be a string".into()),
    };
    let handlers = fields.get("hooks").and_then(Value::as_array);
    Ok((matcher, handlers.ok_or("hooks is missing or not an array")?))
}

fn handler(
    event: HookEvent,
    matcher: &Matcher,
    value: &Value,
    source: HookSource,
    warnings: &mut Vec<String>,
) -> Result<HookSpec, String> {
    let fields = value
        .as_object()
        .ok_or("must be an object with command or url")?;
    let kind = text(fields, "type")?.unwrap_or("command");
    if OTHER_TYPES.contains(&kind) {
        return Err(format!(
            "hooks of type {kind} do not run in crewdeck: use type command or http"
        ));
    }
    for name in fields
        .keys()
        .filter(|name| !FIELDS.contains(&name.as_str()))
    {
        warnings.push(match closest_match(name, FIELDS) {
            _ if UNUSED_FIELDS.contains(&name.as_str()) => {
                format!("{name} has no effect in crewdeck")
            }
            Some(nearest) => format!(
                "unknown field '{}' is ignored: did you mean '{nearest}'?",
                format_line(name)
            ),
            None => format!("unknown field '{}' is ignored", format_line(name)),
        });
    }
    let condition = text(fields, "if")?.map(ToolRule::parse).transpose()?;
    if condition.is_some() && !event.is_about_tool() {
        return Err(format!(
            "the field 'if' works only for tool events (PreToolUse, PermissionRequest, PostToolUse), not for {}",
            event.name()
        ));
    }
    let handler = match kind {
        "command" => command(fields)?,
        "http" => http(fields)?,
        other => {
            return Err(format!(
                "unknown type '{}': use command or http",
                format_line(other)
            ));
        }
    };
    Ok(HookSpec {
        source,
        event,
        matcher: matcher.clone(),
        condition,
        handler,
        timeout: timeout(fields)?,
        is_async: flag(fields, "async")?,
        blocks_on_failure: match text(fields, "onFailure")? {
            None | Some("allow" | "continue") => false,
            Some("block") => true,
            Some(other) => {
                return Err(format!(
                    "onFailure is '{}': use \"block\", or remove the field",
                    format_line(other)
                ));
            }
        },
    })
}

fn command(fields: &Map<String, Value>) -> Result<HookHandler, String> {
    let command = text(fields, "command")?.ok_or("command is missing")?;
    if command.trim().is_empty() {
        return Err("command is empty".into());
    }
    let args = strings(fields, "args")?;
    if command.contains('\0') || args.iter().flatten().any(|arg| arg.contains('\0')) {
        return Err("command and args must not contain a NUL character".into());
    }
    match (text(fields, "shell")?, &args) {
        (None, _) | (Some("sh"), None) => Ok(HookHandler::Command {
            command: command.into(),
            args,
        }),
        (Some("bash"), None) => Ok(HookHandler::Command {
            command: "bash".into(),
            args: Some(vec!["-c".into(), command.into()]),
        }),
        (Some(_), Some(_)) => Err("it has both shell and args: keep one of them".into()),
        (Some(other), None) => Err(format!(
            "the shell '{}' is not supported: use bash or sh",
            format_line(other)
        )),
    }
}

fn http(fields: &Map<String, Value>) -> Result<HookHandler, String> {
    let url = text(fields, "url")?.ok_or("url is missing")?;
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    if !is_web || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!(
            "url is '{}': it must begin with http:// or https:// and contain no blanks",
            format_line(url)
        ));
    }
    let mut headers = BTreeMap::new();
    match fields.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Object(all)) => {
            for (name, value) in all {
                let value = value
                    .as_str()
                    .ok_or(format!("headers.{} must be a string", format_line(name)))?;
                headers.insert(name.clone(), value.to_string());
            }
        }
        Some(_) => return Err("headers must be an object of strings".into()),
    }
    Ok(HookHandler::Http {
        url: url.into(),
        headers,
        env: strings(fields, "allowedEnvVars")?.unwrap_or_default(),
    })
}

fn timeout(fields: &Map<String, Value>) -> Result<Option<Duration>, String> {
    match fields.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let seconds = value.as_f64().filter(|s| s.is_finite() && *s > 0.0);
            let seconds = seconds.ok_or("timeout must be a number of seconds above 0")?;
            Ok(Some(Duration::from_secs_f64(
                seconds.min(TIMEOUT_MAX.as_secs_f64()),
            )))
        }
    }
}

#[cfg(test)]
#[path = "hook_files_tests.rs"]
mod tests;
