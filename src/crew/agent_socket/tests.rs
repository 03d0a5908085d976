//! Tests of the agent socket's protocol, each with a real socket.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, StreamExt};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio_util::codec::{Framed, LinesCodec};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{AgentAccess, AgentSocket};
use crate::agent::external_tools::ToolCalls;
use crate::domain::chat::ToolCall;
use crate::domain::ids::Name;
use crate::protocol::agent_socket::{
    CALL_LINE_MAX, CALLS_MAX, SOCKET_VARIABLE, SocketTool, VERSION,
};
use crate::tools::ToolOutput;

/// What the tool `wait` of [`FakeTools`] reports about its calls.
#[derive(Debug, PartialEq)]
enum CallEvent {
    Started,
    Dropped,
}

/// The tools `echo`, `wait` (which never ends) and `panic` of an agent.
struct FakeTools {
    agent: &'static str,
    events: mpsc::UnboundedSender<CallEvent>,
    /// The number of tools of an MCP server; `None` without such a server.
    more: Option<watch::Sender<u64>>,
}

struct ReportDrop(mpsc::UnboundedSender<CallEvent>);

impl Drop for ReportDrop {
    fn drop(&mut self) {
        let _ = self.0.send(CallEvent::Dropped);
    }
}

impl ToolCalls for FakeTools {
    fn tools(&self) -> Vec<SocketTool> {
        let define = |name: &str| SocketTool {
            name: name.into(),
            description: "A tool".into(),
            schema: json!({"type": "object"}),
            reads_only: false,
            is_destructive: None,
        };
        let more = self.more.as_ref().map_or(0, |more| *more.borrow());
        let own = ["echo", "wait", "panic"].map(define).into_iter();
        own.chain((0..more).map(|n| define(&format!("s__{n}"))))
            .collect()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.more.as_ref()?.subscribe())
    }

    fn call(&self, call: ToolCall) -> BoxFuture<'_, ToolOutput> {
        let (agent, events) = (self.agent, self.events.clone());
        async move {
            match call.name.as_str() {
                "echo" => ToolOutput::ok(format!("{agent}: {}", call.input)),
                "wait" => {
                    let _report = ReportDrop(events.clone());
                    events.send(CallEvent::Started).unwrap();
                    std::future::pending().await
                }
                _ => panic!("as intended"),
            }
        }
        .boxed()
    }
}

/// A socket with the agents ann and bob.
struct Fixture {
    base: tempfile::TempDir,
    stop: CancellationToken,
    tracker: TaskTracker,
    socket: AgentSocket,
    ann: Option<AgentAccess>,
    bob: Option<AgentAccess>,
    events: mpsc::UnboundedReceiver<CallEvent>,
}

impl Fixture {
    async fn new() -> Fixture {
        let base = tempfile::tempdir().unwrap();
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let socket = AgentSocket::new(stop.clone(), tracker.clone());
        let socket = socket.with_base(base.path().to_path_buf());
        assert!(!socket.is_open() && entries(base.path()) == 0);
        let (sender, events) = mpsc::unbounded_channel();
        let mut registered = Vec::new();
        for agent in ["ann", "bob"] {
            let events = sender.clone();
            let tools = Arc::new(FakeTools {
                agent,
                events,
                more: None,
            });
            let name = Name::member(agent).unwrap();
            registered.push(socket.register(name, tools).await.unwrap());
        }
        let (bob, ann) = (registered.pop(), registered.pop());
        Fixture {
            base,
            stop,
            tracker,
            socket,
            ann,
            bob,
            events,
        }
    }

