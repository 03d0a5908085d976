//! Tests of the parser of hook files: every field and every mistake.

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

/// Handlers that cannot be used, each with the problem that is reported.
const HANDLERS: &[(&str, &str)] = &[
    ("[]", "must be an object with command or url"),
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
        "the field 'if' must be a tool with an optional pattern",
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
];

/// Files in which nothing can be used, each with the problem that is reported.
const FILES: &[(&str, &str)] = &[
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
        "hooks.Stop[0]: must be an object with the array 'hooks'",
    ),
    (
        r#"{"hooks": {"Stop": [{}]}}"#,
        "hooks.Stop[0]: hooks is missing or not an array",
    ),
    (
        r#"{"hooks": {"PreToolUse": [{"matcher": 1, "hooks": []}]}}"#,
        "matcher must be a string",
    ),
    (
        r#"{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}"#,
        "not a valid regular expression",
    ),
    (
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "a", "if": "Bash"}]}]}}"#,
        "the field 'if' works only for tool events",
    ),
];

/// Handlers with a field that has no effect, each with the warning that is reported.
const WARNINGS: &[(&str, &str)] = &[
    (
        r#"{"command": "a", "timout": 5}"#,
        "did you mean 'timeout'?",
    ),
    (
        r#"{"command": "a", "once": true}"#,
        "once has no effect in crewdeck",
    ),
];

#[test]
fn mistakes_are_named_and_leave_the_others_usable() {
    for (handler, problem) in HANDLERS {
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
    for (file, problem) in FILES {
        let found = read(file);
        assert!(found.hooks.is_empty(), "{file}");
        assert!(
            found.problems.len() == 1 && found.problems[0].contains(problem),
            "{file}: {:?}",
            found.problems
        );
    }
    for (handler, warning) in WARNINGS {
        let found = one(handler);
        assert!(
            found.hooks.len() == 1 && found.problems[0].contains(warning),
            "{found:?}"
        );
    }
}

#[test]
fn file_can_turn_hooks_off() {
    let found =
        read(r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}"#);
    assert!(found.is_disabled && found.hooks.is_empty() && found.problems.is_empty());
    assert_eq!(read("{}"), ParsedHooks::default());
}
