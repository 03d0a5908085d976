//! Hooks around tool calls: before, before approval, and after.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{answers, notices, project, received, results, run, specific};

const CALL_BASH: &str = r#"
  - when: begin
    calls: [{ tool: bash, input: { command: "touch made" } }]
  - say: done
    times: 0
"#;

#[test]
fn pre_tool_hook_denies_a_call_with_its_reason() {
    let hook = ("PreToolUse", "Bash", answers(2, "not today"));
    let project = project(&[hook], CALL_BASH);
    let events = run(&project, &[]);
    let denied = results(&events, "bash");
    assert_eq!(denied.len(), 1);
    let (start, end) = ("PreToolUse:Bash hook error: [", "]: not today");
    assert!(
        denied[0].starts_with(start) && denied[0].ends_with(end),
        "{denied:?}"
    );
    assert!(!project.file("made").exists());
    let input = &received(&project, "PreToolUse")[0];
    assert_eq!(input["tool_input"], json!({"command": "touch made"}));
    assert_eq!(
        (&input["tool_name"], &input["permission_mode"]),
        (&json!("Bash"), &json!("default"))
    );
    let transcript = input["transcript_path"].as_str().unwrap();
    assert!(std::path::Path::new(transcript).is_file(), "{transcript}");
}

#[test]
fn changed_input_is_what_runs_and_what_is_shown() {
    let changed =
        json!({"updatedInput": {"command": "touch changed"}, "additionalContext": "mind the gap"});
    let project = project(
        &[("PreToolUse", "Bash", specific("PreToolUse", changed))],
        CALL_BASH,
    );
    let events = run(&project, &[]);
    assert!(project.file("changed").exists() && !project.file("made").exists());
    let started = events.iter().filter(|e| e["type"] == "tool_started");
    let shown: Vec<&str> = started.map(|e| e["on"].as_str().unwrap()).collect();
    assert_eq!(shown, ["touch made", "touch changed"]);
    let result = &results(&events, "bash")[0];
    assert!(
        result.contains("A hook changed the input of this call to {\"command\":\"touch changed\"}"),
        "{result}"
    );
    assert!(
        result.contains("[Hook PreToolUse: mind the gap]"),
        "{result}"
    );
}

#[test]
fn changed_input_is_checked_like_any_input() {
    let rules = CALL_BASH;
    let invalid = specific("PreToolUse", json!({"updatedInput": {"wrong": 1}}));
    let first = project(&[("PreToolUse", "Bash", invalid)], rules);
    let result = results(&run(&first, &[]), "bash").remove(0);
    assert!(
        result.contains("wrong") && result.starts_with("Error"),
        "{result}"
    );
    // A change to a command that needs approval asks; the hook's approval of its own change does not help against
    // settings that deny.
    let needs =
        json!({"updatedInput": {"command": "rm -rf /srv/x"}, "permissionDecision": "allow"});
    let second = project(
        &[("PreToolUse", "Bash", specific("PreToolUse", needs))],
        rules,
    );
    let result = results(&run(&second, &["--tool", "deny"]), "bash").remove(0);
    assert!(result.starts_with("Error: rejected by"), "{result}");
}

#[test]
fn hook_can_approve_and_can_ask() {
    let rules = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "rm -rf ../nowhere-of-this-test; touch ran" } }
      - { tool: bash, input: { command: "touch plain" } }
  - say: done
    times: 0
