//! Tests of the decoders for Messages and Chat Completions with recorded and hand-made streams, split at every byte.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::provider::Decode;
use super::sse::SseDecoder;
use super::{Delta, ErrorKind, ModelError, Reply, StopReason, anthropic, openai};
use crate::domain::chat::{AnswerOrigin, Block, ToolCall};
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;

const OPENAI: &[(&str, &str)] = &[
    (
        "llama tool",
        include_str!("../../tests/fixtures/sse/llama-openai-tool.txt"),
    ),
    (
        "llama text",
        include_str!("../../tests/fixtures/sse/llama-openai-text.txt"),
    ),
    (
        "odd server",
        include_str!("../../tests/fixtures/sse/openai-odd.txt"),
    ),
];
const ANTHROPIC: &[(&str, &str)] = &[
    (
        "llama tool",
        include_str!("../../tests/fixtures/sse/llama-anthropic-tool.txt"),
    ),
    (
        "rich",
        include_str!("../../tests/fixtures/sse/anthropic-rich.txt"),
    ),
];

/// Decodes a stream that arrives in these pieces and then ends.
pub(super) fn decode(
    mut decoder: impl Decode,
    pieces: &[&[u8]],
) -> (Vec<Delta>, Result<Reply, ModelError>) {
    let mut sse = SseDecoder::default();
    let mut out = Vec::new();
    'all: for piece in pieces {
        for event in sse.feed(piece).unwrap() {
            if let Err(error) = decoder.event(&event, &mut out) {
                return (out, Err(error));
            }
            if let Some(Delta::Done(_)) = out.last() {
                break 'all;
            }
        }
    }
    let reply = match out.pop() {
        Some(Delta::Done(reply)) => Ok(reply),
        last => {
            out.extend(last);
            decoder.reply().ok_or_else(super::http::truncated_error)
        }
    };
    (out, reply)
}

pub(super) fn at_every_byte<D: Decode + Default>(name: &str, stream: &str) -> (Vec<Delta>, Reply) {
    let bytes = stream.as_bytes();
    let whole = decode(D::default(), &[bytes]);
    for at in 0..=bytes.len() {
        assert_eq!(
            decode(D::default(), &[&bytes[..at], &bytes[at..]]),
            whole,
            "{name} split at {at}"
        );
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(D::default(), &single), whole, "{name} byte by byte");
    (whole.0, whole.1.unwrap())
}

pub(super) fn call(id: &str, name: &str, input: serde_json::Value) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId(id.into()),
        name: name.into(),
        input,
        broken: None,
    })
}

#[test]
fn chat_completions_split_at_every_byte() {
    let replies: Vec<Reply> = OPENAI
        .iter()
        .map(|(name, s)| at_every_byte::<openai::Decoder>(name, s).1)
        .collect();
    let [Block::ToolCall(tool)] = &replies[0].blocks[..] else {
        panic!("{:?}", replies[0])
    };
    assert_eq!(
        (tool.name.as_str(), &tool.input),
        ("get_time", &json!({"city": "Paris"}))
    );
    assert!(!tool.id.0.is_empty() && replies[0].usage.output > 0 && replies[0].usage.prompt() > 0);
    assert_eq!(replies[0].stop, StopReason::ToolUse);
    assert!(
        matches!(&replies[1].blocks[..], [Block::Text { .. }]),
        "{:?}",
        replies[1]
    );
    assert_eq!(
        replies[2],
        Reply {
            blocks: vec![
                Block::Thinking {
                    text: "hm, é".into(),
                    signature: None,
                    origin: None,
                },
                Block::text("Hello 😀"),
                call("a", "read_file", json!({"path": "x"})),
                call("b", "glob", json!({"pattern": "*"})),
                Block::ToolCall(ToolCall {
                    id: CallId("c".into()),
                    name: "bash".into(),
                    input: json!({}),
                    broken: Some("{\"command\": ".into()),
                }),
                call("d", "task_list", json!({})),
            ],
            stop: StopReason::ToolUse,
            usage: Usage {
                input: 60,
                output: 9,
                cache_read: 40,
                cache_write: 0
            },
        }
    );
}

