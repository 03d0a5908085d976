//! Agents that send too much.

use std::time::Duration;

use crewdeck::acp::AcpError;

use super::{TestAgent, test_config};

#[tokio::test]
async fn noise_is_skipped_up_to_a_limit() {
    let test = TestAgent::new(&["--noise", "500"]);
    let (end, recorder) = test.run("garbage 500\nsay on").await;
    end.unwrap();
    assert_eq!(recorder.text(), "earlyon");
    let (end, _) = test.run("garbage 5000\nstuck").await;
    let text = end.unwrap_err().to_string();
    assert!(text.contains("not the Agent Client Protocol"), "{text}");
    test.agent.shut_down().await;
}

#[tokio::test]
async fn long_message_ends_the_process_with_bounded_memory() {
    let test = TestAgent::new(&[]);
    let (end, _) = test.run("long 100\nstuck").await;
    let error = end.unwrap_err();
    assert!(matches!(&error, AcpError::Ended { .. }), "{error:?}");
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
    // The next session starts a new process.
    test.run("say on").await.0.unwrap();
    test.agent.shut_down().await;
}

#[tokio::test]
async fn many_updates_arrive_in_order() {
    let test = TestAgent::new(&[]);
    let (end, recorder) = test.run("flood 20000").await;
    end.unwrap();
    let expected: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    assert_eq!(recorder.text(), format!("early{} ", expected.join(" ")));
    test.agent.shut_down().await;
}

#[tokio::test]
async fn many_requests_are_answered() {
    let test = TestAgent::new(&[]);
    let (end, _) = test.run("flood-requests 5000").await;
    end.unwrap();
    test.agent.shut_down().await;
}

#[tokio::test]
async fn turn_that_does_not_stop_does_not_hold_up_a_drop() {
    let test = TestAgent::with(test_config(&["--ignore-eof"]), |options| {
        options.exit_timeout = Duration::from_millis(100);
    });
    let recorder = std::sync::Arc::new(super::Recorder::default());
    let session = test.open(&recorder).await;
    tokio::select! {
        end = super::prompt(&session, "say waits\nthink .\nstuck") => panic!("{end:?}"),
        () = super::wait_until("the turn runs", || recorder.text().contains("waits")) => {}
    }
    drop(session);
    test.agent.shut_down().await;
}
