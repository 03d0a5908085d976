//! All wire formats against a mock server: requests are valid, responses of many kinds are understood.

mod answers;
mod images;
mod lenient;
mod model_change;
mod responses;
mod thinking;
mod vendor_rows;

use std::sync::Arc;

use crewdeck::domain::chat::{Block, Message, Outcome, ToolCall};
use crewdeck::domain::ids::{CallId, Name};
use crewdeck::domain::role::RoleEffort;
use crewdeck::model::provider::ModelServerConfig;
use crewdeck::model::{
    Delta, ImageInput, ModelError, ModelRequest, PROVIDERS, Reply, StopReason, ToolSpec,
};
use futures::StreamExt;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

const KEY: &str = "sk-very-secret";
const ANTHROPIC: &str = include_str!("../fixtures/sse/anthropic-rich.txt");
const OPENAI: &str = include_str!("../fixtures/sse/openai-odd.txt");
const RESPONSES: &str = include_str!("../fixtures/sse/responses-tool.txt");

fn vendor(name: &str) -> ModelServerConfig {
    let spec = PROVIDERS.iter().find(|spec| spec.name == name);
    ModelServerConfig::new(spec.unwrap())
}

fn anthropic(server: &MockServer) -> ModelServerConfig {
    ModelServerConfig {
        base_url: format!("{}/v1/", server.uri()),
        key: Some(KEY.to_string().into()),
        ..vendor("anthropic")
    }
}

fn openai(server: &MockServer) -> ModelServerConfig {
    ModelServerConfig {
        base_url: format!("{}/v1", server.uri()),
        key: Some(KEY.to_string().into()),
        ..vendor("openai")
    }
}

fn responses(server: &MockServer) -> ModelServerConfig {
    ModelServerConfig {
        base_url: format!("{}/v1", server.uri()),
        key: Some(KEY.to_string().into()),
        ..vendor("responses")
    }
}

fn request() -> ModelRequest {
    let call = |id: &str| {
        Block::ToolCall(ToolCall {
            id: CallId(id.into()),
            name: "bash".into(),
            input: json!({"command": "ls"}),
            broken: None,
        })
    };
    let result = |id: &str, outcome| Block::ToolResult {
        call: CallId(id.into()),
        content: String::new(),
        outcome,
    };
    let tool = |name: &str| ToolSpec::new(name, "does it", &json!({"type": "object"}));
    ModelRequest {
        agent: Name::lead(),
        model: "some-model".into(),
        system: "You are the lead.".into(),
        messages: Arc::new(vec![
            Message::user(vec![Block::text("hi")]),
            Message::assistant(vec![
                Block::Thinking {
                    text: "unsigned".into(),
                    signature: None,
                    origin: None,
                },
                Block::text("I look."),
                call("a"),
                call("b"),
            ]),
            Message::user(vec![
                result("a", Outcome::Ok),
                result("b", Outcome::Error),
                Block::text("and this"),
            ]),
        ]),
        tools: Arc::new(vec![tool("bash"), tool("glob")]),
        max_tokens: 99,
        images: ImageInput::Sent,
        effort: None,
        thinking_budget: None,
        workdir: std::path::PathBuf::new(),
        clearings: 0,
    }
}

/// Returns the strict schema of a tool without arguments.
fn empty_schema() -> Value {
    json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
}

async fn call_model(config: &ModelServerConfig) -> Result<Reply, ModelError> {
    send(config, request()).await
}

async fn send(config: &ModelServerConfig, request: ModelRequest) -> Result<Reply, ModelError> {
    let mut stream = config.connect().unwrap().call(request);
    let mut last = None;
    while let Some(item) = stream.next().await {
        match item? {
            Delta::Done(reply) => last = Some(reply),
            _ => assert!(last.is_none()),
        }
    }
    Ok(last.expect("a stream without error ends with the reply"))
}

async fn mock_server(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

fn sse(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.as_bytes().to_vec(), "text/event-stream")
}

async fn request_bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests
        .iter()
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect()
}

