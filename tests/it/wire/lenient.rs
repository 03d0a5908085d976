//! Responses that a strict parser would reject: characters split over two events, oversized names and ids.

use crewdeck::domain::chat::Block;
use crewdeck::model::Reply;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::{anthropic, call_model, mock_server, openai, responses, sse};

/// Returns a stream of the Messages API with these blocks. Each block has a kind, the field of its deltas, and their
/// values as JSON strings.
fn messages_stream(blocks: &[(&str, &str, &[&str])]) -> String {
    let mut out = String::new();
    for (index, (kind, field, parts)) in blocks.iter().enumerate() {
        out.push_str(&format!(
            "data: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{{\"type\":\"{kind}\",\"id\":\"c1\",\"name\":\"bash\"}}}}\n\n"
        ));
        for part in *parts {
            out.push_str(&format!(
                "data: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"{field}\":{part}}}}}\n\n"
            ));
        }
        out.push_str(&format!(
            "data: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n"
        ));
    }
    out.push_str("data: {\"type\":\"message_stop\"}\n\n");
    out
}

fn completions_stream(deltas: &[String]) -> String {
    let mut out = String::new();
    for delta in deltas {
        out += &format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
    }
    out.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    out
}

/// Returns a stream of the Responses API with these items. Each item has a type, the name of its deltas, and their values
/// as JSON strings. The server sends no complete items.
fn responses_stream(items: &[(&str, &str, &[&str])]) -> String {
    let mut out = String::new();
    for (index, (kind, name, parts)) in items.iter().enumerate() {
        out.push_str(&format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{index},\"item\":{{\"type\":\"{kind}\",\"call_id\":\"c1\",\"name\":\"bash\"}}}}\n\n"
        ));
        for part in *parts {
            out.push_str(&format!(
                "data: {{\"type\":\"response.{name}.delta\",\"output_index\":{index},\"delta\":{part}}}\n\n"
            ));
        }
    }
    out.push_str("data: {\"type\":\"response.completed\",\"response\":{}}\n\n");
    out
}

/// Returns the thinking and the text of a reply, and the input `command` of its tool call.
fn reply_text(reply: &Reply) -> (String, String, String) {
    let mut out = (String::new(), String::new(), String::new());
    for block in &reply.blocks {
        match block {
            Block::Thinking { text, .. } => out.0.push_str(text),
            Block::Text { text } => out.1.push_str(text),
            Block::ToolCall(call) => {
                assert_eq!(call.broken, None);
                out.2.push_str(call.input["command"].as_str().unwrap());
            }
            Block::Image(_) | Block::ProviderItem(_) | Block::ToolResult { .. } => {
                panic!("{block:?}")
            }
        }
    }
    out
}

/// The parts of a text as JSON strings: the first two contain the halves of one character, the last a lone surrogate.
const TEXT: [&str; 3] = [r#""a \ud83d""#, r#""\ude00 b""#, r#"" \ud83d""#];
/// The parts of a tool input as JSON strings: a character is split between the first two, another (as an escape within
/// the input) between the next two, and a lone surrogate follows.
const INPUT: [&str; 4] = [
    r#""{\"command\": \"a \ud83d""#,
    r#""\ude00 \\ud83d""#,
    r#""\\ude00 \\ud83d c""#,
    r#""\"}""#,
];

#[tokio::test]
async fn character_split_over_two_events_is_joined() {
    let expected = ["a 😀 b \u{fffd}", "a 😀 b \u{fffd}", "a 😀 😀 \u{fffd} c"];
    let expected = expected.map(String::from).into();
    let body = messages_stream(&[
        ("thinking", "thinking", &TEXT),
        ("text", "text", &TEXT),
        ("tool_use", "partial_json", &INPUT),
    ]);
    let server = mock_server(sse(&body)).await;
    let reply = call_model(&anthropic(&server)).await.unwrap();
    assert_eq!(reply_text(&reply), expected);

    let mut deltas = Vec::new();
    deltas.extend(TEXT.map(|part| format!("{{\"reasoning_content\":{part}}}")));
    deltas.extend(TEXT.map(|part| format!("{{\"content\":{part}}}")));
    deltas.extend(INPUT.map(|part| {
        format!("{{\"tool_calls\":[{{\"index\":0,\"id\":\"c1\",\"function\":{{\"name\":\"bash\",\"arguments\":{part}}}}}]}}")
    }));
    let server = mock_server(sse(&completions_stream(&deltas))).await;
    let reply = call_model(&openai(&server)).await.unwrap();
    assert_eq!(reply_text(&reply), expected);

    let body = responses_stream(&[
        ("reasoning", "reasoning_summary_text", &TEXT),
        ("message", "output_text", &TEXT),
        ("function_call", "function_call_arguments", &INPUT),
    ]);
    let server = mock_server(sse(&body)).await;
    let reply = call_model(&responses(&server)).await.unwrap();
    assert_eq!(reply_text(&reply), expected);
}

#[tokio::test]
async fn lone_surrogate_in_a_response_is_replaced() {
    let body = r#"{"output": [{"type": "message", "content": [{"type": "output_text", "text": "a \ud83d"}]}],
        "content": [{"type": "text", "text": "a \ud83d"}], "choices": [{"message": {"content": "a \ud83d"}}]}"#;
    let whole = ResponseTemplate::new(200).set_body_raw(body, "application/json");
    let server = mock_server(whole).await;
    for config in [anthropic(&server), openai(&server), responses(&server)] {
        assert_eq!(
            reply_text(&call_model(&config).await.unwrap()).1,
            "a \u{fffd}"
        );
    }
}

#[tokio::test]
async fn oversized_names_and_ids_are_truncated_while_reading() {
    let long = "x".repeat(2 * 1024 * 1024);
    let tool = json!({"type": "tool_use", "id": long, "name": long, "input": {}});
    let body = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{tool}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    );
    let call = json!({"type": "function_call", "id": long, "call_id": long, "name": long, "arguments": "{}"});
    let items = format!(
        "data: {{\"type\":\"response.output_item.done\",\"item\":{call}}}\n\ndata: {{\"type\":\"response.completed\",\"response\":{{}}}}\n\n"
    );
    let delta = json!({"tool_calls": [{"index": 0, "id": long, "function": {"name": long, "arguments": "{}"}}]});
    for reply in [
        call_model(&anthropic(&mock_server(sse(&body)).await)).await,
        call_model(&responses(&mock_server(sse(&items)).await)).await,
        call_model(&openai(
            &mock_server(sse(&completions_stream(&[delta.to_string()]))).await,
        ))
        .await,
    ] {
        let [Block::ToolCall(call)] = &reply.unwrap().blocks[..] else {
            panic!("one call");
        };
        let (id, name) = (call.id.0.chars().count(), call.name.chars().count());
        assert_eq!((id, name), (256, 256));
    }
}

#[tokio::test]
async fn error_message_in_a_stream_is_truncated() {
    let long = "x".repeat(2 * 1024 * 1024);
    let body = format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{long}\"}}}}\n\n");
    let server = mock_server(sse(&body)).await;
    for config in [anthropic(&server), openai(&server), responses(&server)] {
        let error = call_model(&config).await.unwrap_err().to_string();
        assert!(error.len() < 400, "{} bytes", error.len());
    }
}
