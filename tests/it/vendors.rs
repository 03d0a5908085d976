//! Requests of every role on all wire formats, checked against the vendors' published rules, and the handling of tool
//! names that no vendor accepts.

pub mod rules;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};

use crewdeck::tools::table::TABLE;
use rules::{Wire, conversation, violations};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::common::project::Project;

/// The role of the agent that sends a request. It is recognized by the tools that the request offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Lead,
    Teammate,
    Worker,
    Explorer,
}

const WIRES: [Wire; 3] = [Wire::OpenAi, Wire::Responses, Wire::Anthropic];

const ROLES: [Role; 4] = [Role::Lead, Role::Teammate, Role::Worker, Role::Explorer];

fn role(wire: Wire, body: &Value) -> Role {
    let tools = body["tools"].as_array().unwrap();
    let name = |tool: &Value| match wire {
        Wire::OpenAi => tool["function"]["name"].clone(),
        Wire::Responses | Wire::Anthropic => tool["name"].clone(),
    };
    let names: Vec<Value> = tools.iter().map(name).collect();
    let has = |name: &str| names.iter().any(|n| n == name);
    match (has("spawn_teammate"), has("todo"), has("write_file")) {
        (true, ..) => Role::Lead,
        (_, true, _) => Role::Teammate,
        (_, _, true) => Role::Worker,
        _ => Role::Explorer,
    }
}

/// A model server that makes each agent call each of its tools once, with the smallest input that the schema allows.
/// Its answers are not streamed.
struct EveryToolServer {
    wire: Wire,
    seen: Mutex<BTreeSet<Role>>,
}

impl Respond for EveryToolServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let role = role(self.wire, &body);
        let mut calls = Vec::new();
        if self.seen.lock().unwrap().insert(role) {
            calls = minimal_calls(self.wire, &body);
            if role == Role::Lead {
                let input = json!({"prompt": "Do it.", "description": null, "kind": "general"});
                calls.push(("task".into(), input));
            }
        }
        ResponseTemplate::new(200).set_body_json(response_body(self.wire, &calls))
    }
}

/// Returns a call for each tool that a request offers, except `compact`, which would replace the conversation.
fn minimal_calls(wire: Wire, body: &Value) -> Vec<(String, Value)> {
    let tools = body["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| match wire {
            Wire::OpenAi => (&tool["function"]["name"], &tool["function"]["parameters"]),
            Wire::Responses => (&tool["name"], &tool["parameters"]),
            Wire::Anthropic => (&tool["name"], &tool["input_schema"]),
        })
        .map(|(name, schema)| (name.as_str().unwrap().to_string(), minimal_value(schema)))
        .filter(|(name, _)| name != "compact")
        .map(|(name, mut input)| {
            if name == "spawn_teammate" {
                input["name"] = "bob".into();
            }
            (name, input)
        })
        .collect()
}

fn response_body(wire: Wire, calls: &[(String, Value)]) -> Value {
    let calls = calls.iter().enumerate();
    match wire {
        Wire::OpenAi => {
            let calls: Vec<Value> = calls
                .map(|(n, (name, input))| {
                    json!({"id": format!("c{n}"), "type": "function",
                    "function": {"name": name, "arguments": input.to_string()}})
                })
                .collect();
            json!({"choices": [{"message": {"content": "Fine.", "tool_calls": calls}, "finish_reason": "stop"}]})
        }
        Wire::Responses => {
            let mut output = vec![
                json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAx"}),
                json!({"type": "message", "id": "msg_1", "role": "assistant",
                    "content": [{"type": "output_text", "text": "Fine.", "annotations": []}]}),
            ];
            output.extend(calls.map(|(n, (name, input))| {
                json!({"type": "function_call", "id": format!("fc_{n}"),
                "call_id": format!("c{n}"), "name": name, "arguments": input.to_string()})
            }));
            json!({"object": "response", "status": "completed", "output": output})
        }
        Wire::Anthropic => {
            let mut content = vec![json!({"type": "text", "text": "Fine."})];
            content.extend(calls.map(|(n, (name, input))| json!({"type": "tool_use", "id": format!("c{n}"), "name": name, "input": input})));
            json!({"type": "message", "content": content, "stop_reason": "end_turn"})
        }
    }
}