#[tokio::test]
async fn messages_requests_are_valid_and_cache_the_prefix() {
    let server = mock_server(sse(ANTHROPIC)).await;
    for _ in 0..2 {
        let reply = call_model(&anthropic(&server)).await.unwrap();
        assert_eq!((reply.stop, reply.blocks.len()), (StopReason::ToolUse, 4));
    }
    let sent = server.received_requests().await.unwrap();
    assert_eq!(sent[0].url.path(), "/v1/messages");
    assert_eq!(sent[0].headers["x-api-key"], KEY);
    assert_eq!(sent[0].headers["anthropic-version"], "2023-06-01");
    let bodies = request_bodies(&server).await;
    assert_eq!(
        bodies[0].to_string(),
        bodies[1].to_string(),
        "the same request has the same bytes"
    );
    let (cached, nothing) = (json!({"type": "ephemeral"}), empty_schema());
    assert_eq!(
        bodies[0],
        json!({
            "model": "some-model", "max_tokens": 99, "stream": true,
            "system": [{"type": "text", "text": "You are the lead.", "cache_control": cached}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": "b", "name": "bash", "input": {"command": "ls"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "(no output)"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true},
                    {"type": "text", "text": "and this", "cache_control": cached},
                ]},
            ],
            "tools": [
                {"name": "bash", "description": "does it", "input_schema": nothing},
                {"name": "glob", "description": "does it", "input_schema": nothing, "cache_control": cached},
            ],
        })
    );
}

#[tokio::test]
async fn effort_is_sent_only_if_it_is_set() {
    for (effort, messages, completions) in [
        (RoleEffort::Low, json!({"effort": "low"}), "low"),
        (RoleEffort::Max, json!({"effort": "max"}), "xhigh"),
    ] {
        let effort = Some(effort);
        let request = ModelRequest {
            effort,
            ..request()
        };
        let server = mock_server(sse(ANTHROPIC)).await;
        send(&anthropic(&server), request.clone()).await.unwrap();
        assert_eq!(request_bodies(&server).await[0]["output_config"], messages);
        let server = mock_server(sse(OPENAI)).await;
        send(&openai(&server), request.clone()).await.unwrap();
        let body = &request_bodies(&server).await[0];
        assert_eq!(body["reasoning_effort"], completions);
        let server = mock_server(sse(RESPONSES)).await;
        send(&responses(&server), request.clone()).await.unwrap();
        let body = &request_bodies(&server).await[0];
        let both = json!({"effort": completions, "summary": "auto"});
        assert_eq!(body["reasoning"], both);
    }
}

#[tokio::test]
async fn chat_completions_requests_are_valid() {
    let server = mock_server(sse(OPENAI)).await;
    let reply = call_model(&openai(&server)).await.unwrap();
    assert_eq!(reply.blocks.len(), 6);
    let sent = server.received_requests().await.unwrap();
    assert_eq!(sent[0].url.path(), "/v1/chat/completions");
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {KEY}"));
    let function = json!({"name": "bash", "arguments": "{\"command\":\"ls\"}"});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "description": "does it", "parameters": empty_schema()}});
    assert_eq!(
        request_bodies(&server).await[0],
        json!({
            "model": "some-model", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 99,
            "messages": [
                {"role": "system", "content": "You are the lead."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "I look.", "tool_calls": [
                    {"id": "a", "type": "function", "function": function},
                    {"id": "b", "type": "function", "function": function},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "(no output)"},
                {"role": "tool", "tool_call_id": "b", "content": "(no output)"},
                {"role": "user", "content": "and this"},
            ],
            "tools": [tool("bash"), tool("glob")],
        })
    );
}

#[tokio::test]
async fn server_specific_fields_are_configurable() {
    let server = mock_server(sse(ANTHROPIC)).await;
    let mut config = anthropic(&server);
    let options = [("key_header", "bearer"), ("version", "2026-10-21")];
    config.options = options.map(|(k, v)| (k.into(), v.into())).into();
    call_model(&config).await.unwrap();
    let sent = server.received_requests().await.unwrap();
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(sent[0].headers["anthropic-version"], "2026-10-21");
    assert!(!sent[0].headers.contains_key("x-api-key"));
    let server = mock_server(sse(OPENAI)).await;
    let mut config = openai(&server);
    config.options = [("max_tokens_field".into(), "max_completion_tokens".into())].into();
    call_model(&config).await.unwrap();
    assert_eq!(
        request_bodies(&server).await[0]["max_completion_tokens"],
        99
    );
}