    async fn tasks_end(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    async fn connect(&self) -> Client {
        let [(name, path), _] = self.bob.as_ref().or(self.ann.as_ref()).unwrap().variables();
        assert_eq!(name, SOCKET_VARIABLE);
        let stream = UnixStream::connect(path).await.unwrap();
        Client(Framed::new(stream, LinesCodec::new()))
    }

    /// Connects as the agent of `access`.
    async fn connect_as(&self, access: &AgentAccess) -> Client {
        let mut client = self.connect().await;
        client.hello(&access.variables()[1].1).await;
        assert_eq!(client.next().await["type"], "welcome");
        client
    }

    async fn connect_as_bob(&self) -> Client {
        self.connect_as(self.bob.as_ref().unwrap()).await
    }
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

struct Client(Framed<UnixStream, LinesCodec>);

impl Client {
    async fn send(&mut self, line: Value) {
        self.0.send(line.to_string()).await.unwrap();
    }

    async fn hello(&mut self, token: &str) {
        self.send(json!({"type": "hello", "version": VERSION, "token": token}))
            .await;
    }

    async fn call(&mut self, id: u64, tool: &str) {
        self.send(json!({"type": "call", "id": id, "tool": tool, "input": {"a": id}}))
            .await;
    }

    async fn next(&mut self) -> Value {
        let line = self.0.next().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the reason with which the crew closes the connection.
    async fn error(&mut self) -> String {
        let line = self.next().await;
        assert!(!matches!(self.0.next().await, Some(Ok(_))));
        assert_eq!(line["type"], "error", "{line}");
        line["error"].as_str().unwrap().to_string()
    }
}

#[tokio::test]
async fn valid_token_gets_the_agent_with_its_tools() {
    let fixture = Fixture::new().await;
    let mut client = fixture.connect().await;
    client
        .hello(&fixture.bob.as_ref().unwrap().variables()[1].1)
        .await;
    let welcome = client.next().await;
    assert_eq!(welcome["agent"], "bob");
    let tool = json!({
        "name": "echo",
        "description": "A tool",
        "schema": {"type": "object"},
        "reads_only": false,
    });
    assert_eq!(welcome["tools"][0], tool);
    client.call(7, "echo").await;
    let expected = json!({"type": "result", "id": 7, "text": r#"bob: {"a":7}"#, "is_error": false});
    assert_eq!(client.next().await, expected);
}

#[tokio::test]
async fn each_token_acts_only_for_its_own_agent() {
    let fixture = Fixture::new().await;
    let (ann, bob) = (fixture.ann.as_ref().unwrap(), fixture.bob.as_ref().unwrap());
    assert_ne!(ann.variables()[1], bob.variables()[1]);
    for (access, name) in [(ann, "ann"), (bob, "bob")] {
        let mut client = fixture.connect_as(access).await;
        // A name in the line changes nothing.
        client
            .send(json!({"type": "call", "id": 1, "tool": "echo", "input": {}, "agent": "lead"}))
            .await;
        assert_eq!(client.next().await["text"], format!("{name}: {{}}"));
    }
}

#[tokio::test]
async fn wrong_first_line_closes_the_connection_with_the_reason() {
    let fixture = Fixture::new().await;
    let token = fixture.bob.as_ref().unwrap().variables()[1].1.clone();
    let short = &token[1..];
    for (line, reason) in [
        (
            json!({"type": "hello", "version": VERSION, "token": short}).to_string(),
            "the token is not valid",
        ),
        (
            json!({"type": "hello", "version": VERSION, "token": ""}).to_string(),
            "the token is not valid",
        ),
        (
            json!({"type": "hello", "version": VERSION + 1, "token": token}).to_string(),
            "restart the crew",
        ),
        (
            json!({"type": "call", "id": 1, "tool": "echo"}).to_string(),
            "the first line must be a hello",
        ),
        ("hello".to_string(), "a line is not valid"),
        ("x".repeat(CALL_LINE_MAX + 1), "a line is longer than"),
    ] {
        let mut client = fixture.connect().await;
        // The crew may close the connection before it has read a line that is too long.
        let _ = client.0.send(line).await;
        let error = client.error().await;
        assert!(error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn tool_outside_the_set_and_a_panic_are_errors_of_the_call() {
    let fixture = Fixture::new().await;
    let mut client = fixture.connect_as_bob().await;
    client.call(1, "bash").await;
    let refused = client.next().await;
    assert_eq!(refused["is_error"], true);
    let text = refused["text"].as_str().unwrap();
    assert!(text.starts_with("Error: Unknown tool: bash."), "{text}");
    client.call(2, "panic").await;
    let failed = client.next().await;
    assert_eq!(
        (&failed["id"], &failed["is_error"]),
        (&json!(2), &json!(true))
    );
    client.call(2, "echo").await;
    assert_eq!(client.next().await["is_error"], false);
}

#[tokio::test]
async fn cancelled_call_is_dropped_and_has_no_result() {
    let mut fixture = Fixture::new().await;
    let mut client = fixture.connect_as_bob().await;
    client.call(1, "wait").await;
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Started));
    client.send(json!({"type": "cancel", "id": 1})).await;
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Dropped));
    client.send(json!({"type": "cancel", "id": 9})).await;
    client.call(1, "echo").await;
    assert_eq!(client.next().await["text"], r#"bob: {"a":1}"#);
}

#[tokio::test]
async fn end_of_a_connection_cancels_its_calls() {
    let mut fixture = Fixture::new().await;
    let mut client = fixture.connect_as_bob().await;
    client.call(1, "wait").await;
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Started));
    drop(client);
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Dropped));
}

#[tokio::test]
async fn agent_that_leaves_loses_its_connections_and_calls_but_no_other_does() {
    let mut fixture = Fixture::new().await;
    let mut ann = fixture.connect_as(fixture.ann.as_ref().unwrap()).await;
    let mut bob = fixture.connect_as_bob().await;
    bob.call(1, "wait").await;
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Started));
    let token = fixture.bob.as_ref().unwrap().variables()[1].1.clone();
    fixture.bob = None;
    assert_eq!(bob.error().await, "bob has left the crew");
    assert_eq!(fixture.events.recv().await, Some(CallEvent::Dropped));
    let mut again = fixture.connect().await;
    again.hello(&token).await;
    assert!(again.error().await.contains("the token is not valid"));
    ann.call(1, "echo").await;
    assert_eq!(ann.next().await["is_error"], false);
}

