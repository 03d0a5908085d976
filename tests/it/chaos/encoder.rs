//! Encodes model replies as the server-sent events of each API.

use serde_json::{Value, json};

use super::request::Wire;
use super::scripted_model::Reply;

pub fn error_body(wire: Wire, kind: &str, message: &str) -> String {
    match wire {
        Wire::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
        Wire::Completions | Wire::Responses => {
            json!({"error": {"type": kind, "message": message, "code": null}})
        }
    }
    .to_string()
}

/// Encodes one reply as server-sent events. `id` must be unique, because the ids in the reply are built from it.
pub struct ResponseEncoder {
    wire: Wire,
    id: String,
    usage: Value,
}

impl ResponseEncoder {
    pub fn new(wire: Wire, id: &str) -> ResponseEncoder {
        ResponseEncoder {
            wire,
            id: id.into(),
            usage: match wire {
                Wire::Messages | Wire::Responses => {
                    json!({"input_tokens": 900, "output_tokens": 12})
                }
                Wire::Completions => {
                    json!({"prompt_tokens": 900, "completion_tokens": 12, "total_tokens": 912})
                }
            },
        }
    }

    /// Replaces the token counts by an invalid value (negative, too large or a text) or leaves them out, depending on
    /// `nth`.
    pub fn set_invalid_usage(&mut self, nth: u64) {
        let bad = match nth % 4 {
            0 => json!(-5),
            1 => json!(u64::MAX),
            2 => json!("many"),
            _ => json!(1e300),
        };
        self.usage = match (self.wire, nth % 5) {
            (_, 4) => Value::Null,
            (Wire::Messages, _) => {
                json!({"input_tokens": bad, "output_tokens": bad, "cache_read_input_tokens": bad})
            }
            (Wire::Completions, _) => {
                json!({"prompt_tokens": bad, "completion_tokens": bad, "prompt_tokens_details": {"cached_tokens": bad}})
            }
            (Wire::Responses, _) => {
                json!({"input_tokens": bad, "output_tokens": bad, "input_tokens_details": {"cached_tokens": bad}})
            }
        };
    }

    fn event(&self, value: &Value) -> String {
        match self.wire {
            Wire::Messages | Wire::Responses => format!(
                "event: {}\ndata: {value}\n\n",
                value["type"].as_str().unwrap()
            ),
            Wire::Completions => format!("data: {value}\n\n"),
        }
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        self.event(
            &json!({"id": self.id, "object": "chat.completion.chunk", "model": "played",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}),
        )
    }

    /// Returns the start of a reply with its first text.
    pub fn first_events(&self) -> String {
        match self.wire {
            Wire::Messages => {
                let start = json!({"type": "message_start", "message": {"id": self.id, "type": "message", "role": "assistant", "content": [], "usage": self.usage}});
                let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
                let words = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well, "}});
                [start, block, words]
                    .iter()
                    .map(|v| self.event(v))
                    .collect()
            }
            Wire::Completions => {
                self.delta(&json!({"role": "assistant", "content": "Well, "}), None)
            }
            Wire::Responses => {
                let created = json!({"type": "response.created", "response": self.response("in_progress", &[])});
                let item =
                    json!({"type": "message", "id": "msg-0", "role": "assistant", "content": []});
                let added =
                    json!({"type": "response.output_item.added", "output_index": 0, "item": item});
                [created, added, text_delta(0, "msg-0", "Well, ")]
                    .iter()
                    .map(|v| self.event(v))
                    .collect()
            }
        }
    }

    /// Returns the start of a call of `write_file` that is never completed.
    pub fn begin_tool_call(&self) -> String {
        match self.wire {
            Wire::Messages => self.event(&json!({"type": "content_block_start", "index": 7, "content_block": {"type": "tool_use", "id": "never", "name": "write_file", "input": {}}})),
            Wire::Completions => {
                let call = json!({"index": 0, "id": "never", "type": "function", "function": {"name": "write_file", "arguments": ""}});
                self.delta(&json!({"tool_calls": [call]}), None)
            }
            Wire::Responses => {
                let item = json!({"type": "function_call", "id": "fc-7", "call_id": "never", "name": "write_file", "arguments": ""});
                self.event(&json!({"type": "response.output_item.added", "output_index": 7, "item": item}))
            }
        }
    }

