//! Servers that fail, are killed, or send too much.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use crewdeck::domain::mcp::{ServerState, ServerTransport};
use crewdeck::mcp::{CallError, PoolOptions, ServerPool};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{TestPool, program_config, test_config, wait_until};
use crate::common::supervised::program;

/// Sends SIGKILL to the process whose id is the last line of the file `pids`.
fn kill_last(pids: &std::path::Path) {
    let text = std::fs::read_to_string(pids).unwrap();
    let pid = text.lines().last().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn call_fails_with_the_reason_if_the_server_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (pids, called) = (dir.path().join("pids"), dir.path().join("called"));
    let test = TestPool::new(vec![test_config("s", &["--pids", pids.to_str().unwrap()])]);
    test.start().await;
    let kill = async {
        while !called.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        kill_last(&pids);
    };
    let call = test.call("mcp__s__long", json!({ "file": called }));
    let (called, ()) = tokio::join!(call, kill);
    let error = called.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("'s' ended during the call: it ended (signal 9)"),
        "{text}"
    );
    let result = test.call("mcp__s__echo", json!({"text": "again"})).await;
    assert_eq!(result.unwrap().text, "again");
    assert_eq!(std::fs::read_to_string(&pids).unwrap().lines().count(), 2);
    assert_eq!(
        test.notices(),
        ["it ended (signal 9). It is being restarted"]
    );
    test.pool.shutdown().await;
}

#[tokio::test]
async fn each_server_has_its_own_time_out() {
    let mut quick = test_config("quick", &[]);
    quick.call_timeout = Some(Duration::from_millis(200));
    let mut slow = test_config("slow", &[]);
    slow.call_timeout = Some(Duration::from_secs(60));
    let test = TestPool::new(vec![quick, slow]);
    test.start().await;
    let error = test.call("mcp__quick__long", json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error:?}");
    assert!(
        error.to_string().contains("quick") && error.to_string().contains("0.2 s"),
        "{error}"
    );
    let call = test.call("mcp__slow__long", json!({}));
    let waited = tokio::time::timeout(Duration::from_millis(600), call).await;
    assert!(waited.is_err(), "{waited:?}");
    test.pool.shutdown().await;
}

#[tokio::test]
async fn delay_doubles_before_each_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = PoolOptions::new(dir.path().into());
    options.supervisor = Some(program());
    options.restart_delay = Duration::from_millis(1);
    let own: Arc<OnceLock<ServerPool>> = Arc::default();
    let delays: Arc<Mutex<Vec<u64>>> = Arc::default();
    // Each state is read when it is reported, because a state that lasts 1 ms could be missed otherwise.
    let (known, seen) = (Arc::clone(&own), Arc::clone(&delays));
    let on_event = move |_| {
        if let Some(pool) = known.get()
            && let ServerState::Restarting { retry_in_ms, .. } = pool.status()[0].state
        {
            let mut seen = seen.lock().unwrap();
            if seen.last() != Some(&retry_in_ms) {
                seen.push(retry_in_ms);
            }
        }
    };
    let pool = ServerPool::new(vec![program_config("s", &["false"])], options, on_event);
    assert!(own.set(pool.clone()).is_ok());
    pool.start("s");
    wait_until("the server fails", || {
        matches!(pool.status()[0].state, ServerState::Failed { .. })
    })
    .await;
    assert_eq!(*delays.lock().unwrap(), [1, 2, 4, 8, 16]);
}

/// A pool with the server `s`, which runs `command`, and an approval that calls `decide` with the number of earlier
/// starts.
fn pool_that_decides(
    command: &[&str],
    decide: impl Fn(&ServerPool, usize) -> bool + Send + Sync + 'static,
) -> TestPool {
    let own: Arc<OnceLock<ServerPool>> = Arc::default();
    let (known, starts) = (Arc::clone(&own), AtomicUsize::new(0));
    let test = TestPool::with(vec![program_config("s", command)], |options| {
        options.restart_delay = Duration::from_secs(20);
        options.approved_config = Arc::new(move |config| {
            let pool = known
                .get()
                .expect("no server starts before the pool is known");
            decide(pool, starts.fetch_add(1, Ordering::SeqCst)).then(|| config.clone())
        });
    });
    assert!(own.set(test.pool.clone()).is_ok());
    test
}