#[tokio::test]
async fn last_agent_that_leaves_closes_the_socket_and_a_new_one_opens_another() {
    let mut fixture = Fixture::new().await;
    let (ann, bob) = (
        fixture.ann.take().unwrap(),
        fixture.bob.as_ref().unwrap().socket.clone(),
    );
    assert_eq!(ann.socket, bob);
    drop(ann);
    assert!(fixture.socket.is_open() && bob.exists());
    fixture.bob = None;
    assert!(!fixture.socket.is_open());
    fixture.tasks_end().await;
    assert_eq!(entries(fixture.base.path()), 0);
    let (events, _) = mpsc::unbounded_channel();
    let tools = Arc::new(FakeTools {
        agent: "eve",
        events,
        more: None,
    });
    let eve = Name::member("eve").unwrap();
    let access = fixture.socket.register(eve, tools).await.unwrap();
    assert!(access.socket.exists() && access.socket != bob);
}

#[tokio::test]
async fn end_of_the_crew_closes_connections_and_removes_the_socket() {
    let fixture = Fixture::new().await;
    let mut client = fixture.connect_as_bob().await;
    fixture.stop.cancel();
    assert_eq!(client.error().await, "the crew has ended");
    fixture.tasks_end().await;
    assert_eq!(entries(fixture.base.path()), 0);
    assert_eq!(fixture.socket.connections(), 0);
    let (events, _) = mpsc::unbounded_channel();
    let tools = Arc::new(FakeTools {
        agent: "eve",
        events,
        more: None,
    });
    let late = fixture.socket.register(Name::member("eve").unwrap(), tools);
    assert!(late.await.is_err());
}

#[tokio::test]
async fn calls_and_connections_are_bounded() {
    let mut fixture = Fixture::new().await;
    let mut client = fixture.connect_as_bob().await;
    for id in 0..CALLS_MAX as u64 {
        client.call(id, "wait").await;
        assert_eq!(fixture.events.recv().await, Some(CallEvent::Started));
    }
    client.call(99, "wait").await;
    let refused = client.next().await;
    assert_eq!(refused["id"], 99);
    assert!(
        refused["text"]
            .as_str()
            .unwrap()
            .contains("calls are unfinished")
    );
    client.call(0, "echo").await;
    assert_eq!(client.error().await, "two unfinished calls have the id 0");
    drop(client);
    for _ in 0..CALLS_MAX {
        assert_eq!(fixture.events.recv().await, Some(CallEvent::Dropped));
    }
}

#[tokio::test]
async fn new_connection_ends_the_oldest_if_an_agent_has_too_many() {
    let fixture = Fixture::new().await;
    let mut open = Vec::new();
    for _ in 0..super::shared::CONNECTIONS_MAX {
        open.push(fixture.connect_as_bob().await);
    }
    let mut ninth = fixture.connect_as_bob().await;
    let error = open.remove(0).error().await;
    assert_eq!(error, "bob has opened too many newer connections");
    for client in open.iter_mut().chain([&mut ninth]) {
        client.call(1, "echo").await;
        assert_eq!(client.next().await["is_error"], false);
    }
}

#[tokio::test]
async fn connections_without_a_token_are_bounded_and_do_not_count_for_agents() {
    let fixture = Fixture::new().await;
    let client = fixture.connect_as_bob().await;
    let mut strangers = Vec::new();
    for _ in 0..super::shared::STRANGERS_MAX {
        strangers.push(fixture.connect().await);
    }
    let mut more = fixture.connect().await;
    assert!(more.error().await.contains("too many connections without"));
    drop((client, strangers));
}

#[tokio::test]
async fn changed_tools_are_sent_once_and_only_to_their_agent() {
    let fixture = Fixture::new().await;
    let more = watch::Sender::new(1);
    let (events, _) = mpsc::unbounded_channel();
    let tools = Arc::new(FakeTools {
        agent: "eve",
        events,
        more: Some(more.clone()),
    });
    let eve = Name::member("eve").unwrap();
    let access = fixture.socket.register(eve, tools).await.unwrap();
    let mut client = fixture.connect().await;
    client.hello(&access.variables()[1].1).await;
    let welcome = client.next().await;
    assert_eq!(welcome["tools_change"], true);
    assert_eq!(welcome["tools"].as_array().unwrap().len(), 4);
    let mut bob = fixture.connect_as_bob().await;
    for count in 2..=5 {
        more.send_replace(count);
    }
    let changed = client.next().await;
    assert_eq!(changed["type"], "tools");
    assert_eq!(changed["tools"].as_array().unwrap().len(), 8);
    // A tool of a server that is not ready yet may be called, because the crew then waits for the server.
    client.call(1, "late__tool").await;
    assert_eq!(client.next().await["id"], 1);
    bob.call(1, "late__tool").await;
    let refused = bob.next().await;
    assert!(refused["text"].as_str().unwrap().contains("Unknown tool"));
}
