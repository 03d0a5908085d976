//! Hooks in a whole crew: each event with its effect, in `crewdeck run`, after `--resume` and in the dashboard.

mod board;
mod dashboard;
mod failures;
mod http;
mod tools;
mod trust;
mod turns;
mod variables;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Map, Value, json};

use crate::common::project::{Project, RunResult};

/// Records its input in `events.jsonl` and answers: `hook.sh CODE TEXT`, with TEXT on standard output for code 0. With
/// `once` as third argument, it answers only the first time.
const SCRIPT: &str = r#"#!/bin/sh
cat >>"$CLAUDE_PROJECT_DIR/events.jsonl"
if [ -n "$3" ]; then
    [ -e "$CLAUDE_PROJECT_DIR/answered" ] && exit 0
    : >"$CLAUDE_PROJECT_DIR/answered"
fi
if [ "$1" = 0 ]; then printf '%s\n' "$2"; else printf '%s\n' "$2" >&2; fi
exit "$1"
"#;

/// A hook that answers with this exit code and text.
fn answers(code: u8, text: &str) -> String {
    format!("\"$CLAUDE_PROJECT_DIR\"/.claude/hook.sh {code} '{text}'")
}

/// A hook that answers like [`answers`] the first time, and later with nothing.
fn answers_once(code: u8, text: &str) -> String {
    format!("{} once", answers(code, text))
}

/// A script of a hook that records its input, blocks texts with `s3cret`, and adds a text to all others.
const GUARD: &str = r#"if tee -a "$CLAUDE_PROJECT_DIR/events.jsonl" | grep s3cret >/dev/null; then echo no secrets please >&2; exit 2; fi
echo the branch is main
"#;

/// Returns the content of all transcripts.
fn transcripts(project: &Project) -> String {
    let entries = std::fs::read_dir(project.file(".transcripts")).unwrap();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok());
    texts.collect()
}

fn specific(event: &str, mut fields: Value) -> String {
    fields["hookEventName"] = event.into();
    answers(0, &json!({"hookSpecificOutput": fields}).to_string())
}

/// Returns a project with hooks (event, matcher and command) that are not approved yet, and a script of the model.
fn unapproved(hooks: &[(&str, &str, String)], rules: &str) -> Project {
    let project = Project::repository(&[("a.txt", "one\n")]);
    let path = project.write(".claude/hook.sh", SCRIPT);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut events = Map::new();
    for (event, matcher, command) in hooks {
        let hook = json!({"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 60}]});
        let all = events.entry(*event).or_insert(json!([]));
        all.as_array_mut().unwrap().push(hook);
    }
    project.write(
        ".claude/settings.json",
        &json!({"hooks": events}).to_string(),
    );
    project.write("rules.yaml", &format!("rules:\n{rules}"));
    project
}

/// Returns a project with approved hooks and a script of the model.
fn project(hooks: &[(&str, &str, String)], rules: &str) -> Project {
    let project = unapproved(hooks, rules);
    if !hooks.is_empty() {
        let trusted = project.run(&["trust", "--yes"]);
        assert_eq!(trusted.code(), 0, "{}", trusted.err());
    }
    project
}

fn run_with(project: &Project, more: &[&str]) -> RunResult {
    let args = ["run", "begin", "--provider", "script:rules.yaml", "--json"];
    project.run(&[&args[..], more].concat())
}

/// Runs a crew until it is idle, and returns its events.
fn run(project: &Project, more: &[&str]) -> Vec<Value> {
    let ran = run_with(project, more);
    assert!([0, 4].contains(&ran.code()), "{}{}", ran.out(), ran.err());
    lines(&ran.out())
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the inputs that hooks have received for an event.
fn received(project: &Project, event: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(project.file("events.jsonl")).unwrap_or_default();
    let mut all = lines(&text);
    all.retain(|input| input["hook_event_name"] == event);
    all
}

/// Returns the texts of the finished calls of a tool.
fn results(events: &[Value], tool: &str) -> Vec<String> {
    let finished = events
        .iter()
        .filter(|e| e["type"] == "tool_finished" && e["tool"] == tool);
    finished
        .map(|e| e["output"].as_str().unwrap().to_string())
        .collect()
}

/// Returns the texts of the notices that contain `part`.
fn notices<'a>(events: &'a [Value], part: &str) -> Vec<&'a str> {
    let notices = events.iter().filter(|e| e["type"] == "notice");
    let texts = notices.filter_map(|e| e["text"].as_str());
    texts.filter(|text| text.contains(part)).collect()
}

/// Returns the answers of an agent.
fn answers_of<'a>(events: &'a [Value], agent: &str) -> Vec<&'a str> {
    let said = events
        .iter()
        .filter(|e| e["type"] == "said" && e["agent"] == agent);
    said.filter_map(|e| e["text"].as_str())
        .filter(|text| !text.is_empty())
        .collect()
}
