//! How `crewdeck mcp-serve` and the crew end: neither leaves a process or a socket behind, even if it is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crewdeck::crew::agent_socket::AgentSocket;
use crewdeck::domain::ids::Name;
use rmcp::model::CallToolRequestParams;
use rmcp::service::ClientLifecycleMode;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{TestSocket, WaitTool, connect, start};
use crate::common::wait::wait_until;

/// The variable that makes [`host`] a crew whose socket is in the folder that the variable names.
const HOST: &str = "CREWDECK_TEST_HOST";

/// Not a test, but the process of a crew with one registered agent, for the tests below. It prints the agent's variables
/// and then a line for each call that starts.
#[test]
fn host() {
    let Ok(base) = std::env::var(HOST) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let socket = AgentSocket::new(CancellationToken::new(), TaskTracker::new());
        let socket = socket.with_base(base.into());
        let (sender, mut calls) = mpsc::unbounded_channel();
        let name = Name::member("alice").unwrap();
        let registered = socket.register(name, Arc::new(WaitTool(sender))).await;
        let access = registered.unwrap();
        let [(_, path), (_, token)] = access.variables();
        // The test harness has already written to the current line.
        println!("\nhost {path} {token}");
        while let Some(is_start) = calls.recv().await {
            println!("\ncall {is_start}");
            std::io::stdout().flush().unwrap();
        }
    });
}

struct HostProcess {
    child: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl HostProcess {
    fn start(base: &Path) -> HostProcess {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "mcp_serve::processes::host", "--nocapture"])
            .env(HOST, base)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        HostProcess { child, lines }
    }

    /// Returns the words after `word` in the next line that begins with it.
    fn line(&mut self, word: &str) -> Vec<String> {
        let found = self.lines.find_map(|line| {
            let line = line.unwrap();
            let rest = line.strip_prefix(word)?;
            Some(rest.split_whitespace().map(String::from).collect())
        });
        found.unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_crew_fails_the_call_and_leaves_no_process_and_no_socket() {
    let base = tempfile::tempdir().unwrap();
    let mut host = HostProcess::start(base.path());
    let words = host.line("host ");
    let socket = Path::new(&words[0]).to_path_buf();
    let variables = [
        ("CREWDECK_SOCKET", words[0].clone()),
        ("CREWDECK_TOKEN", words[1].clone()),
    ];
    let mut child = start(&variables);
    let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
    let call = client.call_tool(CallToolRequestParams::new("wait"));
    let kill = async {
        let mut host = tokio::task::spawn_blocking(move || {
            assert_eq!(host.line("call "), ["true"]);
            host
        })
        .await
        .unwrap();
        assert!(socket.exists());
        host.kill();
    };
    let (result, ()) = tokio::join!(call, kill);
    let result = result.unwrap();
    assert_eq!(result.is_error, Some(true));
    let text = &result.content[0].as_text().unwrap().text;
    assert!(text.contains("the crew has ended"), "{text}");
    // The client does not close stdin.
    assert!(child.wait().await.unwrap().success());
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_mcp_serve_cancels_its_calls_and_closes_its_connection() {
    let socket = TestSocket::new();
    let (sender, mut calls) = mpsc::unbounded_channel();
    let name = Name::member("alice").unwrap();
    let registered = socket
        .socket
        .register(name, Arc::new(WaitTool(sender)))
        .await;
    let access = registered.unwrap();
    let mut child = start(&access.variables());
    let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
    let call = client.call_tool(CallToolRequestParams::new("wait"));
    let kill = async {
        assert_eq!(calls.recv().await, Some(true));
        child.kill().await.unwrap();
        assert_eq!(calls.recv().await, Some(false));
    };
    let (result, ()) = tokio::join!(call, kill);
    assert!(result.is_err());
    wait_until("the connection is closed", || {
        socket.socket.connections() == 0
    });
    assert!(access.socket.exists());
    drop(access);
    socket.tasks_end().await;
    assert!(socket.is_removed());
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_that_leaves_ends_its_process() {
    let socket = TestSocket::new();
    let (sender, _calls) = mpsc::unbounded_channel();
    let name = Name::member("alice").unwrap();
    let registered = socket
        .socket
        .register(name, Arc::new(WaitTool(sender)))
        .await;
    let access = registered.unwrap();
    let mut child = start(&access.variables());
    let client = connect(&mut child, ClientLifecycleMode::Initialize).await;
    drop(access);
    assert!(child.wait().await.unwrap().success());
    socket.tasks_end().await;
    assert!(socket.is_removed());
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn end_of_stdin_ends_the_process_before_any_request() {
    let socket = TestSocket::new();
    let (sender, _calls) = mpsc::unbounded_channel();
    let name = Name::member("alice").unwrap();
    let registered = socket
        .socket
        .register(name, Arc::new(WaitTool(sender)))
        .await;
    let access = registered.unwrap();
    let mut child = start(&access.variables());
    drop(child.stdin.take());
    assert!(child.wait().await.unwrap().success());
    wait_until("the connection is closed", || {
        socket.socket.connections() == 0
    });
}
