//! What an MCP client sees: the tools of an external teammate, their results, errors and cancellation.

use std::sync::Arc;

use crewdeck::agent::external_tools::ToolCalls;
use crewdeck::domain::chat::ToolCall;
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::mcp::ServerTransport;
use crewdeck::mcp::{PoolOptions, ServerPool};
use crewdeck::protocol::agent_socket::SocketTool;
use crewdeck::store::Mailbox;
use crewdeck::tools::ToolOutput;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, PingRequest, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RoleClient,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::{TestClient, TestSocket, WaitTool, connect, start};
use crate::common::tool_fixture::ToolFixture;
use crate::mcp::program_config;

/// The runtime of a fixture cannot be dropped inside another one.
fn in_fixture<F: Future<Output = ()>>(test: impl FnOnce(std::sync::Arc<ToolFixture>) -> F) {
    let fixture = std::sync::Arc::new(ToolFixture::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(test(fixture.clone()));
}

async fn call(client: &TestClient, tool: &'static str, input: Value) -> (String, bool) {
    let Value::Object(input) = input else {
        panic!("{input}")
    };
    let params = CallToolRequestParams::new(tool).with_arguments(input);
    let result: CallToolResult = client.call_tool(params).await.unwrap();
    let text = result.content[0].as_text().unwrap().text.clone();
    (text, result.is_error == Some(true))
}

fn both_lifecycles() -> [ClientLifecycleMode; 2] {
    let discover = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    [ClientLifecycleMode::Initialize, discover]
}

#[test]
fn foreign_agent_works_on_the_board_in_both_lifecycles() {
    in_fixture(|fixture| async move {
        let socket = TestSocket::new();
        let access = socket.register(&fixture, "alice").await;
        for (n, mode) in (1..).zip(both_lifecycles()) {
            let mut child = start(&access.variables());
            let client = connect(&mut child, mode).await;
            let capabilities = client.peer_info().unwrap().capabilities.clone();
            assert_eq!(capabilities.tools.unwrap().list_changed, None);
            let tools = client.list_all_tools().await.unwrap();
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            assert!(names.contains(&"task_update") && names.contains(&"send_message"));
            for absent in ["claim_task", "bash", "todo", "compact", "decide_request"] {
                assert!(!names.contains(&absent), "{absent}");
            }
            let get = tools.iter().find(|tool| tool.name == "task_get").unwrap();
            assert!(get.description.as_ref().unwrap().contains("Show one task"));
            assert!(get.input_schema["properties"]["task_id"].is_object());
            assert_eq!(get.annotations.as_ref().unwrap().read_only_hint, Some(true));
            let (text, is_error) = call(
                &client,
                "task_create",
                json!({"subject": "Write the parser"}),
            )
            .await;
            assert!(!is_error && text.contains("Write the parser"), "{text}");
            let task = fixture.board.get(TaskId(n)).unwrap();
            assert_eq!(task.subject, "Write the parser");
            let message = json!({"to": "bob", "content": "hello"});
            call(&client, "send_message", message).await;
            let inbox = Mailbox::open(&fixture.root());
            let inbox = inbox.peek(&Name::member("bob").unwrap()).unwrap();
            assert_eq!(inbox.messages.last().unwrap().from, "alice");
            assert_eq!(inbox.messages.len() as u64, n);
            client.cancel().await.unwrap();
            assert!(child.wait().await.unwrap().success());
        }
        drop(access);
        socket.tasks_end().await;
        assert!(socket.is_removed());
    });
}

#[test]
fn ping_is_answered() {
    in_fixture(|fixture| async move {
        let socket = TestSocket::new();
        let access = socket.register(&fixture, "alice").await;
        let mut child = start(&access.variables());
        let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
        let ping = ClientRequest::PingRequest(PingRequest::default());
        client.send_request(ping).await.unwrap();
    });
}

#[test]
fn tools_outside_the_set_and_claims_are_refused() {
    in_fixture(|fixture| async move {
        let socket = TestSocket::new();
        let access = socket.register(&fixture, "alice").await;
        let mut child = start(&access.variables());
        let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
        for tool in ["bash", "claim_task", "merge_worktree", "mcp__git__log"] {
            let (text, is_error) = call(&client, tool, json!({})).await;
            assert!(is_error && text.contains("Unknown tool"), "{tool}: {text}");
        }
        call(&client, "task_create", json!({"subject": "one"})).await;
        let start = json!({"task_id": 1, "status": "in_progress"});
        let (text, is_error) = call(&client, "task_update", start).await;
        assert!(is_error && text.contains("cannot claim tasks"), "{text}");
        assert!(fixture.board.get(TaskId(1)).unwrap().owner.is_empty());
    });
}

#[test]
fn cancelled_call_is_cancelled_in_the_crew() {
    in_fixture(|_| async move {
        let socket = TestSocket::new();
        let (sender, mut calls) = mpsc::unbounded_channel();
        let tool = std::sync::Arc::new(WaitTool(sender));
        let name = Name::member("alice").unwrap();
        let access = socket.socket.register(name, tool).await.unwrap();
        let mut child = start(&access.variables());
        let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
        let request = ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(
            CallToolRequestParams::new("wait"),
        ));
        let options = PeerRequestOptions::no_options();
        let pending = client.send_cancellable_request(request, options).await;
        assert_eq!(calls.recv().await, Some(true));
        pending.unwrap().cancel(None).await.unwrap();
        assert_eq!(calls.recv().await, Some(false));
        // The connection still serves.
        assert_eq!(client.list_all_tools().await.unwrap().len(), 1);
    });
}

