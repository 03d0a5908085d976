//! MCP servers: a pool with real server processes and with servers over HTTP, and crews that use them.

mod crew;
mod failures;
mod http;
mod login;
mod offers;
mod permissions;
mod processes;
mod roles;
mod scale;
mod subscriptions;
mod third_party;
mod turns;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crewdeck::domain::mcp::{
    OAuthClient, ServerConfig, ServerSource, ServerState, ServerTransport,
};
use crewdeck::mcp::{CallError, ElicitationAnswer, McpContent, PoolEvent, PoolOptions, ServerPool};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::common::supervised::program;

/// The protocol versions of the test server: with `initialize`, and without. Each has its version and the option that
/// selects it.
pub const ERAS: [(&str, &[&str]); 2] = [("2025-11-25", &[]), ("2026-07-28", &["--stateless"])];

/// A pool whose servers usually run `mcp/server.py`, and the events that it has reported.
pub struct TestPool {
    pub pool: ServerPool,
    pub events: Arc<Mutex<Vec<PoolEvent>>>,
    pub dir: TempDir,
}

fn server_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/server.py")
}

/// Returns the configuration of a server that runs the command `words`.
pub fn program_config(name: &str, words: &[&str]) -> ServerConfig {
    ServerConfig {
        name: name.into(),
        source: ServerSource::User,
        role: None,
        transport: ServerTransport::Program {
            command: words[0].into(),
            args: words[1..].iter().map(ToString::to_string).collect(),
            env: BTreeMap::from([("CONFIGURED".to_string(), "yes".to_string())]),
            dir: None,
        },
        call_timeout: None,
        start_timeout: None,
        oauth: OAuthClient::default(),
        is_always_loaded: false,
    }
}

/// Returns the configuration of a server that runs `mcp/server.py` with these options.
pub fn test_config(name: &str, options: &[&str]) -> ServerConfig {
    let script = server_script();
    let mut words = vec!["python3", script.to_str().unwrap()];
    words.extend(options);
    program_config(name, &words)
}

impl TestPool {
    pub fn new(configs: Vec<ServerConfig>) -> TestPool {
        TestPool::with(configs, |_| {})
    }

    /// Creates a pool whose servers restart after 1 ms. `change` can change its options.
    pub fn with(configs: Vec<ServerConfig>, change: impl FnOnce(&mut PoolOptions)) -> TestPool {
        let dir = tempfile::tempdir().unwrap();
        let mut options = PoolOptions::new(dir.path().into());
        options.supervisor = Some(program());
        options.restart_delay = Duration::from_millis(1);
        options.start_timeout = Duration::from_secs(60);
        change(&mut options);
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let pool = ServerPool::new(configs, options, move |event| {
            seen.lock().unwrap().push(event);
        });
        TestPool { pool, events, dir }
    }

    /// Starts all servers, and fails if one is not ready.
    pub async fn start(&self) {
        let all = self.pool.status();
        let names: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
        self.pool.ensure_started(&names).await;
        for server in self.pool.status() {
            assert_eq!(server.state, ServerState::Ready, "{server:?}");
        }
    }

    pub async fn call(&self, name: &str, input: Value) -> Result<McpContent, CallError> {
        let never = CancellationToken::new();
        self.pool.call(name, fields(input), &never, |_| {}).await
    }

    pub fn state(&self) -> ServerState {
        self.pool.status()[0].state.clone()
    }

    pub fn notices(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let notices = events.iter().filter_map(|event| match event {
            PoolEvent::Notice { text, .. } => Some(text.clone()),
            PoolEvent::StateChanged { .. }
            | PoolEvent::ToolsChanged { .. }
            | PoolEvent::ListsChanged { .. } => None,
        });
        // Each test server causes a notice about a tool that is left out. Most tests are about other notices.
        notices.filter(|text| !text.contains("left out")).collect()
    }
}

