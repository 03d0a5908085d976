//! Permission requests.

use std::sync::Arc;

use crewdeck::acp::{PermissionAnswer, PromptEndReason};
use crewdeck::domain::agent_update::AgentToolStatus;
use pretty_assertions::assert_eq;

use super::{Recorder, TestAgent, prompt, wait_until};

#[tokio::test]
async fn answers_choose_the_option_of_their_kind() {
    let test = TestAgent::new(&[]);
    for (answer, option, status) in [
        (
            PermissionAnswer::AllowOnce,
            "p-once",
            AgentToolStatus::Completed,
        ),
        (
            PermissionAnswer::AllowAlways,
            "p-always",
            AgentToolStatus::Completed,
        ),
        (PermissionAnswer::Reject, "p-no", AgentToolStatus::Failed),
    ] {
        let recorder = Recorder::answering(answer);
        let session = test.open(&recorder).await;
        // The call is announced by the request alone.
        let end = prompt(&session, "ask 1 make it").await.unwrap();
        assert_eq!(end.reason, PromptEndReason::EndTurn);
        let is_refused = answer == PermissionAnswer::Reject;
        assert_eq!(end.refused.len(), usize::from(is_refused));
        let call = recorder.call("1");
        assert_eq!((call.text.as_str(), call.status), (option, status));
        let asked = recorder.asked.lock().unwrap().pop().unwrap();
        assert_eq!(asked.call.title, "make it");
        assert!(asked.offers_always);
    }
    test.agent.shut_down().await;
}

#[tokio::test]
async fn open_and_late_requests_are_cancelled_with_the_turn() {
    let test = TestAgent::new(&[]);
    let recorder = Arc::new(Recorder::default());
    let session = test.open(&recorder).await;
    let cancel = async {
        wait_until("the agent asks", || {
            !recorder.asked.lock().unwrap().is_empty()
        })
        .await;
        session.cancel();
    };
    let (end, ()) = tokio::join!(prompt(&session, "ask 1 make it"), cancel);
    assert_eq!(end.unwrap().reason, PromptEndReason::Cancelled);
    assert_eq!(recorder.call("1").text, "cancelled");

    let cancel = async {
        wait_until("the turn runs", || recorder.text().contains("waits")).await;
        session.cancel();
    };
    let (end, ()) = tokio::join!(
        prompt(&session, "say waits\nthink .\nask-when-cancelled"),
        cancel
    );
    end.unwrap();
    wait_until("the late request is answered", || {
        recorder.text().contains("after cancel: cancelled")
    })
    .await;

    prompt(&session, "late-ask").await.unwrap();
    wait_until("the request after the turn is answered", || {
        recorder.text().contains("late: cancelled")
    })
    .await;
    assert_eq!(recorder.asked.lock().unwrap().len(), 1);
    test.agent.shut_down().await;
}
