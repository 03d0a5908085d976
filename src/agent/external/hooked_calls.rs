//! Converts the tool calls of an external agent to calls of crewdeck's own tools, for hooks. Hooks see the names and
//! fields of these tools in the form of Claude Code.

use serde_json::{Map, Value, json};

use super::calls::{as_tool_call, command, paths, reading_command};
use super::crew_tools::CrewToolNames;
use crate::domain::agent_update::{AgentToolCall, AgentToolKind};
use crate::domain::chat::ToolCall;

/// Maximum number of calls into which [`as_hook_calls`] divides one call.
pub const FILES_MAX: usize = 32;

/// Divides an external agent's call into the calls that hooks get. A call that reads or changes several files becomes
/// one call for each file, so that a hook sees each path. A shell command in a call that the agent reports as reading
/// becomes a call of `bash` and one call of `read_file` for each file.
///
/// # Errors
/// Fails with the reason if there are more than [`FILES_MAX`] such calls. In the reason, `it` stands for the call, as
/// in `it has 33 files`.
pub fn as_hook_calls(call: &AgentToolCall, tools: &CrewToolNames) -> Result<Vec<ToolCall>, String> {
    let whole = as_tool_call(call, tools);
    let as_call = |(name, input): (&str, Value)| ToolCall {
        name: name.into(),
        input,
        ..whole.clone()
    };
    let read = |path| ("read_file", json!({ "path": path }));
    let mut calls: Vec<(&str, Value)> = match call.kind {
        _ if reading_command(call).is_some() => paths(call).into_iter().map(read).collect(),
        AgentToolKind::Execute => {
            let given = command(call);
            let command = given.unwrap_or_else(|| call.title.trim_matches('`').into());
            vec![("bash", json!({ "command": command }))]
        }
        AgentToolKind::Edit => edits(call),
        AgentToolKind::Read => each_path(call).into_iter().map(read).collect(),
        AgentToolKind::Fetch => vec![("WebFetch", fetched(call))],
        AgentToolKind::Delete | AgentToolKind::Move => {
            let input = |path: &str| {
                let mut fields = fields_of(call);
                fields.insert("file_path".into(), path.into());
                (whole.name.as_str(), Value::Object(fields))
            };
            each_path(call).into_iter().map(input).collect()
        }
        AgentToolKind::Search
        | AgentToolKind::Think
        | AgentToolKind::SwitchMode
        | AgentToolKind::Other => vec![(&whole.name, whole.input.clone())],
    };
    if calls.len() > FILES_MAX {
        return Err(format!(
            "it has {} files, and hooks check at most {FILES_MAX} in one call",
            calls.len()
        ));
    }
    if let Some(command) = reading_command(call) {
        calls.insert(0, ("bash", json!({ "command": command })));
    }
    Ok(calls.into_iter().map(as_call).collect())
}

fn fields_of(call: &AgentToolCall) -> Map<String, Value> {
    let input = call.raw_input.as_ref().and_then(Value::as_object);
    input.cloned().unwrap_or_default()
}

/// Returns the paths of a call. If it reports none, returns its title, which usually contains the path.
fn each_path(call: &AgentToolCall) -> Vec<&str> {
    match paths(call) {
        found if found.is_empty() => vec![&call.title],
        found => found,
    }
}

/// Returns the tool and its input for each file that a call changes: `write_file` for a new file, else `edit_file`.
fn edits(call: &AgentToolCall) -> Vec<(&'static str, Value)> {
    let changed = |path: &str| {
        let diff = call.diffs.iter().find(|diff| diff.path == path);
        let raw = |name: &str| {
            let input = call.raw_input.as_ref()?;
            Some(input.get(name)?.as_str()?.to_string())
        };
        let old = diff.and_then(|diff| diff.old.clone());
        let old = old.or_else(|| raw("old_string"));
        let new = diff.map(|diff| diff.new.clone());
        match (old, new.or_else(|| raw("new_string"))) {
            (Some(old), new) => {
                let new = new.unwrap_or_default();
                (
                    "edit_file",
                    json!({ "path": path, "old_text": old, "new_text": new }),
                )
            }
            (None, new) => match new.or_else(|| raw("content")) {
                Some(content) => ("write_file", json!({ "path": path, "content": content })),
                None => ("edit_file", json!({ "path": path })),
            },
        }
    };
    each_path(call).into_iter().map(changed).collect()
}

