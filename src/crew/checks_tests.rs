//! Tests of when checks in progress stop.

use super::super::test_support::{TestCrew, bob};
use super::*;
use crate::domain::checks::CheckSpec;
use crate::domain::graph::{Claimer, NewTask};
use crate::domain::timestamp::Timestamp;

/// Returns the checks of a crew with a task that bob has claimed, and whose only check takes long.
fn slow_checks(crew: &TestCrew) -> (Arc<CrewChecks>, TaskId) {
    let (board, now) = (crew.board(), Timestamp(1.0));
    let new = NewTask {
        subject: "one".into(),
        ..NewTask::default()
    };
    let id = board.store().create(new, now).unwrap().id;
    let claimer = Claimer {
        name: bob(),
        tags: Vec::new(),
    };
    board.store().claim(Some(id), &claimer, now).unwrap();
    let slow = CheckSpec {
        name: "slow".into(),
        ..CheckSpec::acceptance("sleep 60")
    };
    (crew.checks_of(&board, vec![slow]), id)
}

async fn wait_until_ended(checks: &CrewChecks) {
    for _ in 0..400 {
        if lock(&checks.running).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the checks are still running");
}

#[tokio::test]
async fn checks_stop_with_the_last_waiting_call_and_with_their_owner() {
    let crew = TestCrew::new();
    let (checks, id) = slow_checks(&crew);
    let (bob, soon) = (bob(), Duration::from_millis(200));
    let first = checks.complete(&bob, id, Some(soon)).await.unwrap();
    assert!(matches!(first, Some(CheckedCompletion::StillRunning)));
    assert!(checks.owes_result(&bob));
    // Of two waiting calls, one is dropped; the checks go on. Then the other is dropped.
    {
        let waiting = checks.complete(&bob, id, None);
        tokio::pin!(waiting);
        let dropped = tokio::time::timeout(soon, checks.complete(&bob, id, None));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("the check takes long"),
            result = dropped => assert!(result.is_err()),
        }
        let running = lock(&checks.running);
        assert!(running.values().all(|entry| !entry.cancel.is_cancelled()));
    }
    wait_until_ended(&checks).await;
    checks.complete(&bob, id, Some(soon)).await.unwrap();
    assert!(checks.stop(&bob));
    wait_until_ended(&checks).await;
    assert!(!checks.stop(&bob) && !checks.owes_result(&bob));
}

#[tokio::test]
async fn team_shows_whose_checks_run() {
    let mut crew = TestCrew::new();
    let (checks, id) = slow_checks(&crew);
    let soon = Some(Duration::from_millis(200));
    checks.complete(&bob(), id, soon).await.unwrap();
    let activity = Activity::Tool {
        tool: "checks".into(),
        on: format!("the checks of task {id} run"),
    };
    let shown = AgentEvent::ActivityChanged { activity }.of(bob());
    assert!(crew.take_events().contains(&shown));
    assert!(checks.stop(&bob()));
    wait_until_ended(&checks).await;
}

#[tokio::test]
async fn checks_stop_when_the_task_loses_its_owner() {
    let crew = TestCrew::new();
    let (checks, id) = slow_checks(&crew);
    let soon = Some(Duration::from_millis(200));
    checks.complete(&bob(), id, soon).await.unwrap();
    let now = Timestamp(2.0);
    checks.board.store().release(id, &bob(), now).unwrap();
    wait_until_ended(&checks).await;
}
