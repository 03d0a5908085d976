//! Requests as the vendors want them: every role's on both wires, checked against the published rules; and what is sent
//! back of tool names that no vendor takes.

mod rules;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock};

use crewdeck::tools::table::TABLE;
use rules::{Wire, broken};
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::common::project::Project;

/// Who sent a request, as its tools tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Lead,
    Teammate,
    Worker,
    Explorer,
}

const ROLES: [Role; 4] = [Role::Lead, Role::Teammate, Role::Worker, Role::Explorer];

fn role(wire: Wire, body: &Value) -> Role {
    let tools = body["tools"].as_array().unwrap();
    let name = |tool: &Value| match wire {
        Wire::OpenAi => tool["function"]["name"].clone(),
        Wire::Anthropic => tool["name"].clone(),
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

/// A server whose agents call each of their tools once, with the least input that its schema allows. It answers whole,
/// as servers do that cannot stream.
struct Script {
    wire: Wire,
    seen: Mutex<BTreeSet<Role>>,
}

impl Respond for Script {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let role = role(self.wire, &body);
        let mut calls = Vec::new();
        if self.seen.lock().unwrap().insert(role) {
            calls = least_calls(self.wire, &body);
            if role == Role::Lead {
                let input = json!({"prompt": "Do it.", "description": null, "kind": "general"});
                calls.push(("task".into(), input));
            }
        }
        ResponseTemplate::new(200).set_body_json(answer(self.wire, &calls))
    }
}

/// A call of each tool that a request offers; the summary that `compact` asks for would end the story.
fn least_calls(wire: Wire, body: &Value) -> Vec<(String, Value)> {
    let tools = body["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| match wire {
            Wire::OpenAi => (&tool["function"]["name"], &tool["function"]["parameters"]),
            Wire::Anthropic => (&tool["name"], &tool["input_schema"]),
        })
        .map(|(name, schema)| (name.as_str().unwrap().to_string(), least(schema)))
        .filter(|(name, _)| name != "compact")
        .map(|(name, mut input)| {
            if name == "spawn_teammate" {
                input["name"] = "bob".into();
            }
            (name, input)
        })
        .collect()
}

fn answer(wire: Wire, calls: &[(String, Value)]) -> Value {
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
        Wire::Anthropic => "anthropic",
    }
}

/// The bodies of all requests of a crew of every role.
fn sent(wire: Wire) -> Vec<Value> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .respond_with(Script {
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
fn every_request_of_every_role_follows_the_vendors_rules() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let bodies = sent(wire);
        let roles: BTreeSet<Role> = bodies.iter().map(|body| role(wire, body)).collect();
        assert_eq!(roles, BTreeSet::from(ROLES), "{wire:?}");
        for body in &bodies {
            let role = role(wire, body);
            assert_eq!(broken(wire, body), [""; 0], "{wire:?} {role:?}");
        }
        // What the schemas ask for is what the tools read, with `null` for all that may be missing.
        let told: Vec<String> = bodies.iter().map(|b| b["messages"].to_string()).collect();
        let misfits = told.iter().filter(|t| t.contains("does not match the tool's schema"));
        assert_eq!(misfits.collect::<Vec<_>>(), [""; 0]);
        for tool in TABLE.iter().filter(|tool| tool.name != "compact") {
            let is_called = told
                .iter()
                .any(|t| t.contains(&format!("\"{}\"", tool.name)));
            assert!(is_called, "{}", tool.name);
        }
    }
}

/// Names that a model invents, and what stands for each in the conversation.
const INVENTED: [(&str, &str); 4] = [
    ("read file", "read_file_"),
    ("functions.bash:0", "functions_bash_0_"),
    ("", "_"),
    ("выполнить", "__________"),
];

/// A lead that calls tools that no vendor takes the names of, once.
struct Inventor {
    wire: Wire,
    names: Vec<String>,
    /// The process that asks, and the most memory that it has used when it comes back with the results, in KiB.
    asker: Arc<OnceLock<u32>>,
    peak: Arc<OnceLock<u64>>,
}

impl Respond for Inventor {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let is_first = body["messages"].as_array().unwrap().len() <= 2;
        let calls: Vec<(String, Value)> = if is_first {
            let names = self.names.iter().cloned();
            names.map(|name| (name, json!({}))).collect()
        } else {
            let status = format!("/proc/{}/status", self.asker.wait());
            let status = std::fs::read_to_string(status).unwrap();
            let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
            let number = line.split_whitespace().nth(1).unwrap().parse();
            self.peak.set(number.unwrap()).unwrap();
            Vec::new()
        };
        ResponseTemplate::new(200).set_body_json(answer(self.wire, &calls))
    }
}

/// What comes of a lead that invents `names`: the bodies of its two requests, what was said on stderr, and the memory.
fn invented(wire: Wire, names: Vec<String>) -> (Vec<Value>, String, u64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (asker, peak) = (Arc::<OnceLock<u32>>::default(), Arc::default());
    let inventor = Inventor {
        wire,
        names,
        asker: Arc::clone(&asker),
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
    asker.set(child.id()).unwrap();
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
fn an_invalid_tool_name_is_answered_and_not_sent_back() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let names = INVENTED.map(|(name, _)| name.to_string()).to_vec();
        let (bodies, ..) = invented(wire, names);
        assert_eq!(broken(wire, &bodies[1]), [""; 0], "{wire:?}");
        let told = bodies[1]["messages"].to_string();
        for (name, sent) in INVENTED {
            assert!(
                told.contains(&format!("\"name\":\"{sent}\"")),
                "{sent}: {told}"
            );
            assert!(name.is_empty() || !told.contains(name), "{name}: {told}");
            assert!(told.contains(&format!("Unknown tool: {sent}")), "{told}");
        }
        assert!(told.contains("Did you mean read_file?"), "{told}");
    }
}

#[test]
fn a_tool_name_of_two_megabytes_is_bounded_everywhere() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let (_, _, usual) = invented(wire, vec!["bash_".into()]);
        let (bodies, progress, peak) = invented(wire, vec!["x".repeat(2 * 1024 * 1024)]);
        assert_eq!(broken(wire, &bodies[1]), [""; 0], "{wire:?}");
        assert!(
            progress.len() < 4096,
            "{} bytes of progress",
            progress.len()
        );
        // A few copies of the answer itself, and no more.
        let more = peak.saturating_sub(usual) / 1024;
        assert!(more < 32, "{wire:?}: {more} MiB more than usual");
    }
}

/// The least input that a strict schema allows.
fn least(schema: &Value) -> Value {
    if let Some(choices) = schema["anyOf"].as_array() {
        return least(choices.last().unwrap());
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
        Some("array") => json!([least(&schema["items"])]),
        Some("object") => {
            let fields = schema["properties"].as_object().unwrap();
            fields.iter().map(|(k, v)| (k.clone(), least(v))).collect()
        }
        other => panic!("{other:?}"),
    }
}
