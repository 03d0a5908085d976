//! Tests of the parser of updates.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn parse(update: &Value) -> Option<Report> {
    parse_update(update, &Redactor::default())
}

#[test]
fn tool_call_has_text_diffs_and_locations() {
    let Some(Report::ToolCall(call)) = parse(&json!({
        "sessionUpdate": "tool_call",
        "toolCallId": "1",
        "title": "Edit a.txt",
        "kind": "edit",
        "status": "in_progress",
        "rawInput": { "path": "a.txt" },
        "locations": [{ "path": "/p/a.txt", "line": 3 }, { "line": 4 }, 7],
        "content": [
            { "type": "content", "content": { "type": "text", "text": "one" } },
            { "type": "diff", "path": "/p/a.txt", "oldText": null, "newText": "new" },
            { "type": "unknown" },
            { "type": "content", "content": { "type": "text", "text": "two" } },
        ],
    })) else {
        panic!("no call");
    };
    assert_eq!(call.text.as_deref(), Some("one\ntwo"));
    assert_eq!(
        call.diffs,
        Some(vec![FileDiff {
            path: "/p/a.txt".into(),
            old: None,
            new: "new".into()
        }])
    );
    assert_eq!(
        call.locations,
        Some(vec![FileLocation {
            path: "/p/a.txt".into(),
            line: Some(3)
        }])
    );
    assert_eq!(call.kind, Some(AgentToolKind::Edit));
}

#[test]
fn unknown_and_broken_reports_are_ignored() {
    for update in [
        json!(null),
        json!([]),
        json!({ "sessionUpdate": "new_kind" }),
        json!({ "sessionUpdate": "tool_call" }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "x".repeat(ID_MAX + 1) }),
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text" } }),
        json!({ "sessionUpdate": "usage_update", "used": -1 }),
        json!({ "sessionUpdate": "plan", "entries": {} }),
    ] {
        assert_eq!(parse(&update), None, "{update}");
    }
}

#[test]
fn large_values_are_cut_with_a_marker() {
    let long = "x".repeat(3 * CALL_DIFFS_MAX);
    let diff = json!({ "type": "diff", "path": "a", "oldText": long, "newText": long });
    let text = json!({ "type": "content", "content": { "type": "text", "text": long } });
    let Some(Report::ToolCall(call)) = parse(&json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": "1",
        "title": long,
        "rawInput": { "a": long },
        "content": [diff, text, diff, text],
    })) else {
        panic!("no call");
    };
    let diffs = call.diffs.unwrap();
    let all = diffs
        .iter()
        .map(|diff| diff.new.len() + diff.old.as_ref().map_or(0, String::len));
    assert!(all.sum::<usize>() < CALL_DIFFS_MAX + 1000);
    assert!(diffs[0].new.len() < long.len() && diffs[0].new.contains("bytes"));
    assert!(call.text.unwrap().len() < CALL_TEXT_MAX + 200);
    assert_eq!(call.title.unwrap().chars().count(), TITLE_MAX);
    assert!(
        call.raw_input
            .unwrap()
            .as_str()
            .unwrap()
            .contains("too large")
    );
}

