//! Hooks around the calls of an external agent's own tools.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::Crew;

/// Records its input and answers with the text of its second argument and the exit code of its first.
const SCRIPT: &str = r#"#!/bin/sh
cat >>"$CLAUDE_PROJECT_DIR/hooks.jsonl"
echo >>"$CLAUDE_PROJECT_DIR/hooks.jsonl"
if [ "$1" = 0 ]; then printf '%s\n' "$2"; else printf '%s\n' "$2" >&2; fi
exit "$1"
"#;

/// Returns a crew with one approved hook for `event`, which answers with `code` and `text`.
fn crew(event: &str, matcher: &str, code: u8, text: &str) -> Crew {
    crew_with(SCRIPT, event, matcher, &format!("{code} '{text}'"))
}

/// Returns a crew with one approved hook for `event`, which runs `script` with `args`.
fn crew_with(script: &str, event: &str, matcher: &str, args: &str) -> Crew {
    let crew = Crew::new(&[]);
    let script = crew.project.write(".claude/hook.sh", script);
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("\"$CLAUDE_PROJECT_DIR\"/.claude/hook.sh {args}");
    let hook = json!([{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]);
    let settings = json!({"hooks": {event: hook}});
    crew.project
        .write(".claude/settings.json", &settings.to_string());
    let trusted = crew.project.run(&["trust", "--yes"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.err());
    crew
}

/// Returns the inputs that the hook has received.
fn received(crew: &Crew) -> Vec<Value> {
    let text = std::fs::read_to_string(crew.project.file("hooks.jsonl")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn pre_tool_hook_refuses_a_call_and_the_next_prompt_says_why() {
    let crew = crew("PreToolUse", "Bash", 2, "not today");
    let events = crew.run(&["ask echo hello", "edit b.txt"], "", &[]);
    let said = events.said().join("\n");
    assert!(
        said.contains("permission: n") && said.contains("edit: y"),
        "{said}"
    );
    let inputs = received(&crew);
    assert_eq!(inputs.len(), 1, "only the command matches: {inputs:?}");
    assert_eq!(inputs[0]["tool_name"], "Bash");
    assert_eq!(inputs[0]["tool_input"], json!({"command": "echo hello"}));
    assert_eq!(inputs[0]["teammate_name"], "bob");
    let log = crew.log();
    let told = log
        .lines()
        .find(|line| line.contains("About your call 'echo hello'"));
    assert!(told.is_some_and(|line| line.contains("not today")), "{log}");
}

#[test]
fn pre_tool_hook_gets_the_path_of_a_change() {
    let crew = crew("PreToolUse", "Write|Edit", 0, "");
    let events = crew.run(&["edit b.txt"], "", &[]);
    assert!(events.said().join("\n").contains("edit: y"));
    let inputs = received(&crew);
    assert_eq!(inputs[0]["tool_name"], "Write");
    let path = inputs[0]["tool_input"]["file_path"].as_str().unwrap();
    assert!(path.ends_with(".worktrees/task-1/b.txt"), "{path}");
    assert_eq!(inputs[0]["tool_input"]["content"], "edited\n");
}

#[test]
fn pre_tool_hook_that_asks_needs_the_approver() {
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "look first",
    }});
    let crew = crew("PreToolUse", "Bash", 0, &answer.to_string());
    // Without the hook, this command needs no approval.
    let events = crew.run(&["ask echo hello"], "", &["--tool", "deny"]);
    let said = events.said().join("\n");
    assert!(said.contains("permission: n"), "{said}");
}

#[test]
fn changed_input_is_refused_with_the_input_to_use() {
    let answer = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "updatedInput": {"command": "echo safe"},
    }});
    let crew = crew("PreToolUse", "Bash", 0, &answer.to_string());
    // The second command is what the hook wants, so it is not changed.
    let events = crew.run(&["ask echo hello", "ask echo safe"], "", &[]);
    let said = events.said().join("\n");
    assert!(
        said.contains("permission: n") && said.contains("permission: y"),
        "{said}"
    );
    let log = crew.log();
    assert!(
        log.contains("with this input instead: {\"command\":\"echo safe\"}"),
        "{log}"
    );
}

#[test]
fn hook_of_the_approval_request_decides_about_each_file() {
    let decide = r#"#!/bin/sh
case "$(cat)" in
*second.txt*) decision='"behavior":"deny","message":"keep the second"' ;;
*) decision='"behavior":"allow"' ;;
esac
printf '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{%s}}}\n' "$decision"
"#;
    let crew = crew_with(decide, "PermissionRequest", "Write", "");
    // Without a task, each change of the checkout needs approval.
    let rules = r#"  - agent: lead
    when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, agent: fake, prompt: "please edit first.txt; please edit first.txt second.txt" } }]
  - { times: 0, say: Done. }
"#;
    let events = crew.run_rules("go", rules, &["--tool", "auto"]);
    let said = events.said().join("\n");
    assert!(
        said.contains("edit: y") && said.contains("edit: n"),
        "{said}"
    );
    assert!(crew.project.file("first.txt").exists());
    assert!(!crew.project.file("second.txt").exists());
}

#[test]
fn hook_after_a_call_gets_its_output_and_speaks_to_the_agent() {
    let crew = crew("PostToolUse", "Bash", 2, "use printf");
    let events = crew.run(
        &["ask echo hello\nask git push", "write c.txt"],
        "",
        &["--tool", "deny"],
    );
    assert!(events.said().join("\n").contains("permission: y"));
    let inputs = received(&crew);
    // The refused call did not run, and the written file is no command.
    assert_eq!(inputs.len(), 1, "{inputs:?}");
    assert_eq!(inputs[0]["tool_input"], json!({"command": "echo hello"}));
    assert_eq!(inputs[0]["tool_response"]["stdout"], "hello\n");
    let log = crew.log();
    assert!(
        log.contains("About your call 'echo hello': [PostToolUse:Bash hook error:"),
        "{log}"
    );
    assert!(log.contains("use printf"), "{log}");
}

#[test]
fn hook_that_stops_the_agent_ends_its_turn() {
    let answer = json!({"continue": false, "stopReason": "enough for today"});
    let crew = crew("PreToolUse", "Bash", 0, &answer.to_string());
    let events = crew.run(&["ask echo hello\nwait"], "", &[]);
    let ends = events.of_bob("turn_ended");
    let stopped = ends.iter().find(|end| end["reason"] == "stopped");
    assert!(
        stopped.is_some_and(|end| end["why"] == "enough for today"),
        "{ends:?}"
    );
}
