//! The OpenAI Responses API: requests, and items that go back only to the server that sent them.

use std::collections::BTreeSet;

use crewdeck::domain::chat::{AnswerOrigin, ProviderItem};
use pretty_assertions::assert_eq;

use super::*;

/// Requests of the official Python client, recorded on loopback. Its server answered with the same streams.
const RECORDED: &str = include_str!("../../fixtures/responses-requests.json");
const TEXT: &str = include_str!("../../fixtures/sse/responses-text.txt");

#[tokio::test]
async fn responses_requests_are_valid() {
    let server = mock_server(sse(RESPONSES)).await;
    for _ in 0..2 {
        let reply = call_model(&responses(&server)).await.unwrap();
        assert_eq!((reply.stop, reply.blocks.len()), (StopReason::ToolUse, 6));
    }
    let sent = server.received_requests().await.unwrap();
    assert_eq!(sent[0].url.path(), "/v1/responses");
    assert_eq!(sent[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        sent[0].body, sent[1].body,
        "the same request has the same bytes"
    );
    let tool = |name: &str| json!({"type": "function", "name": name, "description": "does it", "parameters": empty_schema(), "strict": true});
    let mut body = request_bodies(&server).await.remove(0);
    let key = body.as_object_mut().unwrap().remove("prompt_cache_key");
    assert!(key.unwrap().as_str().unwrap().len() <= 64);
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "bash", "arguments": "{\"command\":\"ls\"}"});
    let output =
        |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "(no output)"});
    assert_eq!(
        body,
        json!({
            "model": "some-model", "stream": true, "store": false, "max_output_tokens": 99,
            "instructions": "You are the lead.",
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"summary": "auto"},
            "parallel_tool_calls": true,
            "input": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "I look."},
                call("a"),
                call("b"),
                output("a"),
                output("b"),
                {"role": "user", "content": "and this"},
            ],
            "tools": [tool("bash"), tool("glob")],
        })
    );
}

/// Returns the request after an answer: the same one, with the answer and a result for each of its calls.
fn next_request(first: &ModelRequest, reply: &Reply) -> ModelRequest {
    let answer = Message::assistant(reply.blocks.clone());
    let results = answer.calls().map(|call| Block::ToolResult {
        call: call.id.clone(),
        content: String::new(),
        outcome: Outcome::Ok,
    });
    let results = Message::user(results.collect());
    let mut messages = first.messages.to_vec();
    messages.extend([answer, results]);
    ModelRequest {
        messages: Arc::new(messages),
        ..first.clone()
    }
}

fn first_request() -> ModelRequest {
    ModelRequest {
        messages: Arc::new(vec![Message::user(vec![Block::text("hi")])]),
        effort: Some(RoleEffort::Low),
        ..request()
    }
}

#[tokio::test]
async fn both_requests_of_a_tool_call_match_the_official_client() {
    let server = mock_server(sse(RESPONSES)).await;
    let first = first_request();
    let reply = send(&responses(&server), first.clone()).await.unwrap();
    send(&responses(&server), next_request(&first, &reply))
        .await
        .unwrap();
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let bodies = request_bodies(&server).await;
    assert_eq!(bodies.len(), 2);
    for (body, recorded) in bodies.iter().zip(recorded["requests"].as_array().unwrap()) {
        let mut expected = recorded["body"].clone();
        for item in expected["input"].as_array_mut().unwrap() {
            let fields = item.as_object_mut().unwrap();
            let kind = fields
                .get("type")
                .and_then(Value::as_str)
                .unwrap_or("message")
                .to_string();
            // The client sends back what only it or a server with stored responses reads.
            if kind == "function_call" {
                for key in ["id", "status", "parsed_arguments"] {
                    assert!(fields.remove(key).is_some(), "{key}");
                }
            }
            // crewdeck sends the short form of a message.
            if kind == "message" && fields["role"] == "assistant" {
                let text = fields["content"][0]["text"].clone();
                let phase = fields["phase"].clone();
                *item = json!({"role": "assistant", "content": text, "phase": phase});
            }
        }
        let keys = |value: &Value| -> BTreeSet<String> {
            let fields = value.as_object().unwrap();
            fields.keys().cloned().collect()
        };
        assert_eq!(keys(body), keys(&expected));
        for (key, value) in expected.as_object().unwrap() {
            if key != "prompt_cache_key" {
                assert_eq!(&body[key], value, "{key}");
            }
        }
    }
}

#[tokio::test]
async fn items_of_a_server_go_back_only_to_that_server() {
    let server = mock_server(sse(RESPONSES)).await;
    let first = first_request();
    let reply = send(&responses(&server), first.clone()).await.unwrap();
    let next = next_request(&first, &reply);
    let secret = "gAAAAABc2VjcmV0LXJlYXNvbmluZw==";
    let stored = serde_json::to_string(&reply.blocks).unwrap();
    assert!(
        stored.contains(secret) && stored.contains(&server.uri()),
        "{stored}"
    );
    let restored: Vec<Block> = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, reply.blocks);
    for (other, answer) in [
        (responses as fn(&MockServer) -> ModelServerConfig, RESPONSES),
        (openai, OPENAI),
        (anthropic, ANTHROPIC),
    ] {
        let vendor = mock_server(sse(answer)).await;
        send(&other(&vendor), next.clone()).await.unwrap();
        let body = request_bodies(&vendor).await[0].to_string();
        for own in [secret, "rs_1", "commentary", "**Look**"] {
            assert!(!body.contains(own), "{own}: {body}");
        }
        assert!(body.contains("Héllo") && body.contains("call_a"), "{body}");
    }
}