"#;
    // Without hooks no user approves the first call, and the second needs no approval.
    let plain = project(&[], rules);
    let results_plain = results(&run(&plain, &[]), "bash");
    assert!(
        results_plain[0].starts_with("Error: rejected"),
        "{results_plain:?}"
    );
    assert!(plain.file("plain").exists());
    let allow = specific("PreToolUse", json!({"permissionDecision": "allow"}));
    let allowed = project(&[("PreToolUse", "Bash", allow)], rules);
    let all = results(&run(&allowed, &[]), "bash");
    assert!(allowed.file("ran").exists(), "{all:?}");
    let decision = json!({"decision": {"behavior": "allow"}});
    let requested = project(
        &[(
            "PermissionRequest",
            "Bash",
            specific("PermissionRequest", decision),
        )],
        rules,
    );
    run(&requested, &[]);
    assert!(requested.file("ran").exists());
    assert_eq!(received(&requested, "PermissionRequest").len(), 1);
    let deny = json!({"decision": {"behavior": "deny", "message": "never that"}});
    let denied = project(
        &[(
            "PermissionRequest",
            "Bash",
            specific("PermissionRequest", deny),
        )],
        rules,
    );
    let all = results(&run(&denied, &["--tool", "auto"]), "bash");
    assert_eq!(all[0], "PermissionRequest:Bash hook error: never that");
    let ask = json!({"permissionDecision": "ask", "permissionDecisionReason": "be careful"});
    let asked = project(
        &[("PreToolUse", "Bash", specific("PreToolUse", ask))],
        rules,
    );
    let events = run(&asked, &[]);
    let all = results(&events, "bash");
    assert!(
        all.iter().all(|text| text.starts_with("Error: rejected")),
        "{all:?}"
    );
    let bodies = events.iter().filter_map(|e| e["request"]["body"].as_str());
    assert!(
        bodies
            .into_iter()
            .any(|body| body.contains("touch plain") && body.contains("be careful"))
    );
}

#[test]
fn post_tool_hook_tells_the_model() {
    let block = json!({"decision": "block", "reason": "format it first", "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "style: four spaces"}, "systemMessage": "hello user"});
    let rules = r"
  - when: begin
    calls: [{ tool: write_file, input: { path: b.txt, content: two } }]
  - when: 'PostToolUse:Write hook error: format it first(.|\n)*style: four spaces'
    say: understood
  - say: not told
    times: 0
";
    let project = project(
        &[("PostToolUse", "Write", answers(0, &block.to_string()))],
        rules,
    );
    let events = run(&project, &[]);
    assert_eq!(super::answers_of(&events, "lead"), ["understood"]);
    assert_eq!(notices(&events, "Hook PostToolUse: hello user").len(), 1);
    let input = &received(&project, "PostToolUse")[0];
    let path = project.path().canonicalize().unwrap().join("b.txt");
    assert_eq!(input["tool_response"]["filePath"], path.to_str().unwrap());
    assert!(input["duration_ms"].is_u64());
}

#[test]
fn hook_stops_the_turn() {
    let stop = json!({"continue": false, "stopReason": "enough for today"});
    let project = project(
        &[("PreToolUse", "Bash", answers(0, &stop.to_string()))],
        CALL_BASH,
    );
    let ran = super::run_with(&project, &[]);
    assert!(
        ran.code() == 1 && ran.err().contains("enough for today"),
        "{}",
        ran.err()
    );
    let events = super::lines(&ran.out());
    let end = events.iter().find(|e| e["type"] == "turn_ended").unwrap();
    assert_eq!(
        (&end["reason"], &end["why"]),
        (&json!("stopped"), &json!("enough for today")),
        "{end}"
    );
    assert!(!project.file("made").exists());
    assert_eq!(super::answers_of(&events, "lead"), [""; 0]);
}

#[test]
fn hooks_of_subagents_name_them() {
    let rules = r#"
  - agent: lead
    when: begin
    calls: [{ tool: task, input: { prompt: "look around", description: look, kind: explore } }]
  - when: look around
    calls: [{ tool: read_file, input: { path: a.txt } }]
  - agent: lead
    say: done
    times: 0
  - when: 'SubagentStop hook feedback'
    say: looked twice
  - say: looked
    times: 0
"#;
    let hooks = [
        ("PreToolUse", "Read", answers(0, "")),
        (
            "SubagentStop",
            "Explore",
            super::answers_once(2, "look again"),
        ),
    ];
    let project = project(&hooks, rules);
    let events = run(&project, &[]);
    let input = &received(&project, "PreToolUse")[0];
    assert_eq!(input["agent_type"], "Explore");
    let stops = received(&project, "SubagentStop");
    let active: Vec<bool> = stops
        .iter()
        .map(|i| i["stop_hook_active"].as_bool().unwrap())
        .collect();
    assert_eq!(active, [false, true]);
    assert_eq!(stops[0]["agent_id"], input["agent_id"]);
    assert!(results(&events, "task")[0].contains("looked twice"));
}