fn fetched(call: &AgentToolCall) -> Value {
    let mut fields = fields_of(call);
    if !fields.contains_key("url")
        && let Some(url) = call
            .title
            .split_whitespace()
            .find(|word| word.contains("://"))
    {
        let url = url.trim_matches(['"', '\'', '`', '<', '>', '(', ')', ',']);
        fields.insert("url".into(), url.into());
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::agent_update::FileDiff;

    fn call(kind: AgentToolKind, title: &str, input: Value) -> AgentToolCall {
        AgentToolCall {
            title: title.into(),
            kind,
            raw_input: Some(input),
            ..AgentToolCall::new("1")
        }
    }

    fn names_and_inputs(call: &AgentToolCall) -> Vec<(String, Value)> {
        let calls = as_hook_calls(call, &CrewToolNames::default()).unwrap();
        calls.into_iter().map(|c| (c.name, c.input)).collect()
    }

    #[test]
    fn kinds_become_the_tools_for_which_hooks_are_written() {
        use AgentToolKind::{Delete, Execute, Fetch, Other, Read};
        for (kind, title, input, name, expected) in [
            (
                Execute,
                "Terminal",
                json!({"command": "ls"}),
                "bash",
                json!({"command": "ls"}),
            ),
            (Execute, "`ls`", json!({}), "bash", json!({"command": "ls"})),
            (
                Read,
                "Read",
                json!({"file_path": "/a"}),
                "read_file",
                json!({"path": "/a"}),
            ),
            (
                Fetch,
                "Fetch https://x.org/",
                json!({}),
                "WebFetch",
                json!({"url": "https://x.org/"}),
            ),
            (
                Delete,
                "Remove a",
                json!({"path": "/a"}),
                "Remove_a_",
                json!({"path": "/a", "file_path": "/a"}),
            ),
            (Other, "Do it", json!({"n": 1}), "Do_it_", json!({"n": 1})),
        ] {
            let found = names_and_inputs(&call(kind, title, input));
            assert_eq!(found, [(name.to_string(), expected)]);
        }
    }

    #[test]
    fn command_that_is_reported_as_reading_is_a_command_for_hooks() {
        let input = json!({"command": ["bash", "-lc", "cat a"], "path": "/a"});
        let expected = [
            ("bash".into(), json!({"command": "cat a"})),
            ("read_file".into(), json!({"path": "/a"})),
        ];
        assert_eq!(
            names_and_inputs(&call(AgentToolKind::Read, "Read a", input)),
            expected
        );
    }

    #[test]
    fn each_changed_file_is_a_call_of_its_own() {
        let mut edit = call(AgentToolKind::Edit, "Edit", json!({}));
        let diff = |path: &str, old: Option<&str>| FileDiff {
            path: path.into(),
            old: old.map(Into::into),
            new: "new".into(),
        };
        edit.diffs = vec![diff("/a", Some("old")), diff("/b", None)];
        let expected = [
            (
                "edit_file".into(),
                json!({"path": "/a", "old_text": "old", "new_text": "new"}),
            ),
            ("write_file".into(), json!({"path": "/b", "content": "new"})),
        ];
        assert_eq!(names_and_inputs(&edit), expected);
        edit.diffs = (0..=FILES_MAX)
            .map(|n| diff(&format!("/{n}"), None))
            .collect();
        let failed = as_hook_calls(&edit, &CrewToolNames::default());
        assert!(failed.unwrap_err().contains("33 files"));
    }

    #[test]
    fn change_without_a_diff_has_the_texts_of_its_arguments() {
        let input = json!({"file_path": "/a", "old_string": "x", "new_string": "y"});
        let edit = call(AgentToolKind::Edit, "Edit a", input);
        let expected = json!({"path": "/a", "old_text": "x", "new_text": "y"});
        assert_eq!(names_and_inputs(&edit), [("edit_file".into(), expected)]);
        let write = call(
            AgentToolKind::Edit,
            "Write a",
            json!({"file_path": "/a", "content": "c"}),
        );
        let expected = json!({"path": "/a", "content": "c"});
        assert_eq!(names_and_inputs(&write), [("write_file".into(), expected)]);
    }
}