pub fn fields(input: Value) -> Map<String, Value> {
    match input {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

/// Waits until `is_true` returns true. Fails after 60 s with `what`.
pub async fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_true() {
        assert!(Instant::now() < until, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns how often a server has written its process id to `pids`.
pub fn starts(pids: &Path) -> usize {
    let text = std::fs::read_to_string(pids).unwrap_or_default();
    text.lines().count()
}

/// Waits until no process has the folder `dir` in its command line.
pub fn wait_until_none_uses(dir: &Path) {
    let name = dir.to_str().unwrap();
    let is_left = |pid: &String| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(name))
    };
    crate::common::wait::wait_until(&format!("no process uses {name}"), || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut names = all.filter_map(|entry| entry.file_name().into_string().ok());
        !names.any(|pid| is_left(&pid))
    });
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    for (version, options) in ERAS {
        let options = [options, &["--noise"]].concat();
        list_and_call(version, test_config("s", &options)).await;
    }
}

async fn list_and_call(version: &str, config: ServerConfig) {
    let test = TestPool::new(vec![config]);
    test.start().await;
    assert_eq!(test.pool.server_info("s").unwrap().protocol, version);
    let tools = test.pool.tools();
    assert_eq!(tools.generation, 1);
    let echo = tools
        .tools
        .iter()
        .find(|t| t.name == "mcp__s__echo")
        .unwrap();
    assert!(echo.is_read_only && !echo.is_destructive);
    assert_eq!(echo.description, "Repeats.");
    assert_eq!(echo.input_schema["properties"]["text"]["type"], "string");
    let names: Vec<&str> = tools.tools.iter().map(|t| t.tool.as_str()).collect();
    assert!(
        names.contains(&"fail") && !names.contains(&"choice") && !names.contains(&"incomplete")
    );
    let notice = test.events.lock().unwrap().iter().any(|event| {
        matches!(event, PoolEvent::Notice { text, .. } if text.contains("1 tool is left out: choice"))
    });
    assert!(notice, "{:?}", test.events.lock().unwrap());

    let result = test
        .call("mcp__s__echo", json!({"text": "hé"}))
        .await
        .unwrap();
    assert_eq!((result.text.as_str(), result.is_error), ("hé", false));
    let result = test.call("mcp__s__fail", json!({})).await.unwrap();
    assert_eq!(
        (result.text.as_str(), result.is_error),
        ("it did not work", true)
    );
    let result = test.call("mcp__s__structured", json!({})).await.unwrap();
    assert_eq!(result.text, "{\n  \"answer\": 42\n}");
    let result = test.call("mcp__s__image", json!({})).await.unwrap();
    assert!(
        result.text.starts_with("see\n[image 1, image/png, "),
        "{}",
        result.text
    );
    assert!(result.images[0].bytes.starts_with(b"\x89PNG"));
    let error = test.call("mcp__s__none", json!({})).await.unwrap_err();
    assert_eq!(error, CallError::UnknownTool("mcp__s__none".into()));
    let status = &test.pool.status()[0];
    assert_eq!((status.calls, status.tools), (4, names.len()));
    test.pool.shutdown().await;
}

#[tokio::test]
async fn huge_results_are_cut_or_refused() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let result = test
        .call("mcp__s__big", json!({"bytes": 20_000_000}))
        .await
        .unwrap();
    assert!(result.text.len() < 110_000, "{}", result.text.len());
    assert!(result.text.contains("bytes cut here"));
    // This result is longer than the maximum length of a message.
    let error = test
        .call("mcp__s__big", json!({"bytes": 40_000_000}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("larger than 32 MiB"), "{error}");
    assert!(
        test.call("mcp__s__echo", json!({"text": "a"}))
            .await
            .is_ok()
    );
    assert_eq!(test.notices(), Vec::<String>::new());
    test.pool.shutdown().await;
}

#[tokio::test]
async fn servers_that_cannot_cope_with_discovery_are_connected_again() {
    let test = TestPool::new(vec![
        test_config("empty", &["--empty-unknown"]),
        test_config("exits", &["--exit-on-unknown"]),
    ]);
    test.start().await;
    for name in ["mcp__empty__echo", "mcp__exits__echo"] {
        let result = test.call(name, json!({"text": "a"})).await.unwrap();
        assert_eq!(result.text, "a");
    }
    assert_eq!(test.notices(), Vec::<String>::new());
    test.pool.shutdown().await;
}

#[tokio::test]
async fn changed_tools_get_a_new_generation() {
    for (_, options) in ERAS {
        change_tools(options).await;
    }
}

async fn change_tools(options: &[&str]) {
    let test = TestPool::new(vec![test_config("s", options), test_config("t", options)]);
    test.start().await;
    let before = test.pool.tools();
    test.call("mcp__s__add", json!({"name": "extra"}))
        .await
        .unwrap();
    wait_until("the new tool is listed", || {
        test.pool
            .tools()
            .tools
            .iter()
            .any(|t| t.name == "mcp__s__extra")
    })
    .await;
    let after = test.pool.tools();
    assert_eq!(after.generation, before.generation + 1);
    assert_eq!(after.tools.len(), before.tools.len() + 1);
    assert!(after.tools.is_sorted_by_key(|t| t.name.clone()));
    test.pool.shutdown().await;
}

#[tokio::test]
async fn progress_extends_the_time_and_cancellation_reaches_the_server() {
    for (_, options) in ERAS {
        report_and_cancel(options).await;
    }
}

async fn report_and_cancel(options: &[&str]) {
    let mut config = test_config("s", options);
    config.call_timeout = Some(Duration::from_secs(5));
    let test = TestPool::new(vec![config]);
    test.start().await;
    let file = test.dir.path().join("go");
    let input = fields(json!({"file": file}));
    let never = CancellationToken::new();
    let mut steps = 0;
    let result = test.pool.call("mcp__s__wait", input, &never, |progress| {
        assert_eq!(progress.message, "step");
        steps += 1;
        if steps == 5 {
            std::fs::write(&file, "").unwrap();
        }
    });
    assert_eq!(result.await.unwrap().text, "waited");

    for is_dropped in [false, true] {
        let file = test.dir.path().join(format!("never-{is_dropped}"));
        let cancel = CancellationToken::new();
        let input = fields(json!({"file": file}));
        let call = test
            .pool
            .call("mcp__s__wait", input, &cancel, |_| cancel.cancel());
        if is_dropped {
            tokio::select! {
                _ = call => {}
                () = cancel.cancelled() => {}
            }
        } else {
            assert_eq!(call.await.unwrap_err(), CallError::Cancelled);
        }
        let mark = file.with_extension("cancelled");
        wait_until("the server gets the cancellation", || mark.exists()).await;
    }
    test.pool.shutdown().await;
}

#[tokio::test]
async fn call_without_progress_times_out_and_the_connection_stays() {
    let mut config = test_config("s", &[]);
    config.call_timeout = Some(Duration::from_millis(300));
    let test = TestPool::new(vec![config]);
    test.start().await;
    let error = test.call("mcp__s__long", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");
    assert_eq!(test.state(), ServerState::Ready);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn servers_are_asked_for_roots_input_and_samples() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let roots = test.call("mcp__s__roots", json!({})).await.unwrap().text;
    let roots: Value = serde_json::from_str(&roots).unwrap();
    let expected = format!("file://{}", test.dir.path().display());
    assert_eq!(roots["roots"][0]["uri"], expected);
    let input = test.call("mcp__s__elicit", json!({})).await.unwrap().text;
    assert_eq!(input, r#"{"action": "decline"}"#);
    assert!(
        test.notices()[0].contains("Who are you?"),
        "{:?}",
        test.notices()
    );
    let sample = test.call("mcp__s__sample", json!({})).await.unwrap().text;
    assert!(sample.contains("-32601"), "{sample}");
    test.pool.shutdown().await;

    let test = TestPool::with(vec![test_config("s", &[])], |options| {
        options.elicitation = ElicitationAnswer::AcceptDefaults;
    });
    test.start().await;
    let input = test.call("mcp__s__elicit", json!({})).await.unwrap().text;
    assert_eq!(input, r#"{"action": "accept", "content": {"age": 7}}"#);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    for (_, options) in ERAS {
        list_and_read(options).await;
    }
}

async fn list_and_read(options: &[&str]) {
    let test = TestPool::new(vec![test_config("s", options)]);
    let never = CancellationToken::new();
    // This request starts the server.
    let resources = test.pool.resources("s").await.unwrap();
    let uris: Vec<&str> = resources.iter().map(|r| r.uri.as_str()).collect();
    assert_eq!(uris, ["test://0", "test://1", "test://2"]);
    let content = test
        .pool
        .read_resource("s", "test://1", &never)
        .await
        .unwrap();
    assert!(
        content.text.as_deref() == Some("content of test://1"),
        "{:?}",
        content.text
    );
    assert_eq!(content.images.len(), 1);
    let error = test
        .pool
        .read_resource("s", "test://none", &never)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("(code -32002)"), "{error}");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
    let prompts = test.pool.prompts("s").await.unwrap();
    assert_eq!(prompts[0].name, "greet");
    assert!(prompts[0].arguments[0].is_required);
    let arguments = BTreeMap::from([("who".to_string(), "Ann".to_string())]);
    let messages = test
        .pool
        .get_prompt("s", "greet", arguments, &never)
        .await
        .unwrap();
    let texts: Vec<&str> = messages.iter().map(|m| m.content.text.as_str()).collect();
    assert_eq!(texts, ["Greet Ann", "Hello"]);
    let unknown = test.pool.prompts("none").await.unwrap_err();
    assert_eq!(unknown, CallError::UnknownServer("none".into()));
    test.pool.shutdown().await;
}

#[tokio::test]
async fn unapproved_server_is_not_started() {
    let approved = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&approved);
    let test = TestPool::with(vec![test_config("s", &[])], |options| {
        options.approved_config = Arc::new(move |config| {
            let is_approved = seen.load(std::sync::atomic::Ordering::SeqCst);
            is_approved.then(|| config.clone())
        });
    });
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(test.state(), ServerState::WaitsForApproval);
    let error = test.pool.resources("s").await.unwrap_err();
    assert!(error.to_string().contains("has not approved"), "{error}");
    approved.store(true, std::sync::atomic::Ordering::SeqCst);
    test.start().await;
    // A restart checks the approval again.
    approved.store(false, std::sync::atomic::Ordering::SeqCst);
    test.pool.restart("s");
    wait_until("it waits again", || {
        test.state() == ServerState::WaitsForApproval
    })
    .await;
    assert_eq!(test.pool.tools().tools.len(), 0);
    test.pool.shutdown().await;
}
