//! Vendors that speak Chat Completions with differences of their own.

use pretty_assertions::assert_eq;

use super::*;

fn config(name: &str, server: &MockServer) -> ModelServerConfig {
    ModelServerConfig {
        base_url: format!("{}/v1", server.uri()),
        key: Some(KEY.to_string().into()),
        ..vendor(name)
    }
}

#[tokio::test]
async fn every_vendor_gets_a_request_with_its_key() {
    for spec in crewdeck::model::providers::vendors() {
        let server = mock_server(sse(OPENAI)).await;
        let reply = call_model(&config(spec.name, &server)).await.unwrap();
        assert_eq!(reply.stop, StopReason::ToolUse, "{}", spec.name);
        let sent = &server.received_requests().await.unwrap()[0];
        let (path, header, value) = match spec.name {
            "azure" => ("/v1/chat/completions", "api-key", KEY.to_string()),
            _ => (
                "/v1/chat/completions",
                "authorization",
                format!("Bearer {KEY}"),
            ),
        };
        assert_eq!(
            (sent.url.path(), sent.headers[header].to_str().unwrap()),
            (path, &*value),
            "{}",
            spec.name
        );
        let keys = sent
            .headers
            .values()
            .filter(|v| v.to_str().unwrap().contains(KEY));
        assert_eq!(keys.count(), 1, "{}", spec.name);
        let body = &request_bodies(&server).await[0];
        let limit = if spec.name == "azure" {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        assert_eq!(body[limit], 99, "{}", spec.name);
    }
}

#[tokio::test]
async fn azure_accepts_a_resource_address_and_a_token() {
    let server = mock_server(sse(OPENAI)).await;
    let mut azure = config("azure", &server);
    azure.base_url = server.uri();
    azure.options = [("key_header".into(), "bearer".into())].into();
    call_model(&azure).await.unwrap();
    let sent = &server.received_requests().await.unwrap()[0];
    assert_eq!(sent.url.path(), "/openai/v1/chat/completions");
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!sent.headers.contains_key("api-key"));
}

#[tokio::test]
async fn mistral_gets_only_what_it_accepts() {
    let server = mock_server(sse(OPENAI)).await;
    call_model(&config("mistral", &server)).await.unwrap();
    let body = &request_bodies(&server).await[0];
    assert_eq!(body.get("stream_options"), None);
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages
        .iter()
        .map(|m| m["role"].as_str().unwrap())
        .collect();
    let expected = [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ];
    assert_eq!(roles, expected);
    let ids = messages[2]["tool_calls"].as_array().unwrap();
    let ids: Vec<&Value> = ids.iter().map(|call| &call["id"]).collect();
    assert_eq!(
        ids,
        [&messages[3]["tool_call_id"], &messages[4]["tool_call_id"]]
    );
    assert!(ids.iter().all(|id| id.as_str().unwrap().len() == 9) && ids[0] != ids[1]);
    let refusal = json!({"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "reasoning_effort"]}]}, "type": "invalid_request_error"});
    let server = mock_server(ResponseTemplate::new(422).set_body_json(refusal)).await;
    let error = call_model(&config("mistral", &server)).await.unwrap_err();
    assert!(error.message.contains("reasoning_effort"), "{error}");
}

/// Returns what the second request of a vendor contains, after an answer with a call and this delta.
async fn second_request(name: &str, delta: &Value) -> (Value, String) {
    let call = json!({"delta": {"tool_calls": [{"index": 0, "id": "call_1",
        "function": {"name": "bash", "arguments": "{}"}, "extra_content": delta["extra_content"]}]}});
    let reasoning = json!({"delta": {"reasoning_content": delta["reasoning_content"]}});
    let end = json!({"delta": {}, "finish_reason": "tool_calls"});
    let events =
        [reasoning, call, end].map(|choice| format!("data: {}\n\n", json!({"choices": [choice]})));
    let server = mock_server(sse(&events.concat())).await;
    let reply = call_model(&config(name, &server)).await.unwrap();
    let mut messages = vec![Message::user(vec![Block::text("hi")])];
    messages.push(Message::assistant(reply.blocks));
    messages.push(Message::user(vec![Block::ToolResult {
        call: CallId("call_1".into()),
        content: "ok".into(),
        outcome: Outcome::Ok,
    }]));
    let next = ModelRequest {
        messages: Arc::new(messages),
        ..request()
    };
    send(&config(name, &server), next.clone()).await.unwrap();
    let answer = request_bodies(&server).await[1]["messages"][2].clone();
    let other = mock_server(sse(OPENAI)).await;
    send(&config("groq", &other), next).await.unwrap();
    (answer, request_bodies(&other).await[0].to_string())
}

#[tokio::test]
async fn what_a_vendor_needs_back_goes_only_to_that_vendor() {
    let signature = json!({"google": {"thought_signature": "c2lnbmF0dXJl"}});
    let (answer, other) = second_request("gemini", &json!({"extra_content": signature})).await;
    assert_eq!(answer["tool_calls"][0]["extra_content"], signature);
    assert!(!other.contains("c2lnbmF0dXJl"), "{other}");
    let (answer, other) =
        second_request("deepseek", &json!({"reasoning_content": "I think."})).await;
    assert_eq!(answer["reasoning_content"], "I think.");
    assert!(!other.contains("I think."), "{other}");
    // Other servers do not want it.
    let (answer, _) = second_request("vllm", &json!({"reasoning_content": "I think."})).await;
    assert_eq!(answer.get("reasoning_content"), None);
}
