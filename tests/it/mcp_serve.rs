//! `crewdeck mcp-serve` as a real process, between an MCP client and the agent socket of a crew with the real tools.

mod processes;
mod tools;

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use crewdeck::agent::external_tools::{ExternalTools, ToolCalls};
use crewdeck::agent::mailbox::AgentMailbox;
use crewdeck::agent::tool_runner::ToolRunner;
use crewdeck::crew::agent_socket::{AgentAccess, AgentSocket};
use crewdeck::domain::chat::ToolCall;
use crewdeck::domain::ids::Name;
use crewdeck::domain::redact::Redactor;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::protocol::agent_socket::SocketTool;
use crewdeck::store::{Skills, Stores};
use crewdeck::tools::host::Host;
use crewdeck::tools::policy::{PermissionRules, PlanGate};
use crewdeck::tools::{Caller, ToolOutput, table};
use futures::future::BoxFuture;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::common::tool_fixture::{FakeHost, ToolFixture};

/// The socket of a crew in the project of a [`ToolFixture`], whose folder is in `base`.
pub struct TestSocket {
    pub base: tempfile::TempDir,
    pub socket: AgentSocket,
    pub tracker: TaskTracker,
}

impl TestSocket {
    pub fn new() -> TestSocket {
        let base = tempfile::tempdir().unwrap();
        let tracker = TaskTracker::new();
        let socket = AgentSocket::new(CancellationToken::new(), tracker.clone());
        TestSocket {
            socket: socket.with_base(base.path().to_path_buf()),
            tracker,
            base,
        }
    }

    /// Registers an agent with the real tools of an external teammate.
    pub async fn register(&self, fixture: &ToolFixture, agent: &str) -> AgentAccess {
        let tools = real_tools(&fixture.root(), agent);
        let name = Name::member(agent).unwrap();
        self.socket.register(name, Arc::new(tools)).await.unwrap()
    }

    pub async fn tasks_end(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }

    pub fn is_removed(&self) -> bool {
        std::fs::read_dir(self.base.path()).unwrap().count() == 0
    }
}

fn real_tools(root: &Path, agent: &str) -> ExternalTools {
    ExternalTools::new(Name::member(agent).unwrap(), tool_runner(root))
}

/// Returns what an external agent of a crew in the project `root` needs to call tools.
pub fn tool_runner(root: &Path) -> ToolRunner {
    let host: Arc<dyn Host> = Arc::new(FakeHost::default());
    ToolRunner {
        tools: Arc::new(table::for_caller(Caller::ExternalTeammate).collect()),
        rules: Arc::new(RwLock::new(PermissionRules::default())),
        mailbox: Arc::new(AgentMailbox::new(PlanGate::Open, None)),
        skills: Skills::open(root, None),
        host,
        root: root.to_path_buf(),
        stores: Stores::open(root),
        workdir: root.to_path_buf(),
        timeout: Duration::from_secs(60),
        redactor: Redactor::default(),
        supervisor: None,
        snapshots: Arc::default(),
        servers: None,
        hooks: None,
        is_external: true,
        clock: || Timestamp(1.0),
    }
}

/// The tool `wait`, which never ends. Sends `true` when a call starts, and `false` when it is dropped.
pub struct WaitTool(pub mpsc::UnboundedSender<bool>);

struct ReportDrop(mpsc::UnboundedSender<bool>);

impl Drop for ReportDrop {
    fn drop(&mut self) {
        let _ = self.0.send(false);
    }
}

impl ToolCalls for WaitTool {
    fn tools(&self) -> Vec<SocketTool> {
        vec![SocketTool {
            name: "wait".into(),
            description: "Waits".into(),
            schema: json!({"type": "object"}),
            reads_only: true,
            is_destructive: None,
        }]
    }

    fn call(&self, _: ToolCall) -> BoxFuture<'_, ToolOutput> {
        Box::pin(async move {
            let _report = ReportDrop(self.0.clone());
            self.0.send(true).unwrap();
            std::future::pending().await
        })
    }
}

/// Starts `crewdeck mcp-serve` with the given variables.
pub fn start(variables: &[(&str, String)]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crewdeck"));
    command.arg("mcp-serve").env_clear();
    for (name, value) in variables {
        command.env(name, value);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

pub type TestClient = RunningService<RoleClient, ()>;

/// Connects an MCP client to a started process.
pub async fn connect(child: &mut Child, mode: ClientLifecycleMode) -> TestClient {
    let (stdout, stdin) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let transport = AsyncRwTransport::new_client(stdout, stdin);
    ().serve_with_lifecycle(transport, mode).await.unwrap()
}
