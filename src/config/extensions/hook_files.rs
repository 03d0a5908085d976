//! Parses the files of hooks: the `hooks` of `.claude/settings.json` and the files of the same form. A mistake in one hook
//! leaves the others usable. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::json::{self, Entries, shown, shown_message};
use crate::domain::hook::{HookEvent, HookHandler, HookSource, HookSpec, Matcher, ToolRule};
use crate::domain::text::closest_match;

/// Maximum number of hooks of one file.
const HOOKS_MAX: usize = 200;
/// Longer time-outs are cut to this.
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
/// Fields that Claude Code knows and that have no effect here.
const UNUSED_FIELDS: &[&str] = &["asyncRewake", "once", "rewakeMessage", "rewakeSummary"];
/// Types of handlers that Claude Code knows and that do not run here.
const OTHER_TYPES: &[&str] = &["agent", "mcp_tool", "prompt"];

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedHooks {
    pub hooks: Vec<HookSpec>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<String>,
    /// Whether the file turns hooks off.
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

/// Parses the content of the file that is shown as `file`.
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
                        out.hooks.extend(hook);
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
    }
    out
}

fn unknown_event(name: &str) -> String {
    let name = shown(name);
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

/// Returns the matcher and the handlers of a group.
fn group(event: HookEvent, group: &Value) -> Result<(Matcher, &[Value]), String> {
    let fields = group.as_object().ok_or("must be an object with hooks")?;
    let matcher = match fields.get("matcher") {
        None | Some(Value::Null) => Matcher::All,
        Some(Value::String(text)) if event.has_matcher() => Matcher::parse(text)?,
        Some(Value::String(_)) => Matcher::All,
        Some(_) => return Err("matcher must be a string".into()),
    };
    let handlers = fields.get("hooks").and_then(Value::as_array);
    Ok((matcher, handlers.ok_or("hooks is missing or no array")?))
}

fn handler(
    event: HookEvent,
    matcher: &Matcher,
    value: &Value,
    source: HookSource,
    warnings: &mut Vec<String>,
) -> Result<HookSpec, String> {
    let fields = value.as_object().ok_or("must be an object with a type")?;
    let kind = text(fields, "type")?.unwrap_or("command");
    if OTHER_TYPES.contains(&kind) {
        return Err(format!(
            "hooks of type {kind} do not run in crewdeck: use command or http"
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
            Some(nearest) => format!("unknown field '{}': did you mean '{nearest}'?", shown(name)),
            None => format!("unknown field '{}' is ignored", shown(name)),
        });
    }
    let condition = text(fields, "if")?.map(ToolRule::parse).transpose()?;
    if condition.is_some() && !event.is_about_tool() {
        return Err(format!(
            "if works for events of tools only, not for {}",
            event.name()
        ));
    }
    let handler = match kind {
        "command" => command(fields)?,
        "http" => http(fields)?,
        other => {
            return Err(format!(
                "unknown type '{}': use command or http",
                shown(other)
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
            Some(other) => return Err(format!("onFailure is '{}': use \"block\"", shown(other))),
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
        return Err("command contains a NUL character".into());
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
            shown(other)
        )),
    }
}

fn http(fields: &Map<String, Value>) -> Result<HookHandler, String> {
    let url = text(fields, "url")?.ok_or("url is missing")?;
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    if !is_web || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!(
            "url is '{}': it must begin with http:// or https://",
            shown(url)
        ));
    }
    let mut headers = BTreeMap::new();
    match fields.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Object(all)) => {
            for (name, value) in all {
                let value = value
                    .as_str()
                    .ok_or(format!("headers.{} must be a string", shown(name)))?;
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

fn text<'a>(fields: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{field} must be a string")),
    }
}

fn flag(fields: &Map<String, Value>, field: &str) -> Result<bool, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(format!("{field} must be true or false")),
    }
}

