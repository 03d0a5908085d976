//! Tests of requests and merges in a crew on a hub.

use pretty_assertions::assert_eq;

use super::hub_test_support::lead_on_hub;
use super::test_support::{LEAD_DECIDES, TestCrew, bob};
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::request::{Approver, Decision, Request, RequestKind, RequestStatus, Verdict};
use crate::domain::team::Member;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{EventKind, TeamEvent};
use crate::store::Mailbox;

/// Returns a crew on a hub that this process leads, with the teammate bob on the host gpu.
async fn crew_with_remote_bob() -> TestCrew {
    let mut crew = TestCrew::new();
    crew.context = lead_on_hub(&crew);
    let member = Member {
        host: "gpu".into(),
        ..Member::new(bob(), "coder")
    };
    crew.team.add(member, 16).await.unwrap();
    crew.team.read().await;
    crew
}

fn remote_request(id: &str, kind: RequestKind) -> Request {
    let now = Timestamp(1.0);
    Request::new(RequestId(id.into()), kind, bob(), bob(), "ls".into(), now)
}

#[tokio::test]
async fn decision_is_left_to_the_host_that_runs_the_agent() {
    let crew = crew_with_remote_bob().await;
    let broker = crew.broker(LEAD_DECIDES);
    let shutdown = Request {
        from: Name::lead(),
        ..remote_request("r1", RequestKind::Shutdown)
    };
    let plan = remote_request("r2", RequestKind::Plan);
    for (request, verdict) in [(&shutdown, Verdict::Approve), (&plan, Verdict::Reject)] {
        crew.requests.create(request).unwrap();
        let decision = Decision::on(request, verdict, Name::user(), String::new());
        broker.decide(decision).await.unwrap();
        let found = broker.get(&request.id).await.unwrap();
        assert!(found.has_open_follow_up());
    }
    let inbox = Mailbox::open(crew.dir.path()).peek(&bob()).unwrap();
    assert_eq!(inbox.messages, []);
    // The lead runs here.
    let own = Request {
        from: Name::lead(),
        target: Name::lead(),
        ..remote_request("r3", RequestKind::Plan)
    };
    crew.requests.create(&own).unwrap();
    let decision = Decision::on(&own, Verdict::Reject, Name::user(), String::new());
    broker.decide(decision).await.unwrap();
    assert!(!broker.get(&own.id).await.unwrap().has_open_follow_up());
}

#[tokio::test]
async fn request_of_another_host_gets_the_approver_of_the_settings() {
    let mut crew = crew_with_remote_bob().await;
    let broker = crew.broker(LEAD_DECIDES);
    broker.read().await;
    let request = remote_request("r1", RequestKind::Plan);
    assert_eq!(request.approver, Approver::Ask);
    crew.requests.create(&request).unwrap();
    broker.read().await;
    assert!(broker.has_pending() && !broker.has_own_pending());
    crew.tasks_end().await;
    let mut events = crew.take_events().into_iter();
    let shown = events.find_map(|event| match event {
        EventKind::Team(TeamEvent::RequestChanged { request }) => Some(request.approver),
        _ => None,
    });
    assert_eq!(shown, Some(Approver::Lead));
    let stored = broker.get(&request.id).await.unwrap();
    assert_eq!(stored.approver, Approver::Lead);
    broker.withdraw_all_of(&[bob()]).await.unwrap();
    let withdrawn = broker.get(&request.id).await.unwrap();
    assert_eq!(withdrawn.status, RequestStatus::Withdrawn);
}

#[tokio::test]
async fn host_without_a_session_does_not_merge() {
    let crew = crew_with_remote_bob().await;
    let board = crew.board();
    let merges = crew.merges(&board, None);
    let error = merges.merge_for_user(vec![TaskId(1)]).await.unwrap_err();
    assert!(!error.contains("can no longer"), "{error}");
    crew.context.host.as_ref().unwrap().session.leave();
    let error = merges.merge_for_user(vec![TaskId(1)]).await.unwrap_err();
    assert!(error.contains("can no longer merge branches"), "{error}");
}