#[tokio::test]
async fn restart_by_the_user_begins_a_new_row_of_crashes() {
    let states: Arc<Mutex<Vec<ServerState>>> = Arc::default();
    let seen = Arc::clone(&states);
    let test = pool_that_decides(&["false"], move |pool, _| {
        seen.lock().unwrap().push(pool.status()[0].state.clone());
        true
    });
    for starts in 1..=3 {
        test.pool.restart("s");
        wait_until("it waits for a restart", || {
            matches!(test.state(), ServerState::Restarting { .. })
                && states.lock().unwrap().len() == starts
        })
        .await;
        let ServerState::Restarting { retry_in_ms, .. } = test.state() else {
            panic!("{:?}", test.state());
        };
        assert_eq!(retry_in_ms, 20_000);
    }
    assert_eq!(*states.lock().unwrap(), vec![ServerState::Starting; 3]);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn server_that_is_disabled_while_its_start_fails_can_be_enabled() {
    let test = pool_that_decides(&["false"], |pool, starts| {
        pool.set_disabled("s", starts == 0);
        starts > 0
    });
    test.pool.start("s");
    wait_until("it is disabled", || test.state() == ServerState::Disabled).await;
    test.pool.set_disabled("s", false);
    test.pool.start("s");
    wait_until("it starts again", || {
        matches!(test.state(), ServerState::Restarting { .. })
    })
    .await;
    test.pool.shutdown().await;
}

#[tokio::test]
async fn oversized_images_and_texts_are_left_out_and_reported() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let large = test
        .call("mcp__s__pictures", json!({"bytes": 17_000_000}))
        .await
        .unwrap();
    assert_eq!(large.images.len(), 0);
    assert!(
        large.text.contains("left out, an image may have at most"),
        "{}",
        large.text
    );
    let many = test
        .call("mcp__s__pictures", json!({"bytes": 10, "count": 12}))
        .await
        .unwrap();
    assert_eq!(many.images.len(), 8);
    assert_eq!(many.text.matches("left out").count(), 4);
    let error = test
        .call("mcp__s__big", json!({"bytes": 100_000_000}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("larger than 32 MiB"), "{error}");
    let next = test.call("mcp__s__echo", json!({"text": "a"})).await;
    assert_eq!(next.unwrap().text, "a");
    test.pool.shutdown().await;
}

#[tokio::test]
async fn invalid_json_fails_only_its_call() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let sent = test.dir.path().join("sent");
    let broken = test.call("mcp__s__garbage", json!({"file": sent}));
    let other = async {
        wait_until("the invalid JSON is sent", || sent.exists()).await;
        test.call("mcp__s__echo", json!({"text": "a"})).await
    };
    // The call without a valid answer is still open when the other one has its result.
    tokio::select! {
        biased;
        result = broken => panic!("{result:?}"),
        next = other => assert_eq!(next.unwrap().text, "a"),
    }
    assert_eq!(test.state(), ServerState::Ready);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn ten_thousand_tools_are_cut_with_one_notice() {
    let test = TestPool::new(vec![test_config("s", &["--tools", "10000"])]);
    test.start().await;
    assert!(test.pool.tools().tools.len() <= 256);
    let events = test.events.lock().unwrap();
    let notices: Vec<String> = events
        .iter()
        .map(|event| format!("{event:?}"))
        .filter(|text| text.contains("left out"))
        .collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(
        notices[0].contains("all beyond the first 256"),
        "{notices:?}"
    );
}

#[tokio::test]
async fn floods_of_changes_and_questions_are_bounded() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let before = test.events.lock().unwrap().len();
    let result = test.call("mcp__s__flood", json!({"times": 500})).await;
    assert_eq!(result.unwrap().text, "flooded");
    let events = test.events.lock().unwrap().len() - before;
    assert!(events < 40, "{events}");
    // Of ten notices, `notices` leaves out the first, about a tool that is left out, and the last, about further
    // notices.
    assert_eq!(test.notices().len(), 8);
    test.pool.shutdown().await;
}

#[tokio::test]
async fn hostile_names_are_safe_for_models_and_the_screen() {
    let test = TestPool::new(vec![test_config("s", &["--hostile"])]);
    test.start().await;
    let tools = test.pool.tools();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    for tool in tools.tools.iter() {
        assert!(
            tool.name.len() <= 64 && tool.name.chars().all(is_safe),
            "{:?}",
            tool.name
        );
        assert!(!tool.title.contains(char::is_control), "{:?}", tool.title);
    }
    let strange = tools.tools.iter().find(|t| t.tool.starts_with("bad"));
    let result = test.call(&strange.unwrap().name, json!({})).await;
    assert!(result.unwrap_err().to_string().contains("unknown tool"));
    wait_until("the long name is reported", || {
        test.events
            .lock()
            .unwrap()
            .iter()
            .any(|e| format!("{e:?}").contains("longer than 256 bytes"))
    })
    .await;
    for event in test.events.lock().unwrap().iter() {
        if let crewdeck::mcp::PoolEvent::Notice { text, .. } = event {
            assert!(
                !text.contains(char::is_control) && text.len() < 1000,
                "{text:?}"
            );
        }
    }
    test.pool.shutdown().await;
}