fn strings(fields: &Map<String, Value>, field: &str) -> Result<Option<Vec<String>>, String> {
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> ParsedHooks {
        parse(text.as_bytes(), "hooks.json", true)
    }

    /// Parses one handler of `PreToolUse`.
    fn one(handler: &str) -> ParsedHooks {
        read(&format!(
            "{{\"hooks\": {{\"PreToolUse\": [{{\"matcher\": \"Bash\", \"hooks\": [{handler}]}}]}}}}"
        ))
    }

    #[test]
    fn every_field_is_read() {
        let found = read(
            r#"{"permissions": {"allow": []}, "hooks": {
                "PreToolUse": [
                    {"matcher": "Bash|Edit", "hooks": [
                        {"type": "command", "command": "a.sh", "timeout": 2.5, "if": "Bash(rm *)", "async": true, "statusMessage": "x"},
                        {"command": "b", "args": ["${CLAUDE_PROJECT_DIR}/x"], "onFailure": "block"},
                        {"type": "command", "command": "c", "shell": "bash"}]}],
                "Stop": [{"matcher": "(((", "hooks": [
                    {"type": "http", "url": "http://127.0.0.1:1/x", "headers": {"Authorization": "Bearer $T"}, "allowedEnvVars": ["T"]}]}]}}"#,
        );
        assert_eq!(found.problems, [""; 0]);
        let [a, b, c, d] = &found.hooks[..] else {
            panic!("{found:?}")
        };
        assert_eq!(a.label(), "PreToolUse (Bash|Edit) if Bash(rm *)");
        assert_eq!(
            (a.timeout(), a.is_async, a.runs()),
            (Duration::from_millis(2500), true, "a.sh".into())
        );
        assert_eq!(
            (b.runs(), b.blocks_on_failure),
            ("b ${CLAUDE_PROJECT_DIR}/x".into(), true)
        );
        assert_eq!(c.runs(), "bash -c c");
        assert_eq!(
            (d.label(), d.runs(), d.source.index),
            ("Stop".into(), "POST http://127.0.0.1:1/x".into(), 3)
        );
        let HookHandler::Http { headers, env, .. } = &d.handler else {
            panic!("{d:?}")
        };
        assert_eq!(
            (headers["Authorization"].as_str(), &env[..]),
            ("Bearer $T", &["T".to_string()][..])
        );
        assert_eq!(d.timeout(), Duration::from_secs(600));
    }

    #[test]
    fn mistakes_are_named_and_leave_the_others_usable() {
        for (handler, problem) in [
            ("[]", "must be an object with a type"),
            ("{}", "command is missing"),
            (r#"{"type": 1}"#, "type must be a string"),
            (
                r#"{"type": "prompt", "prompt": "x"}"#,
                "hooks of type prompt do not run in crewdeck",
            ),
            (r#"{"type": "agent"}"#, "hooks of type agent do not run"),
            (
                r#"{"type": "mcp_tool"}"#,
                "hooks of type mcp_tool do not run",
            ),
            (r#"{"type": "lua"}"#, "unknown type 'lua'"),
            (r#"{"command": " "}"#, "command is empty"),
            (r#"{"command": "a\u0000"}"#, "NUL character"),
            (
                r#"{"command": "a", "args": "b"}"#,
                "args must be an array of strings",
            ),
            (
                r#"{"command": "a", "timeout": 0}"#,
                "timeout must be a number of seconds above 0",
            ),
            (
                r#"{"command": "a", "timeout": "5"}"#,
                "timeout must be a number of seconds above 0",
            ),
            (
                r#"{"command": "a", "async": "yes"}"#,
                "async must be true or false",
            ),
            (
                r#"{"command": "a", "if": "Bash("}"#,
                "if must be a tool with an optional pattern",
            ),
            (
                r#"{"command": "a", "shell": "powershell"}"#,
                "the shell 'powershell' is not supported",
            ),
            (
                r#"{"command": "a", "shell": "bash", "args": []}"#,
                "both shell and args",
            ),
            (
                r#"{"command": "a", "onFailure": "explode"}"#,
                "onFailure is 'explode'",
            ),
            (r#"{"type": "http"}"#, "url is missing"),
            (
                r#"{"type": "http", "url": "file:///x"}"#,
                "it must begin with http",
            ),
            (
                r#"{"type": "http", "url": "http://a", "headers": []}"#,
                "headers must be an object",
            ),
            (
                r#"{"type": "http", "url": "http://a", "headers": {"a": 1}}"#,
                "headers.a must be a string",
            ),
        ] {
            let found = one(&format!(
                "{{\"command\": \"first\"}}, {handler}, {{\"command\": \"last\"}}"
            ));
            let runs: Vec<String> = found.hooks.iter().map(HookSpec::runs).collect();
            assert_eq!(runs, ["first", "last"], "{handler}");
            assert!(
                found.problems.len() == 1
                    && found.problems[0].starts_with("hooks.PreToolUse[0].hooks[1]: ")
                    && found.problems[0].contains(problem),
                "{handler}: {:?}",
                found.problems
            );
            // The position does not depend on whether an earlier hook is usable.
            assert_eq!(found.hooks[1].source.index, 2);
        }
        for (file, problem) in [
            ("{", ":1:1: EOF"),
            ("[]", ":1:1: the file must contain a JSON object"),
            (r#"{"hooks": []}"#, ":1:10: invalid type"),
            (
                r#"{"hooks": {"PreToolUes": []}}"#,
                "unknown event 'hooks.PreToolUes': did you mean 'PreToolUse'?",
            ),
            (
                r#"{"hooks": {"Zzz": []}}"#,
                "unknown event 'hooks.Zzz': use one of SessionStart",
            ),
            (
                r#"{"hooks": {"PostCompact": []}}"#,
                "hooks.PostCompact: crewdeck does not have this event",
            ),
            (r#"{"hooks": {"Stop": {}}}"#, "hooks.Stop must be an array"),
            (
                r#"{"hooks": {"Stop": [1]}}"#,
                "hooks.Stop[0]: must be an object with hooks",
            ),
            (
                r#"{"hooks": {"Stop": [{}]}}"#,
                "hooks.Stop[0]: hooks is missing or no array",
            ),
            (
                r#"{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}"#,
                "matcher must be a string",
            ),
            (
                r#"{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}"#,
                "no valid regular expression",
            ),
            (
                r#"{"hooks": {"Stop": [{"hooks": [{"command": "a", "if": "Bash"}]}]}}"#,
                "if works for events of tools only",
            ),
        ] {
            let found = read(file);
            assert!(found.hooks.is_empty(), "{file}");
            assert!(
                found.problems.len() == 1 && found.problems[0].contains(problem),
                "{file}: {:?}",
                found.problems
            );
        }
        for (handler, warning) in [
            (
                r#"{"command": "a", "timout": 5}"#,
                "did you mean 'timeout'?",
            ),
            (
                r#"{"command": "a", "once": true}"#,
                "once has no effect in crewdeck",
            ),
        ] {
            let found = one(handler);
            assert!(
                found.hooks.len() == 1 && found.problems[0].contains(warning),
                "{found:?}"
            );
        }
    }

    #[test]
    fn file_can_turn_hooks_off() {
        let found = read(
            r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}"#,
        );
        assert!(found.is_disabled && found.hooks.is_empty() && found.problems.is_empty());
        assert_eq!(read("{}"), ParsedHooks::default());
    }
}
