//! Converts tool calls to the tool names and input fields of Claude Code, because hook scripts are written for these.
//! Also converts the input of a call back.

use std::path::Path;

use serde_json::{Map, Value, json};

/// A tool call with the tool names and input fields of Claude Code, as hooks receive it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalCall {
    /// The names by which matchers and rules can refer to the tool. The input of hooks contains the first name. The
    /// last name is the one in crewdeck.
    pub names: Vec<String>,
    pub input: Value,
}

/// One of crewdeck's tools with the names that Claude Code uses for the tool and its input fields.
struct Alias {
    own: &'static str,
    names: &'static [&'static str],
    /// The fields whose names differ, each as a pair of the name in crewdeck and the name in Claude Code.
    fields: &'static [(&'static str, &'static str)],
}

const NO_FIELDS: &[(&str, &str)] = &[];
const PATH: (&str, &str) = ("path", "file_path");

const ALIASES: &[Alias] = &[
    Alias {
        own: "bash",
        names: &["Bash"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "background_run",
        names: &["Bash"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "read_file",
        names: &["Read"],
        fields: &[PATH],
    },
    Alias {
        own: "write_file",
        names: &["Write"],
        fields: &[PATH],
    },
    Alias {
        own: "edit_file",
        names: &["Edit", "MultiEdit"],
        fields: &[PATH, ("old_text", "old_string"), ("new_text", "new_string")],
    },
    Alias {
        own: "glob",
        names: &["Glob"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "grep",
        names: &["Grep"],
        fields: &[("ignore_case", "-i")],
    },
    Alias {
        own: "task",
        names: &["Agent", "Task"],
        fields: &[("kind", "subagent_type")],
    },
    Alias {
        own: "todo",
        names: &["TodoWrite"],
        fields: &[("items", "todos")],
    },
    Alias {
        own: "load_skill",
        names: &["Skill"],
        fields: &[("name", "skill")],
    },
    Alias {
        own: "ask_user",
        names: &["AskUserQuestion"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "task_create",
        names: &["TaskCreate"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "task_update",
        names: &["TaskUpdate"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "task_get",
        names: &["TaskGet"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "task_list",
        names: &["TaskList"],
        fields: NO_FIELDS,
    },
    Alias {
        own: "send_message",
        names: &["SendMessage"],
        fields: NO_FIELDS,
    },
];

fn alias(tool: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.own == tool)
}

/// Returns crewdeck's names of the tools that Claude Code calls `name`; empty if crewdeck has no such tool.
pub fn own_tools(name: &str) -> Vec<&'static str> {
    let found = ALIASES.iter().filter(|alias| alias.names.contains(&name));
    found.map(|alias| alias.own).collect()
}

/// Returns the name that the input of hooks contains for crewdeck's tool `tool`: the first name of the tool in Claude
/// Code, or `tool` itself if Claude Code has no such tool.
pub fn external_name(tool: &str) -> &str {
    let names = alias(tool).and_then(|alias| alias.names.first());
    names.copied().unwrap_or(tool)
}

/// Returns the JSON value that hooks receive as the result of a successful call. `input` is the input with crewdeck's
/// field names, and `text` is the result in crewdeck.
///
/// For commands, for tools that read, write or edit a file, and for MCP tools, the value has the form that Claude Code
/// uses for the tool. For other tools, it is an object with the field `content`. In each form, one field contains all
/// of `text`.
pub fn external_response(tool: &str, input: &Value, dir: &Path, text: &str) -> Value {
    let path = || external_call(tool, input, dir).input["file_path"].clone();
    match external_name(tool) {
        "Bash" => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
        "Read" => json!({"type": "text", "file": {"filePath": path(), "content": text}}),
        "Write" | "Edit" => json!({"filePath": path(), "success": true, "content": text}),
        name if name.starts_with("mcp__") => json!([{"type": "text", "text": text}]),
        _ => json!({"content": text}),
    }
}

/// Converts a call of crewdeck's tool `tool` to the names and fields of Claude Code. Paths of tools that read, write or
/// edit a file, which are relative to `dir`, become absolute. Time limits are converted from seconds to milliseconds,
/// and fields with the value `null` are removed. The input of a tool that Claude Code does not have is unchanged.
pub fn external_call(tool: &str, input: &Value, dir: &Path) -> ExternalCall {
    let Some(alias) = alias(tool) else {
        return ExternalCall {
            names: vec![tool.to_string()],
            input: input.clone(),
        };
    };
    let mut names: Vec<String> = alias.names.iter().map(ToString::to_string).collect();
    names.push(tool.to_string());
    let mut input = rename_fields(input, |field| {
        let found = alias.fields.iter().find(|(own, _)| *own == field);
        found.map_or(field, |(_, elsewhere)| elsewhere)
    });
    if let Some(fields) = input.as_object_mut() {
        // Models send `null` for optional fields that they leave out, so these fields are removed.
        fields.retain(|_, value| !value.is_null());
        if let Some(path) = fields.get("file_path").and_then(Value::as_str) {
            let path = dir.join(path).to_string_lossy().into_owned();
            fields.insert("file_path".into(), path.into());
        }
        if let Some(seconds) = fields.remove("timeout_s").and_then(|s| s.as_u64()) {
            fields.insert("timeout".into(), json!(seconds.saturating_mul(1000)));
        }
        if tool == "background_run" {
            fields.insert("run_in_background".into(), json!(true));
        }
    }
    ExternalCall { names, input }
}

/// Converts `input`, the `updatedInput` of a hook, to an input for crewdeck's tool `tool`. This is the reverse of
/// [`external_call`]. File paths below `dir` become relative to `dir`; other paths are unchanged. For commands, time
/// limits are converted from milliseconds to seconds and rounded up, and fields that only Claude Code has are removed.
pub fn own_input(tool: &str, input: &Value, dir: &Path) -> Value {
    let Some(alias) = alias(tool) else {
        return input.clone();
    };
    let mut input = rename_fields(input, |field| {
        let found = alias
            .fields
            .iter()
            .find(|(_, elsewhere)| *elsewhere == field);
        found.map_or(field, |(own, _)| own)
    });
    let is_file_tool = alias.fields.contains(&PATH);
    if let Some(fields) = input.as_object_mut() {
        let path = fields.get("path").and_then(Value::as_str).map(Path::new);
        let below = path
            .and_then(|path| path.strip_prefix(dir).ok())
            .map(Path::to_path_buf);
        if let Some(below) = below.filter(|_| is_file_tool) {
            fields.insert("path".into(), below.to_string_lossy().into_owned().into());
        }
        if matches!(tool, "bash" | "background_run") {
            if let Some(ms) = fields.remove("timeout").and_then(|ms| ms.as_u64()) {
                fields.insert("timeout_s".into(), json!(ms.div_ceil(1000)));
            }
            fields.remove("run_in_background");
            fields.remove("description");
        }
    }
    input
}

/// Returns `input` with its fields renamed by `name`, including the fields of objects in its lists.
fn rename_fields<'a>(input: &'a Value, name: impl Fn(&'a str) -> &'a str + Copy) -> Value {
    let Some(fields) = input.as_object() else {
        return input.clone();
    };
    let mut out = Map::new();
    for (field, value) in fields {
        let value = match value.as_array() {
            Some(list) => list
                .iter()
                .map(|entry| match entry.as_object() {
                    Some(inner) => inner
                        .iter()
                        .map(|(field, value)| (name(field).to_string(), value.clone()))
                        .collect::<Map<_, _>>()
                        .into(),
                    None => entry.clone(),
                })
                .collect::<Vec<Value>>()
                .into(),
            None => value.clone(),
        };
        out.insert(name(field).to_string(), value);
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn calls_are_translated_and_back() {
        let dir = Path::new("/w");
        for (tool, own, name, elsewhere) in [
            (
                "bash",
                json!({"command": "ls", "timeout_s": 5}),
                "Bash",
                json!({"command": "ls", "timeout": 5000}),
            ),
            (
                "background_run",
                json!({"command": "ls"}),
                "Bash",
                json!({"command": "ls", "run_in_background": true}),
            ),
            (
                "read_file",
                json!({"path": "a/b", "offset": 2}),
                "Read",
                json!({"file_path": "/w/a/b", "offset": 2}),
            ),
            (
                "write_file",
                json!({"path": "a", "content": "x"}),
                "Write",
                json!({"file_path": "/w/a", "content": "x"}),
            ),
            (
                "edit_file",
                json!({"path": "a", "old_text": "x", "new_text": "y", "edits": [{"old_text": "1", "new_text": "2"}]}),
                "Edit",
                json!({"file_path": "/w/a", "old_string": "x", "new_string": "y", "edits": [{"old_string": "1", "new_string": "2"}]}),
            ),
            (
                "mcp__a__b",
                json!({"path": "x"}),
                "mcp__a__b",
                json!({"path": "x"}),
            ),
        ] {
            let call = external_call(tool, &own, dir);
            assert_eq!(
                (call.names[0].as_str(), &call.input),
                (name, &elsewhere),
                "{tool}"
            );
            assert_eq!(call.names.last().map(String::as_str), Some(tool));
            assert_eq!(own_input(tool, &elsewhere, dir), own, "{tool}");
        }
        let response = |tool, input: &Value| external_response(tool, input, dir, "out");
        assert_eq!(response("bash", &json!({}))["stdout"], "out");
        let path = json!({"path": "a"});
        assert_eq!(response("read_file", &path)["file"]["filePath"], "/w/a");
        assert_eq!(response("write_file", &path)["filePath"], "/w/a");
        assert_eq!(response("mcp__a__b", &path)[0]["text"], "out");
        assert_eq!(response("todo", &path)["content"], "out");
        // Paths outside of the work directory are not changed; the tool refuses them.
        let outside = json!({"file_path": "/etc/passwd"});
        assert_eq!(
            own_input("read_file", &outside, dir),
            json!({"path": "/etc/passwd"})
        );
        assert_eq!(
            external_call("bash", &json!("text"), dir).input,
            json!("text")
        );
    }
}