#[tokio::test]
async fn crash_during_a_call_is_explained_and_the_server_restarts() {
    let test = TestPool::new(vec![test_config("s", &[])]);
    test.start().await;
    let generation = test.pool.tools().generation;
    let error = test.call("mcp__s__crash", json!({})).await.unwrap_err();
    let CallError::Crashed { why, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        why,
        "it ended (exit code 7); its last output: the disk is full"
    );
    // The next call waits until the server has been restarted.
    let result = test
        .call("mcp__s__echo", json!({"text": "again"}))
        .await
        .unwrap();
    assert_eq!(result.text, "again");
    assert_eq!(test.pool.tools().generation, generation);
    assert_eq!(test.notices(), [format!("{why}. It is being restarted")]);
    assert!(
        test.pool
            .log_tail("s")
            .unwrap()
            .contains("the disk is full")
    );
    test.pool.shutdown().await;
}

#[tokio::test]
async fn server_that_always_crashes_fails_after_five_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let starts = dir.path().join("starts");
    let script = format!("echo x >>{}; echo no licence >&2; exit 3", starts.display());
    let test = TestPool::new(vec![program_config("s", &["sh", "-c", &script])]);
    test.pool.start("s");
    wait_until("the server has failed", || {
        matches!(test.state(), ServerState::Failed { .. })
    })
    .await;
    let ServerState::Failed { why } = test.state() else {
        panic!()
    };
    assert!(
        why.contains("exit code 3") && why.contains("no licence"),
        "{why}"
    );
    assert!(why.contains("after 5 restarts"), "{why}");
    // Each start tries both handshakes.
    let count = std::fs::read_to_string(&starts).unwrap().lines().count();
    assert_eq!(count, 12);
    let notices = test.notices();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].ends_with("It is being restarted"), "{notices:?}");
    assert!(
        notices[1].contains("is not restarted automatically"),
        "{notices:?}"
    );
    // An agent's demand does not start a failed server; the user's restart does.
    test.pool.ensure_started(&["s"]).await;
    assert_eq!(
        std::fs::read_to_string(&starts).unwrap().lines().count(),
        12
    );
    test.pool.restart("s");
    wait_until("it is started again", || {
        std::fs::read_to_string(&starts).unwrap().lines().count() > 12
    })
    .await;
    test.pool.shutdown().await;
}

#[tokio::test]
async fn program_that_does_not_exist_fails_at_once() {
    let mut missing = test_config("dir", &[]);
    if let ServerTransport::Program { dir, .. } = &mut missing.transport {
        *dir = Some("/nonexistent".into());
    }
    let test = TestPool::new(vec![program_config("s", &["no-such-program-x"]), missing]);
    test.pool.ensure_started(&["s", "dir"]).await;
    let why: Vec<_> = test.pool.status().into_iter().map(|s| s.state).collect();
    for (state, text) in why.iter().zip([
        "/nonexistent does not exist",
        "cannot start no-such-program-x: No such file",
    ]) {
        let ServerState::Failed { why } = state else {
            panic!("{state:?}")
        };
        assert!(why.contains(text), "{why}");
    }
    let error = test
        .pool
        .read_resource("s", "x://y", &CancellationToken::new())
        .await;
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("is not available: cannot start")
    );
}

#[tokio::test]
async fn silent_server_times_out() {
    let config = test_config("s", &["--silent", "--log", "waiting for a key"]);
    let test = TestPool::with(vec![config], |options| {
        options.start_timeout = Duration::from_millis(1500);
    });
    test.pool.ensure_started(&["s"]).await;
    let error = test.pool.status()[0].last_error.clone();
    assert!(
        error.starts_with("it was not ready within 1.5 s"),
        "{error}"
    );
    test.pool.shutdown().await;
}

#[tokio::test]
async fn each_server_has_its_own_start_time_out() {
    let mut quick = test_config("quick", &["--silent"]);
    quick.start_timeout = Some(Duration::from_millis(200));
    let mut slow = test_config("slow", &[]);
    slow.start_timeout = Some(Duration::from_secs(60));
    let test = TestPool::with(vec![quick, slow], |options| {
        options.start_timeout = Duration::from_millis(1);
        options.restart_delay = Duration::from_secs(60);
    });
    test.pool.ensure_started(&["quick", "slow"]).await;
    let states: Vec<_> = test.pool.status().into_iter().map(|s| s.state).collect();
    assert_eq!(states[1], ServerState::Ready);
    assert!(
        matches!(&states[0], ServerState::Restarting { why, .. } if why.contains("not ready within 0.2 s")),
        "{:?}",
        states[0]
    );
    test.pool.shutdown().await;
}
