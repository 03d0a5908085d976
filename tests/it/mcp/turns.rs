//! MCP servers during the turns of an agent: slow starts, cancellation, and the tool definitions in requests.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::crew::{project, results};
use crate::common::project::Project;
use crate::common::pty::Screen;
use crate::common::wait::wait_until;
use crate::vendors::rules::{Wire, conversation, violations};

pub fn open(project: &Project, more: &[&str]) -> Screen {
    let provider = format!("script:{}", project.file("rules.yaml").display());
    let mut args = vec!["--provider", &provider];
    args.extend(more);
    let screen = Screen::start(project.path(), 140, 40, &args);
    screen.wait_for("scripted");
    screen
}

pub fn wait_for_file(path: &std::path::Path) {
    wait_until(&path.display().to_string(), || path.exists());
}

#[test]
fn slow_server_delays_only_the_first_turn_and_is_named() {
    let rules = r"
  - when: begin
    say: first turn done
  - when: again
    calls: [{ tool: mcp__s__echo, input: { text: from the slow one } }]
  - say: done
    times: 0
";
    // The server does not get ready before the first turn has ended.
    let options = ["--begin-with", "begin-now", "--listed", "listed"];
    let project = project(true, &options, rules);
    let mut screen = open(&project, &[]);
    let began = Instant::now();
    screen.send("begin\r");
    screen.wait_for("first turn done");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(4), "{took:?}");
    screen.wait_for("not ready after 5 s: s");
    project.write("begin-now", "");
    wait_for_file(&project.file("listed"));
    screen.send("again\r");
    let text = screen.wait_for("s · echo");
    assert!(text.contains("text: from the slow one"), "{text}");
}

#[test]
fn call_waits_for_a_server_that_is_still_starting() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__echo, input: { text: from the slow one } }]
  - say: done
    times: 0
";
    let project = project(true, &["--begin-with", "begin-now"], rules);
    let events = project.file("events");
    let args = ["run", "begin", "--provider", "script:rules.yaml", "--json"];
    let mut running = project
        .command(&args)
        .stdout(std::fs::File::create(&events).unwrap())
        .spawn()
        .unwrap();
    // The server becomes ready only after the agent has called it.
    wait_until("the call", || {
        let text = std::fs::read_to_string(&events).unwrap();
        text.lines()
            .any(|line| line.contains("tool_started") && line.contains("mcp__s__echo"))
    });
    project.write("begin-now", "");
    running.wait().unwrap();
    let text = std::fs::read_to_string(&events).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        results(&events, "mcp__s__echo"),
        [("lead", "from the slow one")]
    );
}

#[test]
fn interrupt_cancels_the_call_at_the_server() {
    let rules = r"
  - when: begin
    calls: [{ tool: mcp__s__wait, input: { file: never } }]
  - when: again
    calls: [{ tool: mcp__s__echo, input: { text: still works } }]
  - say: all done
    times: 0
";
    let project = project(true, &[], rules);
    let mut screen = open(&project, &["--tool", "auto"]);
    screen.send("begin\r");
    // Progress is shown on the line of the call.
    screen.wait("progress", |text| {
        text.contains("s · wait") && text.lines().any(|line| line.trim_end().ends_with(" step"))
    });
    screen.send("\x03");
    wait_for_file(&project.file("never.cancelled"));
    screen.wait_for("interrupted");
    screen.send("again\r");
    screen.wait_for("still works");
    screen.wait_for("all done");
}

/// A model that searches for a tool, calls the tool that it has found, and ends its turn.
struct SearchingModel {
    wire: Wire,
}

impl Respond for SearchingModel {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let turns = conversation(self.wire, &body).as_array().unwrap();
        let is_answer = |m: &&Value| m["role"] == "assistant";
        let call = match turns.iter().filter(is_answer).count() {
            0 => Some(("tool_search", json!({"query": "extra_123"}))),
            1 => Some((
                "mcp__s__extra_123",
                json!({"headers": {"a": "b"}, "note": null, "limit": null}),
            )),
            _ => None,
        };
        ResponseTemplate::new(200).set_body_json(answer(self.wire, call))
    }
}