#[test]
fn messages_split_at_every_byte() {
    let replies: Vec<(Vec<Delta>, Reply)> = ANTHROPIC
        .iter()
        .map(|(name, s)| at_every_byte::<anthropic::Decoder>(name, s))
        .collect();
    let calls: Vec<_> = replies[0]
        .1
        .blocks
        .iter()
        .filter_map(|b| match b {
            Block::ToolCall(call) => Some((call.name.as_str(), call.input.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("get_time", json!({"city": "Paris"}))]);
    let (deltas, reply) = &replies[1];
    assert_eq!(
        deltas,
        &[
            Delta::Thinking("let me ".into()),
            Delta::Thinking("see".into()),
            Delta::Text("Hé".into()),
            Delta::Text("llo".into()),
            Delta::ToolCall("bash".into()),
            Delta::ToolCall("task_list".into()),
        ]
    );
    assert_eq!(
        reply,
        &Reply {
            blocks: vec![
                Block::Thinking {
                    text: "let me see".into(),
                    signature: Some("sig1".into()),
                    origin: Some(AnswerOrigin::default()),
                },
                Block::text("Héllo"),
                call("t1", "bash", json!({"command": "ls"})),
                call("t2", "task_list", json!({})),
            ],
            stop: StopReason::ToolUse,
            usage: Usage {
                input: 12,
                output: 30,
                cache_read: 100,
                cache_write: 5
            },
        }
    );
}

#[test]
fn incomplete_stream_is_an_error() {
    for (name, stream) in OPENAI {
        let end = stream.rfind("\"finish_reason\":\"").unwrap();
        let cut = &stream[..stream[..end].rfind("data:").unwrap()];
        let (_, reply) = decode(openai::Decoder::default(), &[cut.as_bytes()]);
        assert_eq!(reply.unwrap_err().kind, ErrorKind::Truncated, "{name}");
    }
    for (name, stream) in ANTHROPIC {
        let cut = &stream[..stream.rfind("event: message_stop").unwrap()];
        let (_, reply) = decode(anthropic::Decoder::default(), &[cut.as_bytes()]);
        assert_eq!(reply.unwrap_err().kind, ErrorKind::Truncated, "{name}");
    }
}

#[test]
fn error_events_are_classified() {
    for (data, fault) in [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ErrorKind::Server,
        ),
        (
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#,
            ErrorKind::RateLimited,
        ),
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
            ErrorKind::ContextTooLong,
        ),
        (
            r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#,
            ErrorKind::Auth,
        ),
        ("not json", ErrorKind::InvalidResponse),
    ] {
        let stream = format!("event: error\ndata: {data}\n\n");
        let (_, reply) = decode(anthropic::Decoder::default(), &[stream.as_bytes()]);
        assert_eq!(reply.unwrap_err().kind, fault, "{data}");
    }
    for (data, fault) in [
        (
            r#"{"error":{"code":500,"message":"boom","type":"server_error"}}"#,
            ErrorKind::Server,
        ),
        (
            r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request exceeds"}}"#,
            ErrorKind::ContextTooLong,
        ),
        (
            r#"{"error":{"message":"Rate limit reached","type":"requests"}}"#,
            ErrorKind::RateLimited,
        ),
        ("{", ErrorKind::InvalidResponse),
    ] {
        let stream = format!("data: {data}\n\n");
        let (_, reply) = decode(openai::Decoder::default(), &[stream.as_bytes()]);
        assert_eq!(reply.unwrap_err().kind, fault, "{data}");
    }
}

#[test]
fn implausible_token_counts_are_ignored() {
    let expected = Usage {
        input: 7,
        output: 0,
        cache_read: 0,
        cache_write: 0,
    };
    for bad in ["-5", "18446744073709551615", "1e300", "\"many\"", "null"] {
        let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":7}}}"#;
        let stream = format!(
            "data: {start}\n\ndata: {{\"type\":\"message_delta\",\"usage\":{{\"input_tokens\":{bad},\"output_tokens\":{bad},\"cache_read_input_tokens\":{bad}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\n"
        );
        let (_, reply) = decode(anthropic::Decoder::default(), &[stream.as_bytes()]);
        assert_eq!(reply.unwrap().usage, expected, "{bad}");
        let stream = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{bad},\"prompt_tokens_details\":{{\"cached_tokens\":{bad}}}}}}}\n\n"
        );
        let (_, reply) = decode(openai::Decoder::default(), &[stream.as_bytes()]);
        assert_eq!(reply.unwrap().usage, expected, "{bad}");
    }
}

