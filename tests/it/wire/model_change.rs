//! Conversations that continue with another model: no server gets what it refuses, or what belongs to another vendor.

use crewdeck::domain::chat::{AnswerOrigin, ProviderItem};
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

/// Returns the messages of a conversation in which the model of `origin` has made two calls, with an item of its own
/// before each.
fn with_item(origin: AnswerOrigin, item: &Value) -> Arc<Vec<Message>> {
    let own = Block::ProviderItem(ProviderItem { origin, item: item.clone() });
    Arc::new(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(vec![own, call("a"), call("b")]),
        Message::user(vec![result("a"), result("b")]),
    ])
}

async fn sent_body(config: &ModelServerConfig, server: &MockServer, request: ModelRequest) -> Value {
    send(config, request).await.unwrap();
    request_bodies(server).await.pop().unwrap()
}

#[tokio::test]
async fn items_go_back_only_to_the_model_that_made_them() {
    let reasoning = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA-own"});
    let extra = json!({"extra_content": {"google": {"thought_signature": "gAAA-own"}}});
    for (config, answer, item) in [
        (responses as fn(&MockServer) -> ModelServerConfig, RESPONSES, reasoning),
        (openai, OPENAI, extra),
    ] {
        let server = mock_server(sse(answer)).await;
        let config = config(&server);
        let own = AnswerOrigin {
            server: config.server_name().to_string(),
            model: "some-model".into(),
        };
        let other_model = AnswerOrigin { model: "other".into(), ..own.clone() };
        let other_server = AnswerOrigin { server: "responses https://example.org".into(), ..own.clone() };
        // A log of an older version does not contain the model.
        let log = json!({"server": own.server, "item": item});
        let unknown: ProviderItem = serde_json::from_value(log).unwrap();
        for (origin, is_sent) in [
            (own, true),
            (other_model, false),
            (other_server, false),
            (unknown.origin, false),
        ] {
            let request = ModelRequest {
                messages: with_item(origin.clone(), &item),
                ..request()
            };
            let body = sent_body(&config, &server, request).await;
            assert_eq!(body.to_string().contains("gAAA-own"), is_sent, "{origin:?}");
        }
    }
}

#[tokio::test]
async fn answers_of_other_models_get_the_fields_that_a_vendor_demands() {
    let send_to = async |name: &str, model: &str| {
        let server = mock_server(sse(OPENAI)).await;
        let config = ModelServerConfig {
            base_url: format!("{}/v1", server.uri()),
            ..vendor(name)
        };
        let request = ModelRequest {
            model: model.into(),
            messages: with_item(AnswerOrigin::default(), &json!({"reasoning_content": "mine"})),
            ..request()
        };
        sent_body(&config, &server, request).await["messages"][2].clone()
    };
    let skipped = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    let answer = send_to("gemini", "gemini-3-pro").await;
    assert_eq!(answer["tool_calls"][0]["extra_content"], skipped);
    assert_eq!(answer["tool_calls"][1].get("extra_content"), None);
    let answer = send_to("gemini", "gemini-2.5-pro").await;
    assert_eq!(answer["tool_calls"][0].get("extra_content"), None);
    assert_eq!(send_to("deepseek", "deepseek-chat").await["reasoning_content"], "");
    assert_eq!(send_to("groq", "kimi").await.get("reasoning_content"), None);
}