fn answer(wire: Wire, call: Option<(&str, Value)>) -> Value {
    match wire {
        Wire::OpenAi => {
            let calls: Vec<Value> = call
                .into_iter()
                .map(|(name, input)| {
                    json!({"id": format!("c-{name}"), "type": "function", "function": {"name": name, "arguments": input.to_string()}})
                })
                .collect();
            json!({"choices": [{"message": {"content": "Fine.", "tool_calls": calls}, "finish_reason": "stop"}]})
        }
        Wire::Responses => {
            let text = json!({"type": "output_text", "text": "Fine.", "annotations": []});
            let mut output =
                vec![json!({"type": "message", "role": "assistant", "content": [text]})];
            output.extend(call.map(|(name, input)| {
                json!({"type": "function_call", "call_id": format!("c-{name}"), "name": name, "arguments": input.to_string()})
            }));
            json!({"object": "response", "status": "completed", "output": output})
        }
        Wire::Anthropic => {
            let mut content = vec![json!({"type": "text", "text": "Fine."})];
            content.extend(call.map(|(name, input)| {
                json!({"type": "tool_use", "id": format!("c-{name}"), "name": name, "input": input})
            }));
            json!({"type": "message", "content": content, "stop_reason": "end_turn"})
        }
    }
}

/// Runs a crew with the model `model` in `project`, and returns the bodies of its model requests.
fn requests(
    project: &Project,
    wire: Wire,
    model: impl Respond + 'static,
    (prompt, approval): (&str, &str),
) -> Vec<Value> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let mock = Mock::given(method("POST")).respond_with(model);
        mock.mount(&server).await;
        server
    });
    let provider = match wire {
        Wire::OpenAi => "openai",
        Wire::Responses => "responses",
        Wire::Anthropic => "anthropic",
    };
    let url = format!("{}/v1", server.uri());
    let args = [
        "run",
        prompt,
        "--provider",
        provider,
        "--base-url",
        &url,
        "--model",
        "m",
        "--tool",
        approval,
    ];
    let mut command = project.command(&args);
    let ran = command
        .env("ANTHROPIC_API_KEY", "key")
        .env("OPENAI_API_KEY", "key")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let posts = requests.iter().filter(|r| !r.body.is_empty());
    posts
        .map(|r| serde_json::from_slice(&r.body).unwrap())
        .collect()
}

fn tools(body: &Value) -> Vec<Value> {
    let mut tools = body["tools"].as_array().unwrap().clone();
    for tool in &mut tools {
        tool.as_object_mut().unwrap().remove("cache_control");
    }
    tools
}

fn name(tool: &Value) -> &str {
    let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
    name.unwrap()
}