fn provider(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenAi => "openai",
        Wire::Responses => "responses",
        Wire::Anthropic => "anthropic",
    }
}

/// Runs a crew with agents of every role, and returns the bodies of all its requests.
fn crew_requests(wire: Wire) -> Vec<Value> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .respond_with(EveryToolServer {
                wire,
                seen: Mutex::default(),
            })
            .mount(&server)
            .await;
        server
    });
    let project = Project::repository(&[("README.md", "# x\n")]);
    let provider = provider(wire);
    let url = format!("{}/v1", server.uri());
    let args = [
        "run",
        "go",
        "--provider",
        provider,
        "--base-url",
        &url,
        "--model",
        "m",
        "--tool",
        "auto",
        "--plan",
        "auto",
        "--shutdown",
        "auto",
    ];
    let ran = project.run(&args);
    assert!([0, 4].contains(&ran.code()), "{}", ran.err());
    let requests = runtime.block_on(server.received_requests()).unwrap();
    requests
        .iter()
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect()
}

#[test]
fn requests_of_every_role_follow_the_vendors_rules() {
    for wire in WIRES {
        let bodies = crew_requests(wire);
        let roles: BTreeSet<Role> = bodies.iter().map(|body| role(wire, body)).collect();
        assert_eq!(roles, BTreeSet::from(ROLES), "{wire:?}");
        for body in &bodies {
            let role = role(wire, body);
            assert_eq!(violations(wire, body), [""; 0], "{wire:?} {role:?}");
        }
        // The tools accept the inputs that their schemas require, with `null` for optional fields.
        let conversations: Vec<String> = bodies
            .iter()
            .map(|b| conversation(wire, b).to_string())
            .collect();
        let misfits = conversations
            .iter()
            .filter(|t| t.contains("does not match the tool's schema"));
        assert_eq!(misfits.collect::<Vec<_>>(), [""; 0]);
        for tool in TABLE.iter().filter(|tool| tool.name != "compact") {
            let is_called = conversations
                .iter()
                .any(|t| t.contains(&format!("\"{}\"", tool.name)));
            assert!(is_called, "{}", tool.name);
        }
    }
}

/// Invalid tool names that a model may send, each with the name that replaces it in the conversation.
const INVALID_NAMES: [(&str, &str); 4] = [
    ("read file", "read_file_"),
    ("functions.bash:0", "functions_bash_0_"),
    ("", "_"),
    ("выполнить", "__________"),
];

/// A model server that makes the lead call tools with the invalid names `names`, once.
struct InvalidToolServer {
    wire: Wire,
    names: Vec<String>,
    client_pid: Arc<OnceLock<u32>>,
    /// The peak memory of crewdeck in KiB at the time when it sends the tool results.
    peak: Arc<OnceLock<u64>>,
}

impl Respond for InvalidToolServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let is_first = conversation(self.wire, &body).as_array().unwrap().len() <= 2;
        let calls: Vec<(String, Value)> = if is_first {
            let names = self.names.iter().cloned();
            names.map(|name| (name, json!({}))).collect()
        } else {
            let status = format!("/proc/{}/status", self.client_pid.wait());
            let status = std::fs::read_to_string(status).unwrap();
            let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
            let number = line.split_whitespace().nth(1).unwrap().parse();
            self.peak.set(number.unwrap()).unwrap();
            Vec::new()
        };
        ResponseTemplate::new(200).set_body_json(response_body(self.wire, &calls))
    }
}

/// Runs a lead whose model calls tools with these names. Returns the bodies of its two requests, its stderr, and its
/// peak memory in KiB.
fn run_with_tool_names(wire: Wire, names: Vec<String>) -> (Vec<Value>, String, u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (client_pid, peak) = (Arc::<OnceLock<u32>>::default(), Arc::default());
    let inventor = InvalidToolServer {
        wire,
        names,
        client_pid: Arc::clone(&client_pid),
        peak: Arc::clone(&peak),
    };
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(inventor);
        mock.mount(&server).await;
        server
    });
    let project = Project::git();
    let url = format!("{}/v1", server.uri());
    let provider = provider(wire);
    let args = [
        "run",
        "go",
        "--provider",
        provider,
        "--base-url",
        &url,
        "--model",
        "m",
    ];
    let mut command = project.command(&args);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client_pid.set(child.id()).unwrap();
    let out = child.wait_with_output().unwrap();
    let progress = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{progress}");
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let bodies: Vec<Value> = requests
        .iter()
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect();
    assert_eq!(bodies.len(), 2);
    (bodies, progress, *peak.get().unwrap())
}

