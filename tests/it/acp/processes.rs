//! The processes of agents: their environment, and that none is left.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use super::{Recorder, TestAgent, prompt, test_config, wait_until};
use crate::common::supervised::Sleep;

/// The environment variable with the folder of [`client_process`].
const CLIENT_DIR: &str = "CREWDECK_TEST_ACP_CLIENT";

#[tokio::test]
async fn last_session_ends_the_process_with_its_helpers() {
    let helper = Sleep::new();
    let test = TestAgent::with(
        test_config(&["--ignore-eof", "--fork", &helper.command()]),
        |options| options.exit_timeout = Duration::from_millis(100),
    );
    let recorder = Arc::new(Recorder::default());
    let (first, second) = (test.open(&recorder).await, test.open(&recorder).await);
    first.close().await;
    prompt(&second, "say on").await.unwrap();
    assert_eq!(helper.sleepers().len(), 1);
    second.close().await;
    wait_until("the helper has ended", || helper.sleepers().is_empty()).await;
    // A new session starts a new process without delay.
    let third = test.open(&recorder).await;
    prompt(&third, "say on").await.unwrap();
    test.agent.shut_down().await;
    helper.wait_for_none();
    assert!(test.try_open(&recorder).await.is_err());
}

#[tokio::test]
async fn program_is_replaced_after_many_sessions() {
    let helper = Sleep::new();
    let test = TestAgent::new(&["--fork", &helper.command()]);
    let recorder = Arc::new(Recorder::default());
    let first = test.open(&recorder).await;
    helper.wait_for_one();
    let mut opened = 1;
    while helper.sleepers().len() < 2 {
        assert!(opened < 20, "{opened} sessions in one program");
        let next = test.open(&recorder).await;
        prompt(&next, "say on").await.unwrap();
        next.close().await;
        opened += 1;
    }
    assert!(opened > 10, "{opened} sessions");
    // The first session stays open in the earlier program.
    prompt(&first, "say on").await.unwrap();
    test.agent.shut_down().await;
    helper.wait_for_none();
}

#[test]
fn dropped_runtime_leaves_no_agent() {
    let helper = Sleep::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let command = helper.command();
    let (test, session) = runtime.block_on(async {
        let test = TestAgent::new(&["--ignore-eof", "--fork", &command]);
        let session = test.open(&Arc::default()).await;
        (test, session)
    });
    helper.wait_for_one();
    drop(runtime);
    helper.wait_for_none();
    drop((test, session));
}

/// The process that [`killed_client_leaves_no_agent`] kills.
#[tokio::test]
#[ignore = "runs as a child of another test"]
async fn client_process() {
    let Some(dir) = std::env::var_os(CLIENT_DIR) else {
        return;
    };
    let dir = Path::new(&dir);
    let helper = std::fs::read_to_string(dir.join("helper")).unwrap();
    let mut config = test_config(&["--ignore-eof", "--fork", &helper]);
    config.env.insert("GITHUB_TOKEN".into(), "passed on".into());
    let test = TestAgent::with(config, |_| {});
    let recorder = Arc::new(Recorder::default());
    let session = test.open(&recorder).await;
    let script = "env OPENAI_API_KEY\nsay ,\nenv ANTHROPIC_API_KEY\nsay ,\nenv GITHUB_TOKEN";
    prompt(&session, script).await.unwrap();
    std::fs::write(dir.join("env"), recorder.text()).unwrap();
    std::fs::write(dir.join("ready"), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_client_leaves_no_agent() {
    let dir = tempfile::tempdir().unwrap();
    let helper = Sleep::new();
    std::fs::write(dir.path().join("helper"), helper.command()).unwrap();
    let mut client = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "acp::processes::client_process", "--ignored"])
        .env(CLIENT_DIR, dir.path())
        .env("OPENAI_API_KEY", "sk-secret-value-0123456789")
        .env("ANTHROPIC_API_KEY", "own login")
        .env("GITHUB_TOKEN", "ghp_secret_value_0123456789")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = dir.path().join("ready");
    wait_until("the session is open", || ready.exists()).await;
    // The test agent has the preset of Claude Code, which gets its own key and no other.
    let env = std::fs::read_to_string(dir.path().join("env")).unwrap();
    assert_eq!(env, "earlynot set,own login,passed on");
    assert_eq!(helper.sleepers().len(), 1);
    client.kill().unwrap();
    client.wait().unwrap();
    helper.wait_for_none();
}
