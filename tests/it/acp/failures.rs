//! Agents that fail: they do not start, hang, crash, or send what is no message.

use std::sync::Arc;
use std::time::Duration;

use crewdeck::acp::{AcpError, SessionHandler, SessionSpec};
use crewdeck::domain::agent_update::AgentToolStatus;

use super::{Recorder, TestAgent, prompt, test_config};

async fn open_error(test: &TestAgent) -> AcpError {
    match test.try_open(&Arc::default()).await {
        Ok(session) => panic!("{} is open", session.id()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn missing_program_is_named() {
    let mut config = test_config(&[]);
    config.argv = vec!["/no/such/agent".into()];
    let test = TestAgent::with(config, |_| {});
    let error = open_error(&test).await;
    assert!(matches!(&error, AcpError::CannotStart { .. }), "{error:?}");
    assert!(error.to_string().contains("/no/such/agent"), "{error}");
    test.agent.shut_down().await;
}

#[tokio::test]
async fn unknown_protocol_version_is_an_error() {
    for version in ["2", "7"] {
        let test = TestAgent::new(&["--version", version]);
        let error = open_error(&test).await;
        assert!(
            matches!(&error, AcpError::UnsupportedVersion { .. }),
            "{error:?}"
        );
        assert!(
            error.to_string().contains(&format!("version {version}")),
            "{error}"
        );
        test.agent.shut_down().await;
    }
    for version in ["null", "\"2027-01-01\"", "{}"] {
        let test = TestAgent::new(&["--version", version]);
        let error = open_error(&test).await;
        let text = error.to_string();
        assert!(
            text.contains("version") || text.contains("initialize"),
            "{error:?}"
        );
        test.agent.shut_down().await;
    }
}

#[tokio::test]
async fn silent_agent_times_out() {
    for method in ["initialize", "session/new"] {
        let test = TestAgent::with(test_config(&["--hang", method]), |options| {
            // Long enough for the start of the program, which must answer `initialize` in the second case.
            options.start_timeout =
                Duration::from_secs(if method == "initialize" { 1 } else { 60 });
            options.request_timeout = Duration::from_millis(100);
        });
        let error = open_error(&test).await;
        assert!(
            matches!(&error, AcpError::TimedOut { method: m, .. } if m == method),
            "{error:?}"
        );
        test.agent.shut_down().await;
    }
}

#[tokio::test]
async fn exit_during_the_start_has_its_cause() {
    let test = TestAgent::new(&["--exit", "initialize"]);
    let error = open_error(&test).await;
    assert!(matches!(&error, AcpError::CannotStart { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("exit code 7") && text.contains("exit at a request"),
        "{text}"
    );
    let test = TestAgent::new(&["--exit", "session/new"]);
    let error = open_error(&test).await;
    assert!(matches!(&error, AcpError::Ended { .. }), "{error:?}");
}

#[tokio::test]
async fn demanded_login_is_an_error_of_its_own() {
    let test = TestAgent::new(&["--login"]);
    let error = open_error(&test).await;
    assert!(matches!(&error, AcpError::NeedsLogin { .. }), "{error:?}");
    test.agent.shut_down().await;
}

#[tokio::test]
async fn session_that_cannot_be_loaded_can_be_replaced() {
    let test = TestAgent::new(&["--no-load"]);
    let recorder = Arc::new(Recorder::default());
    let spec = SessionSpec {
        load: Some("lost".into()),
        ..test.spec()
    };
    let handler = Arc::clone(&recorder) as Arc<dyn SessionHandler>;
    let error = test.agent.open(&spec, handler).await.err().unwrap();
    assert!(matches!(&error, AcpError::LoadFailed { .. }), "{error:?}");
    assert!(
        error.to_string().contains("Invalid session identifier"),
        "{error}"
    );
    let session = test.open(&recorder).await;
    prompt(&session, "say new").await.unwrap();
    test.agent.shut_down().await;
}

#[tokio::test]
async fn crash_ends_all_sessions_and_the_next_one_starts_again() {
    let test = TestAgent::new(&["--log", "starts"]);
    let (first, second) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    let (one, two) = (test.open(&first).await, test.open(&second).await);
    let script = "call 1 make it\nnap\ncrash token hunter2-hunter2 \x1b[31m";
    let (end, other) = tokio::join!(prompt(&one, script), prompt(&two, "stuck"));
    for end in [end, other, Err(two.ended().await)] {
        let error = end.unwrap_err();
        assert!(matches!(&error, AcpError::Ended { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("exit code 3") && text.contains("first line"),
            "{text}"
        );
        assert!(
            text.contains("[redacted: MY_KEY]") && !text.contains("hunter2"),
            "{text}"
        );
        assert!(!text.contains('\x1b'), "{text}");
    }
    assert_eq!(first.call("1").status, AgentToolStatus::Failed);
    let error = prompt(&one, "say again").await.unwrap_err();
    assert!(matches!(&error, AcpError::Ended { .. }), "{error:?}");
    let session = test.open(&first).await;
    prompt(&session, "say again").await.unwrap();
    let starts = std::fs::read_to_string(test.dir.path().join("starts")).unwrap();
    assert_eq!(starts.lines().count(), 2);
    test.agent.shut_down().await;
}

#[tokio::test]
async fn error_of_a_prompt_ends_only_the_turn() {
    let test = TestAgent::new(&[]);
    let recorder = Arc::new(Recorder::default());
    let session = test.open(&recorder).await;
    let error = prompt(&session, "fail the quota\u{7} is used up")
        .await
        .unwrap_err();
    assert!(
        matches!(&error, AcpError::Rejected { code: -32603, .. }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("is used up") && !text.contains('\u{7}'),
        "{text}"
    );
    prompt(&session, "say on").await.unwrap();
    test.agent.shut_down().await;
}

#[tokio::test]
async fn half_a_message_at_the_end_is_an_error() {
    let test = TestAgent::new(&[]);
    let (end, _) = test.run("half").await;
    let text = end.unwrap_err().to_string();
    assert!(text.contains("in the middle of a message"), "{text}");
    assert!(text.contains("exit code 0"), "{text}");
}