#[test]
fn secrets_in_tool_calls_are_redacted() {
    let redactor = Redactor::new([("MY_KEY".to_string(), "hunter2-hunter2".to_string())]);
    let secret = "a hunter2-hunter2 b";
    let call = parse_tool_call(
        &json!({
            "toolCallId": "1",
            "title": secret,
            "rawInput": { "command": secret },
            "rawOutput": { "stdout": secret },
            "locations": [{ "path": secret }],
            "content": [{ "type": "diff", "path": secret, "newText": secret }],
        }),
        &redactor,
    );
    let shown = format!("{call:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(shown.matches("[redacted: MY_KEY]").count(), 6, "{shown}");
}

#[test]
fn cached_tokens_are_counted_once() {
    let apart = json!({
        "inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 100, "cachedWriteTokens": 1, "totalTokens": 116,
    });
    let within = json!({
        "inputTokens": 111, "outputTokens": 5, "cachedReadTokens": 100, "cachedWriteTokens": 1, "totalTokens": 116,
    });
    let expected = Usage {
        input: 10,
        output: 5,
        cache_read: 100,
        cache_write: 1,
    };
    assert_eq!(
        (usage(&apart), usage(&within)),
        (Some(expected), Some(expected))
    );
    assert_eq!(usage(&json!({ "input_tokens": 3 })).unwrap().input, 3);
    assert_eq!(usage(&json!({ "x": 3 })), None);
}

#[test]
fn cost_in_another_currency_is_left_out() {
    let update = |currency: &str| {
        parse(&json!({
            "sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": { "amount": 0.5, "currency": currency },
        }))
    };
    let usage = |cost| ContextUsage {
        used: 10,
        size: 100,
        cost,
    };
    assert_eq!(update("USD"), Some(Report::Context(usage(Some(0.5)))));
    assert_eq!(update("EUR"), Some(Report::Context(usage(None))));
}

fn parse_call(call: &Value) -> ToolCallChange {
    parse_tool_call(call, &Redactor::default()).unwrap()
}

#[test]
fn mcp_calls_have_the_name_of_their_tool_and_its_arguments() {
    let arguments = json!({ "to": "bob", "content": "hello" });
    let codex = json!({
        "toolCallId": "1", "kind": "execute", "title": "mcp.crew.send_message",
        "rawInput": { "server": "crew", "tool": "send_message", "arguments": arguments },
        "_meta": { "is_mcp_tool_call": true },
    });
    let qwen = json!({
        "toolCallId": "1", "kind": "other", "title": arguments.to_string(), "rawInput": arguments,
        "_meta": { "toolName": "mcp__crew__send_message" },
    });
    for call in [codex, qwen] {
        let call = parse_call(&call);
        assert_eq!(call.title.as_deref(), Some("mcp__crew__send_message"));
        assert_eq!(call.kind, Some(AgentToolKind::Other));
        assert_eq!(call.raw_input, Some(arguments.clone()));
    }
    let gemini = parse_call(&json!({
        "toolCallId": "1", "kind": "other", "status": "pending", "title": "send_message (crew MCP Server)",
        "content": [{ "type": "content", "content": { "type": "text", "text": arguments.to_string() } }],
    }));
    assert_eq!(gemini.raw_input, Some(arguments));
    assert_eq!(gemini.text, None);
}

#[test]
fn commands_with_a_known_name_stay_commands() {
    let command = json!({ "command": "ls", "server": "crew", "tool": "send_message" });
    let call = parse_call(&json!({
        "toolCallId": "1", "kind": "execute", "title": "ls", "rawInput": command,
        "_meta": { "toolName": "run_shell_command", "is_mcp_tool_call": false },
    }));
    assert_eq!(call.kind, Some(AgentToolKind::Execute));
    assert_eq!(call.title.as_deref(), Some("ls"));
    assert_eq!(call.raw_input, Some(command));
}

#[test]
fn output_outside_of_the_content_is_read() {
    let piece = parse_call(&json!({
        "toolCallId": "1", "content": [{ "type": "terminal", "terminalId": "1" }],
        "_meta": { "terminal_output_delta": { "terminal_id": "1", "data": "a.txt\n" } },
    }));
    assert_eq!(piece.more_output.as_deref(), Some("a.txt\n"));
    assert_eq!(piece.text.as_deref(), Some(""));
    let result =
        json!({ "result": { "content": [{ "type": "text", "text": "sent" }] }, "error": null });
    let call = parse_call(&json!({ "toolCallId": "1", "rawOutput": result }));
    assert_eq!(call.text.as_deref(), Some("sent"));
    let diff = json!({ "type": "diff", "path": "/p/a", "oldText": "", "newText": "x" });
    let call = parse_call(&json!({
        "toolCallId": "1", "content": [diff], "rawOutput": { "fileDiff": "@@" },
    }));
    assert_eq!(call.text.as_deref(), Some(""));
}

#[test]
fn goose_reports_the_kind_of_its_own_tools_as_their_names() {
    for (extension, tool, expected) in [
        ("developer", "shell", Some(AgentToolKind::Execute)),
        ("developer", "write", Some(AgentToolKind::Edit)),
        ("other", "shell", None),
    ] {
        let call = json!({
            "toolCallId": "1", "title": "shell · ls",
            "_meta": { "goose": { "toolCall": { "toolName": tool, "extensionName": extension } } },
        });
        let change = parse_tool_call(&call, &Redactor::default()).unwrap();
        assert_eq!(change.kind, expected, "{extension} {tool}");
    }
}

#[test]
fn files_that_are_left_out_are_noted() {
    let edit = |count: usize| {
        let place = |n| json!({ "path": format!("{n}.txt") });
        let diff = |n| json!({ "type": "diff", "path": format!("{n}.txt"), "newText": "" });
        json!({
            "toolCallId": "1",
            "kind": "edit",
            "locations": (0..count).map(place).collect::<Vec<_>>(),
            "content": (0..count).map(diff).collect::<Vec<_>>(),
            "rawInput": { "path": "0.txt" },
        })
    };
    assert!(!parse_call(&edit(CALL_FILES_MAX)).has_more_files);
    assert!(parse_call(&edit(CALL_FILES_MAX + 1)).has_more_files);
    let long = format!("a/{}", "../a/".repeat(PATH_MAX));
    for (field, value) in [
        ("locations", json!([{ "path": long }])),
        ("locations", json!([{ "line": 1 }])),
        ("content", json!([{ "type": "diff", "newText": "" }])),
        (
            "rawInput",
            json!({ "path": "/etc/x", "content": "x".repeat(2 * CALL_TEXT_MAX) }),
        ),
    ] {
        let mut call = edit(1);
        call[field] = value;
        assert!(parse_call(&call).has_more_files, "{field}");
    }
    let redactor = Redactor::new([("MY_KEY".to_string(), "/home/hunter2".to_string())]);
    let mut call = edit(1);
    call["locations"] = json!([{ "path": "/home/hunter2/x" }]);
    assert!(parse_tool_call(&call, &redactor).unwrap().has_more_files);
}
