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
        (
            anthropic as fn(&MockServer) -> ModelServerConfig,
            ANTHROPIC,
            "id",
            "tool_use_id",
            64,
        ),
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
            assert!(
                of_result == "tool_call_id" || id.bytes().all(is_plain),
                "{of_call}: {id}"
            );
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
    let own = Block::ProviderItem(ProviderItem {
        origin,
        item: item.clone(),
    });
    Arc::new(vec![
        Message::user(vec![Block::text("hi")]),
        Message::assistant(vec![own, call("a"), call("b")]),
        Message::user(vec![result("a"), result("b")]),
    ])
}

async fn sent_body(
    config: &ModelServerConfig,
    server: &MockServer,
    request: ModelRequest,
) -> Value {
    send(config, request).await.unwrap();
    request_bodies(server).await.pop().unwrap()
}

#[tokio::test]
async fn items_go_back_only_to_the_model_that_made_them() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA-own"});
    let extra = json!({"extra_content": {"google": {"thought_signature": "gAAA-own"}}});
    for (config, answer, item) in [
        (
            responses as fn(&MockServer) -> ModelServerConfig,
            RESPONSES,
            reasoning,
        ),
        (openai, OPENAI, extra),
    ] {
        let server = mock_server(sse(answer)).await;
        let config = config(&server);
        let own = AnswerOrigin {
            server: config.server_name().to_string(),
            model: "some-model".into(),
        };
        let other_model = AnswerOrigin {
            model: "other".into(),
            ..own.clone()
        };
        let other_server = AnswerOrigin {
            server: "responses https://example.org".into(),
            ..own.clone()
        };
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
            messages: with_item(
                AnswerOrigin::default(),
                &json!({"reasoning_content": "mine"}),
            ),
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
    assert_eq!(
        send_to("deepseek", "deepseek-chat").await["reasoning_content"],
        ""
    );
    assert_eq!(send_to("groq", "kimi").await.get("reasoning_content"), None);
}

/// Returns the body of a request after two calls of the model of `origin`, which has thought before them.
async fn body_with_thinking(
    server: &MockServer,
    origin: Option<AnswerOrigin>,
    text: &str,
    budget: Option<u32>,
) -> Value {
    let thinking = Block::Thinking {
        text: text.into(),
        signature: Some("sig-own".into()),
        origin: origin.clone(),
    };
    let encrypted = Block::ProviderItem(ProviderItem {
        origin: origin.unwrap_or_default(),
        item: json!({"type": "redacted_thinking", "data": "enc-own"}),
    });
    let request = ModelRequest {
        messages: Arc::new(vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(vec![thinking, encrypted, call("a")]),
            Message::user(vec![result("a")]),
            Message::assistant(vec![call("b")]),
            Message::user(vec![result("b"), Block::text("note")]),
        ]),
        thinking_budget: budget,
        ..request()
    };
    sent_body(&anthropic(server), server, request).await
}

#[tokio::test]
async fn signed_thinking_goes_back_only_to_the_model_that_made_it() {
    let server = mock_server(sse(ANTHROPIC)).await;
    let own = AnswerOrigin {
        server: anthropic(&server).server_name().to_string(),
        model: "some-model".into(),
    };
    let other_model = AnswerOrigin {
        model: "other".into(),
        ..own.clone()
    };
    let vendor = AnswerOrigin {
        server: "anthropic https://api.anthropic.com".into(),
        ..own.clone()
    };
    for (origin, text, is_sent) in [
        (Some(own.clone()), "hm", true),
        (Some(own.clone()), "", true),
        // A redaction has changed it on disk.
        (Some(own), "the key is [redacted: TOKEN]", false),
        (Some(other_model), "hm", false),
        (Some(vendor), "hm", false),
        // A log of an older version does not say where it comes from.
        (None, "hm", false),
    ] {
        for budget in [None, Some(2048)] {
            let body = body_with_thinking(&server, origin.clone(), text, budget).await;
            let case = format!("{origin:?} {text:?} {budget:?}");
            for own in ["sig-own", "enc-own"] {
                assert_eq!(body.to_string().contains(own), is_sent, "{own} {case}");
            }
            // Thinking that is not sent must not be demanded in the middle of a turn either.
            let expected = budget.filter(|_| is_sent);
            assert_eq!(body["thinking"]["budget_tokens"], json!(expected), "{case}");
        }
    }
}

#[tokio::test]
async fn thinking_begins_again_with_the_next_turn() {
    let server = mock_server(sse(ANTHROPIC)).await;
    let mut messages = with_item(AnswerOrigin::default(), &json!({})).to_vec();
    messages.push(Message::assistant(vec![Block::text("done")]));
    messages.push(Message::user(vec![Block::text("and now?")]));
    let request = ModelRequest {
        messages: Arc::new(messages),
        thinking_budget: Some(2048),
        ..request()
    };
    let body = sent_body(&anthropic(&server), &server, request).await;
    assert_eq!(body["thinking"]["budget_tokens"], 2048);
}

#[tokio::test]
async fn thinking_of_an_answer_goes_back_with_its_encrypted_part() {
    let answer = json!({"type": "message", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "sig-own"},
        {"type": "redacted_thinking", "data": "enc-own"},
        {"type": "text", "text": "I look."},
    ]});
    let server = mock_server(ResponseTemplate::new(200).set_body_json(&answer)).await;
    let config = anthropic(&server);
    let reply = call_model(&config).await.unwrap();
    let stored = serde_json::to_string(&reply.blocks).unwrap();
    let restored: Vec<Block> = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, reply.blocks);
    let request = ModelRequest {
        messages: Arc::new(vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(restored),
            Message::user(vec![Block::text("go on")]),
        ]),
        ..request()
    };
    let body = sent_body(&config, &server, request).await;
    assert_eq!(body["messages"][1]["content"], answer["content"]);
}

/// A server that refuses thinking like one whose signatures have become invalid.
struct RefusingServer(&'static str);

impl wiremock::Respond for RefusingServer {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        if body.get("thinking").is_some() || body.to_string().contains("sig-own") {
            let error = json!({"type": "invalid_request_error", "message": self.0});
            ResponseTemplate::new(400).set_body_json(json!({"type": "error", "error": error}))
        } else {
            sse(ANTHROPIC)
        }
    }
}

#[tokio::test]
async fn refused_thinking_is_left_out_and_the_conversation_continues() {
    for (refusal, budget) in [
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            Some(2048),
        ),
        (
            "messages.1: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`",
            None,
        ),
    ] {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(RefusingServer(refusal));
        mock.mount(&server).await;
        let own = AnswerOrigin {
            server: anthropic(&server).server_name().to_string(),
            model: "some-model".into(),
        };
        let body = body_with_thinking(&server, Some(own), "hm", budget).await;
        assert_eq!(request_bodies(&server).await.len(), 2, "{refusal}");
        let roles = all(&body, "role");
        assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
        // A refusal that has another cause is not repeated.
        let server =
            mock_server(ResponseTemplate::new(400).set_body_json(json!({"error": refusal}))).await;
        call_model(&anthropic(&server)).await.unwrap_err();
        assert_eq!(request_bodies(&server).await.len(), 1, "{refusal}");
    }
}