/// Returns a stream in which each part that ends with `between` is repeated.
pub(super) fn twice(stream: &str, between: &str) -> String {
    let events = stream.split_terminator(between);
    let twice = events.flat_map(|e| [e, between, e, between]);
    twice.collect::<Vec<_>>().concat()
}

/// Returns the id of each tool call in `reply`, and whether the input of the call is invalid.
pub(super) fn ids(reply: &Reply) -> Vec<(String, bool)> {
    let calls = reply.blocks.iter().filter_map(|b| match b {
        Block::ToolCall(call) => Some((call.id.to_string(), call.broken.is_some())),
        _ => None,
    });
    calls.collect()
}

#[test]
fn repeated_events_do_not_repeat_tool_calls() {
    let rich = twice(ANTHROPIC[1].1, "\n\n");
    let (_, reply) = decode(anthropic::Decoder::default(), &[rich.as_bytes()]);
    // The input of the tool call `t1` was received twice and is therefore invalid, so the model is asked for this input
    // again.
    let expected = [("t1".to_string(), true), ("t2".to_string(), false)];
    assert_eq!(ids(&reply.unwrap()), expected);
    let llama = twice(OPENAI[0].1, "\n\n");
    let (_, reply) = decode(openai::Decoder::default(), &[llama.as_bytes()]);
    assert_eq!(ids(&reply.unwrap()).len(), 1);
}

#[test]
fn done_marker_ends_a_stream_that_stays_open() {
    let content = r#"data: {"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}"#;
    let finish = r#"data: {"choices":[{"delta":{},"finish_reason":"length"}]}"#;
    for (stream, stop) in [
        (format!("{content}\n\n{finish}\n\n"), StopReason::MaxTokens),
        (format!("{content}\n\n"), StopReason::EndTurn),
    ] {
        let mut out = Vec::new();
        let mut decoder = openai::Decoder::default();
        for event in SseDecoder::default()
            .feed(format!("{stream}data: [DONE]\n\n").as_bytes())
            .unwrap()
        {
            decoder.event(&event, &mut out).unwrap();
        }
        let Some(Delta::Done(reply)) = out.pop() else {
            panic!("{stream}");
        };
        assert_eq!((reply.stop, reply.blocks), (stop, vec![Block::text("hi")]));
    }
    let (_, nothing) = decode(openai::Decoder::default(), &[b"data: [DONE]\n\n"]);
    assert_eq!(nothing.unwrap_err().kind, ErrorKind::Truncated);
}

/// Feeds `begin` once and then `more` repeatedly until the decoder fails. Returns how often `more` was fed, and the
/// error.
pub(super) fn feed_until_error(
    mut decoder: impl Decode,
    begin: &str,
    more: &str,
) -> (usize, ModelError) {
    let mut sse = SseDecoder::default();
    let mut events = sse.feed(begin.as_bytes()).unwrap();
    for count in 0.. {
        for event in &events {
            if let Err(error) = decoder.event(event, &mut Vec::new()) {
                return (count, error);
            }
        }
        events = sse.feed(more.as_bytes()).unwrap();
    }
    unreachable!()
}

#[test]
fn endless_response_is_an_error() {
    let long = "x".repeat(64 * 1024);
    let block = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"bash","input":{}}}"#;
    let input = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":"{long}"}}}}"#
    );
    let arguments = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{long}"}}}}]}}}}]}}"#
    );
    for (count, error) in [
        feed_until_error(
            anthropic::Decoder::default(),
            &format!("data: {block}\n\n"),
            &format!("data: {input}\n\n"),
        ),
        feed_until_error(
            openai::Decoder::default(),
            "data: {}\n\n",
            &format!("data: {arguments}\n\n"),
        ),
    ] {
        assert_eq!(error.kind, ErrorKind::InvalidResponse);
        assert!((120..=130).contains(&count), "{count} times 64 KiB");
    }
}

#[test]
fn root_cause_has_no_os_error_number() {
    let refused = std::io::Error::from_raw_os_error(111);
    assert_eq!(super::refusal::root_cause(&refused), "Connection refused");
    let own = std::io::Error::other("no route (os 7)");
    assert_eq!(super::refusal::root_cause(&own), "no route (os 7)");
}
