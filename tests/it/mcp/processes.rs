//! The processes of servers: each server is started once, and no process is left.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use crewdeck::domain::mcp::{ServerState, ServerTransport};
use serde_json::{Value, json};

use super::{TestPool, starts, test_config, wait_until, wait_until_none_uses};
use crate::common::supervised::Sleep;

/// The environment variable with the folder in which [`client_process`] writes its files.
const CLIENT_DIR: &str = "CREWDECK_TEST_MCP_CLIENT";
/// The servers of [`client_process`]. The last one does not listen to the end of its input. Each writes its process id to
/// the file of its name.
const NAMES: [&str; 3] = ["a", "b", "c"];

fn is_running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn pool_without_started_servers_has_no_tasks() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let test = runtime.block_on(async { TestPool::new(vec![test_config("s", &[])]) });
    assert_eq!(test.state(), ServerState::Idle);
    assert_eq!(test.pool.tools().generation, 0);
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    runtime.block_on(test.pool.shutdown());
    // After the shutdown, no server can be started.
    runtime.block_on(test.pool.ensure_started(&["s"]));
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_needs_start_a_server_once() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let config = test_config("s", &["--pids", pids.to_str().unwrap()]);
    let test = Arc::new(TestPool::new(vec![config]));
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let test = Arc::clone(&test);
            tokio::spawn(async move {
                test.pool.ensure_started(&["s"]).await;
                let text = format!("call {n}");
                let result = test.call("mcp__s__echo", json!({"text": text})).await;
                assert_eq!(result.unwrap().text, text);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(starts(&pids), 1);
    // At most one process runs, even if the user restarts, disables and enables the server in quick succession.
    for _ in 0..5 {
        test.pool.restart("s");
        test.pool.set_disabled("s", true);
        test.pool.set_disabled("s", false);
        test.pool.start("s");
        tokio::task::yield_now().await;
    }
    test.pool.restart("s");
    let is_alone = || {
        let text = std::fs::read_to_string(&pids).unwrap();
        let running = text.lines().filter(|pid| is_running(pid)).count();
        assert!(running <= 1, "{text}");
        running == 1 && test.state() == ServerState::Ready
    };
    wait_until("the server runs again", is_alone).await;
    test.pool.shutdown().await;
    let text = std::fs::read_to_string(&pids).unwrap();
    assert!(text.lines().all(|pid| !is_running(pid)), "{text}");
}

#[tokio::test]
async fn relative_work_directory_is_one_of_the_project() {
    let mut config = test_config("s", &["--pids", "pids"]);
    let ServerTransport::Program { dir, .. } = &mut config.transport else {
        unreachable!()
    };
    *dir = Some("sub".into());
    let test = TestPool::with(vec![config], |options| {
        std::fs::create_dir(options.project.join("sub")).unwrap();
    });
    test.start().await;
    assert_eq!(starts(&test.dir.path().join("sub/pids")), 1);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn disabled_server_ends_and_is_available_again_later() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let config = test_config("s", &["--pids", pids.to_str().unwrap()]);
    let test = TestPool::new(vec![config]);
    test.start().await;
    test.pool.set_disabled("s", true);
    wait_until("it is disabled", || test.state() == ServerState::Disabled).await;
    assert_eq!(test.pool.tools().tools.len(), 0);
    let pid = std::fs::read_to_string(&pids).unwrap();
    assert!(!is_running(pid.trim()));
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(test.state(), ServerState::Disabled);
    test.pool.set_disabled("s", false);
    assert_eq!(test.state(), ServerState::Idle);
    test.start().await;
    assert_eq!(starts(&pids), 2);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn shutdown_ends_helpers_and_servers_that_do_not_listen() {
    let (helper, other) = (Sleep::new(), Sleep::new());
    let (first, second) = (helper.command(), other.command());
    let test = TestPool::new(vec![
        test_config("s", &["--fork", &first]),
        test_config("stubborn", &["--stubborn", "--fork", &second]),
    ]);
    test.start().await;
    helper.wait_for_one();
    other.wait_for_one();
    test.pool.shutdown().await;
    helper.wait_for_none();
    other.wait_for_none();
}

#[tokio::test]
async fn dropped_pool_ends_its_servers() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let test = TestPool::new(vec![test_config("s", &["--pids", pids.to_str().unwrap()])]);
    test.start().await;
    let clone = test.pool.clone();
    drop(test);
    assert_eq!(clone.status()[0].state, ServerState::Ready);
    drop(clone);
    let pid = std::fs::read_to_string(&pids).unwrap();
    wait_until("the server has ended", || !is_running(pid.trim())).await;
}

#[test]
fn dropped_runtime_leaves_no_process() {
    let helper = Sleep::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let command = helper.command();
    let test = runtime.block_on(async {
        let test = TestPool::new(vec![test_config("s", &["--fork", &command])]);
        test.start().await;
        test
    });
    helper.wait_for_one();
    drop(runtime);
    helper.wait_for_none();
    drop(test);
}

/// The process that [`killed_client_leaves_no_server_or_helper`] kills.
#[tokio::test]
#[ignore = "runs as a child of another test"]
async fn client_process() {
    let Some(dir) = std::env::var_os(CLIENT_DIR) else {
        return;
    };
    let dir = Path::new(&dir);
    let helper = std::fs::read_to_string(dir.join("helper")).unwrap();
    let config = |name: &str| {
        let pids = dir.join(name);
        let mut options = vec!["--pids", pids.to_str().unwrap(), "--fork", &helper];
        options.extend((name == "c").then_some("--stubborn"));
        test_config(name, &options)
    };
    let test = TestPool::new(NAMES.map(config).to_vec());
    test.start().await;
    let names = [
        "ANTHROPIC_API_KEY",
        "CONFIGURED",
        "CLAUDE_PROJECT_DIR",
        "PATH",
    ];
    let env = test
        .call("mcp__a__env", json!({"names": names}))
        .await
        .unwrap();
    std::fs::write(dir.join("env"), env.text).unwrap();
    std::fs::write(dir.join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

/// Kills a client whose servers are ready. With `CREWDECK_ROUNDS`, kills further clients at different moments after
/// their start.
#[tokio::test]
async fn killed_client_leaves_no_server_or_helper() {
    let rounds = std::env::var("CREWDECK_ROUNDS").map_or(1, |text| text.parse().unwrap());
    for round in 0..rounds {
        kill_client(round).await;
    }
}

async fn kill_client(round: u64) {
    let dir = tempfile::tempdir().unwrap();
    let helper = Sleep::new();
    std::fs::write(dir.path().join("helper"), helper.command()).unwrap();
    let mut client = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mcp::processes::client_process", "--ignored"])
        .env(CLIENT_DIR, dir.path())
        .env("ANTHROPIC_API_KEY", "sk-ant-secret-value-0123456789")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    if round > 0 {
        tokio::time::sleep(Duration::from_millis(round * 13 % 1500)).await;
        end_client(&mut client, &helper, dir.path());
        return;
    }
    let ready = dir.path().join("ready");
    wait_until("the servers are ready", || ready.exists()).await;
    let env = std::fs::read_to_string(dir.path().join("env")).unwrap();
    let env: Value = serde_json::from_str(&env).unwrap();
    assert_eq!(env["ANTHROPIC_API_KEY"], Value::Null);
    assert_eq!(env["CONFIGURED"], "yes");
    assert!(
        env["PATH"].is_string() && env["CLAUDE_PROJECT_DIR"].is_string(),
        "{env}"
    );
    // The server of a helper is ready a moment before the helper runs its program.
    wait_until("the helpers run", || helper.sleepers().len() == 3).await;
    for name in NAMES {
        assert_eq!(starts(&dir.path().join(name)), 1, "{name}");
    }
    end_client(&mut client, &helper, dir.path());
}

/// Sends SIGKILL to a client. Checks that none of its processes is left, and that none of its servers was started
/// twice.
fn end_client(client: &mut std::process::Child, helper: &Sleep, dir: &Path) {
    client.kill().unwrap();
    client.wait().unwrap();
    // The folder is in the arguments of each server.
    wait_until_none_uses(dir);
    helper.wait_for_none();
    for name in NAMES {
        assert!(starts(&dir.join(name)) <= 1, "{name}");
    }
}
