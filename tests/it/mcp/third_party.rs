//! Servers of other projects, and the conformance suite of the protocol. `tests/third_party/mcp` installs them and runs
//! these tests.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crewdeck::domain::mcp::{
    OAuthClient, ServerConfig, ServerSource, ServerState, ServerTransport,
};
use crewdeck::mcp::ElicitationAnswer;
use serde_json::{Value, json};

use super::{TestPool, program_config};
use crate::common::wait::wait_until;

/// The environment variable with the folder of the installed servers.
const SERVERS: &str = "CREWDECK_MCP_SERVERS";
/// The environment variable with the URL of a server of the conformance suite.
const CONFORMANCE_URL: &str = "CREWDECK_MCP_CONFORMANCE_URL";

const FASTMCP: &str = r#"
import asyncio
import sys
from fastmcp import FastMCP, Context

server = FastMCP("fast")

@server.tool
def add(a: int, b: int) -> int:
    "Adds."
    return a + b

@server.tool
async def steps(n: int, context: Context) -> str:
    for at in range(n):
        await context.report_progress(at, n, "step")
        await asyncio.sleep(0.05)
    return "done"

@server.tool
def broken() -> str:
    raise ValueError("it does not work")

@server.resource("config://version")
def version() -> str:
    return "1.2.3"

@server.prompt
def greet(who: str) -> str:
    return "Greet " + who

if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
"#;

/// A server, a call of one of its tools, and a text that the result contains.
struct ThirdParty {
    config: ServerConfig,
    tool: &'static str,
    input: Value,
    contains: &'static str,
    /// The process of a server over HTTP, which is killed when this is dropped.
    process: Option<Child>,
}

impl Drop for ThirdParty {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn installed() -> PathBuf {
    let dir = std::env::var_os(SERVERS).expect("run tests/third_party/mcp");
    PathBuf::from(dir)
}

fn npm(base: &Path, package: &str) -> String {
    let path = format!("npm/node_modules/@modelcontextprotocol/{package}/dist/index.js");
    base.join(path).display().to_string()
}

fn server(
    words: &[&str],
    name: &str,
    tool: &'static str,
    input: Value,
    contains: &'static str,
) -> ThirdParty {
    ThirdParty {
        config: program_config(name, words),
        tool,
        input,
        contains,
        process: None,
    }
}

/// Starts a server over HTTP with `command`, and waits until it accepts connections on `port`.
fn over_http(mut command: Command, port: u16, mut server: ThirdParty) -> ThirdParty {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    server.process = Some(child.spawn().unwrap());
    wait_until(&format!("a server on port {port}"), || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    server.config = ServerConfig {
        source: ServerSource::User,
        transport: ServerTransport::Http {
            url: format!("http://127.0.0.1:{port}/mcp"),
            headers: BTreeMap::new(),
        },
        ..server.config.clone()
    };
    server
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn all(base: &Path, work: &Path) -> Vec<ThirdParty> {
    let script = work.join("fast.py");
    std::fs::write(&script, FASTMCP).unwrap();
    std::fs::write(work.join("hello.txt"), "hello file\n").unwrap();
    let git = |args: &[&str]| {
        let status = Command::new("git").arg("-C").arg(work).args(args).status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "hello.txt"]);
    git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "commit",
        "-q",
        "-m",
        "first",
    ]);
    let work_text = work.display().to_string();
    let hello = format!("{work_text}/hello.txt");
    let py = |name: &str| base.join("py/bin").join(name).display().to_string();
    let fast = script.display().to_string();
    let python = py("python");
    let everything = npm(base, "server-everything");
    let (fast_port, every_port) = (free_port(), free_port());
    let mut fast_http = Command::new(&python);
    fast_http.args([&fast, &fast_port.to_string()]);
    let mut every_http = Command::new("node");
    every_http
        .args([&everything, "streamableHttp"])
        .env("PORT", every_port.to_string());
    let add = json!({"a": 2, "b": 3});
    let echo = json!({"message": "hi"});
    vec![
        server(
            &["node", &everything, "stdio"],
            "everything",
            "echo",
            echo.clone(),
            "hi",
        ),
        server(
            &["node", &npm(base, "server-filesystem"), &work_text],
            "filesystem",
            "read_text_file",
            json!({"path": hello}),
            "hello file",
        ),
        server(
            &["node", &npm(base, "server-memory")],
            "memory",
            "create_entities",
            json!({"entities": [{"name": "crew", "entityType": "t", "observations": ["o"]}]}),
            "crew",
        ),
        server(
            &[&py("mcp-server-git"), "--repository", &work_text],
            "git",
            "git_log",
            json!({"repo_path": work_text}),
            "first",
        ),
        server(
            &[&py("mcp-server-time")],
            "time",
            "convert_time",
            json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
            "21:00",
        ),
        server(&[&python, &fast], "fastmcp", "add", add.clone(), "5"),
        over_http(
            fast_http,
            fast_port,
            server(&["-"], "fastmcp-http", "add", add, "5"),
        ),
        over_http(
            every_http,
            every_port,
            server(&["-"], "everything-http", "echo", echo, "hi"),
        ),
    ]
}

/// Returns the newest protocol version that both crewdeck and the server `name` speak. The SDK for Python knows the
/// versions without `initialize`.
fn protocol_of(name: &str) -> &'static str {
    match name {
        "git" | "time" | "fastmcp" | "fastmcp-http" => "2026-07-28",
        _ => "2025-11-25",
    }
}

