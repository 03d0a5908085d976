//! Answers that no strict reader takes: characters split over two events, names and ids without end.

use crewdeck::domain::chat::Block;
use crewdeck::model::Reply;
use serde_json::json;
use wiremock::ResponseTemplate;

use super::{answering, anthropic, call, openai, sse};

/// An answer of Messages whose blocks come in these parts: kind, field, and the parts as JSON texts.
fn messages(blocks: &[(&str, &str, &[&str])]) -> String {
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

fn chunks(deltas: &[String]) -> String {
    let mut out = String::new();
    for delta in deltas {
        out += &format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n");
    }
    out.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    out
}

/// What an answer says: thought, words, and the command that it calls.
fn said(reply: &Reply) -> (String, String, String) {
    let mut out = (String::new(), String::new(), String::new());
    for block in &reply.blocks {
        match block {
            Block::Thinking { text, .. } => out.0.push_str(text),
            Block::Text { text } => out.1.push_str(text),
            Block::ToolCall(call) => {
                assert_eq!(call.broken, None);
                out.2.push_str(call.input["command"].as_str().unwrap());
            }
            Block::ToolResult { .. } => panic!("{block:?}"),
        }
    }
    out
}

/// A text in two parts, split in the middle of a character, and one with a half that stays alone.
const TEXT: [&str; 3] = [r#""a \ud83d""#, r#""\ude00 b""#, r#"" \ud83d""#];
/// The same in an input: once as a split event, once as an escape of the input itself, once as half of one.
const INPUT: [&str; 4] = [
    r#""{\"command\": \"a \ud83d""#,
    r#""\ude00 \\ud83d""#,
    r#""\\ude00 \\ud83d c""#,
    r#""\"}""#,
];

#[tokio::test]
async fn a_character_split_over_events_is_joined_on_both_wires() {
    let expected = ["a 😀 b \u{fffd}", "a 😀 b \u{fffd}", "a 😀 😀 \u{fffd} c"];
    let expected = expected.map(String::from).into();
    let body = messages(&[
        ("thinking", "thinking", &TEXT),
        ("text", "text", &TEXT),
        ("tool_use", "partial_json", &INPUT),
    ]);
    let server = answering(sse(&body)).await;
    let reply = call(&anthropic(&server)).await.unwrap();
    assert_eq!(said(&reply), expected);

    let mut deltas = Vec::new();
    deltas.extend(TEXT.map(|part| format!("{{\"reasoning_content\":{part}}}")));
    deltas.extend(TEXT.map(|part| format!("{{\"content\":{part}}}")));
    deltas.extend(INPUT.map(|part| {
        format!("{{\"tool_calls\":[{{\"index\":0,\"id\":\"c1\",\"function\":{{\"name\":\"bash\",\"arguments\":{part}}}}}]}}")
    }));
    let server = answering(sse(&chunks(&deltas))).await;
    let reply = call(&openai(&server)).await.unwrap();
    assert_eq!(said(&reply), expected);
}

#[tokio::test]
async fn a_lone_half_in_a_whole_answer_is_replaced_on_both_wires() {
    let body = r#"{"content": [{"type": "text", "text": "a \ud83d"}], "choices": [{"message": {"content": "a \ud83d"}}]}"#;
    let whole = ResponseTemplate::new(200).set_body_raw(body, "application/json");
    let server = answering(whole).await;
    for config in [anthropic(&server), openai(&server)] {
        assert_eq!(said(&call(&config).await.unwrap()).1, "a \u{fffd}");
    }
}

#[tokio::test]
async fn names_and_ids_without_end_are_cut_as_they_are_read() {
    let long = "x".repeat(2 * 1024 * 1024);
    let tool = json!({"type": "tool_use", "id": long, "name": long, "input": {}});
    let body = format!(
        "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{tool}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
    );
    let delta = json!({"tool_calls": [{"index": 0, "id": long, "function": {"name": long, "arguments": "{}"}}]});
    for reply in [
        call(&anthropic(&answering(sse(&body)).await)).await,
        call(&openai(
            &answering(sse(&chunks(&[delta.to_string()]))).await,
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
async fn words_of_an_error_in_a_stream_are_bounded() {
    let long = "x".repeat(2 * 1024 * 1024);
    let body = format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{long}\"}}}}\n\n");
    let server = answering(sse(&body)).await;
    for config in [anthropic(&server), openai(&server)] {
        let error = call(&config).await.unwrap_err().to_string();
        assert!(error.len() < 400, "{} bytes", error.len());
    }
}