/// In the small windows, the definitions exceed their maximum share of the window. In the large one they do not, but
/// there are more tools than a vendor accepts.
#[test]
fn many_tools_are_found_by_search_and_appended() {
    for (wire, window) in [
        (Wire::OpenAi, "100000"),
        (Wire::Responses, "100000"),
        (Wire::Anthropic, "100000"),
        (Wire::OpenAi, "2000000"),
    ] {
        let options = ["--tools", "300", "--instructions", "Call extra tools once."];
        let project = project(true, &options, "  - say: done\n");
        project.write_user_settings(&format!("window = {window}\n"));
        let bodies = requests(&project, wire, SearchingModel { wire }, ("go", "deny"));
        assert_eq!(bodies.len(), 3, "{wire:?}");
        for body in &bodies {
            let mut found = violations(wire, body);
            // Anthropic documents no maximum length of a description.
            found.retain(|rule| wire != Wire::Anthropic || !rule.contains("a description of"));
            assert_eq!(found, [""; 0], "{wire:?} {window}");
        }
        let all: Vec<Vec<Value>> = bodies.iter().map(tools).collect();
        let [first, second, third] = [&all[0], &all[1], &all[2]];
        assert_eq!(name(first.last().unwrap()), "tool_search");
        assert!(!first.iter().any(|tool| name(tool).starts_with("mcp__")));
        assert_eq!(second[..first.len()], first[..], "{wire:?}");
        let found: Vec<&str> = second[first.len()..].iter().map(name).collect();
        assert_eq!(found, ["mcp__s__extra_123"]);
        let found = second.last().unwrap();
        let schema = match wire {
            Wire::OpenAi => &found["function"]["parameters"],
            Wire::Responses => &found["parameters"],
            Wire::Anthropic => &found["input_schema"],
        };
        let free = json!({"type": "object", "additionalProperties": {"type": "string"}});
        assert_eq!(schema["properties"]["headers"], free);
        assert_eq!(schema["properties"]["limit"]["minimum"], 1);
        assert_eq!(schema["required"], json!(["headers", "note"]));
        let output = r#"{\"headers\": {\"a\": \"b\"}, \"note\": null}"#;
        let said = conversation(wire, &bodies[2]).to_string();
        assert!(said.contains(output), "{said}");
        assert_eq!(said.matches("Call extra tools once.").count(), 1, "{said}");
        assert_eq!(second, third);
        let size = |body: &Value| body["tools"].to_string().len();
        assert!(size(&bodies[0]) < 30_000, "{}", size(&bodies[0]));
        // Each request begins like the one before, so that the vendor's prompt cache applies.
        assert_eq!(bodies[0]["system"], bodies[2]["system"]);
        assert_eq!(bodies[0]["instructions"], bodies[2]["instructions"]);
        let mut messages: Vec<Vec<Value>> = bodies
            .iter()
            .map(|body| conversation(wire, body).as_array().unwrap().clone())
            .collect();
        for message in messages.iter_mut().flatten() {
            let blocks = message["content"].as_array_mut().into_iter().flatten();
            for block in blocks {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        for pair in messages.windows(2) {
            assert_eq!(pair[1][..pair[0].len()], pair[0][..], "{wire:?}");
        }
    }
}

/// The prompt of the agent for which [`PatientModel`] adds a tool to the server.
const FIND: &str = "find it";

/// A model that lets the server add a tool, and calls another one until a request defines the new one. With another
/// prompt than [`FIND`], it starts a subagent with that prompt.
struct PatientModel;

fn is_finder(body: &Value) -> bool {
    let turns = body["messages"].as_array().unwrap();
    let first = turns.iter().find(|turn| turn["role"] == "user");
    first.unwrap()["content"].to_string().contains(FIND)
}

fn defines_new_tool(body: &Value) -> bool {
    tools(body).iter().any(|tool| name(tool) == "mcp__s__extra")
}

impl Respond for PatientModel {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let turns = body["messages"].as_array().unwrap();
        let call = match turns.iter().filter(|m| m["role"] == "assistant").count() {
            0 if !is_finder(&body) => Some(("task", json!({"prompt": FIND, "kind": "general"}))),
            0 => Some(("mcp__s__add", json!({"name": "extra"}))),
            round if is_finder(&body) && round < 25 && !defines_new_tool(&body) => {
                Some(("mcp__s__echo", json!({"text": round.to_string()})))
            }
            _ => None,
        };
        ResponseTemplate::new(200).set_body_json(answer(Wire::OpenAi, call))
    }
}

#[test]
fn tools_that_a_server_adds_are_in_the_next_request_of_the_turn() {
    // The lead finds the tool, or a subagent, which has only one turn.
    for prompt in [FIND, "go"] {
        let project = project(true, &[], "  - say: done\n");
        let bodies = requests(&project, Wire::OpenAi, PatientModel, (prompt, "auto"));
        let finders: Vec<&Value> = bodies.iter().filter(|body| is_finder(body)).collect();
        assert!(finders.len() > 1, "{prompt}");
        assert!(!defines_new_tool(finders[0]), "{prompt}");
        assert!(defines_new_tool(finders[finders.len() - 1]), "{prompt}");
    }
}