    /// Returns an event that adds `text` to the input of the call from [`Self::begin_tool_call`].
    pub fn tool_input_delta(&self, text: &str) -> String {
        match self.wire {
            Wire::Messages => self.event(&json!({"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": text}})),
            Wire::Completions => {
                let call = json!({"index": 0, "function": {"arguments": text}});
                self.delta(&json!({"tool_calls": [call]}), None)
            }
            Wire::Responses => self.event(&arguments_delta(7, "fc-7", text)),
        }
    }

    /// Returns an error that a server reports within a stream, after status 200.
    pub fn error_event(&self) -> String {
        match self.wire {
            Wire::Messages => self.event(&json!({"type": "error", "error": {"details": null, "type": "overloaded_error", "message": "Overloaded"}})),
            Wire::Completions => self.event(&json!({"error": {"code": 503, "type": "unavailable_error", "message": "Loading model"}})),
            Wire::Responses => self.event(&json!({"type": "error", "code": "server_error", "message": "Overloaded", "param": null})),
        }
    }

    /// Returns events of a type that the API does not have; clients must ignore them.
    pub fn unknown_event(&self) -> String {
        match self.wire {
            Wire::Messages => "event: weather\ndata: {\"type\": \"weather\", \"index\": 3}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n".into(),
            Wire::Completions => "event: weather\ndata: {\"object\": \"weather\", \"choices\": []}\n\n".into(),
            Wire::Responses => "event: response.weather\ndata: {\"type\": \"response.weather\", \"output_index\": 3}\n\n".into(),
        }
    }

    /// Returns all events of a reply, with the closing event last.
    pub fn encode(&self, reply: &Reply) -> Vec<String> {
        match self.wire {
            Wire::Messages => self.messages(reply),
            Wire::Completions => self.completions(reply),
            Wire::Responses => self.responses(reply),
        }
    }

    fn messages(&self, reply: &Reply) -> Vec<String> {
        let mut out = vec![
            json!({"type": "message_start", "message": {"id": self.id, "type": "message", "role": "assistant", "content": [], "usage": self.usage}}),
        ];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            out.push(
                json!({"type": "content_block_start", "index": index, "content_block": start}),
            );
            for delta in deltas {
                out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
            }
            out.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if !reply.text.is_empty() {
            let words = |text: &str| json!({"type": "text_delta", "text": text});
            let (one, two) = split_in_half(&reply.text);
            block(
                json!({"type": "text", "text": ""}),
                vec![words(one), words(two)],
            );
        }
        for (at, (name, input)) in reply.calls.iter().enumerate() {
            let text = input.to_string();
            let (one, two) = split_in_half(&text);
            let part = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
            let id = format!("call-{}-{at}", self.id);
            block(
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                vec![part(""), part(one), part(two)],
            );
        }
        let stop = if reply.calls.is_empty() {
            "end_turn"
        } else {
            "tool_use"
        };
        out.push(
            json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": self.usage}),
        );
        out.push(json!({"type": "message_stop"}));
        out.iter().map(|v| self.event(v)).collect()
    }

    fn completions(&self, reply: &Reply) -> Vec<String> {
        let mut out = vec![self.delta(&json!({"role": "assistant", "content": ""}), None)];
        let (one, two) = split_in_half(&reply.text);
        for words in [one, two] {
            out.push(self.delta(&json!({"content": words}), None));
        }
        for (at, (name, input)) in reply.calls.iter().enumerate() {
            let text = input.to_string();
            let (one, two) = split_in_half(&text);
            let id = format!("call-{}-{at}", self.id);
            let first = json!({"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": one}});
            let then = json!({"index": at, "function": {"arguments": two}});
            for part in [first, then] {
                out.push(self.delta(&json!({"tool_calls": [part]}), None));
            }
        }
        let finish = if reply.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        };
        out.push(self.delta(&json!({}), Some(finish)));
        out.push(self.event(&json!({"id": self.id, "choices": [], "usage": self.usage})));
        out.push("data: [DONE]\n\n".into());
        out
    }

    fn responses(&self, reply: &Reply) -> Vec<String> {
        let mut out = vec![
            json!({"type": "response.created", "response": self.response("in_progress", &[])}),
        ];
        let mut output = Vec::new();
        let mut add = |empty: Value, whole: Value, deltas: Vec<Value>| {
            let index = output.len();
            out.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": empty}),
            );
            out.extend(deltas);
            out.push(
                json!({"type": "response.output_item.done", "output_index": index, "item": whole}),
            );
            output.push(whole);
        };
        if !reply.text.is_empty() {
            let item = |content: Value| json!({"type": "message", "id": "msg-0", "role": "assistant", "content": content});
            let (one, two) = split_in_half(&reply.text);
            add(
                item(json!([])),
                item(json!([{"type": "output_text", "text": reply.text, "annotations": []}])),
                vec![text_delta(0, "msg-0", one), text_delta(0, "msg-0", two)],
            );
        }
        let first = usize::from(!reply.text.is_empty());
        for (at, (name, input)) in reply.calls.iter().enumerate() {
            let text = input.to_string();
            let (one, two) = split_in_half(&text);
            let (item_id, call_id) = (format!("fc-{at}"), format!("call-{}-{at}", self.id));
            let item = |arguments: &str| json!({"type": "function_call", "id": item_id, "call_id": call_id, "name": name, "arguments": arguments});
            let delta = |part: &str| arguments_delta(first + at, &item_id, part);
            add(item(""), item(&text), vec![delta(one), delta(two)]);
        }
        out.push(
            json!({"type": "response.completed", "response": self.response("completed", &output)}),
        );
        out.iter().map(|v| self.event(v)).collect()
    }

    /// Returns a response of the Responses API with these output items.
    fn response(&self, status: &str, output: &[Value]) -> Value {
        json!({"id": self.id, "object": "response", "model": "played", "status": status, "error": null,
            "output": output, "usage": self.usage})
    }
}

fn text_delta(index: usize, item: &str, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": index, "item_id": item, "content_index": 0, "delta": delta})
}

fn arguments_delta(index: usize, item: &str, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": item, "delta": delta})
}

fn split_in_half(text: &str) -> (&str, &str) {
    text.split_at(text.ceil_char_boundary(text.len() / 2))
}