#[test]
fn started_by_hand_or_with_a_wrong_token_it_says_why_in_one_line() {
    in_fixture(|fixture| async move {
        let socket = TestSocket::new();
        let access = socket.register(&fixture, "alice").await;
        let [path, token] = access.variables();
        let gone = socket.base.path().join("gone/socket").display().to_string();
        for (variables, reason) in [
            (
                vec![],
                "needs the variables CREWDECK_SOCKET and CREWDECK_TOKEN",
            ),
            (vec![path.clone()], "needs the variables"),
            (vec![path, (token.0, "x".into())], "the token is not valid"),
            (vec![("CREWDECK_SOCKET", gone), token], "cannot be reached"),
        ] {
            let mut child = start(&variables);
            let mut text = String::new();
            let stderr = child.stderr.as_mut().unwrap();
            stderr.read_to_string(&mut text).await.unwrap();
            assert!(
                text.starts_with("crewdeck: ") && text.contains(reason),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1, "{text}");
            assert_eq!(child.wait().await.unwrap().code(), Some(1));
        }
    });
}

/// The tool `first`, and with a change the tool `second`.
struct ChangingTools(tokio::sync::watch::Sender<u64>);

impl ToolCalls for ChangingTools {
    fn tools(&self) -> Vec<SocketTool> {
        let names = ["first", "second"].into_iter();
        let define = |name: &str| SocketTool {
            name: name.into(),
            description: "A tool".into(),
            schema: json!({"type": "object"}),
            reads_only: false,
            is_destructive: Some(true),
        };
        let shown = names.take(1 + usize::try_from(*self.0.borrow()).unwrap());
        shown.map(define).collect()
    }

    fn changes(&self) -> Option<tokio::sync::watch::Receiver<u64>> {
        Some(self.0.subscribe())
    }

    fn call(&self, _: ToolCall) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async { ToolOutput::ok("called".to_string()) })
    }
}

/// An MCP client that reports changes of the tools.
struct Watcher(mpsc::UnboundedSender<()>);

impl rmcp::ClientHandler for Watcher {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(());
    }
}

#[test]
fn changed_tools_are_reported_and_listed() {
    in_fixture(|_| async move {
        let socket = TestSocket::new();
        let changes = tokio::sync::watch::Sender::new(0);
        let tools = Arc::new(ChangingTools(changes.clone()));
        let name = Name::member("alice").unwrap();
        let access = socket.socket.register(name, tools).await.unwrap();
        let mut child = start(&access.variables());
        let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let transport = AsyncRwTransport::new_client(stdout, stdin);
        let (sender, mut reported) = mpsc::unbounded_channel();
        let mode = ClientLifecycleMode::Initialize;
        let client = Watcher(sender);
        let client = client.serve_with_lifecycle(transport, mode).await.unwrap();
        let info = client.peer_info().unwrap();
        let offered = info.capabilities.tools.clone().unwrap();
        assert_eq!(offered.list_changed, Some(true));
        let before = client.list_all_tools().await.unwrap();
        assert_eq!(before.len(), 1);
        let hints = before[0].annotations.clone().unwrap();
        assert_eq!(
            (hints.destructive_hint, hints.open_world_hint),
            (Some(true), None)
        );
        changes.send_replace(1);
        reported.recv().await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), 2);
        client.cancel().await.unwrap();
        drop(access);
        socket.tasks_end().await;
    });
}

/// Protocol versions without `initialize` report changes to those who subscribe.
#[test]
fn changed_tools_are_reported_to_subscribers() {
    in_fixture(|_| async move {
        let socket = TestSocket::new();
        let changes = tokio::sync::watch::Sender::new(0);
        let tools = Arc::new(ChangingTools(changes.clone()));
        let name = Name::member("alice").unwrap();
        let access = socket.socket.register(name, tools).await.unwrap();
        let variables = access.variables().into_iter();
        let env = variables.map(|(name, value)| (name.to_string(), value));
        let mut config = program_config("crew", &[env!("CARGO_BIN_EXE_crewdeck"), "mcp-serve"]);
        let ServerTransport::Program { env: own, .. } = &mut config.transport else {
            panic!("it is a program")
        };
        own.extend(env);
        let dir = tempfile::tempdir().unwrap();
        let options = PoolOptions::new(dir.path().to_path_buf());
        let pool = ServerPool::new(vec![config], options, |_| {});
        pool.ensure_started(&["crew"]).await;
        assert_eq!(pool.server_info("crew").unwrap().protocol, "2026-07-28");
        let names = || -> Vec<String> {
            let catalog = pool.tools();
            catalog.tools.iter().map(|tool| tool.tool.clone()).collect()
        };
        assert_eq!(names(), ["first"]);
        changes.send_replace(1);
        while names().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        pool.shutdown().await;
        drop(access);
        socket.tasks_end().await;
    });
}
