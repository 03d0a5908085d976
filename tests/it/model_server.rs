//! A crew with a model server: messages that are sent before the first token, the context window that the server lists, and a
//! server that is never available.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::common::project::{Project, RunResult};
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const MODEL: &[&str] = &["--provider", "anthropic", "--model", "big-1"];

/// Returns the environment with which crewdeck uses `server`.
fn environment(server: &MockServer) -> [(&'static str, String); 2] {
    [
        ("ANTHROPIC_API_KEY", "a-key".into()),
        ("ANTHROPIC_BASE_URL", server.uri()),
    ]
}

/// Answers each request with `Reply to TEXT`, where TEXT is the end of the last message. The answer to the first
/// request begins when the test allows it.
struct Replies {
    has_request: Sender<()>,
    may_answer: Mutex<Option<Receiver<()>>>,
}

impl Respond for Replies {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if let Some(may_answer) = self.may_answer.lock().unwrap().take() {
            self.has_request.send(()).unwrap();
            // If the test has failed, the sender is gone.
            let _ = may_answer.recv();
        }
        let body: Value = request.body_json().unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let blocks = last["content"].as_array().unwrap();
        let text = blocks.last().unwrap()["text"].as_str().unwrap();
        let events = [
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
                "content": [], "model": "big-1", "usage": {"input_tokens": 5_000, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": format!("Reply to {text}")}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
            json!({"type": "message_stop"}),
        ];
        let line = |event: &Value| {
            let kind = event["type"].as_str().unwrap();
            format!("event: {kind}\ndata: {event}\n\n")
        };
        let body: String = events.iter().map(line).collect();
        ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
    }
}

#[test]
fn message_sent_before_the_first_token_comes_after_the_answer() {
    let runtime = Runtime::new().unwrap();
    let (has_request, requested) = channel();
    let (allow, may_answer) = channel();
    let replies = Replies {
        has_request,
        may_answer: Mutex::new(Some(may_answer)),
    };
    let models = json!({"data": [{"id": "big-1", "max_input_tokens": 20_000}], "has_more": false});
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(ResponseTemplate::new(200).set_body_json(models))
            .mount(&server)
            .await;
        Mock::given(method("POST"))
            .respond_with(replies)
            .mount(&server)
            .await;
        server
    });
    let project = Project::repository(&[("a.txt", "one\n")]);
    let environment = environment(&server);
    let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut screen = Screen::start_program(program, project.path(), 100, 30, MODEL, &environment);
    screen.wait_for("│ ");
    // The mock server answers one request at a time, so the list of models must not come after the call that waits.
    wait_until("the request for the list of models", || {
        let requests = runtime.block_on(server.received_requests()).unwrap();
        requests.iter().any(|r| r.method.as_str() == "GET")
    });
    screen.send_and_wait_for("first question\r", "› first question");
    requested.recv().unwrap();
    screen.send_and_wait_for("second question\r", "queued: second question");
    allow.send(()).unwrap();
    let text = screen.wait_for("Reply to second question");
    let rows = [
        "› first question",
        "Reply to first question",
        "› second question",
        "Reply to second question",
    ]
    .map(|words| text.lines().position(|line| line.contains(words)));
    assert!(
        rows.is_sorted() && rows.iter().all(Option::is_some),
        "{text}"
    );
    // While the lead is still in its turn, crewdeck asks before it quits.
    let mut text = screen.wait_for("○ 1 idle");
    // 5,000 of the 20,000 tokens that the list of models gives as the context window, and the estimate of what followed.
    // If the list arrives after the last call of the model, the window is known from the next call on.
    for number in 1..20 {
        if text.contains("ctx 2") {
            break;
        }
        screen.send_and_wait_for(
            &format!("question {number}\r"),
            &format!("Reply to question {number}"),
        );
        text = screen.wait_for("○ 1 idle");
    }
    assert!(text.contains("ctx 2"), "{text}");
    screen.send("/quit\r");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);
}

#[test]
#[ignore = "takes five minutes: the waits between the tries are real"]
fn server_that_answers_503_without_end_ends_the_run_after_eight_tries() {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let error =
            json!({"type": "error", "error": {"type": "api_error", "message": "We are down."}});
        Mock::given(method("POST"))
            .respond_with(ResponseTemplate::new(503).set_body_json(error))
            .mount(&server)
            .await;
        server
    });
    let project = Project::repository(&[("a.txt", "one\n")]);
    let mut command = project.command(&["run", "go"]);
    command.args(MODEL).envs(environment(&server));
    let ran = RunResult(command.output().unwrap());
    assert_ne!(ran.code(), 0);
    assert!(ran.err().contains("We are down."), "{}", ran.err());
    let requests = runtime.block_on(server.received_requests()).unwrap();
    let calls = requests.iter().filter(|r| r.method.as_str() == "POST");
    assert_eq!(calls.count(), 8, "{}", ran.err());
}