#[test]
fn invalid_tool_name_is_answered_and_not_sent_back() {
    for wire in WIRES {
        let names = INVALID_NAMES.map(|(name, _)| name.to_string()).to_vec();
        let (bodies, ..) = run_with_tool_names(wire, names);
        assert_eq!(violations(wire, &bodies[1]), [""; 0], "{wire:?}");
        let conversation = conversation(wire, &bodies[1]).to_string();
        for (name, sanitized) in INVALID_NAMES {
            assert!(
                conversation.contains(&format!("\"name\":\"{sanitized}\"")),
                "{sanitized}: {conversation}"
            );
            assert!(
                name.is_empty() || !conversation.contains(name),
                "{name}: {conversation}"
            );
            assert!(
                conversation.contains(&format!("Unknown tool: {sanitized}")),
                "{conversation}"
            );
        }
        assert!(
            conversation.contains("Did you mean read_file?"),
            "{conversation}"
        );
    }
}

/// A model server of all wire formats that answers without calls.
struct AnsweringServer;

impl Respond for AnsweringServer {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let wire = match request.url.path() {
            "/v1/responses" => Wire::Responses,
            "/v1/messages" => Wire::Anthropic,
            _ => Wire::OpenAi,
        };
        ResponseTemplate::new(200).set_body_json(response_body(wire, &[]))
    }
}

#[test]
fn resumed_session_keeps_reasoning_for_its_server_only() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(AnsweringServer);
        mock.mount(&server).await;
        server
    });
    let url = format!("{}/v1", server.uri());
    let project = Project::git();
    let run = |wire: Wire, options: &[&str]| {
        let server = [
            "--provider",
            provider(wire),
            "--base-url",
            &url,
            "--model",
            "m",
        ];
        let ran = project.run(&[&["run"], options, &server].concat());
        assert_eq!(ran.code(), 0, "{}", ran.err());
    };
    run(Wire::Responses, &["first"]);
    run(Wire::Responses, &["--resume", "second"]);
    run(Wire::Anthropic, &["--resume", "third"]);
    run(Wire::OpenAi, &["--resume", "fourth"]);
    run(Wire::Responses, &["--resume", "fifth"]);
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let posts = requests.iter().filter(|r| !r.body.is_empty());
    let bodies: Vec<Value> = posts
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect();
    let counts = bodies
        .iter()
        .map(|body| body.to_string().matches("gAAAx").count());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 1, 0, 0, 2]);
    for body in [&bodies[1], &bodies[4]] {
        assert_eq!(violations(Wire::Responses, body), [""; 0]);
    }
}

#[test]
fn two_megabyte_tool_name_is_truncated_everywhere() {
    for wire in WIRES {
        let (_, _, baseline) = run_with_tool_names(wire, vec!["bash_".into()]);
        let (bodies, progress, peak) = run_with_tool_names(wire, vec!["x".repeat(2 * 1024 * 1024)]);
        assert_eq!(violations(wire, &bodies[1]), [""; 0], "{wire:?}");
        assert!(
            progress.len() < 4096,
            "{} bytes of progress",
            progress.len()
        );
        // Allows a few copies of the response itself.
        let growth = peak.saturating_sub(baseline) / 1024;
        assert!(growth < 32, "{wire:?}: {growth} MiB more than usual");
    }
}

/// Returns the smallest value that a strict schema allows: `null` if possible, and single items.
fn minimal_value(schema: &Value) -> Value {
    if let Some(choices) = schema["anyOf"].as_array() {
        return minimal_value(choices.last().unwrap());
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => panic!("{schema}"),
    };
    match kinds.last().copied() {
        Some("null") => Value::Null,
        Some("string") => "x".into(),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        Some("array") => json!([minimal_value(&schema["items"])]),
        Some("object") => {
            let fields = schema["properties"].as_object().unwrap();
            fields
                .iter()
                .map(|(k, v)| (k.clone(), minimal_value(v)))
                .collect()
        }
        other => panic!("{other:?}"),
    }
}
