//! Tests of the decoder with hand-made streams, split at every byte.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::Decoder;
use crate::domain::chat::{AnswerOrigin, Block, ProviderItem, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::model::http::RESPONSE_MAX;
use crate::model::tests::{at_every_byte, call, decode, feed_until_error, ids, twice};
use crate::model::{Delta, ErrorKind, Reply, StopReason};

const RESPONSES: &[(&str, &str)] = &[
    (
        "tool",
        include_str!("../../../tests/fixtures/sse/responses-tool.txt"),
    ),
    (
        "text",
        include_str!("../../../tests/fixtures/sse/responses-text.txt"),
    ),
    (
        "odd server",
        include_str!("../../../tests/fixtures/sse/responses-odd.txt"),
    ),
];

#[test]
fn responses_split_at_every_byte() {
    let replies: Vec<(Vec<Delta>, Reply)> = RESPONSES
        .iter()
        .map(|(name, s)| at_every_byte::<Decoder>(name, s))
        .collect();
    let item = |item| {
        Block::ProviderItem(ProviderItem {
            origin: AnswerOrigin::default(),
            item,
        })
    };
    let usage = Usage {
        input: 500,
        output: 50,
        cache_read: 200,
        cache_write: 300,
    };
    let (deltas, reply) = &replies[0];
    assert_eq!(
        deltas,
        &[
            Delta::Thinking("**Lo".into()),
            Delta::Thinking("ok**".into()),
            Delta::Thinking("\n\n".into()),
            Delta::Thinking("First the ".into()),
            Delta::Thinking("files, é.".into()),
            Delta::Text("Hé".into()),
            Delta::Text("llo ".into()),
            Delta::Text("😀".into()),
            Delta::ToolCall("bash".into()),
            Delta::ToolCall("glob".into()),
        ]
    );
    let summary = |text: &str| json!({"type": "summary_text", "text": text});
    assert_eq!(
        reply,
        &Reply {
            blocks: vec![
                Block::Thinking {
                    text: "**Look**\n\nFirst the files, é.".into(),
                    signature: None,
                    origin: None,
                },
                item(json!({"type": "reasoning", "id": "rs_1",
                    "summary": [summary("**Look**"), summary("First the files, é.")],
                    "encrypted_content": "gAAAAABc2VjcmV0LXJlYXNvbmluZw=="})),
                item(json!({"type": "message", "phase": "commentary"})),
                Block::text("Héllo 😀"),
                call("call_a", "bash", json!({"command": "ls"})),
                call("call_b", "glob", json!({})),
            ],
            stop: StopReason::ToolUse,
            usage,
        }
    );
    assert_eq!(replies[1].1.stop, StopReason::EndTurn);
    assert_eq!(
        replies[2].1.blocks,
        [
            Block::Thinking {
                text: "hm".into(),
                signature: None,
                origin: None,
            },
            Block::text("Hi"),
            call("c1", "bash", json!({"command": "ls"})),
            Block::ToolCall(ToolCall {
                id: CallId("c2".into()),
                name: "glob".into(),
                input: json!({}),
                broken: Some("{\"patt".into()),
            }),
        ]
    );
}

#[test]
fn incomplete_stream_is_an_error() {
    for (name, stream) in RESPONSES {
        let cut = &stream[..stream.rfind("event: response.").unwrap()];
        let (_, reply) = decode(Decoder::default(), &[cut.as_bytes()]);
        assert_eq!(reply.unwrap_err().kind, ErrorKind::Truncated, "{name}");
    }
}

#[test]
fn error_events_are_classified() {
    for (data, fault, text) in [
        (
            r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down","param":null,"sequence_number":3}"#,
            ErrorKind::RateLimited,
            "Slow down [rate_limit_exceeded]",
        ),
        (
            r#"{"type":"error","error":{"type":"server_error","message":"boom"}}"#,
            ErrorKind::Server,
            "boom [server_error]",
        ),
        (r#"{"error":"boom"}"#, ErrorKind::Server, "boom"),
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"too much"}}}"#,
            ErrorKind::ContextTooLong,
            "too much",
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"pay"}}}"#,
            ErrorKind::Auth,
            "pay",
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}"#,
            ErrorKind::BadRequest,
            "no",
        ),
        (
            r#"{"type":"response.failed","response":{"error":null}}"#,
            ErrorKind::Server,
            "it gave no reason",
        ),
        ("{", ErrorKind::InvalidResponse, "not JSON"),
    ] {
        let stream = format!("data: {data}\n\n");
        let (_, reply) = decode(Decoder::default(), &[stream.as_bytes()]);
        let error = reply.unwrap_err();
        assert_eq!(error.kind, fault, "{data}");
        assert!(error.message.contains(text), "{data}: {error}");
    }
}

