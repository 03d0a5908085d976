//! Limits for thinking: the forms that servers accept, and the limits of the models.

use pretty_assertions::assert_eq;

use super::*;

fn thinking_request(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        messages: Arc::new(vec![Message::user(vec![Block::text("hi")])]),
        max_tokens: 8192,
        thinking_budget: Some(8000),
        ..request()
    }
}

/// A server that accepts only one kind of thinking, or none.
struct PickyServer {
    kind: &'static str,
    refusal: &'static str,
}

impl wiremock::Respond for PickyServer {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        match body["thinking"]["type"].as_str() {
            Some(kind) if kind != self.kind => {
                let error = json!({"type": "invalid_request_error", "message": self.refusal});
                ResponseTemplate::new(400).set_body_json(json!({"type": "error", "error": error}))
            }
            _ => sse(ANTHROPIC),
        }
    }
}

/// Calls a model twice, and returns for each request the kind of thinking and the effort.
async fn kinds(model: &str, kind: &'static str, refusal: &'static str) -> Vec<[Value; 2]> {
    let server = MockServer::start().await;
    let mock = Mock::given(method("POST")).respond_with(PickyServer { kind, refusal });
    mock.mount(&server).await;
    let client = anthropic(&server).connect().unwrap();
    for _ in 0..2 {
        let items: Vec<_> = client.call(thinking_request(model)).collect().await;
        assert!(
            matches!(items.last(), Some(Ok(Delta::Done(_)))),
            "{items:?}"
        );
    }
    let bodies = request_bodies(&server).await;
    let kind = |body: &Value| {
        [
            body["thinking"]["type"].clone(),
            body["output_config"]["effort"].clone(),
        ]
    };
    bodies.iter().map(kind).collect()
}

const USE_ADAPTIVE: &str = "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.";

#[tokio::test]
async fn models_get_the_kind_of_thinking_that_they_accept() {
    let enabled = [json!("enabled"), Value::Null];
    let adaptive = [json!("adaptive"), json!("medium")];
    let none = [Value::Null, Value::Null];
    // Known from the table, without a refusal.
    assert_eq!(
        kinds("claude-opus-4-7", "adaptive", "").await,
        vec![adaptive.clone(); 2]
    );
    assert_eq!(
        kinds("claude-sonnet-4-5", "enabled", "").await,
        vec![enabled.clone(); 2]
    );
    // Learned from one refusal.
    let learned = vec![enabled.clone(), adaptive.clone(), adaptive.clone()];
    assert_eq!(kinds("some-model", "adaptive", USE_ADAPTIVE).await, learned);
    let old = "thinking.type: Input should be 'enabled' or 'disabled'";
    let learned = vec![adaptive.clone(), enabled.clone(), enabled.clone()];
    assert_eq!(kinds("claude-opus-4-7", "enabled", old).await, learned);
    let without = "thinking: Extra inputs are not permitted";
    let learned = vec![enabled, none.clone(), none.clone()];
    assert_eq!(kinds("some-model", "none", without).await, learned);
    let learned = vec![adaptive, none.clone(), none];
    assert_eq!(kinds("claude-opus-4-7", "none", without).await, learned);
}

#[tokio::test]
async fn own_effort_comes_before_that_of_the_budget() {
    let server = mock_server(sse(ANTHROPIC)).await;
    let request = ModelRequest {
        effort: Some(RoleEffort::Low),
        ..thinking_request("claude-opus-4-7")
    };
    send(&anthropic(&server), request).await.unwrap();
    let body = &request_bodies(&server).await[0];
    assert_eq!(
        body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert_eq!(body["output_config"], json!({"effort": "low"}));
    assert_eq!(body["max_tokens"], 16_192, "with the budget");
}

#[tokio::test]
async fn answers_are_not_longer_than_the_model_allows() {
    let budget = |model: &str, budget| ModelRequest {
        thinking_budget: Some(budget),
        ..thinking_request(model)
    };
    for (request, max, thinking) in [
        (budget("some-model", 100_000), 108_192, 100_000),
        // Its answers have 64,000 tokens at most.
        (budget("claude-sonnet-4-5", 100_000), 64_000, 55_808),
        (budget("claude-3-haiku", 100_000), 4_096, 2_048),
    ] {
        let server = mock_server(sse(ANTHROPIC)).await;
        send(&anthropic(&server), request).await.unwrap();
        let body = &request_bodies(&server).await[0];
        let sent = [&body["max_tokens"], &body["thinking"]["budget_tokens"]];
        assert_eq!(sent, [&json!(max), &json!(thinking)]);
    }
    for (config, answer, field) in [
        (
            anthropic as fn(&MockServer) -> ModelServerConfig,
            ANTHROPIC,
            "max_tokens",
        ),
        (openai, OPENAI, "max_tokens"),
        (responses, RESPONSES, "max_output_tokens"),
    ] {
        let server = mock_server(sse(answer)).await;
        let request = ModelRequest {
            model: "claude-3-haiku".into(),
            max_tokens: 8192,
            ..request()
        };
        send(&config(&server), request).await.unwrap();
        assert_eq!(request_bodies(&server).await[0][field], 4_096);
    }
}