#[tokio::test]
async fn unusable_items_are_left_out() {
    let server = mock_server(sse(TEXT)).await;
    let config = responses(&server);
    let item = |content: &str| {
        Block::ProviderItem(ProviderItem {
            origin: AnswerOrigin {
                server: config.server_name().to_string(),
                model: request().model,
            },
            item: json!({"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": content}),
        })
    };
    for (blocks, is_sent) in [
        (vec![item("gAAAx"), Block::text("so")], true),
        (vec![item("gAAAx")], false),
        (vec![Block::text("so"), item("gAAAx")], false),
        (vec![item("gAAAx"), Block::text(" ")], false),
        // A redaction has changed it on disk.
        (
            vec![item("gAAA[redacted: TOKEN]x"), Block::text("so")],
            false,
        ),
    ] {
        let request = ModelRequest {
            messages: Arc::new(vec![
                Message::user(vec![Block::text("hi")]),
                Message::assistant(blocks.clone()),
                Message::user(vec![Block::text("go on")]),
            ]),
            ..request()
        };
        send(&config, request).await.unwrap();
        let body = request_bodies(&server).await.pop().unwrap();
        assert_eq!(
            body["input"].to_string().contains("rs_9"),
            is_sent,
            "{blocks:?}"
        );
    }
}

/// A server that refuses parts of requests like a model without reasoning.
struct PlainModel;

impl wiremock::Respond for PlainModel {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let refuse = |message: &str| {
            ResponseTemplate::new(400).set_body_json(
                json!({"error": {"message": message, "type": "invalid_request_error"}}),
            )
        };
        if body.get("reasoning").is_some() {
            refuse("Unsupported parameter: 'reasoning.summary' is not supported with this model.")
        } else if body.get("include").is_some() {
            refuse("Encrypted content is not supported with this model.")
        } else {
            sse(TEXT)
        }
    }
}

#[tokio::test]
async fn parts_that_a_model_refuses_are_left_out_from_then_on() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(PlainModel)
        .mount(&server)
        .await;
    let model = responses(&server).connect().unwrap();
    for _ in 0..2 {
        let items: Vec<_> = model.call(request()).collect().await;
        assert!(
            matches!(items.last(), Some(Ok(Delta::Done(_)))),
            "{items:?}"
        );
    }
    assert_eq!(
        request_bodies(&server).await.len(),
        4,
        "three tries, then one"
    );
}

#[tokio::test]
async fn every_end_of_a_response_has_its_meaning() {
    let item = |content: Value| json!({"type": "message", "id": "m", "role": "assistant", "content": [content]});
    let said = item(json!({"type": "output_text", "text": "hi"}));
    let refused = item(json!({"type": "refusal", "refusal": "no"}));
    let call =
        json!({"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{\"comm"});
    let event = |kind: &str, output: &[&Value], more: Value| {
        let mut response =
            json!({"output": output, "usage": {"input_tokens": 7, "output_tokens": 2}});
        response
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format!(
            "event: {kind}\ndata: {}\n\n",
            json!({"type": kind, "response": response})
        )
    };
    let incomplete = |reason: &str| json!({"incomplete_details": {"reason": reason}});
    let nothing = json!({});
    for (body, stop) in [
        (
            event("response.completed", &[&said], nothing.clone()),
            StopReason::EndTurn,
        ),
        (
            event("response.completed", &[&refused], nothing.clone()),
            StopReason::Refusal,
        ),
        (
            event("response.completed", &[&said, &call], nothing.clone()),
            StopReason::ToolUse,
        ),
        (
            event(
                "response.incomplete",
                &[&call],
                incomplete("max_output_tokens"),
            ),
            StopReason::MaxTokens,
        ),
        (
            event(
                "response.incomplete",
                &[&said],
                incomplete("content_filter"),
            ),
            StopReason::Refusal,
        ),
        (
            event("response.incomplete", &[], incomplete("odd")),
            StopReason::Other("odd".into()),
        ),
    ] {
        let reply = call_model(&responses(&mock_server(sse(&body)).await))
            .await
            .unwrap();
        assert_eq!((reply.stop, reply.usage.total()), (stop, 9), "{body}");
    }
    let whole =
        json!({"object": "response", "status": "completed", "error": null, "output": [said]});
    let server = mock_server(ResponseTemplate::new(200).set_body_json(whole)).await;
    let reply = call_model(&responses(&server)).await.unwrap();
    assert_eq!(
        (reply.blocks, reply.stop),
        (vec![Block::text("hi")], StopReason::EndTurn)
    );
}