#[test]
fn implausible_token_counts_are_ignored() {
    let expected = Usage {
        input: 7,
        ..Usage::default()
    };
    for bad in ["-5", "18446744073709551615", "1e300", "\"many\"", "null"] {
        let stream = format!(
            "data: {{\"type\":\"response.completed\",\"response\":{{\"usage\":{{\"input_tokens\":7,\"output_tokens\":{bad},\"input_tokens_details\":{{\"cached_tokens\":{bad},\"cache_write_tokens\":{bad}}}}}}}}}\n\n"
        );
        let (_, reply) = decode(Decoder::default(), &[stream.as_bytes()]);
        assert_eq!(reply.unwrap().usage, expected, "{bad}");
    }
}

#[test]
fn repeated_events_do_not_repeat_tool_calls() {
    let tool = twice(RESPONSES[0].1, "\n\n");
    let (_, reply) = decode(Decoder::default(), &[tool.as_bytes()]);
    let reply = reply.unwrap();
    let expected = ["call_a", "call_b"].map(|id| (id.to_string(), false));
    assert_eq!(ids(&reply), expected);
    // The complete item replaces what was received twice.
    assert!(reply.blocks.contains(&Block::text("Héllo 😀")));
}

#[test]
fn call_without_its_first_event_is_reported_with_its_name() {
    let arguments =
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"bash","arguments":"{}"}}"#;
    let end = r#"{"type":"response.completed","response":{}}"#;
    let stream = [arguments, done, end]
        .map(|data| format!("data: {data}\n\n"))
        .concat();
    let (deltas, reply) = decode(Decoder::default(), &[stream.as_bytes()]);
    assert_eq!(deltas, [Delta::ToolCall("bash".into())]);
    assert_eq!(ids(&reply.unwrap()), [("c".to_string(), false)]);
}

#[test]
fn endless_summary_parts_are_an_error() {
    let text = |length: usize| {
        let text = "x".repeat(length);
        format!(
            "data: {{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"delta\":\"{text}\"}}\n\n"
        )
    };
    // 100 bytes are left, and each part adds an empty line of two.
    let block = 64 * 1024;
    let full = text(block).repeat(RESPONSE_MAX / block - 1) + &text(block - 100);
    let part = r#"{"type":"response.reasoning_summary_part.added","output_index":0}"#;
    let part = format!("data: {part}\n\n");
    let (count, error) = feed_until_error(Decoder::default(), &full, &part);
    assert_eq!(error.kind, ErrorKind::InvalidResponse);
    assert_eq!(count, 51);
}

#[test]
fn endless_response_is_an_error() {
    let long = "x".repeat(64 * 1024);
    let text =
        format!(r#"{{"type":"response.output_text.delta","output_index":0,"delta":"{long}"}}"#);
    let (count, error) = feed_until_error(
        Decoder::default(),
        "data: {}\n\n",
        &format!("data: {text}\n\n"),
    );
    assert_eq!(error.kind, ErrorKind::InvalidResponse);
    assert!((120..=130).contains(&count), "{count} times 64 KiB");
    let item = |n: usize| {
        format!(
            "data: {{\"type\":\"response.output_item.done\",\"output_index\":{n},\"item\":{{\"type\":\"message\"}}}}\n\n"
        )
    };
    let many: String = (0..1025).map(item).collect();
    let (_, reply) = decode(Decoder::default(), &[many.as_bytes()]);
    assert!(reply.unwrap_err().message.contains("more than 1024 items"));
}