#[tokio::test]
#[ignore = "needs servers of other projects: tests/third_party/mcp"]
async fn servers_of_other_projects_work() {
    let work = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    println!(
        "server | protocol | ready ms | tools | resources | prompts | call | shutdown ms | notices"
    );
    for third in all(&installed(), work.path()) {
        let name = third.config.name.clone();
        let mut config = third.config.clone();
        if let ServerTransport::Program { env, .. } = &mut config.transport {
            let memory = work.path().join("memory.json");
            env.insert("MEMORY_FILE_PATH".into(), memory.display().to_string());
        }
        let test = TestPool::with(vec![config], |options| {
            // The filesystem server replaces its folder by the root that the client announces.
            options.project = work.path().into();
        });
        let began = Instant::now();
        test.pool.ensure_started(&[&name]).await;
        let ready = began.elapsed().as_millis();
        if test.state() != ServerState::Ready {
            problems.push(format!(
                "{name}: {:?}\n{}",
                test.state(),
                test.pool.log_tail(&name).unwrap()
            ));
            continue;
        }
        let info = test.pool.server_info(&name).unwrap();
        if info.protocol != protocol_of(&name) {
            problems.push(format!("{name}: protocol version {}", info.protocol));
        }
        let tool = format!("mcp__{name}__{}", third.tool);
        let result = test.call(&tool, third.input.clone()).await;
        let works = matches!(&result, Ok(content) if content.text.contains(third.contains) && !content.is_error);
        if !works {
            problems.push(format!("{name}: {result:?}"));
        }
        let failing = test.call(&tool, json!({"wrong": 1})).await;
        if !matches!(&failing, Ok(content) if content.is_error) && failing.is_ok() && name != "git"
        {
            problems.push(format!("{name}: a wrong call gave {failing:?}"));
        }
        let resources = test.pool.resources(&name).await.map(|all| all.len());
        let prompts = test.pool.prompts(&name).await.map(|all| all.len());
        if name.starts_with("fastmcp") {
            let never = tokio_util::sync::CancellationToken::new();
            let read = test
                .pool
                .read_resource(&name, "config://version", &never)
                .await;
            if !matches!(&read, Ok(content) if content.text.as_deref().is_some_and(|text| text.contains("1.2.3")))
            {
                problems.push(format!("{name}: {read:?}"));
            }
            let mut seen = 0;
            let input = super::fields(json!({"n": 5}));
            let steps = format!("mcp__{name}__steps");
            let result = test.pool.call(&steps, input, &never, |_| seen += 1).await;
            if !matches!(&result, Ok(content) if content.text == "done") || seen == 0 {
                problems.push(format!("{name}: {result:?} after {seen} steps"));
            }
            let arguments = BTreeMap::from([("who".to_string(), "Ann".to_string())]);
            let prompt = test
                .pool
                .get_prompt(&name, "greet", arguments, &never)
                .await;
            if !matches!(&prompt, Ok(messages) if messages[0].content.text == "Greet Ann") {
                problems.push(format!("{name}: {prompt:?}"));
            }
        }
        let tools = test.pool.tools().tools.len();
        let began = Instant::now();
        test.pool.shutdown().await;
        let shutdown = began.elapsed().as_millis();
        println!(
            "{name} | {} | {ready} | {tools} | {resources:?} | {prompts:?} | {works} | {shutdown} | {:?}",
            info.protocol,
            test.notices()
        );
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// The client that the conformance suite runs. It exits with an error if the scenario's server does not work.
#[tokio::test]
#[ignore = "runs as the client of the conformance suite: tests/third_party/mcp"]
async fn conformance_client() {
    let Ok(url) = std::env::var(CONFORMANCE_URL) else {
        return;
    };
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let config = ServerConfig {
        name: "suite".into(),
        source: ServerSource::User,
        role: None,
        transport: ServerTransport::Http {
            url,
            headers: BTreeMap::new(),
        },
        call_timeout: None,
        start_timeout: None,
        oauth: OAuthClient::default(),
        is_always_loaded: false,
    };
    let logins = tempfile::tempdir().unwrap();
    let test = TestPool::with(vec![config], |options| {
        options.elicitation = ElicitationAnswer::AcceptDefaults;
        options.logins = Some(logins.path().into());
    });
    test.pool.ensure_started(&["suite"]).await;
    for _ in 0..2 {
        if test.state() == ServerState::NeedsLogin {
            // The login page of the suite redirects to the callback at once.
            test.pool.login("suite", super::http::browse).await.unwrap();
            test.pool.ensure_started(&["suite"]).await;
        }
    }
    test.start().await;
    let input = match scenario.as_str() {
        "tools_call" => json!({"a": 5, "b": 3}),
        _ => json!({}),
    };
    for tool in test.pool.tools().tools.iter() {
        let mut result = test.call(&tool.name, input.clone()).await;
        for _ in 0..2 {
            let wants_more = matches!(&result, Err(error) if error.to_string().contains("log in"));
            if wants_more {
                test.pool.login("suite", super::http::browse).await.unwrap();
                result = test.call(&tool.name, input.clone()).await;
            }
        }
        writeln!(std::io::stderr(), "{}: {result:?}", tool.name).unwrap();
    }
    test.pool.shutdown().await;
}
