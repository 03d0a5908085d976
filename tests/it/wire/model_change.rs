//! Conversations that continue with another model: no server gets what it refuses, or what belongs to another vendor.

use pretty_assertions::assert_eq;

use super::*;

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId(id.into()),
        name: "bash".into(),
        input: json!({"command": "ls"}),
        broken: None,
    })
}

fn result(id: &str) -> Block {
    Block::ToolResult {
        call: CallId(id.into()),
        content: "ok".into(),
        outcome: Outcome::Ok,
    }
}

/// Returns the strings in all fields of this name.
fn all(body: &Value, key: &str) -> Vec<String> {
    let mut out = Vec::new();
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == key => out.push(text.to_string()),
                    _ => out.extend(all(value, key)),
                }
            }
        }
        Value::Array(items) => out.extend(items.iter().flat_map(|item| all(item, key))),
        _ => {}
    }
    out
}

#[tokio::test]
async fn every_server_gets_ids_of_calls_that_it_accepts() {
    let long = "x".repeat(100);
    let ids = ["functions.bash:0", long.as_str()];
    let mut messages = vec![Message::user(vec![Block::text("hi")])];
    // The ids of the first answer repeat in the second one.
    for _ in 0..2 {
        messages.push(Message::assistant(ids.map(call).into()));
        messages.push(Message::user(ids.map(result).into()));
    }
    let request = ModelRequest {
        messages: Arc::new(messages),
        ..request()
    };
    for (config, answer, of_call, of_result, max) in [
        (anthropic as fn(&MockServer) -> ModelServerConfig, ANTHROPIC, "id", "tool_use_id", 64),
        (responses, RESPONSES, "call_id", "call_id", 64),
        (openai, OPENAI, "id", "tool_call_id", 40),
    ] {
        let server = mock_server(sse(answer)).await;
        send(&config(&server), request.clone()).await.unwrap();
        let body = &request_bodies(&server).await[0];
        let (calls, results) = (all(body, of_call), all(body, of_result));
        for id in calls.iter().chain(&results) {
            assert!(id.len() <= max, "{of_call}: {id}");
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
            assert!(of_result == "tool_call_id" || id.bytes().all(is_plain), "{of_call}: {id}");
        }
        if of_call == of_result {
            let order = [0, 1, 0, 1].map(|at| calls[at].clone());
            assert_eq!(order[..2], calls[2..4], "calls, then their results");
        } else {
            assert_eq!(calls, results);
        }
        let mut unique = calls.clone();
        unique.sort();
        unique.dedup();
        let expected = if of_result == "tool_call_id" { 2 } else { 4 };
        assert_eq!(unique.len(), expected, "{calls:?}");
    }
}
